"""Exact sums over all completions of the hidden values, as sums over distinct count vectors.

Start with `blocks`, which has the count vectors of each component. `order` chooses an order of
components with few vectors at a time, and `packing` stores vectors as few integers. The sum itself
is in `evidence/exact.py`.
"""
