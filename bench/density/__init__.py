"""Held-out likelihood of latent class models on ten folds of real data that others have used."""
