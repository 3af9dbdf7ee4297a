"""Speed and memory, as ratios measured in one run on one machine. `python -m bench`; see README."""
