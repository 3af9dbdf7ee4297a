"""Runs whose results are recorded: does a change of the code change a number?

`python -m recorded compare [NAMES]` (in tests/) runs them and prints each difference to
results.json.gz; `python -m recorded record [NAMES]` writes that file.
"""
