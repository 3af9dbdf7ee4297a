"""Decompose rows, merge equal components, and write them as index arrays for E steps."""
