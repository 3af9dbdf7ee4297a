"""Maximum a posteriori and maximum likelihood estimation by EM.

Start with `learn` in `fit.py`. `schedules.py` runs the search; `objective.py` has the function, EM
and random starts; `ascent.py` climbs to a maximum. `agglomerate.py` makes starts by clustering,
`recombination.py` and `split_merge.py` improve local optima. `maxima.py` compares them,
`neighbours.py` makes warm starts from k ± 1. `diagnose.py` has flags, and variational Bayes.
"""
