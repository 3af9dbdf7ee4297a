"""What every score takes, and what it returns."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.special import xlogy

from lacunet.flags import Flag
from lacunet.inference.expectation import Expectation, complete_counts, expect
from lacunet.inference.problem import Problem
from lacunet.learn.ascent import Climb
from lacunet.learn.fit import Options
from lacunet.learn.maxima import distinct
from lacunet.learn.predictive import softmax_climb
from lacunet.learn.variational import Variational, at_theta, vary
from lacunet.model.conjugacy import log_density, log_prior
from lacunet.runtime.arrays import BoolArray, FloatArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.scoring.softmax import SoftmaxMode, softmax_mode
from lacunet.tabular import Columns, Framed, transposed


@dataclass(frozen=True, repr=False)
class Evidence(Framed):
    """An approximation of log p(D|S), in nats; higher is better, for every score."""

    name: str
    terms: Mapping[str, float]  # the addends, by what they are
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
        """Give a row for each addend."""
        return transposed(("term", "value"), self.terms.items())


@dataclass(frozen=True, eq=False)
class ScoreInput:
    """Parameters, usually the mode of largest mass, at which the evidence is approximated."""

    problem: Problem
    theta: FloatArray  # (size,)
    effective_dimension: int | None = None  # rank of the Jacobian, if it is to count instead of d′
    options: Options = field(default_factory=Options)  # of fits with fewer classes; seeds sampling
    executor: Executor = SERIAL
    others: tuple[FloatArray, ...] = ()  # other maxima, each (size,)
    beside: tuple[FloatArray, ...] = ()  # statistics of other modes, of which this is one
    # The estimate, where that is another maximum: information criteria are taken there.
    estimate: FloatArray | None = None  # (size,)
    taken: dict[str, Evidence] = field(default_factory=dict, init=False, repr=False)  # by score

    @cached_property
    def at_estimate(self) -> "ScoreInput":
        """The same at the parameters that people see."""
        if self.estimate is None:
            return self
        return replace(self, theta=self.estimate, estimate=None, others=(), beside=())

    @property
    def parameters(self) -> int:
        """Number of free parameters: d′, the dimension for complete data."""
        return self.problem.network.dimension

    @property
    def dimension(self) -> int:
        """The dimension d of BIC, Draper and CS."""
        return self.parameters if self.effective_dimension is None else self.effective_dimension

    @cached_property
    def observed_counts(self) -> FloatArray:
        """E[N_ijk | D, θ] with barren variables left out."""
        return self._expectation.N

    @cached_property
    def complete_counts(self) -> FloatArray:
        """E[N_ijk | D, θ] with everything filled in: the paper's imaginary data D′."""
        return complete_counts(self.problem, self.theta)

    @cached_property
    def log_lik(self) -> float:
        """Log p(D | θ)."""
        return self._expectation.log_lik

    @cached_property
    def entropy(self) -> float:
        """Entropy of the hidden categories given the data and θ, barren variables left out."""
        problem = self.problem
        if not problem.case_by_case:  # expected statistics fill in missing numbers as well
            return self._entropy_of_rows
        of_numbers = 0.0 if problem.layout.tabular else problem.log_base
        complete = log_density(self.observed_counts, self.theta, problem.layout)
        return self.log_lik - of_numbers - complete

    @property
    def _entropy_of_rows(self) -> float:
        """The same of the classes of rows that show anything."""
        shown: BoolArray = np.any(self.problem.codes >= 0, axis=1)
        posteriors = self.problem.about_hidden(self.theta)
        each = sum(
            (xlogy(p, p).sum(axis=1) for p in posteriors), np.zeros(len(self.problem.counts))
        )
        return -float(self.problem.counts[shown] @ each[shown])

    @cached_property
    def log_prior(self) -> float:
        """Log p(θ)."""
        return log_prior(self.theta, self.problem.alpha, self.problem.layout)

    @property
    def log_cases(self) -> float:
        """Log N."""
        return float(np.log(self.problem.cases))

    @cached_property
    def softmax_climb(self) -> Climb:
        """The way from θ to the mode of the posterior of φ = log θ that is uphill."""
        return softmax_climb(self.problem, self.theta, self.executor)

    @cached_property
    def softmax(self) -> SoftmaxMode:
        """That mode, and how sharp it is."""
        return softmax_mode(self.problem, self.softmax_climb, self.beside)

    @cached_property
    def modes(self) -> "tuple[ScoreInput, ...]":
        """Where scores that sum over modes are taken: uphill in φ from every maximum, each once."""
        climbs = [softmax_climb(self.problem, x, self.executor) for x in self.others]
        points = [self.softmax_climb.point]
        points += distinct(points[0], [climb.point for climb in climbs])
        if len(points) == 1:
            return (self,)
        return tuple(
            replace(
                self,
                theta=point.theta,
                others=(),
                beside=tuple(p.N + self.problem.alpha for p in points if p is not point),
            )
            for point in points
        )

    @cached_property
    def variational(self) -> Variational:
        """The best independent posterior that steps from that of the hidden values at θ reach."""
        return vary(at_theta(self.problem, self.theta))

    @cached_property
    def _expectation(self) -> Expectation:
        return expect(self.problem, self.theta, self.executor)
