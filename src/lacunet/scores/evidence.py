"""What every score takes, and what it returns."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from lacunet.arrays import FloatArray
from lacunet.inference.expectation import Expectation, complete_counts, expect
from lacunet.inference.problem import Problem
from lacunet.model.prior import log_prior


@dataclass(frozen=True)
class Evidence:
    """An approximation of log p(D|S), in nats; higher is better, for every score."""

    name: str
    terms: Mapping[str, float]  # the addends, by what they are
    flags: tuple[str, ...] = ()
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
    def log_prior(self) -> float:
        """Log p(θ)."""
        return log_prior(self.theta, self.problem.alpha, self.problem.layout)

    @property
    def log_cases(self) -> float:
        """Log N."""
        return float(np.log(self.problem.cases))

    @cached_property
    def _expectation(self) -> Expectation:
        return expect(self.problem, self.theta)


@dataclass(frozen=True)
class Score:
    """One way to approximate the evidence. Each lives in a file of its own."""

    name: str  # as on the command line
    title: str  # as in tables
    source: str  # where it is defined
    evaluate: Callable[[ScoreInput], Evidence]
    only_exact: bool = False  # defined only where nothing is hidden

    def __call__(self, at: ScoreInput) -> Evidence:
        """Evaluate, and note the time."""
        began = time.perf_counter()
        if self.only_exact or np.isfinite(at.log_lik):
            found = self.evaluate(at)
        else:
            found = Evidence(self.name, {}, ("the data are impossible under these parameters",))
        return replace(found, seconds=time.perf_counter() - began)

    def applies(self, problem: Problem) -> bool:
        """Whether the score is defined for a problem."""
        return problem.exact or not self.only_exact
