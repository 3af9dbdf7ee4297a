"""The experiments of Chickering & Heckerman (1996), "CH96", repeated.

Start with `reproduce.py`, which runs them and writes the page. `experiments.py` defines the
experiments and their ledger; `tables.py` has tables, figures and the published numbers.
"""
