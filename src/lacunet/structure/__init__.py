"""Structure learning: the search for the graph over the columns of a table.

Start with `learning.py` (`learn_structure`). `task.py` checks the input, `knowledge.py` holds
constraints. `searching.py` climbs, or finds the best graph by dynamic programming; `scoring.py`,
`families.py` and `counting.py` score families. `incomplete.py` searches where values are missing.
`edges` computes edge probabilities, `hidden` adds hidden variables.
"""
