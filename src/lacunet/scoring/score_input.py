"""What every score takes, and what it returns; and fits that several candidates share."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from scipy.special import xlogy

from lacunet.arrays import FloatArray
from lacunet.executor import SERIAL, Executor
from lacunet.flags import Flag
from lacunet.inference.asking.effective_dimension import effective_dimension
from lacunet.inference.classes import exchangeable, with_classes
from lacunet.inference.expectation import Expectation, complete_counts, expect
from lacunet.inference.problem import Problem
from lacunet.learn.fit import Fit, Options, learn
from lacunet.learn.objective import Estimate
from lacunet.learn.variational import Variational, at_theta, vary
from lacunet.model.latent_class import classes_of
from lacunet.model.prior import log_prior
from lacunet.scoring.once import Once
from lacunet.scoring.softmax import SoftmaxMode, softmax_mode


@dataclass(frozen=True)
class Evidence:
    """An approximation of log p(D|S), in nats; higher is better, for every score."""

    name: str
    terms: Mapping[str, float]  # the addends, by what they are
    flags: tuple[Flag, ...] = ()
    stderr: float | None = None  # where the value is an estimate
    seconds: float = field(default=0.0, compare=False)

    @property
    def value(self) -> float:
        """The sum of the terms; NaN where the score does not exist (a flag says why)."""
        return math.fsum(self.terms.values()) if self.terms else math.nan


@dataclass(frozen=True, eq=False)
class ScoreInput:
    """Parameters, usually a maximum, at which the evidence is approximated."""

    problem: Problem
    theta: FloatArray  # (size,)
    effective_dimension: int | None = None  # rank of the Jacobian, if it is to count instead of d′
    options: Options = field(default_factory=Options)  # of fits with fewer classes; seeds sampling
    shared: Once = field(default_factory=Once)  # what candidates for the same table have in common
    _scored: Once = field(default_factory=Once, init=False, repr=False)

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
        """Entropy of the hidden values given the data and θ, barren variables left out."""
        return self.log_lik - float(np.sum(xlogy(self.observed_counts, self.theta)))

    @cached_property
    def log_prior(self) -> float:
        """Log p(θ)."""
        return log_prior(self.theta, self.problem.alpha, self.problem.layout)

    @property
    def log_cases(self) -> float:
        """Log N."""
        return float(np.log(self.problem.cases))

    @cached_property
    def softmax(self) -> SoftmaxMode:
        """The mode of the posterior of φ = log θ that is uphill from θ."""
        return softmax_mode(self.problem, self.theta)

    @cached_property
    def variational(self) -> Variational:
        """The best independent posterior that steps from that of the hidden values at θ reach."""
        return vary(at_theta(self.problem, self.theta))

    def smaller(self, classes: int) -> ScoreInput:
        """Give the same data fewer classes, each with the prior that each has now, fitted.

        It is what a candidate with so many classes gets, where that has the same prior.
        """
        if classes == classes_of(self.problem.network).number:
            return self
        options = self.options
        if (self.problem.alpha < 1.0).any():  # no maximum of the posterior
            options = replace(options, estimate=Estimate.ML)
        rank = self.effective_dimension is not None
        found: Fitted = self.shared.get(
            _key(self.problem, classes, options, rank),
            lambda: _fit(with_classes(self.problem, classes), options, rank, self.shared),
        )
        return found.at

    def evidence(self, score: Callable[[ScoreInput], Evidence]) -> Evidence:
        """Evaluate a score here, once."""
        found: Evidence = self._scored.get(score, lambda: score(self))
        return found

    @cached_property
    def _expectation(self) -> Expectation:
        return expect(self.problem, self.theta)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fit, and where to take its scores."""

    fit: Fit
    at: ScoreInput


def fitted(
    problem: Problem,
    options: Options,
    *,
    rank: bool,
    shared: Once,
    executor: Executor = SERIAL,
) -> Fitted:
    """Fit a problem; a latent class model that another candidate needs too, only once.

    With `rank`, scores use the effective dimension.
    """

    def make() -> Fitted:
        return _fit(problem, options, rank, shared, executor)

    if not exchangeable(problem):
        return make()
    classes = classes_of(problem.network).number
    found: Fitted = shared.get(_key(problem, classes, options, rank), make)
    return found


def _fit(
    problem: Problem,
    options: Options,
    rank: bool,
    shared: Once,
    executor: Executor = SERIAL,
) -> Fitted:
    fit = learn(problem, options, executor=executor)
    d = effective_dimension(problem.network, options.seed) if rank else None
    return Fitted(fit, ScoreInput(problem, fit.model.theta, d, options, shared))


def _key(problem: Problem, classes: int, options: Options, rank: bool) -> Hashable:
    """What makes a fit of an exchangeable latent class model the same: its prior, class by class.

    A prior that depends on the number of classes (BDeu) thus shares nothing.
    """
    tables = [problem.layout.table(problem.alpha, i) for i in range(len(problem.layout.cards))]
    prior = b"".join(table[0].tobytes() for table in tables)
    return tuple(v.name for v in problem.network.variables), prior, classes, options, rank
