"""How a model with hidden variables looks: class profiles, or the tables around what is hidden.

What a network or a model is: in a line, as tables to read, and as columns of a dataframe.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from lacunet.models.latent_class import classes_of, is_latent_class
from lacunet.models.network import Model, Network, Variable
from lacunet.models.surgery import table_of
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.states import label
from lacunet.tabular import Columns, Grid, measured, probability, transposed

TABLES = 12  # tables shown at most, of those around hidden variables
EVERY = 200  # tables shown at most, where all are asked for
ROWS = 24  # parent configurations of a table that is shown


def model_grids(model: Model) -> list[Grid]:
    """Show what was learned of hidden variables; nothing if there are none."""
    if is_latent_class(model.network):
        return [profile_grid(model)]
    return hidden_grids(model)


def known_words(network: Network) -> Iterator[str]:
    """Say which tables are not learned, each by itself."""
    variables = [network.variables[i] for i in network.shown]
    fixed = [v.name for v in variables if v.known is not None and v.known.fixed]
    zeros = [v.name for v in variables if v.known is not None and not v.known.fixed]
    if fixed:
        yield f"fixed tables: {', '.join(fixed)}"
    if zeros:
        yield f"tables with zeros: {', '.join(zeros)}"
    for leader in dict.fromkeys(v.tied_to for v in variables if v.tied_to is not None):
        others = [v.name for v in variables if v.tied_to == leader]
        yield f"one table: {', '.join([leader, *others])}"


def profile_grid(model: Model) -> Grid:
    """One column per class: its size, then p(state | class) of every variable.

    Of a variable with two states only the second is shown; the first has the rest.
    """
    network, layout = model.network, model.network.layout
    classes = classes_of(network)
    sizes = layout.table(model.theta, classes.root)
    rows = [("size", *(probability(p) for p in sizes))]
    for i in (i for i in network.shown if i in classes.leaves):
        v, table = network.variables[i], table_of(network, model.theta, i)
        rows.extend(profile_lines(v, table))
    root = classes.variable
    header = ("", *(f"{root.name} {label(s)}" for s in root.states))
    numbers = not all(network.variables[i].family.tabular for i in classes.leaves)
    title = "Class profiles: p(answer | class)" + ", numbers by class" * numbers
    shown = (network.variables[i] for i in network.shown)
    notes = tuple(f"{v.name}: {v.title}" for v in shown if v.title)
    return Grid(title, header, tuple(rows), notes=notes)


def profile_lines(v: Variable, table: FloatArray) -> Iterator[tuple[str, ...]]:
    """Lines of one variable, a column per class."""
    if not v.family.tabular:
        for title, values in v.told(table).items():
            yield (f"{v.name}: {title}", *(measured(x) for x in values.tolist()))
        return
    for k in range(1 if len(v.states) == 2 else 0, len(v.states)):
        yield (f"{v.name} = {v.labels[k]}", *(probability(p) for p in table[:, k]))


def hidden_grids(model: Model) -> list[Grid]:
    """Give the table of every family with a hidden variable, as long as they are few and small."""
    short, left = shown_families(model.network)
    grids = [_family_grid(model, i) for i in short]
    if left:
        grids.append(Grid("", (), (), notes=(f"{left}: --save keeps all.",)))
    return grids


def shown_families(network: Network) -> tuple[list[int], str]:
    """Give the families with a hidden variable that are few and small; say what is left out."""
    families = network.layout.families
    around = [i for i in network.shown if set(families[i]) & set(network.hidden)]
    short = [i for i in around if _rows(network, i) <= ROWS][:TABLES]
    left = len(around) - len(short)
    what = "table of a hidden variable is" if left == 1 else "tables of hidden variables are"
    return short, f"{left} more {what} not shown" if left else ""


def table_grids(model: Model) -> tuple[list[Grid], str]:
    """Give the table of every family, as long as they are few and small; say what is left out."""
    network = model.network
    short = [i for i in network.shown if _rows(network, i) <= ROWS][:EVERY]
    left = len(network.variables) - len(short)
    said = f"{left} more, which are large, {'is' if left == 1 else 'are'} in the model file only."
    return [_family_grid(model, i) for i in short], said if left else ""


def table_lines(model: Model, i: int, rows: int = 12, states: int = 6) -> list[tuple[str, ...]]:
    """Give p(variable | parents) in a few lines, for a tip: title, states, then rows."""
    network = model.network
    v, parents = network.variables[i], [network.variables[p] for p in network.parents[i]]
    given = f" | {', '.join(p.name for p in parents)}" if parents else ""
    title = (f"p({v.name}{given})",)
    header, table = _cells(model, i)
    more = ("…",) if len(header) > states else ()
    lines = [
        (", ".join(labels), *row[:states], *more)
        for labels, row in zip(_configurations(parents, rows), table, strict=False)
    ]
    left = len(table) - len(lines)
    rest = [(f"… {left:,} more row{'s' * (left > 1)}",)] if left else []
    return [title, ("", *header[:states], *more), *lines, *rest]


def _cells(model: Model, i: int) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """A family's table as texts: titles of its columns, and a line for each configuration."""
    v, table = model.network.variables[i], table_of(model.network, model.theta, i)
    table = table.reshape(-1, table.shape[-1])
    if v.family.tabular:
        return v.labels, [tuple(probability(p) for p in row) for row in table.tolist()]
    told = v.told(table)
    lines = zip(*(x.tolist() for x in told.values()), strict=True)
    return tuple(told), [tuple(measured(x) for x in line) for line in lines]


def _configurations(parents: Sequence[Variable], most: int) -> Iterator[tuple[str, ...]]:
    return itertools.islice(itertools.product(*(p.labels for p in parents)), most)


def _rows(network: Network, i: int) -> int:
    return math.prod(len(network.variables[p].states) for p in network.parents[i])


def _family_grid(model: Model, i: int) -> Grid:
    """One row for each parent configuration, one column for each state."""
    network = model.network
    child, parents = network.variables[i], [network.variables[p] for p in network.parents[i]]
    titles, table = _cells(model, i)
    names = [p.name for p in parents]
    given = f"{child.name} | {', '.join(names)}" if names else child.name
    rows = tuple(
        (*states, *line)
        for states, line in zip(itertools.product(*(p.labels for p in parents)), table, strict=True)
    )
    joint = " = " if child.family.tabular else ": "
    header = (*names, *(f"{child.name}{joint}{title}" for title in titles))
    return Grid(f"p({given})", header, rows, frozenset(range(len(names))))


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
