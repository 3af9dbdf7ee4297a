"""Inference: components, kernels, expected counts, log-likelihood, gradient, Hessian."""
