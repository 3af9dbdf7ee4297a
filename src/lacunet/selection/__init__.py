"""Search over candidates: the number of hidden states, and averaging over it."""
