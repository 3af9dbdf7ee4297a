"""Inference queries: likelihoods, posteriors and most probable states of rows.

Start with `answers`, which predicts rows by a model or an ensemble. `query` computes log p(row) and
posteriors with clique trees, and blocks of numbers in closed form. `most_probable` has the most
probable joint states (MPE) by elimination, and the effective dimension.
"""
