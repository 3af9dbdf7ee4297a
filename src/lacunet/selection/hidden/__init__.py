"""Whether there are hidden variables, and how many classes: candidates decide."""
