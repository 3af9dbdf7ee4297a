"""Scores in the occupancy identity: they account for unused hidden states and all labellings.

A state of a hidden variable is *used* if some case has it. Take completions of the data in which
m_h of the k_h states of each hidden variable h are used. Their probability is the same for every
k_h ≥ m_h, except for the family of h: parameters of children given an unused state integrate to 1.
With a_j the exponent of each state of h, and N_j the cases, at configuration j of its parents,

    p(D|k) = Σ_m E_m Π_h C(k_h, m_h) Π_j ρ(k_h, m_h; a_j, N_j),
    ρ(k, m; a, N) = Γ(ka) Γ(ma + N) / (Γ(ka + N) Γ(ma)),

where E_m is the part of p(D|m) in which all states are used. N_j is known if the parents of h are
observed, or if it has none; otherwise it is an expectation. See docs/explanation/labels.md.
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
    informed_states,
    prior_of_states,
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
MOST_ALONE = 12  # the same, if each variable is reduced separately

UsedNumbers: TypeAlias = tuple[int, ...]  # of each variable that may have unused states
ParentCases: TypeAlias = Mapping[int, FloatArray]  # by hidden variable, (parent configurations,)
# Weights of hidden values at the mode of a score, and corrections to its value, of which negative
# ones apply.
ModeWeights: TypeAlias = tuple[FloatArray, Mapping[str, float]]


def log_ratio(k: float, m: float, a: FloatArray | float, cases: FloatArray | float) -> FloatArray:
    """Log ρ(k, m; a, N).

    One case has one of two states, or the only state: ρ(2, 1) = 1/2.

    >>> float(np.exp(log_ratio(2, 1, 1.0, 1.0))).__round__(9)
    0.5
    """
    return log_rising(m * a, cases) - log_rising(k * a, cases)


def log_choices(k: int, m: int) -> float:
    """Log of the binomial coefficient C(k, m)."""
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

    Cases without observed values are not counted.
    """
    parts = in_passing(problem.codes, problem.counts)
    shown = math.fsum(p.counts[(p.codes >= 0).any(axis=1)].sum() for p in parts)
    classes = classes_of(problem.network)
    a = float(problem.layout.table(problem.alpha, classes.root)[0])
    return log_occupancy(classes.number, a, shown)


@dataclass(frozen=True, eq=False)
class UsedStates:
    """The combinations of numbers of used states in the sum for p(D|k)."""

    problem: Problem

    @cached_property
    def cards(self) -> dict[int, int]:
        """The numbers of states of the variables that may have unused states."""
        return informed_states(self.problem)

    @cached_property
    def whole(self) -> UsedNumbers:
        """All states used."""
        return self._sorted(tuple(self.cards.values()))

    @cached_property
    def number(self) -> int:
        """The number of different combinations of used states."""
        k = list(self.cards.values())
        return math.prod(math.comb(k[b[0]] + len(b) - 1, len(b)) for b in self._places)

    @cached_property
    def jointly(self) -> bool:
        """Whether all combinations are summed; else variables are reduced one at a time."""
        return self.number - 1 <= MOST_FITS

    @cached_property
    def combinations(self) -> dict[UsedNumbers, int]:
        """Numbers of used states, with the number of permutations that give each; whole last."""
        every = itertools.product(*(range(1, k + 1) for k in self.cards.values()))
        return dict(Counter(map(self._sorted, every)))

    @cached_property
    def fewer(self) -> list[UsedNumbers]:
        """The combinations in the sum, without the whole."""
        if self.jointly:
            return [sizes for sizes in self.combinations if sizes != self.whole]
        alone = [sizes for n in range(len(self.whole)) for sizes in self._alone(n)]
        nearest = sorted(dict.fromkeys(alone), key=lambda sizes: -sum(sizes))
        return nearest[:MOST_ALONE]

    def _alone(self, n: int) -> list[UsedNumbers]:
        """The combinations with fewer used states of variable n only."""
        full = self.whole
        return [self._sorted((*full[:n], m, *full[n + 1 :])) for m in range(1, full[n])]

    def exact(self, sizes: UsedNumbers) -> bool:
        """Whether nothing hidden remains with so many states."""
        single = {h for h, m in zip(self.cards, sizes, strict=True) if m == 1}
        return self.problem.components.members <= single

    def of_variables(self, sizes: UsedNumbers) -> tuple[tuple[int, int], ...]:
        """Pairs of a variable and its number of states."""
        return tuple(zip(self.cards, sizes, strict=True))

    def log_factor(self, sizes: UsedNumbers, cases: ParentCases) -> float:
        """Log of Π C(k, m) Π ρ(k, m) of one combination, given the cases counted with it."""
        total, prior = 0.0, prior_of_states(self.problem, dict(self.of_variables(sizes)))
        for (h, k), m in zip(self.cards.items(), sizes, strict=True):
            a = prior[h][..., 0].reshape(-1)
            total += log_choices(k, m) + float(log_ratio(k, m, a, cases[h]).sum())
        return total

    def log_parts(self, values: Sequence[float], cases: Sequence[ParentCases]) -> FloatArray:
        """Log terms of p(D|k) from log E_m of each of `fewer`, and, last, of the whole."""
        whole = {h: float(cases[-1][h].sum()) for h in self.cards}
        parts = []
        for sizes, value, counted in zip([*self.fewer, self.whole], values, cases, strict=True):
            # With one state, cases without information on a variable are counted too: rescale.
            scaled = {
                h: N * min(1.0, whole[h] / (N.sum() or 1.0))
                for h, N in counted.items()
                if h in whole
            }
            parts.append(value + self.log_factor(sizes, scaled))
        return np.array(parts)

    def log_sum(self, parts: FloatArray) -> float:
        """Log p(D|k) from its terms in the order of `log_parts`."""
        if self.jointly:
            weights = [self.combinations[sizes] for sizes in [*self.fewer, self.whole]]
            return float(np.logaddexp.reduce(parts + np.log(weights)))
        total = whole = float(parts[-1])
        by_sizes = dict(zip(self.fewer, parts, strict=False))
        for n in range(len(self.whole)):
            terms = [by_sizes[sizes] for sizes in self._alone(n) if sizes in by_sizes]
            total += float(np.logaddexp.reduce([whole, *terms])) - whole
        return total

    @cached_property
    def _places(self) -> list[list[int]]:
        """Indices of the variables of each exchangeable block; single variables otherwise."""
        variables = list(self.cards)
        blocks = [block.variables for block in symmetries_of(self.problem).blocks]
        inside = [block for block in blocks if set(block) <= set(variables)]
        places = [[variables.index(h) for h in block] for block in inside]
        alone = set(range(len(variables))).difference(*places)
        return [*places, *([place] for place in alone)]

    def _sorted(self, sizes: UsedNumbers) -> UsedNumbers:
        """Sort the numbers within each exchangeable block, largest first."""
        ordered = list(sizes)
        for block in self._places:
            largest_first = sorted((sizes[place] for place in block), reverse=True)
            for place, m in zip(block, largest_first, strict=True):
                ordered[place] = m
        return tuple(ordered)


def log_all_used(problem: Problem, log_weights: FloatArray) -> float:
    """Log probability that all states are used, if hidden values are drawn from their posterior.

    It is a product over states, as if they were independent. The approximation is good: where the
    product is far from 1, one or two states are almost certainly unused.
    """
    total, cells = 0.0, problem.components.cells
    weights = cells.weights(log_weights)
    for h, k in informed_states(problem).items():
        block, log_unused = cells.layout.block(h), np.zeros(k)
        by_plan = partial(_log_unused, weights, block.start, cells.layout.k[block], k)
        for plan in problem.components.plans:
            for part in plan.by_part(by_plan):
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
    """Cases at each configuration of the parents of hidden variables, from counts N."""
    tables = {h: problem.layout.table(N, h) for h in problem.network.hidden}
    return {h: table.reshape(-1, table.shape[-1]).sum(axis=1) for h, table in tables.items()}


def flags_of(symmetries: Symmetries) -> tuple[Flag, ...]:
    """A flag if there may be more labellings than are counted."""
    return () if symmetries.whole else (Flag(Kind.MORE_LABELLINGS),)


@dataclass(frozen=True, kw_only=True)
class OccupiedScore(Score):
    """The occupancy identity with E_m approximated by a score at one mode."""

    inner: Score
    mode: Callable[[ScoreInput], ModeWeights]

    def fits(self, fitting: Fitting) -> list[Fitting]:
        """Fits with fewer states, except those with a closed form."""
        used = UsedStates(fitting.problem)
        fewer = [sizes for sizes in used.fewer if not used.exact(sizes)]
        return [replace(fitting, sizes=used.of_variables(sizes)) for sizes in fewer]

    def part(self, at: ScoreInput) -> Evidence:
        """Log E_m: the score, the number of labellings, and corrections for double counting.

        A mode with an unused state also counts with fewer states, so the probability that all
        states are used is a factor. Of a posterior of the parameters, only the share with the
        labels of the mode counts, because overlapping modes would count the rest again.
        """
        problem = at.problem
        if problem.exact:
            return self._closed(problem)
        one, (weights, corrections) = self.inner.evaluated(at), self.mode(at)
        symmetries = symmetries_of(problem)
        states = "×".join(map(str, informed_states(problem).values()))
        terms = {
            f"{self.inner.name}{f', {states} states' if states else ''}": one.value,
            "log of equal labellings": symmetries.log_count,
            "log p(all states used)": log_all_used(problem, weights),
        }
        terms |= {name: x for name, x in corrections.items() if x < 0.0}
        # That bound is on p(D|k), which includes fewer used states; they are added later.
        flags = tuple(flag for flag in one.flags if flag.kind is not Kind.BELOW_BOUND)
        counts = hidden_counts(problem, weights).N + problem.seen
        flags = (*flags, *flags_of(symmetries))
        return Evidence(self.name, terms, flags, cases=counted_cases(problem, counts))

    def _closed(self, problem: Problem) -> Evidence:
        """The same if nothing is hidden: no approximation is needed."""
        terms, cases = {"log p(D|S)": problem.log_seen}, counted_cases(problem, problem.seen)
        return Evidence(self.name, terms, cases=cases)

    def _check(self, at: ScoreInput, evidence: Evidence) -> None:
        """Accept any value: a part of a sum may be 0, and its log −inf."""

    def combine(self, problem: Problem, parts: Sequence[Evidence]) -> Evidence:
        """Sum over the numbers of used states; undefined if the score of the model is."""
        of_model = parts[-1]
        if not of_model.terms:
            return of_model
        failed = [f for part in parts for f in part.flags if f.kind is Kind.FAILED]
        if failed:
            return replace(of_model, terms={}, flags=(*of_model.flags, failed[0]))
        try:
            whole = marked(problem, self._sum(problem, parts))
        except FAILURES as error:
            whole = Evidence(self.name, {}, (failure(error),))
        return replace(whole, seconds=of_model.seconds)

    def _sum(self, problem: Problem, parts: Sequence[Evidence]) -> Evidence:
        used = UsedStates(problem)
        if not used.cards:  # no variable may have unused states
            of_model = parts[-1]
            return of_model if np.isfinite(of_model.value) else replace(of_model, terms={})
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
        if np.isnan(logs).any():  # the unknown term may dominate
            return Evidence(self.name, {}, flags)
        whole = used.log_sum(logs)
        if logs[-1] == -np.inf:  # some state is certainly unused
            return Evidence(self.name, {"fewer used states": whole}, flags)
        terms = {**each[-1].terms, "fewer used states": whole - float(logs[-1])}
        return Evidence(self.name, terms, flags)


def occupied(
    inner: Score, mode: Callable[[ScoreInput], ModeWeights], *, usual: bool = False
) -> OccupiedScore:
    """The occupancy score with another score inside."""
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
    """The softmax mode; corrections remove excess width and other labels from its Gaussian."""
    weights = conjugacy.natural(at.softmax.point.theta, at.problem.layout)
    width, labels = at.softmax.log_within_prior, at.softmax.log_mode_labels
    return weights, {"log p(held by the prior)": width, "log p(own labels)": labels}


def variational_mode(at: ScoreInput) -> ModeWeights:
    """The variational posterior, without corrections: its labellings are assumed well separated."""
    return at.variational.log_weights, {}


def _gathered(sizes: Sequence[UsedNumbers], flags: Sequence[Sequence[Flag]]) -> tuple[Flag, ...]:
    """Each distinct flag once, with the numbers of states that have it."""
    alike: dict[str, tuple[Flag, list[int | str]]] = {}  # by text
    for used, its_flags in zip(sizes, flags, strict=True):
        number = used[0] if len(used) == 1 else "×".join(map(str, used))
        for flag in its_flags:
            alike.setdefault(str(flag), (flag, []))[1].append(number)
    return tuple(replace(flag, fits=Sizes(tuple(m), "states")) for flag, m in alike.values())
