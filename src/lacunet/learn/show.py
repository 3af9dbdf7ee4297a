"""How a latent class model looks: sizes and profiles of its classes, as a grid."""

from __future__ import annotations

from lacunet.model.latent_class import is_latent_class
from lacunet.model.network import Model
from lacunet.states import label
from lacunet.tabular import Grid, probability


def profile_grid(model: Model) -> Grid:
    """One column per class: its size, then p(state | class) of every variable.

    Of a variable with two states only the second is shown; the first has the rest.
    """
    network, layout = model.network, model.network.layout
    if not is_latent_class(network):
        raise ValueError("only latent class models have class profiles")
    root = network.variables[0]
    sizes = layout.table(model.theta, 0)
    rows = [("size", *(probability(p) for p in sizes))]
    for i, v in enumerate(network.variables[1:], start=1):
        table = layout.table(model.theta, i)
        rows.extend(
            (f"{v.name} = {v.labels[k]}", *(probability(p) for p in table[:, k]))
            for k in range(1 if len(v.states) == 2 else 0, len(v.states))
        )
    header = ("", *(f"{root.name} {label(s)}" for s in root.states))
    return Grid("Class profiles: p(answer | class)", header, tuple(rows))
