"""Most probable joint states given what a row shows, exactly; and the effective dimension.

Variable elimination first sums out nuisance variables, then maximises over query variables. Sums
and maxima do not commute, so a query of few variables may need larger tables than one of all.
Everything is in logs, so nothing underflows.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from lacunet.inference.plans.clique_trees import check_clique, elimination_order
from lacunet.inference.plans.plan import free_coordinates
from lacunet.inference.queries.answers import InUnits, expected_numbers, in_units, row_log_lik
from lacunet.inference.queries.query import ByRow, posterior
from lacunet.models import conjugacy
from lacunet.models.conjugacy import random_theta
from lacunet.models.latent_class import find_classes
from lacunet.models.network import Model, Network, Variable
from lacunet.models.surgery import intervened, shown, with_soft_evidence
from lacunet.runtime.arrays import CodeArray, FloatArray, IntArray

WHY = "the most probable states need a table over these variables"
ADVICE = "Ask for all variables at once (then nothing is summed over), for fewer, or give one."


class LogFactor(NamedTuple):
    """Log weights of the joint states of some variables."""

    scope: tuple[int, ...]
    log: FloatArray  # an axis for each variable of the scope


class BestState(NamedTuple):
    """The best state of a variable, for each joint state of the variables eliminated later."""

    variable: int
    scope: tuple[int, ...]
    best: IntArray


def most_probable(
    model: Model, codes: CodeArray, wanted: Sequence[int]
) -> tuple[tuple[int, ...], float]:
    """Return the best joint state of `wanted`, and log p(that state, evidence).

    `codes` are (observed variables,), −1 = missing. Ties go to the first state; −inf where the row
    is impossible.
    """
    network = model.network
    cards, names = dict(enumerate(network.layout.cards)), [v.name for v in network.variables]
    state = {i: int(k) for i, k in zip(network.observed, codes, strict=True) if k >= 0}
    kinds = network.layout.kinds
    state |= {i: 0 for i, r in cards.items() if r == 1 and kinds[i].tabular}
    factors = _factors(model, state, wanted)
    members = sorted({v for f in factors for v in f.scope})
    order = elimination_order(members, [frozenset(f.scope) for f in factors], cards, last=wanted)
    for _, clique in order:
        check_clique(clique, cards, dict(enumerate(names)), WHY, ADVICE)
    choices = []
    for v, _ in order:
        joined = _joined([f for f in factors if v in f.scope], v, cards)
        factors = [f for f in factors if v not in f.scope]
        if v in wanted:
            choices.append(BestState(v, joined.scope[:-1], joined.log.argmax(axis=-1)))
            factors.append(LogFactor(joined.scope[:-1], joined.log.max(axis=-1)))
        else:
            factors.append(LogFactor(joined.scope[:-1], np.logaddexp.reduce(joined.log, axis=-1)))
    for choice in reversed(choices):
        state[choice.variable] = int(choice.best[tuple(state[u] for u in choice.scope)])
    return tuple(state[v] for v in wanted), float(sum(f.log for f in factors))


def _factors(model: Model, state: dict[int, int], wanted: Sequence[int]) -> list[LogFactor]:
    """Families restricted to the known states, without barren variables."""
    network, cells = model.network, model.log_weights
    needed = {*wanted, *state}
    for v in reversed(network.order):
        if v in needed:
            needed.update(network.parents[v])
    factors = []
    for i in sorted(needed):
        family = network.layout.families[i]
        known = tuple(state.get(v, slice(None)) for v in family)
        open_ = tuple(v for v in family if v not in state)
        factors.append(LogFactor(open_, network.cells.table(cells, i)[known]))
    return factors


def _joined(factors: Sequence[LogFactor], last: int, cards: dict[int, int]) -> LogFactor:
    """Sum log factors over the union of their scopes, with axis `last` last."""
    others = sorted({v for f in factors for v in f.scope} - {last})
    scope = (*others, last)
    log = np.zeros([cards[v] for v in scope])
    for f in factors:
        axes = sorted(range(len(f.scope)), key=lambda a: scope.index(f.scope[a]))
        shape = [cards[v] if v in f.scope else 1 for v in scope]
        log += np.transpose(f.log, axes).reshape(shape)
    return LogFactor(scope, log)


NOTHING: Mapping[int, int] = {}


@dataclass(frozen=True, eq=False)
class CaseEvidence:
    """Evidence on a case: a model with soft evidence and interventions, and a row."""

    model: Model  # variables as in the original model, soft-evidence nodes behind them
    codes: CodeArray  # (1, observed variables), −1 = missing

    @cached_property
    def log_probability(self) -> float:
        """Log p(evidence | interventions); −inf if it is impossible."""
        return float(row_log_lik(self.model, self.codes)[0])

    def joint(self, variables: Sequence[int]) -> FloatArray:
        """p(variables | evidence), an axis each; zeros if the evidence is impossible."""
        probability: FloatArray = posterior(self.model, self.codes, [variables])[0][0]
        return probability

    def number(self, variable: int) -> InUnits:
        """Predictive moments of a number, in the unit of the data, (1,) each."""
        (expected,) = expected_numbers(self.model, self.codes, [variable])
        return in_units(self.model.network.variables[variable], expected, np.array([-1]))

    def most_probable(self, variables: Sequence[int]) -> tuple[tuple[int, ...], float]:
        """Return their best joint state, and its log probability given the evidence."""
        states, log_joint = most_probable(self.model, self.codes[0], variables)
        return states, log_joint - self.log_probability


def take_evidence(
    model: Model,
    seen: Mapping[int, int],
    heard: Mapping[int, FloatArray],
    done: Mapping[int, int] = NOTHING,
) -> CaseEvidence:
    """Combine observed states, soft evidence (likelihoods of states) and interventions.

    Keys are indices of variables; a variable is observed or set, not both.
    """
    known = {**seen, **done}
    model = intervened(model, done) if done else model
    model = with_soft_evidence(model, heard) if heard else model
    if set(model.network.hidden).intersection(known):
        model = shown(model, known)
    first_soft = len(model.network.variables) - len(heard)
    row = [0 if i >= first_soft else known.get(i, -1) for i in model.network.observed]
    return CaseEvidence(model, np.array([row], dtype=np.int32))


# The effective dimension: the generic rank of the Jacobian of the observable distribution.

DRAWS = 3  # random parameters tried; the largest rank counts, since rank is generically maximal
ROWS_PER_PARAMETER = 4  # configurations sampled if there are too many for all
RELATIVE_GAP = 1e-10  # singular values below this fraction of the largest (or of 1) count as zero
MOST_CELLS = 4096  # observable configurations that are all enumerated
MOST_PARAMETERS = 200  # of a network whose rank is computed by default


def effective_dimension(network: Network, seed: int = 0) -> int:
    """Compute the rank of ∂ log p(x) / ∂θ over observable configurations x, at random θ."""
    if not network.dimension or all(network.layout.cards[i] == 1 for i in network.hidden):
        return network.dimension
    rng = np.random.default_rng(seed)
    cards = [network.layout.cards[i] for i in network.observed]
    codes = _configurations(cards, ROWS_PER_PARAMETER * network.dimension, rng)
    rows = ByRow(network, codes)
    largest = 0
    for _ in range(DRAWS):
        largest = max(largest, _rank(network, rows, rng))
        if largest == network.dimension:
            break
    return largest


def identified_parameters(network: Network) -> int | None:
    """Number of identifiable parameters if it is below the dimension of the network.

    None if all are identifiable, or if it is unknown (numeric columns; very many cells).
    """
    hidden = [i for i in network.hidden if network.layout.cards[i] > 1]
    if not hidden or not all(network.variables[i].family.tabular for i in network.observed):
        return None
    plain = bool(network.layout.learned.all()) and network.layout.in_tables.all()
    if plain and (classes := find_classes(network)) is not None:
        items = tuple(sorted(network.layout.cards[i] for i in classes.leaves))
        if three_groups(items, classes.number):
            return None
    cells = math.prod(network.layout.cards[i] for i in network.observed)
    if cells > MOST_CELLS or network.dimension > MOST_PARAMETERS:
        return cells - 1 if cells - 1 < network.dimension else None
    layout = network.layout
    shape = tuple(layout.cards), tuple(network.parents), tuple(network.hidden)
    rank = _of_shape(*shape) if plain else effective_dimension(network)
    return rank if rank < network.dimension else None


def three_groups(items: Sequence[int], classes: int) -> bool:
    """Whether items with these numbers of answers identify so many classes generically.

    >>> [three_groups([2] * 7, k) for k in (2, 6, 7)], three_groups([2] * 4, 3)
    ([True, True, False], False)
    """
    groups = [1, 1, 1]
    for answers in sorted(items, reverse=True):
        smallest = groups.index(min(groups))
        groups[smallest] = min(classes, groups[smallest] * answers)
    return sum(groups) >= 2 * classes + 2


@functools.lru_cache(maxsize=256)
def _of_shape(
    cards: tuple[int, ...], parents: tuple[tuple[int, ...], ...], hidden: tuple[int, ...]
) -> int:
    """Effective dimension of all networks with one structure."""
    variables = [
        Variable(f"v{i}", tuple(range(r)), hidden=i in hidden) for i, r in enumerate(cards)
    ]
    return effective_dimension(Network.build(variables, parents))


def _configurations(cards: list[int], enough: int, rng: np.random.Generator) -> CodeArray:
    """All observable configurations, or a random sample if there are too many."""
    if np.prod(cards, dtype=float) <= max(enough, MOST_CELLS):
        return np.array(list(itertools.product(*map(range, cards))), dtype=np.int32)
    return np.column_stack([rng.integers(0, r, enough, dtype=np.int32) for r in cards])


def _rank(network: Network, rows: ByRow, rng: np.random.Generator) -> int:
    layout = network.layout
    theta = random_theta(layout, rng)
    cells = network.to_cells(conjugacy.natural(theta, layout))
    P = network.to_statistics(rows.posterior(cells, 0, len(cells))[1])
    # In φ every entry is of order one, so no column is tiny.
    jacobian = np.stack([conjugacy.pull_back(theta, p, layout) for p in P])
    singular = np.linalg.svd(jacobian[:, free_coordinates(layout, theta).free], compute_uv=False)
    return int(np.sum(singular > RELATIVE_GAP * max(1.0, singular[0])))
