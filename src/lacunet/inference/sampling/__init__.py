"""Sampling of hidden values: Gibbs sweeps, and particles with sequential updates."""
