"""Inference as a service: p(unobserved variables | what a row shows), for every row of a table.

Asking is a matter of structure: give the variables in question a child with one state, which is
always seen. It changes no probability, but keeps them from being barren, and puts them together
into one clique; their joint posterior is then what that child's family counts.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from lacunet.arrays import CodeArray, FloatArray
from lacunet.inference.asking.by_row import ByRow
from lacunet.model import conjugacy
from lacunet.model.network import Model, Network, Variable


class Question:
    """Groups of variables in question, and rows taken apart for them: to be asked at any θ."""

    def __init__(self, network: Network, codes: CodeArray, groups: Sequence[Sequence[int]]) -> None:
        asked = _with_watchers(network, groups)
        watched = np.column_stack([codes, np.zeros((len(codes), len(groups)), codes.dtype)])
        self.network, self.layout, self.rows = network, asked.cells, ByRow(asked, watched)

    def __call__(self, theta: FloatArray) -> list[FloatArray]:
        """Give the joint posterior of each group in each row."""
        network, layout = self.network, self.layout
        own = network.to_cells(conjugacy.natural(theta, network.layout))
        cells = np.concatenate([own, np.zeros(layout.size - len(own))])
        # What each watcher's family counts in each row, in the order of its storage.
        N = self.rows.expected(cells, len(own), layout.size)
        ends = layout.offsets[len(network.variables) :] - len(own)
        return [
            _in_order(N[:, first:last], layout.axes[f], layout.families[f], layout.cards)
            for f, (first, last) in enumerate(pairwise(ends), start=len(network.variables))
        ]


def posterior(model: Model, codes: CodeArray, groups: Sequence[Sequence[int]]) -> list[FloatArray]:
    """Joint posterior of each group of variables in each row: (rows, states of each variable...).

    A variable that a row shows has probability 1 at what it shows. `codes` are (rows, observed
    variables of the network), −1 = missing.
    """
    return Question(model.network, codes, groups)(model.theta)


def marginal(model: Model, variables: Sequence[int]) -> FloatArray:
    """Joint distribution of some variables, where nothing is seen."""
    nothing = np.full((1, len(model.network.observed)), -1, dtype=np.int32)
    joint: FloatArray = posterior(model, nothing, [variables])[0][0]
    return joint


def _with_watchers(network: Network, groups: Sequence[Sequence[int]]) -> Network:
    """Add a child with one state to each group."""
    taken = {v.name for v in network.variables}
    names = [f"watcher {k}" for k in range(len(groups) + len(taken))]
    fresh = [name for name in names if name not in taken][: len(groups)]
    return Network.build(
        [*network.variables, *(Variable(name, (0,)) for name in fresh)],
        [*network.parents, *(tuple(g) for g in groups)],
    )


def _in_order(
    out: FloatArray, axes: Sequence[int], family: Sequence[int], cards: Sequence[int]
) -> FloatArray:
    """From storage order to (rows, the group in its own order); the watcher itself is dropped."""
    stored = out.reshape(len(out), *(cards[v] for v in axes))
    order = [1 + list(axes).index(v) for v in family[:-1]]
    return np.ascontiguousarray(
        np.transpose(stored, (0, *order, 1 + list(axes).index(family[-1])))[..., 0]
    )
