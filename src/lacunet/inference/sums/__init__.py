"""Exact sums over all completions of what is hidden."""
