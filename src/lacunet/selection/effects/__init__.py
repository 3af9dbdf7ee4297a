"""Edges beside those of a latent class model: tried one by one, and kept where they pay."""
