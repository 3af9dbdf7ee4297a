"""What a score is, what it takes, what it returns, and the fits that it needs."""

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

    name: str
    terms: Mapping[str, float]  # by name
    flags: tuple[Flag, ...] = ()
    stderr: float | None = None  # where the value is an estimate
    seconds: float = field(default=0.0, compare=False)
    # Of a part of a sum: cases of hidden variables, at each configuration of their parents.
    cases: Mapping[int, FloatArray] = field(default_factory=dict, repr=False, compare=False)

    @property
    def value(self) -> float:
        """The sum of the terms; NaN where the score does not exist (a flag says why)."""
        return math.fsum(self.terms.values()) if self.terms else math.nan

    def brief(self) -> str:
        """Say the score and its value."""
        return f"{self.name} {self.value:.4f}"

    def tidy(self) -> Columns:
        """Give a row for each term."""
        return transposed(("term", "value"), self.terms.items())


@dataclass(frozen=True, eq=False)
class ScoreInput:
    """Parameters, usually the mode of largest mass, at which the evidence is approximated."""

    problem: Problem
    theta: FloatArray  # (size,)
    effective_dimension: int | None = None  # rank of the Jacobian, if it is to count instead of d′
    options: Options = field(default_factory=Options)  # of fits with fewer classes
    executor: Executor = SERIAL
    # The estimate, where that is another maximum: information criteria are taken there.
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
        """E[N_ijk | D, θ] with everything filled in: the paper's imaginary data D′."""
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
        """That mode, and the curvature there."""
        return softmax_mode(self.problem, self.softmax_climb)

    @cached_property
    def variational(self) -> Variational:
        """The best independent posterior that steps from that of the hidden values at θ reach."""
        return vary(at_theta(self.problem, self.theta))


@dataclass(frozen=True, eq=False)
class Fitting:
    """A model that is to be fitted."""

    problem: Problem
    options: Options
    rank: bool = False  # whether scores are to use the effective dimension
    # Hidden variables that have other numbers of states than their own, each state with the prior
    # that each has now.
    sizes: tuple[tuple[int, int], ...] = ()

    @property
    def key(self) -> Hashable:
        """What makes two fits to the same data the same: of states that are alike, what each has.

        A prior that depends on the number of states (BDeu) thus shares nothing.
        """
        problem, how = self.problem, (self.options, self.rank)
        alike = [h for h in interchangeable(problem) if classes.resizable(problem.network, h)]
        if not alike or not problem.layout.plain:
            return id(problem), how
        network, sizes = problem.network, dict(self.sizes)
        cards = tuple(sizes.get(i, k) for i, k in enumerate(problem.layout.cards))
        prior = b"".join(
            t.tobytes() for t in classes.prior_of_states(problem, dict.fromkeys(alike, 1))
        )
        names = tuple(v.name for v in network.variables)
        return names, network.parents, network.hidden, cards, prior, how

    @property
    def dimension(self) -> int:
        """Number of free parameters."""
        return classes.network_with_sizes(self.problem.network, dict(self.sizes)).dimension

    @property
    def sized(self) -> Problem:
        """The problem with these numbers of states."""
        return classes.with_sizes(self.problem, dict(self.sizes))

    def fit(self, executor: Executor) -> Fit:
        """Learn; of fits that are not shown, scores want the mode of largest mass alone."""
        ranks = MASS if self.sizes else BOTH
        return learn(self.sized, self.options, executor=executor, ranks=ranks)

    def input_at(self, fit: Fit, executor: Executor) -> ScoreInput:
        """Give what scores take."""
        d = effective_dimension(fit.problem.network, self.options.seed) if self.rank else None
        estimate = fit.model.theta if fit.nats_above_mass else None
        theta = fit.for_scores.model.theta
        return ScoreInput(fit.problem, theta, d, self.options, executor, estimate=estimate)


@dataclass(frozen=True)
class Score:
    """One way to approximate the evidence."""

    name: str  # as on the command line
    title: str  # as in sentences
    source: str  # where it is defined
    evaluate: Callable[[ScoreInput], Evidence]  # at one fit
    column: str = ""  # as the head of a column, where the title is too long for one
    only_exact: bool = False  # whether it is defined only where nothing is hidden
    usual: bool = True  # whether it runs without being named: cheap, and worth a column
    every_labelling: bool = False  # whether all equal labellings are in its value already
    lower: bool = False  # whether log p(D|S) is never below it, at any θ

    def __call__(self, at: ScoreInput) -> Evidence:
        """Give its value; fits that it needs are made for it alone."""
        own = Fitting(at.problem, at.options, at.effective_dimension is not None)
        others = [f.input_at(f.fit(at.executor), at.executor) for f in self.fits(own)]
        return self.combine(at.problem, [self.here(x) for x in (*others, at)])

    def applies(self, problem: Problem) -> bool:
        """Whether the score is defined for a problem."""
        return problem.exact or not self.only_exact

    def fits(self, own: Fitting) -> list[Fitting]:  # noqa: ARG002
        """The fits that it needs besides that of the model itself, which candidates can share."""
        return []

    def part(self, at: ScoreInput) -> Evidence:
        """What is taken at one fit."""
        return self.evaluate(at)

    def combine(self, problem: Problem, parts: Sequence[Evidence]) -> Evidence:  # noqa: ARG002
        """Make its value from its parts at these fits; the last is that of the model itself."""
        return parts[-1]

    def here(self, at: ScoreInput) -> Evidence:
        """Evaluate it, or its part, at one fit: once."""
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
        """Refuse a value that no log probability can have, or that is not finite."""
        if not evidence.terms:
            return
        if self.lower and at.dimension == at.parameters:
            classes.check_log_probability(at.problem, self.name, evidence.terms)
        elif not math.isfinite(evidence.value):
            raise ArithmeticError(f"it came out as {evidence.value}, which is not a finite number")


def marked(problem: Problem, evidence: Evidence) -> Evidence:
    """Flag a value that no evidence can have."""
    if not classes.is_above_zero(problem, evidence.terms):
        return evidence
    return replace(evidence, flags=(*evidence.flags, Flag(Kind.ABOVE_ZERO)))
