"""Predictions for rows by a model or an ensemble of models."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from lacunet.data.table import Column
from lacunet.inference.classes import safe_log
from lacunet.inference.leaves import all_with_values, kind_of
from lacunet.inference.queries.query import (
    ByRow,
    block_log_density,
    block_moments,
    draw_block,
    has_blocks,
    posterior,
    rest_of,
)
from lacunet.likelihoods.unit import Unit
from lacunet.models.ensemble import Ensemble, sample_rows
from lacunet.models.network import Model, Variable
from lacunet.models.surgery import at_given, draw_numbers, draw_states, members, shown
from lacunet.runtime.arrays import BoolArray, CodeArray, FloatArray, IntArray
from lacunet.runtime.states import State


def row_log_lik(model: Model, codes: CodeArray) -> FloatArray:
    """Compute log p(observed values | θ) of each row, (rows,); −inf where a row is impossible.

    `codes` are (rows, observed variables of the network), −1 = missing.

    >>> import lacunet, numpy as np
    >>> model = lacunet.random_model(2, 3, seed=1)
    >>> every = np.stack(np.unravel_index(range(8), (2, 2, 2)), axis=1)
    >>> bool(np.isclose(np.exp(row_log_lik(model, every)).sum(), 1))
    True
    """
    network = model.network
    if not has_blocks(network):
        rows = ByRow(network, codes).log_lik(model.log_weights)
        return rows if network.layout.tabular else rows + network.log_base(codes)
    # Sum over classes the likelihood of the other columns times the density of the blocks.
    rest = rest_of(model)
    known = codes[:, rest.columns]
    (classes,) = posterior(rest.model, known, [(rest.number[rest.root],)])
    joint = safe_log(classes) + block_log_density(model, codes)
    base = network.log_base(codes) - rest.model.network.log_base(known)
    return np.asarray(row_log_lik(rest.model, known) + base + logsumexp(joint, axis=1))


def member_log_lik(ensemble: Ensemble, codes: CodeArray) -> FloatArray:
    """Log of weight · p(row | member), (members, rows)."""
    each = np.stack([row_log_lik(member.model, codes) for member in ensemble.members])
    return np.asarray(each + safe_log(ensemble.weights)[:, None])


def ensemble_log_lik(ensemble: Ensemble, codes: CodeArray) -> FloatArray:
    """Log p(observed values) of each row, (rows,)."""
    return np.asarray(logsumexp(member_log_lik(ensemble, codes), axis=0))


def shares(ensemble: Ensemble, codes: CodeArray) -> FloatArray:
    """Posterior weight of each member given each row, (members, rows); 0 if impossible."""
    joint = member_log_lik(ensemble, codes)
    if ensemble.fixed:
        joint = np.where(np.isfinite(joint), safe_log(ensemble.weights)[:, None], -np.inf)
    whole = logsumexp(joint, axis=0)
    return np.asarray(np.exp(joint - np.where(np.isfinite(whole), whole, 0.0)))


def ensemble_posterior(
    ensemble: Ensemble, codes: CodeArray, groups: Sequence[Sequence[int]]
) -> list[FloatArray]:
    """Joint posterior of each group of columns in each row, (rows, states of each column...).

    Zeros where a row is impossible under every member.
    """
    mixed: list[FloatArray] = []
    for member, weight in zip(ensemble.members, shares(ensemble, codes), strict=True):
        observed = member.model.network.observed
        variables = [tuple(observed[v] for v in group) for group in groups]
        answers = posterior(member.model, codes, variables)
        parts = [p * weight.reshape(-1, *[1] * (p.ndim - 1)) for p in answers]
        mixed = [a + b for a, b in zip(mixed, parts, strict=True)] if mixed else parts
    return mixed


def log_lik_of(model: Model | Ensemble, codes: CodeArray) -> FloatArray:
    """Log p(observed values) of each row, (rows,), under a model or an ensemble."""
    if isinstance(model, Ensemble):
        return ensemble_log_lik(model, codes)
    return row_log_lik(model, codes)


def posterior_of(
    model: Model | Ensemble, codes: CodeArray, groups: Sequence[Sequence[int]]
) -> list[FloatArray]:
    """Joint posteriors of variables of a model, or of columns of an ensemble."""
    if isinstance(model, Ensemble):
        return ensemble_posterior(model, codes, groups)
    return posterior(model, codes, groups)


# Mean and spread of missing numbers.

OF_LOGARITHM = ("geometric mean", "factor")  # names of its mean and spread


class Expected(NamedTuple):
    """Moments of a number in each row, in the unit of its family; NaN if a row is impossible."""

    mean: FloatArray
    variance: FloatArray


class InUnits(NamedTuple):
    """A predicted number in the unit of the data, (rows,) each."""

    best: FloatArray  # the imputed value: the mean, rounded for integers
    mean: FloatArray  # geometric mean on a log scale, where the mean may not exist
    spread: FloatArray  # standard deviation; on a log scale, as a factor
    titles: tuple[str, str]  # names of mean and spread


def in_units(variable: Variable, expected: Expected, codes: CodeArray) -> InUnits:
    """Convert moments to the unit of the data; observed values (codes ≥ 0) are kept."""
    unit, seen = variable.unit or Unit(), codes >= 0
    values = np.array(variable.states, dtype=np.float64)[codes]
    mean = np.where(seen, values, unit.values(expected.mean))
    spread = np.where(seen, 0.0, unit.size * np.sqrt(expected.variance))
    best = np.rint(mean) if variable.family.whole else mean
    if unit.log:
        return InUnits(best, mean, np.exp(spread), OF_LOGARITHM)
    return InUnits(best, mean, spread, ("mean", "sd"))


def expected_numbers(
    model: Model | Ensemble, codes: CodeArray, variables: Sequence[int]
) -> list[Expected]:
    """Predictive mean and variance of numbers in each row.

    `codes` are (rows, observed variables), −1 = missing. For an ensemble, `variables` are columns.
    """
    if isinstance(model, Model):
        return _by_model(model, codes, variables)
    each = []
    for member in model.members:
        observed = member.model.network.observed
        each.append(_by_model(member.model, codes, [observed[v] for v in variables]))
    share = shares(model, codes).T
    return [
        mixture(
            share, *(np.nan_to_num(np.stack(x, axis=1)) for x in zip(*log_p_of_row, strict=True))
        )
        for log_p_of_row in zip(*each, strict=True)
    ]


def _by_model(model: Model, codes: CodeArray, variables: Sequence[int]) -> list[Expected]:
    parents = model.network.parents
    groups = list(dict.fromkeys(parents[v] for v in variables))
    known = dict(zip(groups, posterior(model, codes, groups), strict=True))
    moments = []
    for v in variables:
        p = known[parents[v]].reshape(len(codes), -1)
        if model.network.variables[v].family.stands_at is not None:
            moments.append(mixture(p, *block_moments(model, codes, v)))
        else:
            moments.append(mixture(p, *(x.reshape(-1) for x in model.moments(v))))
    return moments


def mixture(p: FloatArray, mean: FloatArray, variance: FloatArray) -> Expected:
    """Mean and variance of a mixture: weights (rows, k), component moments (k,) or (rows, k)."""
    middle = np.sum(p * mean, axis=1)
    spread = np.sum(p * (variance + (mean - middle[:, None]) ** 2), axis=1)
    possible = p.sum(axis=1) > 0
    return Expected(np.where(possible, middle, np.nan), np.where(possible, spread, np.nan))


def fillings(
    model: Model | Ensemble, codes: CodeArray
) -> dict[int, tuple[Sequence[State], IntArray]]:
    """For each incomplete column, a list of values and the index imputed in each row (−1: none).

    `codes` are (rows, observed variables), −1 = missing. Observed cells and impossible rows get
    −1. Values are the most probable state, or the expected number.
    """
    network, missing = model.network, codes < 0
    variables = [network.variables[i] for i in network.observed]
    incomplete = np.flatnonzero(missing.any(axis=0)).tolist()
    names = [j for j in incomplete if variables[j].family.tabular]
    numbers = [j for j in incomplete if j not in names]
    imputed: dict[int, tuple[Sequence[State], IntArray]] = {}
    answers = posterior_of(model, codes, [(network.observed[j],) for j in names])
    for j, p in zip(names, answers, strict=True):
        imputed[j] = variables[j].to_fill, np.where(missing[:, j], most_probable_state(p), -1)
    expected = expected_numbers(model, codes, [network.observed[j] for j in numbers])
    for j, number in zip(numbers, expected, strict=True):
        best = in_units(variables[j], number, codes[:, j]).best
        filled = missing[:, j] & ~np.isnan(best)
        imputed[j] = best.tolist(), np.where(filled, np.arange(len(best)), -1)
    return imputed


def most_probable_state(p: FloatArray) -> IntArray:
    """The most probable state of each row, (rows, states) → (rows,); −1 if it is impossible."""
    return np.where(p.sum(axis=1) > 0, p.argmax(axis=1), -1)


def draw_open(model: Model | Ensemble, codes: CodeArray, rng: np.random.Generator) -> FloatArray:
    """Draw missing values of rows, (rows, observed variables), jointly: cells (rows, variables).

    A category is its state index, a number its value; NaN where a row is impossible. A model also
    draws its hidden variables. An ensemble draws a member for each row, then only columns.
    """
    if isinstance(model, Model):
        return _draw_by_model(model, codes, rng)
    share = shares(model, codes).T
    possible = share.sum(axis=1) > 0
    member = np.where(possible, draw_states(share, len(codes), rng), -1)
    cells = np.full(codes.shape, np.nan)
    for k in np.unique(member[possible]).tolist():
        chosen = np.flatnonzero(member == k)
        cells[chosen] = draw_columns(model.members[k].model, codes[chosen], rng)
    return cells


def draw_columns(model: Model | Ensemble, codes: CodeArray, rng: np.random.Generator) -> FloatArray:
    """Draw missing values of columns jointly: cells (rows, observed variables)."""
    return draw_open(model, codes, rng)[:, list(model.network.observed)]


def _draw_by_model(model: Model, codes: CodeArray, rng: np.random.Generator) -> FloatArray:
    network = model.network
    whole = shown(model, network.hidden) if network.hidden else model
    full = np.full((len(codes), len(network.variables)), -1, dtype=np.int64)
    full[:, list(network.observed)] = codes
    has_children = {p for pa in network.parents for p in pa}
    numbers: dict[int, FloatArray] = {}
    for v in network.order:
        rows = np.flatnonzero(full[:, v] < 0)
        if not network.variables[v].family.tabular:
            numbers |= _numbers(whole, v, full, rows, rng)
        elif len(rows):
            p = _given_rest(whole, v, full, rows, leaf=v not in has_children)
            drawn = draw_states(p, len(rows), rng)
            full[rows, v] = np.where(p.sum(axis=1) > 0, drawn, -1)
    cells = np.where(full < 0, np.nan, full)
    for v, values in numbers.items():
        cells[:, v] = values
    return cells


def _given_rest(model: Model, v: int, full: IntArray, rows: IntArray, *, leaf: bool) -> FloatArray:
    """p(variable | evidence) of some rows, (rows, states)."""
    parents = full[rows][:, list(model.network.parents[v])]
    if leaf and (parents >= 0).all():  # it depends on its parents only
        table = model.network.layout.table(model.theta, v)
        return np.broadcast_to(table[tuple(parents.T)], (len(rows), table.shape[-1]))
    return posterior(model, full[rows].astype(np.int32), [(v,)])[0]


def _numbers(
    model: Model, v: int, full: IntArray, rows: IntArray, rng: np.random.Generator
) -> dict[int, FloatArray]:
    """Values of a number, or of its block, in every row: observed, or drawn given the parents."""
    network, block = model.network, members(model.network, v)
    if len(block) == 1:
        values = np.asarray(network.variables[v].states, dtype=np.float64)[full[:, v]]
        parents = full[rows][:, list(network.parents[v])]
        possible = (parents >= 0).all(axis=1)
        values[rows] = np.nan
        if possible.any():
            drawn = draw_numbers(model, v, tuple(parents[possible].T), int(possible.sum()), rng)
            values[rows[possible]] = drawn[:, 0]
        return {v: values}
    if not block:
        return {}
    (root,) = network.parents[block[0]]
    rows = np.flatnonzero(full[:, root] >= 0)
    cells = np.full((len(full), len(block)), np.nan)
    observed = full[rows][:, list(network.observed)]
    cells[rows] = draw_block(model, block, observed, full[rows, root], rng)
    units = [network.variables[i].unit or Unit() for i in block]
    return {i: unit.values(x) for i, unit, x in zip(block, units, cells.T, strict=True)}


# Tail probabilities of rows among rows with the same missing-data pattern.

TIE = 1e-9  # nats: rounding differences between equal sums
FEWEST, DRAWS = 1, 1_000  # rows to compare with: minimum and default


def tail_probabilities(
    model: Model | Ensemble, codes: CodeArray, draws: int, rng: np.random.Generator
) -> FloatArray:
    """P(a row with the same missing-data pattern is at most as probable), (rows,).

    With covariates, these are equal too.
    """
    if isinstance(model, Model) and model.given is not None:
        items, pattern, p = codes[:, :-1], codes[:, -1], np.empty(len(codes))
        for k in np.unique(pattern).tolist():  # codes of the covariates come last
            mine = pattern == k
            p[mine] = tail_probabilities(at_given(model, k), items[mine], draws, rng)
        return p
    log_lik = log_lik_of(model, codes)
    drawn = sample_rows(model, draws, rng)
    columns = [Column(v.name, v.states, kind_of(v)) for v in drawn.variables]
    same = all_with_values(model, columns)
    patterns, which = np.unique(codes >= 0, axis=0, return_inverse=True)
    p = np.empty(len(codes))
    for k, pattern in enumerate(patterns):
        rows = np.flatnonzero(which.reshape(-1) == k)
        every = _configurations(model, pattern, draws)
        if every is None:
            others = log_lik_of(same, np.where(pattern, drawn.codes, -1).astype(np.int32))
            p[rows] = (1 + _at_most(log_lik[rows], others, np.ones(draws))) / (draws + 1)
        else:
            others = log_lik_of(model, every)
            p[rows] = np.minimum(_at_most(log_lik[rows], others, np.exp(others)), 1.0)
    return p


def _at_most(log_p_of_row: FloatArray, others: FloatArray, weights: FloatArray) -> FloatArray:
    """Total weight of the others that are at most as probable as each of `log_p_of_row`, (own,)."""
    order = np.argsort(others)
    sums = np.concatenate([[0.0], np.cumsum(weights[order])])
    return np.asarray(sums[np.searchsorted(others[order], log_p_of_row + TIE, side="right")])


def _configurations(model: Model | Ensemble, shown: BoolArray, most: int) -> CodeArray | None:
    """All configurations of the shown columns, (configurations, columns); None if many."""
    network = model.network
    variables = [network.variables[i] for i in network.observed]
    sizes = [len(v.states) if s else 1 for v, s in zip(variables, shown, strict=True)]
    numbers = any(s and not v.family.tabular for v, s in zip(variables, shown, strict=True))
    if numbers or math.prod(sizes) > most:
        return None
    every = np.indices(sizes).reshape(len(sizes), -1).T
    return np.where(shown, every, -1).astype(np.int32)
