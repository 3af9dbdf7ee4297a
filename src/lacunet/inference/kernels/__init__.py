"""Compiled inner loops of inference, with Numba; each has a twin in plain NumPy in the tests.

Start with `rows` (E steps with one hidden variable) and `trees` (messages in clique trees).
`numbers` adds numeric columns to `rows`, and `tree_covariances` adds covariances to `trees`.
`draws` samples hidden cells, and updates particles. `blocks`, `number_blocks` and `splitting`
sample partitions of the cases, and `merging` clusters them. `lanes` has SIMD operations.
"""
