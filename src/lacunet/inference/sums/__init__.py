"""Exact sums over all completions of the hidden values."""
