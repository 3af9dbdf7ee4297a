"""How well rows can be told apart by their classes, at the parameters of a model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from lacunet.inference.problem import Problem
from lacunet.models.network import Variable
from lacunet.runtime.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Classification:
    """What giving each row its most probable state of one hidden variable is worth."""

    name: str
    states: tuple[str, ...]  # K labels
    entropy_r2: float  # 1 − mean posterior entropy / log K: 1 = every row is certain; NaN if K = 1
    error: float  # expected share of rows that are given another state than their own
    expected: FloatArray  # (K, K) expected cases: rows are given state a, belong to state b

    @property
    def average(self) -> FloatArray:
        """(K, K) mean posterior of state b over the rows that are given state a; NaN if none is."""
        given = self.expected.sum(axis=1, keepdims=True)
        mean: FloatArray = np.full_like(self.expected, np.nan)
        np.divide(self.expected, given, out=mean, where=given > 0)
        return mean

    @property
    def given(self) -> FloatArray:
        """(K,) share of the rows that are given each state."""
        share: FloatArray = self.expected.sum(axis=1) / self.expected.sum()
        return share

    @property
    def sizes(self) -> FloatArray:
        """(K,) expected share of the rows that belong to each state."""
        share: FloatArray = self.expected.sum(axis=0) / self.expected.sum()
        return share


def classify(problem: Problem, theta: FloatArray) -> tuple[Classification, ...]:
    """Classify the rows of a problem by each of its hidden variables."""
    variables = [problem.network.variables[h] for h in problem.network.hidden]
    posteriors = problem.about_hidden(theta)
    each = zip(variables, posteriors, strict=True)
    return tuple(_classify(variable, p, problem.counts) for variable, p in each)


def _classify(variable: Variable, p: FloatArray, counts: FloatArray) -> Classification:
    states = len(variable.states)
    possible = p.sum(axis=1) > 0
    p, weight = p[possible], counts[possible]
    expected = np.zeros((states, states))
    np.add.at(expected, p.argmax(axis=1), p * weight[:, None])
    cases = weight.sum()
    entropy = -float(weight @ xlogy(p, p).sum(axis=1))
    return Classification(
        variable.name,
        variable.labels,
        1.0 - entropy / (cases * np.log(states)) if states > 1 else float("nan"),
        1.0 - float(weight @ p.max(axis=1)) / cases,
        expected,
    )
