"""To and from pgmpy: a DiscreteBayesianNetwork with a TabularCPD for each variable.

Hidden variables are pgmpy's latents. pgmpy holds no prior.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lacunet.errors import ModelError
from lacunet.models.formats.assembly import Family, assemble, tables
from lacunet.models.formats.losses import to_hand_over
from lacunet.models.holders import HeldModel
from lacunet.models.network import Model, Variable
from lacunet.models.prior import PAPER_ALPHA
from lacunet.optional import require
from lacunet.runtime.arrays import FloatArray


def to_pgmpy(model: HeldModel) -> Any:
    """Give the model as a pgmpy DiscreteBayesianNetwork."""
    model = to_hand_over(model, "pgmpy")
    network = model.network
    other = require("pgmpy.models", error=ModelError).DiscreteBayesianNetwork()
    other.add_nodes_from([v.name for v in network.variables])
    other.latents = {network.variables[i].name for i in network.hidden}
    cpd = require("pgmpy.factors.discrete", error=ModelError).TabularCPD
    for (*parents, child), table in tables(model):
        evidence, (*cards, card) = [p.name for p in parents], table.shape
        other.add_edges_from((name, child.name) for name in evidence)
        other.add_cpds(
            cpd(
                child.name,
                card,
                np.moveaxis(table, -1, 0).reshape(card, -1),
                evidence=evidence or None,
                evidence_card=cards or None,
                state_names={v.name: list(v.states) for v in (child, *parents)},
            )
        )
    return other


def from_pgmpy(other: Any, alpha: float = PAPER_ALPHA) -> Model:
    """Read a pgmpy DiscreteBayesianNetwork, with the same exponent `alpha` everywhere."""
    require("pgmpy", error=ModelError)
    if not (hasattr(other, "get_cpds") and hasattr(other, "latents")):
        raise ModelError(f"{other!r} is not a pgmpy DiscreteBayesianNetwork. Give one.")
    variables, families = [], []
    for name in other.nodes():
        where = f"node '{name}'"
        if not isinstance(name, str):
            raise ModelError(f"node {name!r}: names are texts. Relabel the nodes first.")
        cpd = other.get_cpds(name)
        if cpd is None:
            raise ModelError(f"{where} has no TabularCPD. Add one with add_cpds.")
        parents = tuple(cpd.variables[1:])
        if set(parents) != set(other.predecessors(name)):
            raise ModelError(
                f"{where}: its TabularCPD has the parents {list(parents)}, but its edges come from "
                f"{list(other.predecessors(name))}. Make them agree."
            )
        states = tuple(cpd.state_names[name])
        variables.append(Variable(name, states, hidden=name in other.latents))
        families.append(Family(name, parents, where, cpd))
    return assemble(variables, families, "node", _table, alpha)


def _table(family: Family, variables: Sequence[Variable]) -> FloatArray:
    """Give the table in the order of states of the network: a CPD may order its parents' anew."""
    cpd, (*parents, child) = family.entry, variables
    table = np.asarray(cpd.values, dtype=np.float64)  # child first, then parents
    for axis, ours in enumerate((child, *parents)):
        theirs = list(cpd.state_names[ours.name])
        if sorted(map(repr, theirs)) != sorted(map(repr, ours.states)):
            raise ModelError(
                f"{family.where}: its TabularCPD gives '{ours.name}' the states {theirs}, "
                f"but they are {list(ours.states)}. Make them agree."
            )
        table = np.take(table, [theirs.index(s) for s in ours.states], axis=axis)
    return np.moveaxis(table, 0, -1)
