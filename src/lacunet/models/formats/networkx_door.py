"""To and from networkx: a DiGraph whose nodes carry all of the model.

Node attributes: ``states`` (tuple), ``hidden`` (bool), ``parents`` (tuple of names, the order of
the table's axes), ``table`` and ``alpha`` (arrays: parents in their order, then the child).
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lacunet.errors import ModelError
from lacunet.models.formats import assembly
from lacunet.models.formats.assembly import Family
from lacunet.models.formats.losses import to_hand_over
from lacunet.models.holders import HeldModel
from lacunet.models.network import Model, Variable
from lacunet.models.prior import PAPER_ALPHA, check_alpha
from lacunet.optional import require
from lacunet.runtime.arrays import FloatArray


def to_networkx(model: HeldModel) -> Any:
    """Give the model as a networkx.DiGraph."""
    model = to_hand_over(model, "networkx")
    graph = require("networkx", error=ModelError).DiGraph()
    for i, ((*parents, child), table) in enumerate(assembly.tables(model)):
        graph.add_node(
            child.name,
            states=child.states,
            hidden=child.hidden,
            parents=tuple(p.name for p in parents),
            table=table.copy(),
            alpha=model.network.layout.table(model.alpha, i).copy(),
        )
    for *parents, child in assembly.members(model.network):
        graph.add_edges_from((p.name, child.name) for p in parents)
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
        families.append(Family(name, parents, where, attributes))

    def table(family: Family, its: Sequence[Variable]) -> FloatArray:
        return _array(family.entry["table"], "table", assembly.shape(its), family.where)

    model = assembly.assemble(variables, families, "node", table)
    alphas = [
        _alpha(f.entry.get("alpha", alpha), assembly.shape(its), f.where)
        for f, its in zip(families, assembly.members(model.network), strict=True)
    ]
    return Model(model.network, model.theta, model.network.layout.flat(alphas))


def _array(value: Any, what: str, asked: tuple[int, ...], where: str) -> FloatArray:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ModelError(
            f"{where}: its {what} is not an array of numbers of shape {asked}."
        ) from None
    return assembly.check_shape(array, what, where, asked)


def _alpha(value: Any, asked: tuple[int, ...], where: str) -> FloatArray:
    whole = np.full(asked, value) if np.ndim(value) == 0 else value
    return assembly.check_exponents(_array(whole, "alpha", asked, where), where)
