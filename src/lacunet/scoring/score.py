"""What a score is, and for which problems it is defined."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lacunet.flags import Flag, Kind
from lacunet.inference.plausible import FAILURES, check_log_probability, failure, is_above_zero
from lacunet.inference.problem import Problem
from lacunet.model.latent_class import is_latent_class
from lacunet.scoring.fitting import Fitting
from lacunet.scoring.score_input import Evidence, ScoreInput

FAR_OUT = 6.0  # standard errors that no estimate is off


@dataclass(frozen=True)
class Domain:
    """The problems for which a score is defined."""

    holds: Callable[[Problem], bool]
    words: str  # what to say of a score where it is not


def _any(_: Problem) -> bool:
    return True


def _exact(problem: Problem) -> bool:
    return problem.exact


def _tabular(problem: Problem) -> bool:
    return problem.layout.tabular and problem.layout.plain


def _of_classes(problem: Problem) -> bool:
    return is_latent_class(problem.network) and _tabular(problem)


EVERYWHERE = Domain(_any, "")
NOTHING_HIDDEN = Domain(_exact, "is exact, so defined only where nothing is hidden")
TABULAR = Domain(
    _tabular, "is defined only for categorical variables, with no table fixed, tied or with zeros"
)
LATENT_CLASSES = Domain(
    _of_classes,
    "is defined only for latent class models of categories, with no table fixed, tied or with "
    "zeros",
)


@dataclass(frozen=True)
class Fewer:
    """How a score is made from fits with fewer states: they are found out before any is made."""

    fits: Callable[[Fitting], list[Fitting]]  # which, given that of the model itself
    # From the problem, and the parts at those fits and, at last, at the model itself.
    together: Callable[[Problem, Sequence[Evidence]], Evidence]


@dataclass(frozen=True)
class Score:
    """One way to approximate the evidence. Each lives in a file of its own."""

    name: str  # as on the command line
    title: str  # as in sentences
    source: str  # where it is defined
    evaluate: Callable[[ScoreInput], Evidence]  # at one fit; with `fewer`, its part there
    column: str = ""  # as the head of a column, where the title is too long for one
    domain: Domain = EVERYWHERE
    usual: bool = True  # whether it runs without being named: cheap, and worth a column
    fewer: Fewer | None = None  # where it needs other fits, which candidates can share
    every_labelling: bool = False  # whether all equal labellings are in its value already
    bound: bool = False  # whether it is the log of a probability, or below one, at every θ
    lower: bool = False  # whether log p(D|S) is never below it, at any θ

    def __call__(self, at: ScoreInput) -> Evidence:
        """Give its value; fits that it needs are made for it alone."""
        own = Fitting(at.problem, at.options, at.effective_dimension is not None)
        others = [f.input_at(f.fit(at.executor), at.executor) for f in self.fits(own)]
        return self.together(at.problem, [self.here(x) for x in (*others, at)])

    def fits(self, own: Fitting) -> list[Fitting]:
        """The fits that it needs besides that of the model itself."""
        return self.fewer.fits(own) if self.fewer else []

    def here(self, at: ScoreInput) -> Evidence:
        """Evaluate it, or its part, at one fit: once."""
        if self.name not in at.taken:
            at.taken[self.name] = self._timed(at)
        return at.taken[self.name]

    def together(self, problem: Problem, parts: Sequence[Evidence]) -> Evidence:
        """Make its value from its parts; the last is that of the model itself."""
        own = parts[-1]
        if self.fewer is None or not own.terms:  # where nothing is known here, nothing is
            return own
        failed = [f for part in parts for f in part.flags if f.kind is Kind.FAILED]
        if failed:
            return replace(own, terms={}, flags=(*own.flags, failed[0]))
        began = time.perf_counter()
        try:
            whole = _looked_at(problem, self.fewer.together(problem, parts))
        except FAILURES as error:
            whole = Evidence(self.name, {}, (failure(error),))
        return replace(whole, name=self.name, seconds=own.seconds + time.perf_counter() - began)

    def _timed(self, at: ScoreInput) -> Evidence:
        began = time.perf_counter()
        possible = self.only_exact or np.isfinite(at.log_lik)
        nothing = Evidence(self.name, {}, (Flag(Kind.IMPOSSIBLE_DATA),))
        try:
            evidence = self._checked(at) if possible else nothing
        except FAILURES as error:
            evidence = Evidence(self.name, {}, (failure(error),))
        return replace(evidence, seconds=time.perf_counter() - began)

    def _checked(self, at: ScoreInput) -> Evidence:
        """Give its value; what no log probability can be is a failure, as is no number at all."""
        evidence = _looked_at(at.problem, self.evaluate(at))
        if evidence.terms:
            value, noise = evidence.value, FAR_OUT * (evidence.stderr or 0.0)
            if self.bound and at.dimension == at.parameters:
                check_log_probability(at.problem, self.name, evidence.terms, noise)
            elif self.fewer is None and not math.isfinite(value):
                raise ArithmeticError(f"it came out as {value}, which is not a finite number")
        return evidence

    def applies(self, problem: Problem) -> bool:
        """Whether the score is defined for a problem."""
        return self.domain.holds(problem)

    @property
    def only_exact(self) -> bool:
        """Whether it is defined only where nothing is hidden."""
        return self.domain == NOTHING_HIDDEN


def _looked_at(problem: Problem, evidence: Evidence) -> Evidence:
    """Say it where a value is one that no evidence can have."""
    if not is_above_zero(problem, evidence.terms):
        return evidence
    return replace(evidence, flags=(*evidence.flags, Flag(Kind.ABOVE_ZERO)))
