"""Posterior probabilities of edges.

Start with `find_edges` in `posterior.py`: an exact sum over all graphs, or means over Markov
chains. `mcmc.py` samples graphs, `completion.py` graphs and missing values together.
`certainty.py` holds the result, and the bootstrap.
"""
