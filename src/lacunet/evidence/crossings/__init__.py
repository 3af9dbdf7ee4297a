"""Ways between a reference, whose mass is known, and samples of the posterior: weights either way.

A crossing holds log weights of whoever came from the reference (−inf: ended elsewhere) and of
whoever came from a sample; `bridge.py` makes the mass of them. Samples have one labelling of many:
everybody is brought to the region around the reference in which all are labelled alike.
"""
