"""Draws in place of expectations: Gibbs sweeps, particles, and one pass over the cases."""
