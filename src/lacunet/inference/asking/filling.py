"""What to put into the holes of rows: the most probable state, or the number that is expected."""

from collections.abc import Sequence

import numpy as np

from lacunet.inference.asking.ensemble import posterior_of
from lacunet.inference.asking.numbers import expected_numbers, in_units
from lacunet.model.ensemble import Ensemble
from lacunet.model.network import Model
from lacunet.runtime.arrays import CodeArray, FloatArray, IntArray
from lacunet.runtime.states import State


def fillings(
    speaker: Model | Ensemble, codes: CodeArray
) -> dict[int, tuple[Sequence[State], IntArray]]:
    """Give, for each column with holes, values and which of them each row gets (−1: none).

    `codes` are (rows, observed variables), −1 = missing. A cell without a hole gets none, nor does
    a row that is impossible.
    """
    network = speaker.network
    variables = [network.variables[i] for i in network.observed]
    holes = codes < 0
    open_ = [j for j in range(codes.shape[1]) if holes[:, j].any()]
    names = [j for j in open_ if variables[j].family.tabular]
    numbers = [j for j in open_ if j not in names]
    found: dict[int, tuple[Sequence[State], IntArray]] = {}
    answers = posterior_of(speaker, codes, [(network.observed[j],) for j in names])
    for j, p in zip(names, answers, strict=True):
        found[j] = variables[j].to_fill, np.where(holes[:, j], most_probable_state(p), -1)
    expected = expected_numbers(speaker, codes, [network.observed[j] for j in numbers])
    for j, number in zip(numbers, expected, strict=True):
        best = in_units(variables[j], number, codes[:, j]).best
        told = holes[:, j] & ~np.isnan(best)
        found[j] = best.tolist(), np.where(told, np.arange(len(best)), -1)
    return found


def most_probable_state(p: FloatArray) -> IntArray:
    """The most probable state of each row, (rows, states) → (rows,); −1 if it is impossible."""
    return np.where(p.sum(axis=1) > 0, p.argmax(axis=1), -1)
