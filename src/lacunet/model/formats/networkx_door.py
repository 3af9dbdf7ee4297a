"""To and from networkx: a DiGraph whose nodes carry all of the model.

Node attributes: ``states`` (tuple), ``hidden`` (bool), ``parents`` (tuple of names, the order of
the table's axes), ``table`` and ``alpha`` (arrays: parents in their order, then the child).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lacunet.arrays import FloatArray
from lacunet.errors import ModelError
from lacunet.model.formats.assembly import (
    Family,
    assemble,
    check_exponents,
    check_shape,
    connect,
    shapes,
)
from lacunet.model.network import Model, Variable
from lacunet.model.prior import PAPER_ALPHA, check_alpha
from lacunet.optional import require


def to_networkx(model: Model) -> Any:
    """Give the model as a networkx.DiGraph."""
    graph = require("networkx", error=ModelError).DiGraph()
    network = model.network
    names = [v.name for v in network.variables]
    for i, v in enumerate(network.variables):
        graph.add_node(
            v.name,
            states=v.states,
            hidden=v.hidden,
            parents=tuple(names[p] for p in network.parents[i]),
            table=network.layout.table(model.theta, i).copy(),
            alpha=network.layout.table(model.alpha, i).copy(),
        )
    for i, parents in enumerate(network.parents):
        graph.add_edges_from((names[p], names[i]) for p in parents)
    return graph


def from_networkx(graph: Any, alpha: float = PAPER_ALPHA) -> Model:
    """Read a networkx.DiGraph with ``states`` and ``table`` at each node.

    Without ``parents``, the order of the edges into a node is that of its table's axes; without
    ``hidden`` a variable is observed; without ``alpha`` its prior is `alpha`, one number or an
    array.
    """
    require("networkx", error=ModelError)
    check_alpha(alpha)
    if not (hasattr(graph, "is_directed") and graph.is_directed() and not graph.is_multigraph()):
        raise ModelError(f"{graph!r} is not a networkx.DiGraph. Give one, with directed edges.")
    variables, families = [], []
    for name, attributes in graph.nodes(data=True):
        where = f"node '{name}'"
        if not isinstance(name, str):
            raise ModelError(f"node {name!r}: names are texts. Relabel the nodes first.")
        for key in ("states", "table"):
            if key not in attributes:
                raise ModelError(f"{where} has no attribute '{key}'. Every node needs one.")
        before = tuple(graph.predecessors(name))
        parents = tuple(attributes.get("parents", before))
        if sorted(map(str, parents)) != sorted(map(str, before)):
            raise ModelError(
                f"{where}: its attribute 'parents' names {list(parents)}, but its edges come from "
                f"{list(before)}. Make them agree."
            )
        hidden = bool(attributes.get("hidden", False))
        variables.append(Variable(name, tuple(attributes["states"]), hidden=hidden))
        families.append(Family(name, parents, where))
    network, _ = connect(variables, families, "node")
    wanted = list(zip(families, shapes(network), strict=True))
    tables = [_array(graph.nodes[f.child]["table"], "table", shape, f) for f, shape in wanted]
    model = assemble(network, tables, [f.where for f in families])
    alphas = [_alpha(graph.nodes[f.child].get("alpha", alpha), shape, f) for f, shape in wanted]
    return Model(network, model.theta, network.layout.flat(alphas))


def _array(value: Any, what: str, shape: tuple[int, ...], family: Family) -> FloatArray:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ModelError(
            f"{family.where}: its {what} is not an array of numbers of shape {shape}."
        ) from None
    return check_shape(array, what, family.where, shape)


def _alpha(value: Any, shape: tuple[int, ...], family: Family) -> FloatArray:
    whole = np.full(shape, value) if np.ndim(value) == 0 else value
    return check_exponents(_array(whole, "alpha", shape, family), family.where)
