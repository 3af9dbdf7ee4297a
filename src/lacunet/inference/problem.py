"""A table and a network joined, checked once: what learning and scoring work on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lacunet.arrays import BoolArray, CodeArray, FloatArray
from lacunet.data.table import Table
from lacunet.errors import DataError, ModelError
from lacunet.inference.plan import Plan, empty_plan, latent_class_plan
from lacunet.model.latent_class import is_latent_class
from lacunet.model.layout import Layout
from lacunet.model.network import Network


@dataclass(frozen=True, eq=False)
class Problem:
    """Everything about (data, structure, prior) that does not change while learning."""

    network: Network
    alpha: FloatArray  # (size,) Dirichlet exponents
    cases: float  # N, the total weight of the rows
    rows: int  # m, distinct rows
    seen: FloatArray  # (size,) N_ijk of the families that were seen whole; never touched again
    plan: Plan  # the rest: components with hidden cells
    barren: tuple[
        int, ...
    ]  # families whose child is missing in some rows (leaves, so barren there)

    @property
    def layout(self) -> Layout:
        """The layout of every flat vector of this problem."""
        return self.network.layout

    @property
    def exact(self) -> bool:
        """Whether no row has a hidden part, so that the evidence has a closed form."""
        return len(self.plan.counts) == 0


def build_problem(table: Table, network: Network, alpha: FloatArray) -> Problem:
    """Join a table and a network: columns are found by name, states must be the network's."""
    return problem_of_codes(_align(table, network), table.counts, network, alpha)


def problem_of_codes(
    codes: CodeArray, counts: FloatArray, network: Network, alpha: FloatArray
) -> Problem:
    """Join rows that are coded already, (m, observed variables), and a network.

    Supported today: latent class models with any cells missing, and any network without hidden
    variables on complete data.
    """
    layout = network.layout
    missing: BoolArray = np.any(codes < 0, axis=0)
    barren = tuple(i for i, holes in zip(network.observed, missing, strict=True) if holes)
    if is_latent_class(network) and layout.cards[0] > 1:
        plan, seen = latent_class_plan(layout, codes, counts), np.zeros(layout.size)
    elif is_latent_class(network) or not (barren or network.hidden):
        plan, seen = empty_plan(), count_seen(network, codes, counts)
    else:
        raise ModelError(
            "hidden variables and missing cells are supported in latent class models only "
            "(one hidden root, every other variable its child). This network has another shape: "
            "use complete data without hidden variables, or a latent class model."
        )
    return Problem(network, alpha, float(counts.sum()), len(codes), seen, plan, barren)


def count_seen(network: Network, codes: CodeArray, counts: FloatArray) -> FloatArray:
    """Count N_ijk over the rows in which all of family i is seen.

    A hidden variable with one state is seen: its value is known.
    """
    layout = network.layout
    column = {i: codes[:, c] for c, i in enumerate(network.observed)}
    column |= {i: np.zeros(len(codes), codes.dtype) for i in network.hidden}
    N = np.zeros(layout.size)
    for i, family in enumerate(layout.families):
        whole = np.all([column[v] >= 0 for v in family], axis=0)
        position = np.full(int(whole.sum()), layout.offsets[i])
        for v in family:
            position += column[v][whole].astype(np.int64) * layout.stride(i, v)
        N += np.bincount(position, weights=counts[whole], minlength=layout.size)
    return N


def _align(table: Table, network: Network) -> CodeArray:
    """Give the table's codes with its columns in the order of the network's observed variables."""
    names = [c.name for c in table.columns]
    for i in network.hidden:
        if (name := network.variables[i].name) in names:
            raise DataError(
                f"column '{name}' has the name of the model's hidden variable. "
                f"Exclude it with --exclude {name}, or rename it."
            )
    order = []
    for v in (network.variables[i] for i in network.observed):
        if v.name not in names:
            raise DataError(
                f"the data have no column '{v.name}', which the model has. They have: "
                + ", ".join(f"'{name}'" for name in names)
                + ". Add it (empty cells are fine)."
            )
        column = table.columns[names.index(v.name)]
        if column.labels != v.labels:
            raise DataError(
                f"column '{v.name}' has the states {list(column.labels)}, "
                f"the model has {list(v.labels)}. Read the table with the model's states."
            )
        order.append(names.index(v.name))
    # The usual case is the identity, which needs no copy of what may be a large array.
    return table.codes if order == list(range(len(names))) else table.codes[:, order]
