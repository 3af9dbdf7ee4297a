"""Conversion to and from networkx, pgmpy and pyAgrum; DOT files for Graphviz."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from lacunet.errors import ModelError
from lacunet.models.display import table_lines
from lacunet.models.ensemble import HasModel, model_as_shown, model_in
from lacunet.models.formats import assembly
from lacunet.models.formats.assembly import (
    Family,
    assemble,
    properties,
    tables,
    to_properties,
    variable,
)
from lacunet.models.network import Model, Variable
from lacunet.models.predictors import Predictors
from lacunet.models.prior import PAPER_ALPHA, check_alpha
from lacunet.optional import require
from lacunet.runtime.arrays import FloatArray


def warn(words: str) -> None:
    """Issue a Python warning."""
    warnings.warn(words, UserWarning, stacklevel=4)


def predictors_lost(name: str, predictors: Predictors) -> str:
    """The message about a format without covariates."""
    names = ", ".join(f"'{one}'" for one in predictors.names) or "covariates"
    return (
        f"{name} holds the classes with their sizes over all rows, but not that {names} predict "
        "them. A .json file does."
    )


def _exported(model: HasModel, name: str) -> Model:
    """The model in display order for another package; warn that it loses covariates."""
    exported = model_as_shown(model_in(model))
    if exported.predictors is not None:
        warn(predictors_lost(name, exported.predictors))
    return exported


def to_networkx(model: HasModel) -> Any:
    """Convert the model to a networkx.DiGraph."""
    model = _exported(model, "networkx")
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
    """Convert a networkx.DiGraph with ``states`` and ``table`` at each node.

    Without ``parents``, the axes of a table follow the order of the edges into the node. Without
    ``hidden`` a variable is observed; without ``alpha`` its prior is `alpha`.
    """
    require("networkx", error=ModelError)
    check_alpha(alpha)
    if not (hasattr(graph, "is_directed") and graph.is_directed() and not graph.is_multigraph()):
        raise ModelError(f"{graph!r} is not a networkx.DiGraph. Give one, with directed edges.")
    variables, families = [], []
    for name, attributes in graph.nodes(data=True):
        where = f"node '{name}'"
        _check_name(name)
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


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise ModelError(f"node {name!r}: names are texts. Relabel the nodes first.")


def _array(value: Any, what: str, shape: tuple[int, ...], where: str) -> FloatArray:
    try:
        array = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ModelError(
            f"{where}: its {what} is not an array of numbers of shape {shape}."
        ) from None
    return assembly.check_shape(array, what, where, shape)


def _alpha(value: Any, shape: tuple[int, ...], where: str) -> FloatArray:
    whole = np.full(shape, value) if np.ndim(value) == 0 else value
    return assembly.check_exponents(_array(whole, "alpha", shape, where), where)


def to_pgmpy(model: HasModel) -> Any:
    """Convert the model to a pgmpy DiscreteBayesianNetwork."""
    model = _exported(model, "pgmpy")
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
    """Convert a pgmpy DiscreteBayesianNetwork, with the same exponent `alpha` everywhere."""
    require("pgmpy", error=ModelError)
    if not (hasattr(other, "get_cpds") and hasattr(other, "latents")):
        raise ModelError(f"{other!r} is not a pgmpy DiscreteBayesianNetwork. Give one.")
    variables, families = [], []
    for name in other.nodes():
        where = f"node '{name}'"
        _check_name(name)
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
    """The table with the network's order of states; a CPD may order parent states differently."""
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


def to_pyagrum(model: HasModel) -> Any:
    """Convert the model to a pyagrum.BayesNet."""
    model = _exported(model, "pyAgrum")
    gum = require("pyagrum", error=ModelError)
    other = gum.BayesNet("lacunet")
    for v in model.network.variables:
        described = "; ".join(f"{k} = {value}" for k, value in to_properties(v).items())
        other.add(gum.LabelizedVariable(v.name, described, list(v.labels)))
    for (*parents, child), table in tables(model):
        for p in parents:
            other.addArc(p.name, child.name)
        # pyAgrum fills with the child fastest, then the first parent, then the next.
        values = assembly.parents_reversed(table).reshape(-1).tolist()
        other.cpt(child.name).fillWith(values)
    return other


def from_pyagrum(other: Any, alpha: float = PAPER_ALPHA) -> Model:
    """Convert a pyagrum.BayesNet, with the same exponent `alpha` everywhere."""
    gum = require("pyagrum", error=ModelError)
    if not isinstance(other, gum.BayesNet):
        raise ModelError(f"{other!r} is not a pyagrum.BayesNet. Give one.")
    variables, families = [], []
    for node in sorted(other.nodes()):
        v, cpt = other.variable(node), other.cpt(node)
        where = f"node '{v.name()}'"
        extra = properties(v.description().split(";"))
        variables.append(variable(v.name(), v.labels(), extra, where))
        parents = tuple(name for name in cpt.names if name != v.name())
        axes = list(reversed(cpt.names))  # an array of pyAgrum has its last variable first
        array = np.asarray(cpt.toarray(), dtype=np.float64)
        table = np.transpose(array, [axes.index(name) for name in (*parents, v.name())])
        families.append(Family(v.name(), parents, where, table))
    return assemble(variables, families, "node", lambda family, _: family.entry, alpha)


ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"'})  # other characters need no escape


def write(model: Model) -> str:
    """The text of a DOT file; hidden variables have dashed borders."""
    variables, parents = model.network.variables, model.network.parents
    names = [_quote(v.name) for v in variables]
    lines = ["digraph lacunet {", '  node [shape=box, style="rounded"];']
    for i, v in enumerate(variables):
        tip = _quote("\n".join("  ".join(cells) for cells in table_lines(model, i)))
        dashed = 'style="rounded,dashed", ' if v.hidden else ""
        lines.append(f"  {names[i]} [{dashed}tooltip={tip}];")
    lines += [f"  {names[p]} -> {names[i]};" for i, pa in enumerate(parents) for p in pa]
    return "\n".join([*lines, "}", ""])


def _quote(text: str) -> str:
    return f'"{text.translate(ESCAPES)}"'
