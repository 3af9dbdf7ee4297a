"""Networks and models for display: one-line summaries, text tables, dataframe columns."""

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

TABLES = 12  # most tables shown of families with hidden variables
EVERY = 200  # most tables shown of all families
ROWS = 24  # most parent configurations of a table that is shown
LINES = 40  # most variables shown
WRITTEN = 6  # most states shown of a variable
PARAMETER = ("variable", "given", "state", "quantity", "value")


def known_words(network: Network) -> Iterator[str]:
    """Describe the tables that are fixed, constrained or tied."""
    variables = [network.variables[i] for i in network.shown]
    for what, fixed in (("fixed tables", True), ("tables with zeros", False)):
        names = [v.name for v in variables if v.known is not None and v.known.fixed == fixed]
        if names:
            yield f"{what}: {', '.join(names)}"
    for leader in dict.fromkeys(v.tied_to for v in variables if v.tied_to is not None):
        others = [v.name for v in variables if v.tied_to == leader]
        yield f"one table: {', '.join([leader, *others])}"


def network_words(network: Network) -> str:
    """Summarise a network in a line.

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
    names, rows = [v.name for v in network.variables], []
    for i in network.shown[:LINES]:
        v = network.variables[i]
        states = ", ".join([*v.labels[:WRITTEN], *["…"] * (len(v.labels) > WRITTEN)])
        states = f"{len(v.labels)} hidden: {states}" if v.hidden else states
        parents = ", ".join(names[p] for p in network.parents[i]) or "–"
        rows.append((v.name, states if v.family.tabular else "a number", parents))
    left = len(names) - len(rows)
    notes = (f"{left:,} more variables.",) if left else ()
    header = ("variable", "states", "parents")
    return Grid(network_words(network), header, tuple(rows), frozenset({0, 1, 2}), notes)


def network_columns(network: Network) -> Columns:
    """Columns with a row for each variable: states, hidden, parents."""
    names, shown = [v.name for v in network.variables], network.shown
    variables = [network.variables[i] for i in shown]
    return {
        "variable": [v.name for v in variables],
        "states": [len(v.states) if v.family.tabular else None for v in variables],
        "hidden": [v.hidden for v in variables],
        "parents": [", ".join(names[p] for p in network.parents[i]) for i in shown],
    }


# Text tables


def whole_grids(model: Model) -> list[Grid]:
    """Describe a model, with the tables of hidden variables or, without these, all small ones."""
    network = model.network
    by = f", predicted by {', '.join(model.predictors.names)}" if model.predictors else ""
    first = Grid(f"{network_words(network)}{by}, {model.dimension:,} parameters")
    if network.hidden:
        of_classes = [] if model.predictors is None else [predictors_grid(model)]
        return [first, *of_classes, *model_grids(model)]
    tables, left = table_grids(model)
    return [first, *tables, *([Grid("", notes=(left,))] if left else [])]


def model_grids(model: Model) -> list[Grid]:
    """Show the tables of hidden variables; none without them."""
    return [profile_grid(model)] if is_latent_class(model.network) else hidden_grids(model)


def profile_grid(model: Model) -> Grid:
    """One column per class: its size, then p(state | class) of every variable.

    For a variable with two states, only the second is shown.
    """
    network, classes = model.network, classes_of(model.network)
    sizes, root = network.layout.table(model.theta, classes.root), classes.variable
    rows = [("size", *(probability(p) for p in sizes))]
    shown = [i for i in network.shown if i in classes.leaves]
    for i in shown:
        rows.extend(profile_lines(network.variables[i], table_of(network, model.theta, i)))
    numbers = not all(network.variables[i].family.tabular for i in shown)
    title = "Class profiles: p(answer | class)" + ", numbers by class" * numbers
    variables = (network.variables[i] for i in network.shown)
    notes = tuple(f"{v.name}: {v.title}" for v in variables if v.title)
    header = ("", *(f"{root.name} {label(s)}" for s in root.states))
    return Grid(title, header, tuple(rows), notes=notes)


def profile_lines(v: Variable, table: FloatArray) -> Iterator[tuple[str, ...]]:
    """Lines of one variable, a column per class."""
    if not v.family.tabular:
        for title, values in v.summary(table).items():
            yield (f"{v.name}: {title}", *(measured(x) for x in values.tolist()))
        return
    for k in range(1 if len(v.states) == 2 else 0, len(v.states)):
        yield (f"{v.name} = {v.labels[k]}", *(probability(p) for p in table[:, k]))


def hidden_grids(model: Model) -> list[Grid]:
    """Show the small tables of families with hidden variables, up to a limit."""
    short, left = shown_families(model.network)
    grids = [_family_grid(model, i) for i in short]
    return [*grids, Grid("", notes=(f"{left}: --save keeps all.",))] if left else grids


def shown_families(network: Network) -> tuple[list[int], str]:
    """The families with hidden variables to show, and a note on omitted ones."""
    families = network.layout.families
    around = [i for i in network.shown if set(families[i]) & set(network.hidden)]
    short = _small(network, around)[:TABLES]
    left = len(around) - len(short)
    what = "table of a hidden variable is" if left == 1 else "tables of hidden variables are"
    return short, f"{left} more {what} not shown" if left else ""


def table_grids(model: Model) -> tuple[list[Grid], str]:
    """The small tables of all families, up to a limit, and a note on omitted ones."""
    network = model.network
    short = _small(network, network.shown)[:EVERY]
    left = len(network.variables) - len(short)
    rest = f"{left} more, which are large, {'is' if left == 1 else 'are'} in the model file only."
    return [_family_grid(model, i) for i in short], rest if left else ""


def _small(network: Network, families: Sequence[int]) -> list[int]:
    return [i for i in families if math.prod(network.shape(i)[:-1]) <= ROWS]


def _parents(network: Network, i: int) -> list[Variable]:
    return [network.variables[p] for p in network.parents[i]]


def _configurations(parents: Sequence[Variable]) -> Iterator[tuple[str, ...]]:
    return itertools.product(*(p.labels for p in parents))


def _rows_of_table(model: Model, i: int) -> FloatArray:
    """The table of a family, with a row for each configuration."""
    table = table_of(model.network, model.theta, i)
    return table.reshape(-1, table.shape[-1])


def _cells(model: Model, i: int) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The table of a family as text: column titles, and a line for each configuration."""
    v, table = model.network.variables[i], _rows_of_table(model, i)
    if v.family.tabular:
        return v.labels, [tuple(map(probability, row)) for row in table.tolist()]
    columns = v.summary(table)
    lines = zip(*(x.tolist() for x in columns.values()), strict=True)
    return tuple(columns), [tuple(map(measured, line)) for line in lines]


def _family_grid(model: Model, i: int) -> Grid:
    """One row for each parent configuration, one column for each state."""
    child, parents = model.network.variables[i], _parents(model.network, i)
    titles, table = _cells(model, i)
    names = [p.name for p in parents]
    rows = zip(_configurations(parents), table, strict=True)
    joint = " = " if child.family.tabular else ": "
    return Grid(
        f"p({' | '.join(filter(None, [child.name, ', '.join(names)]))})",
        (*names, *(f"{child.name}{joint}{title}" for title in titles)),
        tuple((*states, *line) for states, line in rows),
        frozenset(range(len(names))),
    )


def table_lines(model: Model, i: int, rows: int = 12, states: int = 6) -> list[tuple[str, ...]]:
    """Format p(variable | parents) in a few lines, for a tooltip: title, states, then rows."""
    v, parents = model.network.variables[i], _parents(model.network, i)
    given = f" | {', '.join(p.name for p in parents)}" if parents else ""
    header, table = _cells(model, i)
    more = ("…",) if len(header) > states else ()
    lines = [
        (", ".join(labels), *row[:states], *more)
        for labels, row in zip(_configurations(parents), table[:rows], strict=False)
    ]
    left = len(table) - len(lines)
    rest = [(f"… {left:,} more row{'s' * (left > 1)}",)] if left else []
    return [(f"p({v.name}{given})",), ("", *header[:states], *more), *lines, *rest]


def predictors_grid(model: Model) -> Grid:
    """Show the log odds of classes by covariate."""
    name, labels, log_odds = _log_odds(model)
    rows = tuple((text, title, measured(x), measured(np.exp(x))) for text, title, x in log_odds)
    title = f"Log odds of each {name} against {name} {labels[0]}"
    return Grid(title, (name, "covariate", "coefficient", "odds ratio"), rows, frozenset({0, 1}))


def _log_odds(model: Model) -> tuple[str, tuple[str, ...], list[tuple[str, str, float]]]:
    """Name and labels of the predicted class variable; class, column and coefficient."""
    assert model.predictors is not None
    name, titles = model.predictors.variable, model.predictors.titles
    labels = model.network.variables[model.network.index(name)].labels
    rows = zip(labels[1:], model.predictors.in_units[1:].tolist(), strict=True)
    each = [(text, title, x) for text, row in rows for title, x in zip(titles, row, strict=True)]
    return name, labels, each


# Columns of dataframes


def parameter_columns(model: Model) -> Columns:
    """Columns with a row for each parameter."""
    rows = list(parameter_rows(model))
    if model.predictors is not None:
        name, _, log_odds = _log_odds(model)
        rows += [(name, title, text, "log odds", x) for text, title, x in log_odds]
    return transposed(PARAMETER, rows)


def parameter_rows(model: Model) -> Iterator[tuple[Any, ...]]:
    """Yield variable, parent configuration, state, quantity and value of each parameter."""
    network = model.network
    for i in network.shown:
        v, parents, table = network.variables[i], _parents(network, i), _rows_of_table(model, i)
        given = [
            ", ".join(f"{p.name}={s}" for p, s in zip(parents, states, strict=True))
            for states in _configurations(parents)
        ]
        if v.family.tabular:
            for words, row in zip(given, table.tolist(), strict=True):
                for text, p in zip(v.labels, row, strict=True):
                    yield v.name, words, text, "probability", p
            continue
        for title, values in v.summary(table).items():
            for words, x in zip(given, values.tolist(), strict=True):
                yield v.name, words, None, title, x


def profile_columns(model: Model) -> Columns:
    """Columns with a row for each state in each class, and for each number in each class.

    Categories have a probability; numbers have their summaries, such as mean and sd.
    """
    classes, network = classes_of(model.network), model.network
    leaves = [i for i in network.shown if i in classes.leaves]
    each = [(network.variables[i], table_of(network, model.theta, i)) for i in leaves]
    numbers = {v.name: v.summary(table) for v, table in each if not v.family.tabular}
    titles = list(dict.fromkeys(title for summary in numbers.values() for title in summary))
    rows: list[tuple[Any, ...]] = []
    for v, table in each:
        for c, state in enumerate(classes.variable.states):
            if summary := numbers.get(v.name):
                values = (float(summary[t][c]) if t in summary else None for t in titles)
                rows.append((v.name, None, state, None, *values))
                continue
            cells = zip(v.labels, table[c].tolist(), strict=True)
            rows += [(v.name, text, state, p, *[None] * len(titles)) for text, p in cells]
    return transposed(("column", "state", "class", "probability", *titles), rows)
