"""Inference queries: likelihoods, posteriors and most probable states of rows."""
