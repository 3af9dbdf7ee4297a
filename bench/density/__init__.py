"""Held-out likelihood on ten folds of real data that others have used."""
