"""Networks other than latent class models, and what those lost or gained by becoming one case."""
