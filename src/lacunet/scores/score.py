"""The class of scores, their input and result, and the fits that they need."""

import math
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from lacunet.fitting.ascent import Climb
from lacunet.fitting.diagnose import Variational, at_theta, vary
from lacunet.fitting.fit import Fit, Options, learn, softmax_climb
from lacunet.fitting.maxima import BOTH, MASS
from lacunet.flags import Flag, Kind
from lacunet.inference import classes
from lacunet.inference.problem import Problem
from lacunet.inference.queries.most_probable import effective_dimension
from lacunet.inference.symmetry import interchangeable
from lacunet.models.conjugacy import log_prior
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.scores.softmax import SoftmaxMode, softmax_mode
from lacunet.tabular import Columns, Framed, transposed


@dataclass(frozen=True, repr=False)
class Evidence(Framed):
    """An approximation of log p(D|S), in nats; higher is better, for every score."""

    KEYS = "value stderr? terms flags"

    name: str
    terms: Mapping[str, float]  # by name
    flags: tuple[Flag, ...] = ()
    stderr: float | None = None  # where the value is an estimate
    seconds: float = field(default=0.0, compare=False)
    # For parts of a sum: cases of hidden variables at each configuration of their parents.
    cases: Mapping[int, FloatArray] = field(default_factory=dict, repr=False, compare=False)

    @property
    def value(self) -> float:
        """The sum of the terms; NaN where the score does not exist (a flag has the reason)."""
        return math.fsum(self.terms.values()) if self.terms else math.nan

    def brief(self) -> str:
        """The score and its value."""
        return f"{self.name} {self.value:.4f}"

    def tidy(self) -> Columns:
        """A row for each term."""
        return transposed(("term", "value"), self.terms.items())


@dataclass(frozen=True, eq=False)
class ScoreInput:
    """The parameters, usually the mode of largest mass, at which scores are evaluated."""

    problem: Problem
    theta: FloatArray  # (size,)
    effective_dimension: int | None = None  # rank of the Jacobian, if scores use it instead of d′
    options: Options = field(default_factory=Options)  # of fits with fewer classes
    executor: Executor = SERIAL
    # The estimate, if it is another maximum: information criteria are evaluated there.
    estimate: FloatArray | None = None  # (size,)
    taken: dict[str, Evidence] = field(default_factory=dict, init=False, repr=False)  # by score

    @cached_property
    def at_estimate(self) -> "ScoreInput":
        """The same at the estimate."""
        return self if self.estimate is None else replace(self, theta=self.estimate, estimate=None)

    @property
    def parameters(self) -> int:
        """Number of free parameters: d′, the dimension for complete data."""
        return self.problem.network.dimension

    @property
    def dimension(self) -> int:
        """The dimension d of BIC, Draper and CS."""
        return self.parameters if self.effective_dimension is None else self.effective_dimension

    @cached_property
    def expectation(self) -> classes.Expectation:
        """E[N_ijk | D, θ] with barren variables left out, and log p(D | θ)."""
        return classes.expect(self.problem, self.theta, self.executor)

    @cached_property
    def complete_counts(self) -> FloatArray:
        """E[N_ijk | D, θ] with all variables filled in: the imaginary data D′ of CH96."""
        return classes.complete_counts(self.problem, self.theta)

    @property
    def log_lik(self) -> float:
        """Log p(D | θ)."""
        return self.expectation.log_lik

    @cached_property
    def log_prior(self) -> float:
        """Log p(θ)."""
        return log_prior(self.theta, self.problem.alpha, self.problem.layout)

    @cached_property
    def softmax_climb(self) -> Climb:
        """The ascent from θ to the mode of the posterior of φ = log θ."""
        return softmax_climb(self.problem, self.theta, self.executor)

    @cached_property
    def softmax(self) -> SoftmaxMode:
        """That mode, with its curvature."""
        return softmax_mode(self.problem, self.softmax_climb)

    @cached_property
    def variational(self) -> Variational:
        """The variational posterior raised from the posterior of the hidden values at θ."""
        return vary(at_theta(self.problem, self.theta))


@dataclass(frozen=True, eq=False)
class Fitting:
    """A model to be fitted."""

    problem: Problem
    options: Options
    rank: bool = False  # whether scores use the effective dimension
    # Numbers of states of hidden variables that differ; each state keeps its prior.
    sizes: tuple[tuple[int, int], ...] = ()

    @property
    def key(self) -> Hashable:
        """A key that is equal for equal fits to the same data; priors are compared state by state.

        So nothing is shared under a prior that depends on the number of states (BDeu).
        """
        problem, fitted_by = self.problem, (self.options, self.rank)
        alike = [h for h in interchangeable(problem) if classes.resizable(problem.network, h)]
        if not alike or not problem.layout.plain:
            return id(problem), fitted_by
        network, sizes = problem.network, dict(self.sizes)
        cards = tuple(sizes.get(i, k) for i, k in enumerate(problem.layout.cards))
        prior = b"".join(
            t.tobytes() for t in classes.prior_of_states(problem, dict.fromkeys(alike, 1))
        )
        names = tuple(v.name for v in network.variables)
        return names, network.parents, network.hidden, cards, prior, fitted_by

    @property
    def dimension(self) -> int:
        """Number of free parameters."""
        return classes.network_with_sizes(self.problem.network, dict(self.sizes)).dimension

    @property
    def sized(self) -> Problem:
        """The problem with these numbers of states."""
        return classes.with_sizes(self.problem, dict(self.sizes))

    def fit(self, executor: Executor) -> Fit:
        """Learn the model; fits with other `sizes` only need the mode of largest mass."""
        ranks = MASS if self.sizes else BOTH
        return learn(self.sized, self.options, executor=executor, ranks=ranks)

    def input_at(self, fit: Fit, executor: Executor) -> ScoreInput:
        """The input of scores at a fit."""
        d = effective_dimension(fit.problem.network, self.options.seed) if self.rank else None
        estimate = fit.model.theta if fit.nats_above_mass else None
        theta = fit.for_scores.model.theta
        return ScoreInput(fit.problem, theta, d, self.options, executor, estimate=estimate)


@dataclass(frozen=True)
class Score:
    """One way to approximate the evidence."""

    name: str  # as on the command line
    title: str  # as in sentences
    source: str  # the reference
    evaluate: Callable[[ScoreInput], Evidence]  # at one fit
    column: str = ""  # column header, if the title is too long
    only_exact: bool = False  # whether it is defined only where nothing is hidden
    usual: bool = True  # whether it runs by default
    every_labelling: bool = False  # whether its value includes all equal labellings
    lower: bool = False  # whether it is a lower bound of log p(D|S) at every θ

    def __call__(self, at: ScoreInput) -> Evidence:
        """Evaluate the score, with fits made for it alone."""
        fitting = Fitting(at.problem, at.options, at.effective_dimension is not None)
        others = [f.input_at(f.fit(at.executor), at.executor) for f in self.fits(fitting)]
        return self.combine(at.problem, [self.evaluated(x) for x in (*others, at)])

    def applies(self, problem: Problem) -> bool:
        """Whether the score is defined for a problem."""
        return problem.exact or not self.only_exact

    def fits(self, fitting: Fitting) -> list[Fitting]:  # noqa: ARG002
        """The fits that the score needs besides that of the model; candidates can share them."""
        return []

    def part(self, at: ScoreInput) -> Evidence:
        """Evaluate the score, or its part, at one fit."""
        return self.evaluate(at)

    def combine(self, problem: Problem, parts: Sequence[Evidence]) -> Evidence:  # noqa: ARG002
        """Combine the parts at several fits; the last is that of the model itself."""
        return parts[-1]

    def evaluated(self, at: ScoreInput) -> Evidence:
        """The same with checks, timing and failures as flags; results are cached."""
        if self.name not in at.taken:
            began = time.perf_counter()
            try:
                if self.only_exact or np.isfinite(at.log_lik):
                    evidence = marked(at.problem, self.part(at))
                    self._check(at, evidence)
                else:
                    evidence = Evidence(self.name, {}, (Flag(Kind.IMPOSSIBLE_DATA),))
            except classes.FAILURES as error:
                evidence = Evidence(self.name, {}, (classes.failure(error),))
            at.taken[self.name] = replace(evidence, seconds=time.perf_counter() - began)
        return at.taken[self.name]

    def _check(self, at: ScoreInput, evidence: Evidence) -> None:
        """Refuse a value that is impossible for a log probability, or not finite."""
        if not evidence.terms:
            return
        if self.lower and at.dimension == at.parameters:
            classes.check_log_probability(at.problem, self.name, evidence.terms)
        elif not math.isfinite(evidence.value):
            raise ArithmeticError(f"its value {evidence.value} is not a finite number")


def marked(problem: Problem, evidence: Evidence) -> Evidence:
    """Flag a value above 0 where that is impossible."""
    if not classes.is_above_zero(problem, evidence.terms):
        return evidence
    return replace(evidence, flags=(*evidence.flags, Flag(Kind.ABOVE_ZERO)))
