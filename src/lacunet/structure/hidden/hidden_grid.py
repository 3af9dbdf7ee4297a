"""The hidden variables of a network as a table: how large their states are, and what they join."""

import numpy as np

from lacunet.models.network import Model
from lacunet.tabular import Grid

MANY = 6  # shares that are written out


def hidden_grid(model: Model, title: str, notes: tuple[str, ...]) -> Grid:
    """Give a row for each hidden variable."""
    names = [v.name for v in model.network.variables]
    rows = []
    for h in model.network.hidden:
        parents = [names[p] for p in model.network.parents[h]]
        children = [name for name, pa in zip(names, model.network.parents, strict=True) if h in pa]
        around = (", ".join(who) or "–" for who in (parents, children))
        rows.append((names[h], str(len(shares(model, h))), _written(model, h), *around))
    header = ("hidden", "states", "shares", "parents", "children")
    return Grid(title, header, tuple(rows), frozenset({0, 2, 3, 4}), notes)


def hidden_variables(number: int) -> str:
    """So many hidden variables, in words."""
    return f"{number} hidden variable{'s' * (number != 1)}"


def shares(model: Model, h: int) -> list[float]:
    """Share of the cases that each state of a hidden variable has."""
    layout = model.network.layout
    known = model.theta if model.posterior is None else model.posterior
    sizes = layout.table(known, h).reshape(-1, layout.cards[h]).sum(axis=0)
    found: list[float] = (sizes / sizes.sum()).tolist()
    return found


def by_size(model: Model) -> Model:
    """Number the states of hidden variables by size, the largest first."""
    for h in model.network.hidden:
        model = model.permuted(h, np.argsort(-np.array(shares(model, h)), kind="stable").tolist())
    return model


def _written(model: Model, h: int) -> str:
    each = [f"{share:.2f}" for share in shares(model, h)]
    return " ".join([*each[:MANY], *(["…"] if len(each) > MANY else [])])
