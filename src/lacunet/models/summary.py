"""What a network or a model is: in a line, as tables to read, and as columns of a dataframe."""

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from lacunet.models.display import model_grids, table_grids
from lacunet.models.joint import table_of
from lacunet.models.latent_class import classes_of, is_latent_class
from lacunet.models.network import Model, Network
from lacunet.tabular import Columns, Grid, measured, transposed

LINES = 40  # variables that are shown
WRITTEN = 6  # states of a variable that are written out
PARAMETER = ("variable", "given", "state", "quantity", "value")


def network_words(network: Network) -> str:
    """Say in a line what a network is.

    >>> from lacunet.models.latent_class import latent_class
    >>> network_words(latent_class([("smokes", ("no", "yes")), ("age", (1, 2, 3))], 2))
    '2 classes behind 2 columns'
    """
    shown = len(network.observed)
    if is_latent_class(network):
        (k,) = network.hidden_sizes.values()
        return f"{k} class{'es' * (k > 1)} behind {shown} column{'s' * (shown > 1)}"
    hidden = f" and {len(network.hidden)} hidden" if network.hidden else ""
    edges = sum(len(parents) for parents in network.parents)
    return f"{shown} observed{hidden} variables, {edges} edge{'s' * (edges != 1)}"


def network_grid(network: Network) -> Grid:
    """One row per variable: its states, and its parents."""
    names = [v.name for v in network.variables]
    rows = tuple(
        (names[i], _states(network, i), ", ".join(names[p] for p in network.parents[i]) or "–")
        for i in network.shown[:LINES]
    )
    left = len(names) - len(rows)
    notes = (f"{left:,} more variables.",) if left else ()
    header = ("variable", "states", "parents")
    return Grid(network_words(network), header, rows, frozenset({0, 1, 2}), notes)


def _states(network: Network, i: int) -> str:
    v = network.variables[i]
    if not v.family.tabular:
        return "a number"
    more = ["…"] if len(v.labels) > WRITTEN else []
    written = ", ".join([*v.labels[:WRITTEN], *more])
    return f"{len(v.labels)} hidden: {written}" if v.hidden else written


def network_columns(network: Network) -> Columns:
    """A row for each variable: its states, whether it is hidden, and its parents."""
    variables, names = network.variables, [v.name for v in network.variables]
    shown = [variables[i] for i in network.shown]
    return {
        "variable": [v.name for v in shown],
        "states": [len(v.states) if v.family.tabular else None for v in shown],
        "hidden": [v.hidden for v in shown],
        "parents": [", ".join(names[p] for p in network.parents[i]) for i in network.shown],
    }


def whole_grids(model: Model) -> list[Grid]:
    """What a model is, and its tables: those around what is hidden, or else all that are small."""
    network = model.network
    by = f", predicted by {', '.join(model.predictors.names)}" if model.predictors else ""
    first = Grid(f"{network_words(network)}{by}, {model.dimension:,} parameters")
    if network.hidden:
        told = [] if model.predictors is None else [predictors_grid(model)]
        return [first, *told, *model_grids(model)]
    tables, left = table_grids(model)
    return [first, *tables, *([Grid("", notes=(left,))] if left else [])]


def predictors_grid(model: Model) -> Grid:
    """Log odds of classes, by what predicts them."""
    assert model.predictors is not None
    name, labels = _classes(model)
    rows = tuple(
        (text, title, measured(x), measured(np.exp(x))) for text, title, x in _log_odds(model)
    )
    title = f"Log odds of each {name} against {name} {labels[0]}"
    return Grid(title, (name, "covariate", "coefficient", "odds ratio"), rows, frozenset({0, 1}))


def _classes(model: Model) -> tuple[str, tuple[str, ...]]:
    """Name and states of the classes that covariates predict."""
    assert model.predictors is not None
    name = model.predictors.variable
    return name, model.network.variables[model.network.index(name)].labels


def _log_odds(model: Model) -> Iterator[tuple[str, str, float]]:
    """Class, what stands before a coefficient, and the coefficient; without the first class."""
    assert model.predictors is not None
    every = zip(_classes(model)[1], model.predictors.in_units.tolist(), strict=True)
    for text, row in itertools.islice(every, 1, None):
        yield from ((text, title, x) for title, x in zip(model.predictors.titles, row, strict=True))


def parameter_columns(model: Model) -> Columns:
    """A row for each parameter, as it is told."""
    rows = list(parameter_rows(model))
    if model.predictors is not None:
        name = model.predictors.variable
        rows += [(name, title, text, "log odds", x) for text, title, x in _log_odds(model)]
    return transposed(PARAMETER, rows)


def parameter_rows(model: Model) -> Iterator[tuple[Any, ...]]:
    """Variable, configuration of its parents, state, quantity and value, one after the other."""
    network = model.network
    for i, v in ((i, network.variables[i]) for i in network.shown):
        parents = [network.variables[p] for p in network.parents[i]]
        given = [
            ", ".join(f"{p.name}={s}" for p, s in zip(parents, states, strict=True))
            for states in itertools.product(*(p.labels for p in parents))
        ]
        table = table_of(network, model.theta, i)
        table = table.reshape(-1, table.shape[-1])
        if v.family.tabular:
            for words, row in zip(given, table.tolist(), strict=True):
                yield from ((v.name, words, *one) for one in _probabilities(v.labels, row))
            continue
        for title, values in v.told(table).items():
            for words, x in zip(given, values.tolist(), strict=True):
                yield v.name, words, None, title, x


def profile_columns(model: Model) -> Columns:
    """A row for each state of a column in each class, and for each class of a number.

    Categories have a probability; numbers have what is told of them, as mean and sd.
    """
    classes, network = classes_of(model.network), model.network
    leaves = [i for i in network.shown if i in classes.leaves]
    tables = {i: table_of(network, model.theta, i) for i in leaves}
    told = {
        i: network.variables[i].told(table)
        for i, table in tables.items()
        if not network.variables[i].family.tabular
    }
    titles = list(dict.fromkeys(title for own in told.values() for title in own))
    rows: list[tuple[Any, ...]] = []
    for i, table in tables.items():
        v = network.variables[i]
        for c, state in enumerate(classes.variable.states):
            if i in told:
                numbers = (float(told[i][t][c]) if t in told[i] else None for t in titles)
                rows.append((v.name, None, state, None, *numbers))
                continue
            each = zip(v.labels, table[c].tolist(), strict=True)
            rows += [(v.name, text, state, p, *[None] * len(titles)) for text, p in each]
    return transposed(("column", "state", "class", "probability", *titles), rows)


def _probabilities(labels: tuple[str, ...], row: list[float]) -> Iterator[tuple[Any, ...]]:
    for text, p in zip(labels, row, strict=True):
        yield text, "probability", p
