"""To and from pyAgrum: a BayesNet of LabelizedVariables.

pyAgrum knows states as texts, so types come back by the rule of `typed`; the description of a
variable carries what the rule needs, and ``hidden = true``. pyAgrum holds no prior.
"""

from typing import Any

import numpy as np

from lacunet.errors import ModelError
from lacunet.models.formats.assembly import Family, assemble, tables
from lacunet.models.formats.losses import to_hand_over
from lacunet.models.formats.typed import properties, to_properties, variable
from lacunet.models.holders import HeldModel
from lacunet.models.network import Model
from lacunet.models.prior import PAPER_ALPHA
from lacunet.optional import require


def to_pyagrum(model: HeldModel) -> Any:
    """Give the model as a pyagrum.BayesNet."""
    model = to_hand_over(model, "pyAgrum")
    gum = require("pyagrum", error=ModelError)
    other = gum.BayesNet("lacunet")
    for v in model.network.variables:
        described = "; ".join(f"{k} = {value}" for k, value in to_properties(v).items())
        other.add(gum.LabelizedVariable(v.name, described, list(v.labels)))
    for (*parents, child), table in tables(model):
        for p in parents:
            other.addArc(p.name, child.name)
        # pyAgrum fills with the child fastest, then the first parent, then the next.
        parents_reversed = [*reversed(range(len(parents))), len(parents)]
        other.cpt(child.name).fillWith(np.transpose(table, parents_reversed).reshape(-1).tolist())
    return other


def from_pyagrum(other: Any, alpha: float = PAPER_ALPHA) -> Model:
    """Read a pyagrum.BayesNet, with the same exponent `alpha` everywhere."""
    gum = require("pyagrum", error=ModelError)
    if not isinstance(other, gum.BayesNet):
        raise ModelError(f"{other!r} is not a pyagrum.BayesNet. Give one.")
    variables, families = [], []
    for node in sorted(other.nodes()):
        v, cpt = other.variable(node), other.cpt(node)
        where = f"node '{v.name()}'"
        told = properties(v.description().split(";"))
        variables.append(variable(v.name(), v.labels(), told, where))
        parents = tuple(name for name in cpt.names if name != v.name())
        axes = list(reversed(cpt.names))  # an array of pyAgrum has its last variable first
        array = np.asarray(cpt.toarray(), dtype=np.float64)
        table = np.transpose(array, [axes.index(name) for name in (*parents, v.name())])
        families.append(Family(v.name(), parents, where, table))
    return assemble(variables, families, "node", lambda family, _: family.entry, alpha)
