"""Inference queries: posteriors and likelihoods of rows, and what they imply."""
