"""Inference as a service: p(unobserved variables | what a row shows), for every row of a table.

Asking is a matter of structure: give the variables in question a child with one state, which is
always seen. It changes no probability, but keeps them from being barren, and puts them together
into one clique; their joint posterior is then what that child's family counts.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from lacunet.errors import ModelError
from lacunet.inference.asking.blocks import block_log_density, has_blocks, rest_of
from lacunet.inference.asking.by_row import ByRow
from lacunet.inference.plans.compact import compact_cells
from lacunet.model import conjugacy
from lacunet.model.network import Model, Network, Variable
from lacunet.model.surgery import fresh_names
from lacunet.runtime.arrays import CodeArray, FloatArray

LARGEST = 1 << 26  # numbers of an answer: half a GiB


class Question:
    """Groups of variables in question, and rows taken apart for them: to be asked at any θ."""

    def __init__(
        self,
        network: Network,
        codes: CodeArray,
        groups: Sequence[Sequence[int]],
        *,
        compact: bool = False,
    ) -> None:
        """Take rows apart; `compact`: to be asked at θ only, with cells as for learning."""
        _check_size(network, len(codes), groups)
        asked = _with_watchers(network, groups)
        watched = np.column_stack([codes, np.zeros((len(codes), len(groups)), codes.dtype)])
        self.network, self.asked = network, asked
        self.cells = compact_cells(asked) if compact else asked.by_value
        self.rows = ByRow(asked, watched, self.cells)

    def __call__(self, theta: FloatArray) -> list[FloatArray]:
        """Give the joint posterior of each group in each row, at θ."""
        own = conjugacy.natural(theta, self.network.layout)
        watchers = np.zeros(self.asked.layout.size - len(own))
        return self._found(self.cells.weights(np.concatenate([own, watchers])))

    def by(self, own: FloatArray) -> list[FloatArray]:
        """Do the same given log weights of all values."""
        return self._found(np.concatenate([own, np.zeros(self.cells.layout.size - len(own))]))

    def _found(self, cells: FloatArray) -> list[FloatArray]:
        network, layout = self.network, self.cells.layout
        first = int(layout.offsets[len(network.variables)])
        # What each watcher's family counts in each row, in the order of its storage.
        _, N = self.rows.posterior(cells, first, layout.size)
        ends = layout.offsets[len(network.variables) :] - first
        return [
            _in_order(N[:, first:last], layout.axes[f], layout.families[f], layout.cards)
            for f, (first, last) in enumerate(pairwise(ends), start=len(network.variables))
        ]


def posterior(model: Model, codes: CodeArray, groups: Sequence[Sequence[int]]) -> list[FloatArray]:
    """Joint posterior of each group of variables in each row: (rows, states of each variable...).

    A variable that a row shows has probability 1 at what it shows. `codes` are (rows, observed
    variables of the network), −1 = missing.
    """
    if has_blocks(model.network):
        return _weighed_by_blocks(model, codes, groups)
    return Question(model.network, codes, groups).by(model.log_weights)


def _weighed_by_blocks(
    model: Model, codes: CodeArray, groups: Sequence[Sequence[int]]
) -> list[FloatArray]:
    """Ask the rest of a model, and weigh its answers by what rows show of blocks, by class."""
    rest, log_p = rest_of(model), block_log_density(model, codes)
    weights = np.exp(log_p - log_p.max(axis=1, keepdims=True))
    asked = [(*(v for v in group if v != rest.root), rest.root) for group in groups]
    known = codes[:, rest.columns]
    answers = posterior(rest.model, known, [[rest.number[v] for v in group] for group in asked])
    found = []
    for group, order, joint in zip(groups, asked, answers, strict=True):
        p = joint * weights.reshape(len(codes), *[1] * (joint.ndim - 2), -1)
        total = p.reshape(len(codes), -1).sum(axis=1).reshape(-1, *[1] * (joint.ndim - 1))
        p = p / np.where(total > 0, total, 1.0)
        if rest.root in group:
            p = np.transpose(p, [0, *(1 + order.index(v) for v in group)])
        else:
            p = p.sum(axis=-1)
        found.append(p)
    return found


def marginal(model: Model, variables: Sequence[int]) -> FloatArray:
    """Joint distribution of some variables, where nothing is seen."""
    nothing = np.full((1, len(model.network.observed)), -1, dtype=np.int32)
    joint: FloatArray = posterior(model, nothing, [variables])[0][0]
    return joint


def _check_size(network: Network, rows: int, groups: Sequence[Sequence[int]]) -> None:
    """Refuse an answer that would not fit into memory, before anything of its size is made."""
    for group in groups:
        variables = [network.variables[v] for v in group]
        cells = math.prod(len(v.states) for v in variables)
        if rows * cells > LARGEST:
            who = ", ".join(f"'{v.name}' ({len(v.states)})" for v in variables)
            each = "" if rows == 1 else f" for each of {rows:,} rows"
            raise ModelError(
                f"the joint distribution of {who} has {cells:,} numbers{each}, "
                f"{8 * rows * cells / 2**30:,.1f} GiB in all; at most {LARGEST:,} numbers are "
                "allowed. Ask for fewer variables at once"
                + (", or for their most probable states." if rows == 1 else ", or fewer rows.")
            )


def _with_watchers(network: Network, groups: Sequence[Sequence[int]]) -> Network:
    """Add a child with one state to each group."""
    names = fresh_names(network, "watcher", len(groups))
    return Network.build(
        [*network.variables, *(Variable(name, (0,)) for name in names)],
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
