"""How unusual rows are among rows with the same holes.

log p(row) falls with every cell that a row shows, so a row that shows little looks usual. Its tail
probability does not: how probable is it that a row of the model, with the same cells hidden, is at
most as probable as this one? Exactly, where what is shown has few configurations; or from rows that
are drawn from the model, of which the row itself counts as one.
"""

import math

import numpy as np

from lacunet.data.table import Column
from lacunet.inference.asking.ensemble import log_lik_of
from lacunet.inference.leaves import all_with_values, kind_of
from lacunet.model.ensemble import Ensemble, sample_rows
from lacunet.model.network import Model
from lacunet.model.surgery import at_given
from lacunet.runtime.arrays import BoolArray, CodeArray, FloatArray

TIE = 1e-9  # nats: sums in another order
FEWEST, DRAWS = 1, 1_000  # rows to compare with: at least, and unless somebody says


def tail_probabilities(
    speaker: Model | Ensemble, codes: CodeArray, draws: int, rng: np.random.Generator
) -> FloatArray:
    """Give p(a row with the same holes is at most as probable), (rows,).

    With covariates: a row that has the same of these, too.
    """
    if isinstance(speaker, Model) and speaker.given is not None:
        return _given_covariates(speaker, codes, draws, rng)
    own = log_lik_of(speaker, codes)
    drawn = sample_rows(speaker, draws, rng)
    columns = [Column(v.name, v.states, kind_of(v)) for v in drawn.variables]
    told = all_with_values(speaker, columns)
    patterns, which = np.unique(codes >= 0, axis=0, return_inverse=True)
    found = np.empty(len(codes))
    for k, shown in enumerate(patterns):
        rows = np.flatnonzero(which.reshape(-1) == k)
        every = _configurations(speaker, shown, draws)
        if every is None:
            others = log_lik_of(told, np.where(shown, drawn.codes, -1).astype(np.int32))
            found[rows] = (1 + _at_most(own[rows], others, np.ones(draws))) / (draws + 1)
        else:
            others = log_lik_of(speaker, every)
            found[rows] = np.minimum(_at_most(own[rows], others, np.exp(others)), 1.0)
    return found


def _given_covariates(
    model: Model, codes: CodeArray, draws: int, rng: np.random.Generator
) -> FloatArray:
    """Compare rows with those of the same covariates, whose codes come last."""
    items, pattern, found = codes[:, :-1], codes[:, -1], np.empty(len(codes))
    for k in np.unique(pattern).tolist():
        own = pattern == k
        found[own] = tail_probabilities(at_given(model, k), items[own], draws, rng)
    return found


def _at_most(own: FloatArray, others: FloatArray, weights: FloatArray) -> FloatArray:
    """Weight of the others that are at most as probable as each of our own, (own,)."""
    order = np.argsort(others)
    sums = np.concatenate([[0.0], np.cumsum(weights[order])])
    return np.asarray(sums[np.searchsorted(others[order], own + TIE, side="right")])


def _configurations(speaker: Model | Ensemble, shown: BoolArray, most: int) -> CodeArray | None:
    """All that rows with these cells can show, (configurations, columns); None if many."""
    network = speaker.network
    variables = [network.variables[i] for i in network.observed]
    sizes = [len(v.states) if s else 1 for v, s in zip(variables, shown, strict=True)]
    numbers = any(s and not v.family.tabular for v, s in zip(variables, shown, strict=True))
    if numbers or math.prod(sizes) > most:
        return None
    every = np.indices(sizes).reshape(len(sizes), -1).T
    return np.where(shown, every, -1).astype(np.int32)
