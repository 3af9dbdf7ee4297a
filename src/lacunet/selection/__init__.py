"""Model selection: candidates, their comparison and posterior, and ensembles.

Builders make candidates: `latent_classes` and `sizes_of_hidden` in `comparing.py`, levels of
invariance in `groups.py`, direct effects in `effects.py`, graphs with hidden variables in
`hidden_search.py`, models of missing values in `missing_comparison.py`. `compare` in `comparing.py`
fits and scores them, `measured` in `measuring.py` measures their evidence (`joint_evidence.py`: all
numbers of classes at once). The result is a `Selection` (`result.py`), whose `certainty` is the
posterior (`certainty.py`). `average.py` has priors on the number of classes, `blrt.py` bootstrap
tests; `misfit.py` looks for what classes stand for. `sentences.py`, `grids.py` and
`paper_tables.py` report. `ensembles.py` learns the `recipes.py`, weighted by the data of
`held_out.py`.
"""
