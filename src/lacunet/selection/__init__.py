"""Model selection: candidates, their posterior, groups, direct effects and ensembles.

Start with `candidates.py` (`Selection`) and `evaluating.py`, which fits and scores candidates.
`measuring.py` and `joint_evidence.py` measure the evidence, and `certainty.py` holds the posterior.
`average.py` has priors on the number of classes; `sentences.py`, `grids.py` and `paper_tables.py`
report. `groups.py`, `effects.py`, `hidden_search.py`, `hole_readings.py` and `misfit.py` compare
special models. `ensembles.py` learns the `recipes.py`, weighted by the data of `held_out.py`.
"""
