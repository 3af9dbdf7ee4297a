"""Scores in the occupancy identity: they see unused states of hidden variables, and all labellings.

Call a state of a hidden variable used if some case has it. Completions of the data in which m_h of
the k_h states of each hidden variable h are used have the same probability for every k_h ≥ m_h, but
for the family of h itself: parameters of children, given a state that is not used, integrate to 1.
With a_j the exponent of each state of h, and N_j the cases, at configuration j of its parents,

    p(D|k) = Σ_m E_m Π_h C(k_h, m_h) Π_j ρ(k_h, m_h; a_j, N_j),
    ρ(k, m; a, N) = Γ(ka) Γ(ma + N) / (Γ(ka + N) Γ(ma)),

where E_m is the part of p(D|m) in which all states are used. N_j is known if h has no parents, or
if its parents are seen; else it is taken as expected. See docs/explanation/labels.md.
"""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TypeAlias

import numpy as np
from scipy.special import gammaln, xlog1py

from lacunet.flags import Flag, Kind, Sizes
from lacunet.inference.classes import (
    FAILURES,
    failure,
    hidden_counts,
    prior_of_states,
    states_told,
    with_sizes,
)
from lacunet.inference.plans.plan import EStep
from lacunet.inference.problem import Problem
from lacunet.inference.symmetry import Symmetries, symmetries_of
from lacunet.likelihoods.gamma_functions import log_rising
from lacunet.models import conjugacy
from lacunet.models.latent_class import classes_of
from lacunet.runtime.arrays import FloatArray, IndexArray
from lacunet.runtime.rows import in_passing
from lacunet.scores.score import Evidence, Fitting, Score, ScoreInput, marked

MOST_FITS = 32  # of models with fewer states, if all combinations are summed
MOST_ALONE = 12  # if each variable is taken by itself

UsedNumbers: TypeAlias = tuple[int, ...]  # of each variable that may have unused states
ParentCases: TypeAlias = Mapping[int, FloatArray]  # by hidden variable, (parent configurations,)
# Weights of hidden values that a score uses, by which states are unused or not, and corrections to
# its value, of which negative ones count.
ModeWeights: TypeAlias = tuple[FloatArray, Mapping[str, float]]


def log_ratio(k: float, m: float, a: FloatArray | float, cases: FloatArray | float) -> FloatArray:
    """Log ρ(k, m; a, N).

    One case is in one of two states, or in the only one: ρ(2, 1) = 1/2.

    >>> float(np.exp(log_ratio(2, 1, 1.0, 1.0))).__round__(9)
    0.5
    """
    return log_rising(m * a, cases) - log_rising(k * a, cases)


def log_choices(k: int, m: int) -> float:
    """Log of the number of ways to choose m of k states."""
    return float(gammaln(k + 1) - gammaln(m + 1) - gammaln(k - m + 1))


def log_occupancy(classes: int, a: float, cases: float) -> FloatArray:
    """Log of C(k, m) ρ(k, m) for m = 1..k, (k,).

    One case cannot use two classes: E_2 = 0, and p(D|2) = E_1.

    >>> np.exp(log_occupancy(2, 1.0, 1.0)).round(9).tolist()
    [1.0, 1.0]
    """
    each = range(1, classes + 1)
    return np.array([log_choices(classes, m) + log_ratio(classes, m, a, cases) for m in each])


def log_factors(problem: Problem) -> FloatArray:
    """The same for the classes, the prior and the cases of a latent class model, (k,).

    A case that shows nothing says nothing of its class: such cases are not counted.
    """
    parts = in_passing(problem.codes, problem.counts)
    shown = math.fsum(p.counts[(p.codes >= 0).any(axis=1)].sum() for p in parts)
    classes = classes_of(problem.network)
    a = float(problem.layout.table(problem.alpha, classes.root)[0])
    return log_occupancy(classes.number, a, shown)


@dataclass(frozen=True, eq=False)
class UsedStates:
    """The numbers of used states that have a term in p(D|k)."""

    problem: Problem

    @cached_property
    def own(self) -> dict[int, int]:
        """The variables that may have unused states, and how many states they have."""
        return states_told(self.problem)

    @cached_property
    def whole(self) -> UsedNumbers:
        """All states used."""
        return self._sorted(tuple(self.own.values()))

    @cached_property
    def number(self) -> int:
        """How many different combinations of used states there are."""
        own = list(self.own.values())
        return math.prod(math.comb(own[b[0]] + len(b) - 1, len(b)) for b in self._places)

    @cached_property
    def jointly(self) -> bool:
        """Whether all combinations are summed; else each variable by itself, the others full."""
        return self.number - 1 <= MOST_FITS

    @cached_property
    def combinations(self) -> dict[UsedNumbers, int]:
        """Numbers of used states, all of them last: each with how many exchanges make it."""
        every = itertools.product(*(range(1, k + 1) for k in self.own.values()))
        return dict(Counter(map(self._sorted, every)))

    @cached_property
    def fewer(self) -> list[UsedNumbers]:
        """Those combinations that are looked at, without the whole."""
        if self.jointly:
            return [sizes for sizes in self.combinations if sizes != self.whole]
        alone = [sizes for n in range(len(self.whole)) for sizes in self._alone(n)]
        nearest = sorted(dict.fromkeys(alone), key=lambda sizes: -sum(sizes))
        return nearest[:MOST_ALONE]

    def _alone(self, n: int) -> list[UsedNumbers]:
        """Fewer used states of one variable."""
        full = self.whole
        return [self._sorted((*full[:n], m, *full[n + 1 :])) for m in range(1, full[n])]

    def exact(self, sizes: UsedNumbers) -> bool:
        """Whether nothing is left to sum over with so many states."""
        single = {h for h, m in zip(self.own, sizes, strict=True) if m == 1}
        return self.problem.components.members <= single

    def of_variables(self, sizes: UsedNumbers) -> tuple[tuple[int, int], ...]:
        """The same numbers by variable."""
        return tuple(zip(self.own, sizes, strict=True))

    def log_factor(self, sizes: UsedNumbers, cases: ParentCases) -> float:
        """Log of Π C(k, m) Π ρ(k, m) of one combination; `cases` as counted with so many states."""
        total, prior = 0.0, prior_of_states(self.problem, dict(self.of_variables(sizes)))
        for (h, k), m in zip(self.own.items(), sizes, strict=True):
            a = prior[h][..., 0].reshape(-1)
            total += log_choices(k, m) + float(log_ratio(k, m, a, cases[h]).sum())
        return total

    def log_parts(self, values: Sequence[float], cases: Sequence[ParentCases]) -> FloatArray:
        """Log terms of p(D|k) from log E_m of each of `fewer`, and of the whole at last."""
        whole = {h: float(cases[-1][h].sum()) for h in self.own}
        parts = []
        for sizes, value, counted in zip([*self.fewer, self.whole], values, cases, strict=True):
            # With one state, cases that say nothing of a variable are counted all the same.
            own = {
                h: N * min(1.0, whole[h] / (N.sum() or 1.0))
                for h, N in counted.items()
                if h in whole
            }
            parts.append(value + self.log_factor(sizes, own))
        return np.array(parts)

    def log_sum(self, parts: FloatArray) -> float:
        """Log p(D|k) from its terms, as `log_parts` gives them."""
        if self.jointly:
            weights = [self.combinations[sizes] for sizes in [*self.fewer, self.whole]]
            return float(np.logaddexp.reduce(parts + np.log(weights)))
        total = whole = float(parts[-1])
        found = dict(zip(self.fewer, parts, strict=False))
        for n in range(len(self.whole)):
            terms = [found[sizes] for sizes in self._alone(n) if sizes in found]
            total += float(np.logaddexp.reduce([whole, *terms])) - whole
        return total

    @cached_property
    def _places(self) -> list[list[int]]:
        """Where variables stand that can change places; those that cannot, by themselves."""
        own = list(self.own)
        blocks = [block.variables for block in symmetries_of(self.problem).blocks]
        places = [[own.index(h) for h in block] for block in blocks if set(block) <= set(own)]
        alone = set(range(len(own))).difference(*places)
        return [*places, *([place] for place in alone)]

    def _sorted(self, sizes: UsedNumbers) -> UsedNumbers:
        """Of variables that can change places, that with the most states first."""
        found = list(sizes)
        for block in self._places:
            largest_first = sorted((sizes[place] for place in block), reverse=True)
            for place, m in zip(block, largest_first, strict=True):
                found[place] = m
        return tuple(found)


def log_all_used(problem: Problem, log_weights: FloatArray) -> float:
    """Log probability that no state is unused, with hidden values drawn row by row.

    Each has its posterior under the weights. States are taken as if independent: they are not
    quite, but where the product is far from 1, one or two of them are nearly sure to be unused.
    """
    total, cells = 0.0, problem.components.cells
    weights = cells.weights(log_weights)
    for h, k in states_told(problem).items():
        block, log_unused = cells.layout.block(h), np.zeros(k)
        ask = partial(_log_unused, weights, block.start, cells.layout.k[block], k)
        for plan in problem.components.plans:
            for part in plan.by_part(ask):
                log_unused += part
        with np.errstate(divide="ignore"):
            total += float(np.sum(np.log(-np.expm1(log_unused))))
    return total


def _log_unused(
    weights: FloatArray, first: int, states: IndexArray, k: int, plan: EStep
) -> FloatArray:
    """Log probability that no case of a plan has each state of a variable, (k,)."""
    _, r = plan.posterior(weights, first, first + len(states))
    by_state = np.stack([r[:, states == s].sum(axis=1) for s in range(k)], axis=1)
    return np.asarray(xlog1py(plan.counts[:, None], -np.clip(by_state, 0.0, 1.0)).sum(axis=0))


def counted_cases(problem: Problem, N: FloatArray) -> ParentCases:
    """Cases at each configuration of the parents of hidden variables, by counts N."""
    tables = {h: problem.layout.table(N, h) for h in problem.network.hidden}
    return {h: table.reshape(-1, table.shape[-1]).sum(axis=1) for h, table in tables.items()}


def flags_of(symmetries: Symmetries) -> tuple[Flag, ...]:
    """Say so where there may be more labellings than are counted."""
    return () if symmetries.whole else (Flag(Kind.MORE_LABELLINGS),)


@dataclass(frozen=True, kw_only=True)
class OccupiedScore(Score):
    """A score at one mode, put into the identity: it sees one of the equal labellings of E_m."""

    inner: Score
    mode: Callable[[ScoreInput], ModeWeights]

    def fits(self, own: Fitting) -> list[Fitting]:
        """Fit fewer states as candidates are; where nothing is left to sum over, nothing."""
        used = UsedStates(own.problem)
        fewer = [sizes for sizes in used.fewer if not used.exact(sizes)]
        return [replace(own, sizes=used.of_variables(sizes)) for sizes in fewer]

    def part(self, at: ScoreInput) -> Evidence:
        """Log E_m: the score, its labellings, and how far they are apart and in use.

        A fit with an unused state is one with fewer states, and would count twice. Where the score
        has a posterior of the parameters, only the share that has the labels of its own mode
        counts: modes that overlap would count the rest again and again.
        """
        problem = at.problem
        if problem.exact:
            return self._closed(problem)
        one, (weights, corrections) = self.inner.here(at), self.mode(at)
        symmetries = symmetries_of(problem)
        states = "×".join(map(str, states_told(problem).values()))
        terms = {
            f"{self.inner.name}{f', {states} states' if states else ''}": one.value,
            "log of equal labellings": symmetries.log_count,
            "log p(all states used)": log_all_used(problem, weights),
        }
        terms |= {name: x for name, x in corrections.items() if x < 0.0}
        # A bound of all that the model says has fewer used states in it, which are added later.
        flags = tuple(flag for flag in one.flags if flag.kind is not Kind.BELOW_BOUND)
        counts = hidden_counts(problem, weights).N + problem.seen
        flags = (*flags, *flags_of(symmetries))
        return Evidence(self.name, terms, flags, cases=counted_cases(problem, counts))

    def _closed(self, problem: Problem) -> Evidence:
        """The same where nothing is left to sum over: it needs no approximation."""
        terms, cases = {"log p(D|S)": problem.log_seen}, counted_cases(problem, problem.seen)
        return Evidence(self.name, terms, cases=cases)

    def _check(self, at: ScoreInput, evidence: Evidence) -> None:
        """A part of a sum may be 0, and its log −inf."""

    def combine(self, problem: Problem, parts: Sequence[Evidence]) -> Evidence:
        """Sum over the numbers of used states; where nothing is known here, nothing is."""
        own = parts[-1]
        if not own.terms:
            return own
        failed = [f for part in parts for f in part.flags if f.kind is Kind.FAILED]
        if failed:
            return replace(own, terms={}, flags=(*own.flags, failed[0]))
        try:
            whole = marked(problem, self._sum(problem, parts))
        except FAILURES as error:
            whole = Evidence(self.name, {}, (failure(error),))
        return replace(whole, seconds=own.seconds)

    def _sum(self, problem: Problem, parts: Sequence[Evidence]) -> Evidence:
        used = UsedStates(problem)
        if not used.own:  # no variable may have unused states
            own = parts[-1]
            return own if np.isfinite(own.value) else replace(own, terms={})
        sizes, fitted = [*used.fewer, used.whole], iter(parts)
        each = [
            self._closed(with_sizes(problem, dict(used.of_variables(s))))
            if used.exact(s)
            else next(fitted)
            for s in sizes
        ]
        flags = _gathered(sizes, [part.flags for part in each])
        if not used.jointly:
            flags = (*flags, Flag(Kind.ONE_VARIABLE_AT_A_TIME, detail={"number": used.number}))
        logs = used.log_parts([part.value for part in each], [part.cases for part in each])
        if np.isnan(logs).any():  # what is not known may be nearly all of it
            return Evidence(self.name, {}, flags)
        whole = used.log_sum(logs)
        if logs[-1] == -np.inf:  # some state is surely unused
            return Evidence(self.name, {"fewer used states": whole}, flags)
        terms = {**each[-1].terms, "fewer used states": whole - float(logs[-1])}
        return Evidence(self.name, terms, flags)


def occupied(
    inner: Score, mode: Callable[[ScoreInput], ModeWeights], *, usual: bool = False
) -> OccupiedScore:
    """Make a score that puts another one into the identity."""
    return OccupiedScore(
        name=f"{inner.name}-occupied",
        title=f"{inner.title}, occupancy",
        source=f"{inner.source}; occupancy identity",
        evaluate=inner.evaluate,
        column=f"{inner.column or inner.title} occ.",
        usual=usual,
        every_labelling=True,
        inner=inner,
        mode=mode,
    )


def gaussian_mode(at: ScoreInput) -> ModeWeights:
    """At the softmax mode; its Gaussian counts too wide a part, and other labels."""
    weights = conjugacy.natural(at.softmax.point.theta, at.problem.layout)
    held, own = at.softmax.log_held, at.softmax.log_own
    return weights, {"log p(held by the prior)": held, "log p(own labels)": own}


def variational_mode(at: ScoreInput) -> ModeWeights:
    """At the best independent posterior; its labellings are taken to be far apart."""
    return at.variational.log_weights, {}


def _gathered(sizes: Sequence[UsedNumbers], flags: Sequence[Sequence[Flag]]) -> tuple[Flag, ...]:
    """Say each flag once, with the numbers of states that have it."""
    alike: dict[str, tuple[Flag, list[int | str]]] = {}  # by text
    for own, mine in zip(sizes, flags, strict=True):
        number = own[0] if len(own) == 1 else "×".join(map(str, own))
        for flag in mine:
            alike.setdefault(str(flag), (flag, []))[1].append(number)
    return tuple(replace(flag, fits=Sizes(tuple(m), "states")) for flag, m in alike.values())
