"""Variables for the columns of a table: the family, the unit and the prior of each."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lacunet.data.design import MOST_CASES
from lacunet.data.discover import weighed
from lacunet.data.kinds import ColumnKind, Kinds
from lacunet.data.table import Column, Table
from lacunet.errors import DataError, OptionError
from lacunet.likelihoods import GAUSSIAN, POISSON, Binomial, Gaussian, GaussianBlock
from lacunet.likelihoods.unit import SMALLEST, Unit
from lacunet.models.ensemble import Ensemble
from lacunet.models.network import Model, Network, Variable
from lacunet.models.number_prior import Covariance, Extent, NumberPrior
from lacunet.runtime.arrays import CodeArray, FloatArray
from lacunet.runtime.rows import in_passing

SAME = 1e-9  # standard deviations by which linearly dependent columns may differ
SHRUNK = 1e-3  # weight of the identity in correlations: R² is at most about 99.9 %
NEARLY = 1 - 1e-6  # squared correlation from which columns are compared
FARTHEST = 1e100  # standard deviations of a column: squares stay finite, with room for factors
KINDS = {
    "gaussian": ColumnKind.GAUSSIAN,
    "poisson": ColumnKind.POISSON,
    "binomial": ColumnKind.ORDINAL,
    "gaussian_block": ColumnKind.GAUSSIAN,
}


def check_independent(numbers: FloatArray, names: Sequence[str]) -> None:
    """Refuse linearly dependent columns, (rows, columns) with NaN for missing values.

    They have no joint density. Numbers are of order 1. Pairs of columns are compared in the rows
    that show both, larger sets in complete rows.
    """
    shown = np.isfinite(numbers)
    covariance, variance = _pairwise(numbers, np.ones(len(numbers)))
    same = covariance**2 >= NEARLY * variance * variance.T
    for a, b in np.argwhere(np.triu(same, 1)):
        pairs = numbers[shown[:, a] & shown[:, b]][:, [a, b]]
        if flat_direction(pairs) is not None:
            raise DataError(
                f"'{names[a]}' and '{names[b]}' are linear functions of each other, so they have "
                f"no joint density. Leave one of them out: --exclude {names[b]}."
            )
    along = flat_direction(numbers[shown.all(axis=1)])
    if along is not None:
        *others, last = (f"'{names[k]}'" for k in np.flatnonzero(np.abs(along) > SAME).tolist())
        raise DataError(
            f"{last} follows from {', '.join(others)}: together they have no density. Leave one of "
            f"them out: --exclude {last[1:-1]}."
        )


def independent(numbers: FloatArray) -> list[int]:
    """Columns, of (rows, columns) with NaN if missing, linearly independent of those before."""
    whole = numbers[np.isfinite(numbers).all(axis=1)]
    if flat_direction(whole) is None:
        return list(range(numbers.shape[1]))
    basis: list[int] = []
    for j in range(numbers.shape[1]):
        if flat_direction(whole[:, [*basis, j]]) is None:
            basis.append(j)
    return basis


def _pairwise(numbers: FloatArray, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Covariances, (d, d), over rows that show both columns; [a, b] variances of a in these."""
    shown = np.isfinite(numbers)
    x, present, weight = np.where(shown, numbers, 0.0), shown.astype(np.float64), counts[:, None]
    n = (weight * present).T @ present
    n = np.where(n > 0, n, 1.0)
    mean = (weight * x).T @ present / n
    variance = np.maximum((weight * x**2).T @ present / n - mean**2, 0.0)
    return (weight * x).T @ x / n - mean * mean.T, variance


def flat_direction(x: FloatArray) -> FloatArray | None:
    """Weights, (d,), of a linear combination that is constant over rows, (n, d), or None."""
    rows, d = x.shape
    if rows <= d:
        return None
    _, sizes, directions = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)
    return directions[-1] if sizes[-1] < SAME * np.sqrt(rows) else None


def unexplained(numbers: FloatArray, counts: FloatArray) -> FloatArray:
    """Shares of variances that regressions on the other columns do not explain, diagonal (d, d).

    1 − R², adjusted for the number of cases; 1 without more cases than columns. Correlations are
    pairwise and weighted, so negative eigenvalues are set to 0. Shrinkage keeps shares above 0.
    """
    shown, d = np.isfinite(numbers).astype(np.float64), numbers.shape[1]
    pairs = (counts[:, None] * shown).T @ shown
    covariance, variance = _pairwise(numbers, counts)
    size = np.sqrt(variance * variance.T)
    R = covariance / np.where(size > 0, size, 1.0)
    np.fill_diagonal(R, 1.0)
    sizes, directions = np.linalg.eigh((R + R.T) / 2.0)
    R = (directions * np.maximum(sizes, 0.0)) @ directions.T
    R /= np.sqrt(np.outer(np.diagonal(R), np.diagonal(R)))
    R = (1.0 - SHRUNK) * R + SHRUNK * np.eye(d)
    cases = pairs.min(axis=1)
    adjusted = (cases - 1.0) / np.diagonal(np.linalg.inv(R))
    known = adjusted < cases - d  # elsewhere nothing is explained
    return np.diag(np.where(known, adjusted / np.where(known, cases - d, 1.0), 1.0))


def leaves_of(table: Table, prior: NumberPrior) -> list[Variable]:
    """Variables for all columns; any parents can be added."""
    leaves = [_leaf(table, j, prior) for j in range(len(table.columns))]
    _join_blocks(leaves, table, prior)
    if prior.covariance.common:
        for j, v in enumerate(leaves):
            if isinstance(v.family, Gaussian | GaussianBlock):
                leaves[j] = replace(v, family=replace(v.family, common=True))
    return leaves


def leaves_apart(table: Table, prior: NumberPrior) -> list[Variable]:
    """Variables for all columns of a given or searched graph, without blocks of numbers."""
    if prior.covariance != Covariance():
        raise OptionError(
            "--covariance is about Gaussian columns below latent classes: give a number of states, "
            "not a network or a graph to be learned."
        )
    return leaves_of(table, prior)


def _join_blocks(leaves: list[Variable], table: Table, prior: NumberPrior) -> None:
    """Replace columns that covary within classes by blocks with one joint distribution."""
    places = {v.name: j for j, v in enumerate(leaves)}
    for block in prior.covariance.blocks([v.name for v in leaves if v.family == GAUSSIAN]):
        members = tuple(sorted(block, key=places.__getitem__))
        shown = [_numbers(leaves[j], table.codes[:, j]) for j in map(places.__getitem__, members)]
        numbers = np.stack(shown, axis=1)
        check_independent(numbers, members)
        shape = unexplained(numbers, table.counts)
        extents = [_extent(leaves[places[name]]) for name in members]
        for place, name in enumerate(members):
            hyper = prior.of_block(extents, shape) if place == 0 else ()
            family = GaussianBlock(members, place)
            leaves[places[name]] = replace(leaves[places[name]], family=family, prior=hyper)


def widest_block(table: Table) -> tuple[tuple[str, ...], ...]:
    """The largest block of linearly independent Gaussian columns; empty below two columns."""
    every = [_leaf(table, j, NumberPrior()) for j in range(len(table.columns))]
    gaussian = [j for j, v in enumerate(every) if v.family == GAUSSIAN]
    shown = [_numbers(every[j], table.codes[:, j]) for j in gaussian]
    basis = independent(np.array(shown).T) if len(shown) > 1 else []
    return (tuple(every[gaussian[k]].name for k in basis),) if len(basis) > 1 else ()


def _numbers(v: Variable, codes: CodeArray) -> FloatArray:
    """Values in the unit of the family; NaN where missing."""
    return np.where(codes >= 0, v.values_of(codes), np.nan)


def _leaf(table: Table, j: int, prior: NumberPrior) -> Variable:
    column = table.columns[j]
    cases = np.zeros(len(column.states))
    for part in in_passing(table.codes, table.counts) if column.kind.number else ():
        cases += weighed(part.codes[:, j], part.counts, len(cases))
    leaf = Variable(column.name, column.states, place=column.place, title=column.title)
    if column.kind is ColumnKind.CATEGORICAL:
        return replace(leaf, bins=column.bins)
    if column.kind is ColumnKind.ORDINAL:
        low, high = int(column.states[0]), int(column.states[-1])
        _check_total(column, (high - low) * float(cases.sum()))
        return replace(leaf, family=Binomial(most=high - low), unit=Unit(float(low)))
    if column.kind is ColumnKind.POISSON:
        total = float(cases @ np.array(column.states, dtype=np.float64))
        _check_total(column, total)
        if not total:
            raise DataError(
                f"column '{column.name}': no row that weighs anything has a count above 0, so "
                f"nothing can be learned of its rate. Leave it out: --exclude {column.name}."
            )
        hyperparameters = prior.of_rate(total / cases.sum())
        return replace(leaf, family=POISSON, unit=Unit(), prior=hyperparameters)
    log = column.kind is ColumnKind.LOGNORMAL
    unit = Unit.of_column(column.states, cases / cases.sum(), log=log)
    if not unit.size:  # one distinct value, or values too close to each other
        if np.count_nonzero(cases) > 1:
            raise DataError(
                f"column '{column.name}': its values differ by less than {SMALLEST:.2g}, the "
                "smallest number with all digits. Write it in a smaller unit: multiply it, for "
                "example by 1e100."
            )
        unit = replace(unit, size=1.0)
    leaf = replace(leaf, family=GAUSSIAN, unit=unit)
    return replace(leaf, prior=prior.of_gaussian(_extent(leaf)))


def _extent(v: Variable) -> Extent:
    """Range and smallest gap of a column in the unit of its family; 1 for a single value."""
    x = np.asarray(v.values, dtype=np.float64)
    return Extent(float(np.ptp(x)) or 1.0, float(np.diff(x).min(initial=1.0)))


def _check_total(column: Column, total: float) -> None:
    """Refuse counts whose sum is so large that adding 1 is lost in rounding."""
    if not total <= MOST_CASES:
        raise DataError(
            f"column '{column.name}': its values count {total:.3g} in all, and {MOST_CASES:g} are "
            "the most: beyond, log probabilities are lost in rounding. Count in a larger unit, "
            f"such as thousands, or treat them as measurements: --kinds {column.name}=gaussian."
        )


def kind_of(variable: Variable) -> ColumnKind:
    """The column kind that matches a variable."""
    log = variable.unit is not None and variable.unit.log
    return ColumnKind.LOGNORMAL if log else KINDS.get(variable.family.name, ColumnKind.CATEGORICAL)


def with_numbers(network: Network, table: Table, prior: NumberPrior) -> Network:
    """Give variables of numeric columns the family, unit and prior of their columns.

    A variable with a prior keeps it, and its unit.
    """
    columns = {c.name: j for j, c in enumerate(table.columns) if c.kind.number}
    if not columns:
        return network
    leaves = leaves_apart(table, prior)
    variables = [
        v
        if v.name not in columns or v.hidden
        else _shown(v, table.columns[columns[v.name]])
        if v.prior
        else replace(leaves[columns[v.name]], place=v.place)
        for v in network.variables
    ]
    return Network.build(variables, network.parents)


def kinds_of(network: Network) -> Kinds:
    """Column kinds that match a network: numbers, ordered answers, bins."""
    numbers = [v for v in network.variables if not v.family.tabular]
    bins = {v.name: v.bins for v in network.variables if v.bins is not None}
    ends = {v.name: v.ends for v in numbers}
    return Kinds({v.name: kind_of(v) for v in numbers}, bins=bins, ends=ends)


def with_values(model: Model, columns: Sequence[Column]) -> Model:
    """Replace the values of numeric variables by those of the columns; parameters stay."""
    network, numbers = model.network, {c.name: c for c in columns if c.kind.number and c.states}
    if network.layout.tabular:
        return model
    variables = [_shown(v, numbers[v.name]) if v.name in numbers else v for v in network.variables]
    return replace(model, network=Network.build(variables, network.parents))


def all_with_values(model: Model | Ensemble, columns: Sequence[Column]) -> Model | Ensemble:
    """Apply `with_values` to a model, or to all members of an ensemble."""
    if isinstance(model, Model):
        return with_values(model, columns)
    members = (replace(m, model=with_values(m.model, columns)) for m in model.members)
    return replace(model, members=tuple(members))


def _shown(v: Variable, column: Column) -> Variable:
    (low, high), x = v.ends, np.asarray(column.states, dtype=np.float64)
    outside = np.flatnonzero((x < low) | (x > high))
    if len(outside):
        raise DataError(
            f"column '{v.name}': {column.states[int(outside[0])]} is not among the answers of the "
            f"model, which go from {low:g} to {high:g}."
        )
    if v.family.whole:
        _check_total(column, float(x.max(initial=0.0) - (low if np.isfinite(low) else 0.0)))
    shown = replace(v, states=column.states)
    far = np.flatnonzero(~(np.abs(np.asarray(shown.values, dtype=np.float64)) <= FARTHEST))
    if len(far) and not v.family.whole:
        raise DataError(
            f"column '{v.name}': {column.states[int(far[0])]} is more than {FARTHEST:g} standard "
            "deviations away from what the model was fitted to, so far that no float holds its "
            f"probability. Correct it, or declare it with --missing={column.states[int(far[0])]}."
        )
    return shown
