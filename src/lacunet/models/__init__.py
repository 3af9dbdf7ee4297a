"""Bayesian networks: variables, graph, flat parameter layout, priors, files, sampling.

Start with `network` (`Network`, `Model`) and `layout`; `conjugacy` applies likelihoods to whole
networks, `surgery` derives models from models, and `formats` reads and writes files.
"""
