"""Derived models: interventions, soft evidence, changed visibility, covariates; and random data.

Evidence about a case is encoded in the structure, so that queries need only a model and a row.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import index

import numpy as np

from lacunet.errors import ModelError, OptionError
from lacunet.likelihoods import with_prior
from lacunet.likelihoods.joint_normal import joint_statistics
from lacunet.likelihoods.unit import Unit
from lacunet.models.latent_class import check_table_sizes
from lacunet.models.network import Model, Network, Variable
from lacunet.runtime.arrays import CodeArray, FloatArray, IntArray
from lacunet.runtime.states import Numbers, State

COVARIATES = "covariates"  # name of the parent of a class that covariates predict


def without_causes(network: Network, variables: Collection[int]) -> Network:
    """Remove the edges into intervened variables."""
    parents = [() if i in variables else pa for i, pa in enumerate(network.parents)]
    return Network(_unconstrained(network.variables), tuple(parents))


def intervened(model: Model, states: Mapping[int, int]) -> Model:
    """The model after the intervention do(X = x)."""
    tables = model.tables
    for i, k in states.items():
        tables[i] = np.eye(model.network.layout.cards[i])[k]
    return _without_prior(model, without_causes(model.network, states), tables)


def with_soft_evidence(model: Model, likelihoods: Mapping[int, FloatArray]) -> Model:
    """Add a soft-evidence node for each variable with uncertain evidence.

    It is an observed child with one state, and its table is p(evidence | state of the variable),
    not normalised (Pearl's virtual evidence). The nodes come last, in the order of `likelihoods`.
    """
    names = fresh_names(model.network, "soft_evidence", len(likelihoods))
    nodes = (Variable(name, (0,)) for name in names)
    parents = [*model.network.parents, *((i,) for i in likelihoods)]
    network = Network.build([*_unconstrained(model.network.variables), *nodes], parents)
    return _without_prior(
        model, network, [*model.tables, *(w[:, None] for w in likelihoods.values())]
    )


def shown(model: Model, variables: Collection[int]) -> Model:
    """Declare hidden variables observed; the parameters stay."""
    changed = tuple(
        replace(v, hidden=v.hidden and i not in variables)
        for i, v in enumerate(_unconstrained(model.network.variables))
    )
    return _without_prior(model, Network(changed, model.network.parents), model.tables)


def hide(model: Model, names: Sequence[str]) -> Model:
    """Declare variables of a model hidden; its parameters stay."""
    network, old = with_hidden(model.network, dict.fromkeys(names)), model.network.layout
    every = range(len(old.cards))  # the storage order changes: hidden variables come last
    return model.moved(network, lambda x: network.layout.flat([old.table(x, i) for i in every]))


def with_hidden(network: Network, sizes: Mapping[str, int | None]) -> Network:
    """Declare variables hidden; a size k gives them the states 1 to k. Edges stay."""
    for name, size in sizes.items():
        network.index(name)
        if size is not None and size < 1:
            raise ModelError(f"hidden variable '{name}': {size} states; there must be at least 1.")
    cards = [sizes.get(v.name) or len(v.states) for v in network.variables]
    check_table_sizes([v.name for v in network.variables], cards, network.parents)
    variables = []
    for v in network.variables:
        size = sizes.get(v.name)
        states = v.states if size is None else tuple(range(1, size + 1))
        variables.append(replace(v, states=states, hidden=v.hidden or v.name in sizes))
    return Network.build(variables, network.parents)


def with_observed_states(network: Network, states: Mapping[str, Sequence[State]]) -> Network:
    """Replace the states of observed variables, by name; hidden variables and edges stay."""
    variables = [
        v if v.hidden else replace(v, states=tuple(states[v.name])) for v in network.variables
    ]
    cards = [len(v.states) for v in variables]
    check_table_sizes([v.name for v in variables], cards, network.parents)
    return Network.build(variables, network.parents)


def with_shown(network: Network, variables: Sequence[Variable]) -> Network:
    """Replace the observed variables, in their order; the edges stay."""
    new = dict(zip(network.observed, variables, strict=True))
    if all(v is network.variables[i] for i, v in new.items()):
        return network
    return Network.build([new.get(i, v) for i, v in enumerate(network.variables)], network.parents)


def predicted(model: Model, matrix: FloatArray) -> Model:
    """Add the covariates as an observed parent of the class that they predict.

    It comes last, with a state for each row of a design, (patterns, p), and has no probability:
    everything is conditional on the covariates.
    """
    predictors, network, tables = model.predictors, model.network, model.tables
    assert predictors is not None
    root, above = network.index(predictors.variable), len(network.variables)
    tables[root] = predictors.sizes(matrix)
    parent = Variable(fresh_names(network, COVARIATES, 1)[0], tuple(range(len(matrix))))
    parents = [(above,) if i == root else pa for i, pa in enumerate(network.parents)]
    whole = Network.build([*_unconstrained(network.variables), parent], [*parents, ()])
    return replace(_without_prior(model, whole, [*tables, np.ones(len(matrix))]), given=above)


def at_given(model: Model, state: int) -> Model:
    """Condition on a state of the given variable, which comes last, and remove it."""
    network, above, tables = model.network, model.given, model.tables[:-1]
    assert above == len(network.variables) - 1
    for i, parents in enumerate(network.parents[:above]):
        if above in parents:
            tables[i] = np.take(tables[i], state, axis=parents.index(above))
    rest = [tuple(p for p in pa if p != above) for pa in network.parents[:above]]
    return _without_prior(model, Network.build(network.variables[:above], rest), tables)


def _unconstrained(variables: Sequence[Variable]) -> tuple[Variable, ...]:
    """Variables without constraints on their tables, which only learning uses."""
    return tuple(replace(v, known=None, tied_to=None) for v in variables)


def fresh_names(network: Network, stem: str, number: int) -> list[str]:
    """Unused names for new variables."""
    taken = {v.name for v in network.variables}
    names = (f"{stem} {k}" for k in range(number + len(taken)))
    return [name for name in names if name not in taken][:number]


def _without_prior(model: Model, network: Network, tables: list[FloatArray]) -> Model:
    """The model of these tables, with exponents 1; numbers keep their posterior."""
    layout, old, averaged = network.layout, model.network.layout, model.averaged
    theta = layout.flat(tables)
    if averaged is not None:
        kinds = enumerate(zip(tables, layout.kinds, strict=True))
        averaged = layout.flat(
            [t if kind.tabular else old.table(averaged, i) for i, (t, kind) in kinds]
        )
    return Model(network, theta, np.ones_like(theta), averaged=averaged)


def members(network: Network, i: int) -> list[int]:
    """The variables with parameters at variable i: itself, its whole block, or none."""
    name, first = network.variables[i].name, network.variables[i].family.stands_at
    if first is None:
        return [i]
    return [j for j, v in enumerate(network.variables) if v.family.stands_at == first == name]


def statistics_of(network: Network, i: int, codes: Mapping[int, CodeArray]) -> FloatArray:
    """T(x) at variable i, (rows, width), of rows with all members observed."""
    if network.variables[i].family.stands_at is None:
        return network.variables[i].statistics_of(codes[i])
    values = [network.variables[j].values_of(codes[j]) for j in members(network, i)]
    return joint_statistics(np.stack(values, axis=1))


def table_of(network: Network, x: FloatArray, i: int) -> FloatArray:
    """The table of family i in a flat vector; for a block, that of its first variable."""
    shared = network.variables[i].family.stands_at
    return network.layout.table(x, i if shared is None else network.index(shared))


NOTHING: Mapping[int, CodeArray] = {}


@dataclass(frozen=True, eq=False)
class Drawn:
    """Drawn rows; the states of numeric variables are the values that occur."""

    variables: tuple[Variable, ...]
    codes: CodeArray  # (rows, variables), -1 = missing


def sample_codes(
    model: Model, rows: int, rng: np.random.Generator, missing_rate: float = 0.0
) -> CodeArray:
    """Draw rows of observed categories, then delete values completely at random.

    Returns
    -------
    codes : (rows, number of observed variables), -1 = missing
    """
    model.network.refuse_numbers()
    return coded([], sample_shown(model, rows, rng, missing_rate)).codes


def sample_shown(
    model: Model,
    rows: int,
    rng: np.random.Generator,
    missing_rate: float = 0.0,
    fixed: Mapping[int, CodeArray] = NOTHING,
) -> FloatArray:
    """Draw cells of the observed variables, (rows, observed), NaN = missing; see `sample_cells`."""
    if not 0 <= missing_rate < 1:
        raise OptionError(f"a missing rate of {missing_rate:g} is not allowed: give 0 ≤ p < 1.")
    seen = sample_cells(model, rows, rng, fixed)[:, list(model.network.observed)]
    if missing_rate:
        seen[rng.random(seen.shape) < missing_rate] = np.nan
    return seen


def sample_cells(
    model: Model,
    rows: int,
    rng: np.random.Generator,
    fixed: Mapping[int, CodeArray] = NOTHING,
) -> FloatArray:
    """Draw rows of all variables, hidden ones included: (rows, number of variables).

    Categories are state indices, from 0. `fixed` has the states, (rows,), of variables without
    parents that are not drawn.
    """
    check_rows(rows)
    network = model.network
    codes = np.empty((rows, len(network.variables)), dtype=np.int32)
    numbers: dict[int, FloatArray] = {}
    for i in network.order:
        if i in fixed:
            codes[:, i] = fixed[i]
            continue
        configuration = tuple(codes[:, list(network.parents[i])].T)  # numbers are not parents
        if network.variables[i].family.tabular:
            p = network.layout.table(model.theta, i)[configuration]  # (rows, r_i) or (r_i,)
            codes[:, i] = draw_states(p, rows, rng)
        elif together := members(network, i):  # a block is drawn at its first number
            drawn = draw_numbers(model, i, configuration, rows, rng)
            numbers |= dict(zip(together, drawn.T, strict=True))
    cells = codes.astype(np.float64)
    for i, drawn in numbers.items():
        cells[:, i] = drawn
    return cells


def draw_states(p: FloatArray, rows: int, rng: np.random.Generator) -> IntArray:
    """Draw a state for each row with probabilities (rows, states), or (states,) for all."""
    cumulative = np.cumsum(p, axis=-1)
    # Without scaling by the last value, rounding could draw a state beyond the last one.
    u = rng.random(rows) * cumulative[..., -1]
    return np.asarray(np.sum(u[:, None] >= cumulative, axis=-1))


def draw_numbers(
    model: Model, i: int, configuration: tuple[IntArray, ...], rows: int, rng: np.random.Generator
) -> FloatArray:
    """Draw a number or a block given parent states, (rows,) each: (rows, size of the block)."""
    family = model.network.variables[i].family
    table = model.network.layout.table(model.by_configuration, i)
    each = np.ascontiguousarray(np.broadcast_to(table[configuration], (rows, table.shape[-1])))
    at_theta = model.averaged is None
    draw = family.draw_values if at_theta else with_prior(family).draw_averaged
    drawn = draw(each, rng).reshape(rows, -1)
    units = [model.network.variables[j].unit or Unit() for j in members(model.network, i)]
    return np.stack([unit.values(x) for unit, x in zip(units, drawn.T, strict=True)], axis=1)


def coded(variables: Sequence[Variable], cells: FloatArray) -> Drawn:
    """Code drawn cells (rows, variables), NaN = missing; numbers by the values that occur."""
    codes = np.where(np.isnan(cells), -1, cells)
    recoded = list(variables)
    for j, v in enumerate(variables):
        if not v.family.tabular:
            observed = ~np.isnan(cells[:, j])
            values, codes[observed, j] = np.unique(cells[observed, j], return_inverse=True)
            if len(values):
                recoded[j] = replace(v, states=Numbers(values))
    return Drawn(tuple(recoded), np.ascontiguousarray(codes, dtype=np.int32))


def check_rows(rows: int) -> None:
    """Raise OptionError unless the number of rows is a positive integer."""
    try:
        number = index(rows)
    except TypeError:
        raise OptionError(f"{rows!r} rows: give a whole number.") from None
    if number < 1:
        raise OptionError(f"{rows} rows: there must be at least 1.")
