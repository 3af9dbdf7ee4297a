"""Scores that see unused states: a score at one mode, put into the occupancy identity.

The identity is that of `used_states.py` (docs/explanation/labels.md, "Empty classes"). A score at
one mode sees one of the equal labellings of E_m, and nothing of the other terms.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lacunet.flags import Flag, Kind, Sizes
from lacunet.inference.classes import states_told, with_sizes
from lacunet.inference.expectation import hidden_counts
from lacunet.inference.problem import Problem
from lacunet.inference.symmetry import symmetries_of
from lacunet.model import conjugacy
from lacunet.model.latent_class import classes_of
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.rows import in_passing
from lacunet.scoring.fitting import Fitting
from lacunet.scoring.labellings import flags_of
from lacunet.scoring.score import Fewer, Score
from lacunet.scoring.score_input import Evidence, ScoreInput
from lacunet.scoring.used_states import (
    States,
    UsedStates,
    counted_cases,
    log_all_used,
    log_choices,
    log_ratio,
)


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
    told = math.fsum(p.counts[(p.codes >= 0).any(axis=1)].sum() for p in parts)
    classes = classes_of(problem.network)
    a = float(problem.layout.table(problem.alpha, classes.root)[0])
    return log_occupancy(classes.number, a, told)


def at_theta(at: ScoreInput) -> FloatArray:
    """The usual weights of hidden values: the posterior given θ."""
    return conjugacy.natural(at.theta, at.problem.layout)


def at_softmax_mode(at: ScoreInput) -> FloatArray:
    """The weights of scores that are taken at the softmax mode."""
    return conjugacy.natural(at.softmax.point.theta, at.problem.layout)


def variational_weights(at: ScoreInput) -> FloatArray:
    """The weights of the best independent posterior."""
    return at.variational.log_weights


def nothing_known(_: ScoreInput) -> dict[str, float]:
    """Take the labellings to be far apart, and the Gaussian for granted."""
    return {}


def of_gaussian(at: ScoreInput) -> dict[str, float]:
    """What to take off the Gaussian at the softmax mode: too wide a part, and other labels."""
    return {
        "log p(held by the prior)": at.softmax.log_held,
        "log p(own labels)": at.softmax.log_own,
    }


@dataclass(frozen=True)
class Occupied:
    """Puts a score into the identity, for every number of used states."""

    score: Score
    log_weights: Callable[[ScoreInput], FloatArray]
    less: Callable[[ScoreInput], dict[str, float]]

    @property
    def name(self) -> str:
        """As on the command line."""
        return f"{self.score.name}-occupied"

    def fits(self, own: Fitting) -> list[Fitting]:
        """Fit fewer states as candidates are; where nothing is left to sum over, nothing."""
        used = UsedStates(own.problem)
        sizes = (used.of_variables(sizes) for sizes in used.fewer if not used.exact(sizes))
        return [replace(own, sizes=s) for s in sizes]

    def all_used(self, at: ScoreInput) -> Evidence:
        """Log E_m: the score, its labellings, and how far they are apart and in use.

        The probability that no state is unused is under the weights of hidden values that the score
        itself uses: a fit with an unused state is one with fewer states, and would count twice.
        Where the score knows the posterior of the parameters, it tells how much of that has the
        labels of its own mode: modes that overlap would count the rest again and again.
        """
        problem = at.problem
        if problem.exact:
            return self._closed(problem)
        one, weights = self.score.here(at), self.log_weights(at)
        symmetries = symmetries_of(problem)
        terms = {
            f"{self.score.name}{_with_states(states_told(problem).values())}": one.value,
            "log of equal labellings": symmetries.log_count,
            "log p(all states used)": log_all_used(problem, weights),
        }
        terms |= {name: x for name, x in self.less(at).items() if x < 0.0}
        # A bound of all that the model says has fewer used states in it, which are added later.
        flags = tuple(flag for flag in one.flags if flag.kind is not Kind.BELOW_BOUND)
        counts = hidden_counts(problem, weights).N + problem.seen
        flags = (*flags, *flags_of(symmetries))
        return Evidence(self.name, terms, flags, cases=counted_cases(problem, counts))

    def _closed(self, problem: Problem) -> Evidence:
        """The same where nothing is left to sum over: it needs no approximation."""
        terms, cases = {"log p(D|S)": problem.log_seen}, counted_cases(problem, problem.seen)
        return Evidence(self.name, terms, cases=cases)

    def together(self, problem: Problem, parts: Sequence[Evidence]) -> Evidence:
        """Sum over the numbers of used states, given log E_m where there was a fit."""
        used = UsedStates(problem)
        if not used.own:  # nothing has states that might be unused
            own = parts[-1]
            return own if np.isfinite(own.value) else replace(own, terms={})
        sizes, fitted = [*used.fewer, used.whole], iter(parts)
        each = [
            self._closed(with_sizes(problem, dict(used.of_variables(s))))
            if used.exact(s)
            else next(fitted)
            for s in sizes
        ]
        flags = (*_gathered(sizes, [part.flags for part in each]), *_one_by_one(used))
        logs = used.log_parts([part.value for part in each], [part.cases for part in each])
        if np.isnan(logs).any():  # what is not known may be nearly all of it
            return Evidence(self.name, {}, flags)
        whole = used.log_sum(logs)
        if logs[-1] == -np.inf:  # some state is surely unused
            return Evidence(self.name, {"fewer used states": whole}, flags)
        terms = {**each[-1].terms, "fewer used states": whole - float(logs[-1])}
        return Evidence(self.name, terms, flags)


def occupied(
    score: Score,
    log_weights: Callable[[ScoreInput], FloatArray] = at_theta,
    less: Callable[[ScoreInput], dict[str, float]] = nothing_known,
    *,
    usual: bool = False,
) -> Score:
    """Make a score that puts another one into the identity; of the functions, see `all_used`."""
    rule = Occupied(score, log_weights, less)
    return Score(
        rule.name,
        f"{score.title}, occupancy",
        f"{score.source}; occupancy identity",
        rule.all_used,
        column=f"{score.column or score.title} occ.",
        usual=usual,
        fewer=Fewer(rule.fits, rule.together),
        every_labelling=True,
    )


def _with_states(sizes: Iterable[int]) -> str:
    """Say how many states a model has, if it has any that are hidden."""
    words = "×".join(map(str, sizes))
    return f", {words} states" if words else ""


def _gathered(sizes: Sequence[States], flags: Sequence[Sequence[Flag]]) -> tuple[Flag, ...]:
    """Say each flag once, with the numbers of states that have it."""
    alike: dict[str, tuple[Flag, list[int | str]]] = {}  # what reads the same is the same to people
    for own, mine in zip(sizes, flags, strict=True):
        number = own[0] if len(own) == 1 else "×".join(map(str, own))
        for flag in mine:
            alike.setdefault(str(flag), (flag, []))[1].append(number)
    return tuple(replace(flag, fits=Sizes(tuple(m), "states")) for flag, m in alike.values())


def _one_by_one(used: UsedStates) -> tuple[Flag, ...]:
    """Say so where combinations of used states are too many to be summed."""
    if used.jointly:
        return ()
    return (Flag(Kind.ONE_VARIABLE_AT_A_TIME, detail={"number": used.number}),)
