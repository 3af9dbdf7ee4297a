"""The door to Numba."""

import numpy as np

from lacunet.jit import kernel


@kernel
def doubled(x, at):
    return 2.0 * x[at]


@kernel
def sum_of_some(x, at):
    return doubled(x, 0) + doubled(x, 1) + doubled(x, at=at)


def test_numbers_that_are_written_out_are_compiled_like_any_other():
    assert sum_of_some.py_func(np.arange(3.0), 2) == sum_of_some(np.arange(3.0), 2) == 6.0
    sum_of_some.recompile()  # it may have come from the disk, and then called nobody
    assert len(doubled.signatures) == 1
