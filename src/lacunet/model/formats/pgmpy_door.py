"""To and from pgmpy: a DiscreteBayesianNetwork with a TabularCPD for each variable.

Hidden variables are pgmpy's latents. pgmpy holds no prior.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lacunet.arrays import FloatArray
from lacunet.errors import ModelError
from lacunet.model.formats.assembly import Family, assemble, connect
from lacunet.model.network import Model, Network, Variable
from lacunet.model.prior import PAPER_ALPHA
from lacunet.optional import require


def to_pgmpy(model: Model) -> Any:
    """Give the model as a pgmpy DiscreteBayesianNetwork."""
    network = model.network
    names = [v.name for v in network.variables]
    states = {v.name: list(v.states) for v in network.variables}
    other = require("pgmpy.models", error=ModelError).DiscreteBayesianNetwork()
    other.add_nodes_from(names)
    other.latents = {names[i] for i in network.hidden}
    cpd = require("pgmpy.factors.discrete", error=ModelError).TabularCPD
    for i, parents in enumerate(network.parents):
        family = [names[i], *(names[p] for p in parents)]
        table = network.layout.table(model.theta, i)
        other.add_edges_from((p, names[i]) for p in family[1:])
        other.add_cpds(
            cpd(
                names[i],
                table.shape[-1],
                np.moveaxis(table, -1, 0).reshape(table.shape[-1], -1),
                evidence=family[1:] or None,
                evidence_card=list(table.shape[:-1]) or None,
                state_names={name: states[name] for name in family},
            )
        )
    return other


def from_pgmpy(other: Any, alpha: float = PAPER_ALPHA) -> Model:
    """Read a pgmpy DiscreteBayesianNetwork, with the same exponent `alpha` everywhere."""
    require("pgmpy", error=ModelError)
    if not (hasattr(other, "get_cpds") and hasattr(other, "latents")):
        raise ModelError(f"{other!r} is not a pgmpy DiscreteBayesianNetwork. Give one.")
    cpds, variables, families = [], [], []
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
        cpds.append(cpd)
        states = tuple(cpd.state_names[name])
        variables.append(Variable(name, states, hidden=name in other.latents))
        families.append(Family(name, parents, where))
    network, _ = connect(variables, families, "node")
    tables = [_table(cpd, network, i) for i, cpd in enumerate(cpds)]
    return assemble(network, tables, [f.where for f in families], alpha)


def _table(cpd: Any, network: Network, i: int) -> FloatArray:
    """Give the table in the order of states of the network: a CPD may order its parents' anew."""
    table = np.asarray(cpd.values, dtype=np.float64)  # child first, then parents
    for axis, v in enumerate((i, *network.parents[i])):
        ours = network.variables[v]
        theirs = list(cpd.state_names[ours.name])
        if sorted(map(repr, theirs)) != sorted(map(repr, ours.states)):
            raise ModelError(
                f"node '{cpd.variable}': its TabularCPD gives '{ours.name}' the states {theirs}, "
                f"but they are {list(ours.states)}. Make them agree."
            )
        table = np.take(table, [theirs.index(s) for s in ours.states], axis=axis)
    return np.moveaxis(table, 0, -1)
