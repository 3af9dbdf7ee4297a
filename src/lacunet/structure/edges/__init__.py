"""How sure each edge is: all graphs summed up, graphs drawn from their posterior, or resamples."""
