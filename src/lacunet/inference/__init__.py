"""Exact and sampled inference in one network at given parameters.

Start with `problem.py`, which joins a table, a network and a prior, and `classes.py`, its E step.
`plans` decompose rows into components, `kernels` are the compiled loops over them, and `devices`
run these on a GPU. `queries` are posteriors of rows, `sampling` is Gibbs sweeps and particles, and
`sums` are exact sums over completions. `symmetry.py` and `regions.py` handle label switching;
`hessian.py` and `information.py` give curvature and standard errors.
"""
