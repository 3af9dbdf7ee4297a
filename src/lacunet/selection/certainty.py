"""How probable each candidate is, and how sure that is itself: the one place that says so."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

import numpy as np

from lacunet.errors import OptionError
from lacunet.flags import Flag, Kind
from lacunet.runtime.arrays import FloatArray
from lacunet.selection.average import Label, choose, posterior
from lacunet.selection.unsettled import widened
from lacunet.tabular import Columns, Framed

ERRORS = 2.0  # standard errors that an interval reaches out to, on either side


class How(StrEnum):
    """Where the probabilities come from, in the words that the user reads."""

    EXACT = "exact"
    MEASURED = "measured"
    UNSETTLED = "measured, but not reliably: taken together with the score, and widened"
    CLEAR = "the others are far behind"
    APPROXIMATED = "approximated, not measured"
    QUICK = "approximated, not calibrated"


@dataclass(frozen=True)
class Factor:
    """How much better one candidate is than another: a Bayes factor, or posterior odds."""

    log: float  # nats; above 0 for the first of the two
    stderr: float | None  # of the log, in nats; None where nothing tells

    @property
    def ratio(self) -> float:
        """The factor itself."""
        return _exp(self.log)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The ratios two standard errors below and above; None where nothing tells."""
        if self.stderr is None:
            return None
        return _exp(self.log - ERRORS * self.stderr), _exp(self.log + ERRORS * self.stderr)

    def __str__(self) -> str:
        error = "" if not self.stderr else f" ± {self.stderr:.2g}"
        return f"{self.log:+.2f}{error} nats"


@dataclass(frozen=True, eq=False, repr=False)
class Certainty(Framed):
    """The posterior over the candidates, where it comes from, and what limits it.

    Errors of log evidence travel to everything that is made from it, at first order: candidates
    that were measured together have errors in common, which their Bayes factor does not have.
    """

    by: str  # the score whose values these are
    values: Mapping[Label, float]  # log evidence of each candidate; NaN where there is none
    prior: Mapping[Label, float] | None  # weights of the candidates; None = all the same
    how: How
    covariance: FloatArray | None = None  # (candidates, candidates) nats²; None: errors not known
    measured: frozenset[Label] = frozenset()  # the others stand at a score, far behind
    notes: tuple[Flag, ...] = ()  # why it is less sure than it looks
    # Nats by which values may be wrong, where sampling did not settle; else there are none.
    doubts: Mapping[Label, float] = field(default_factory=dict)

    @cached_property
    def probabilities(self) -> dict[Label, float]:
        """Give p(candidate | D); NaN if no candidate has a value."""
        if self.doubts:
            return widened(self.values, self.doubts, self.prior)
        return posterior(self.values, self.prior)

    def brief(self) -> str:
        """Say the most probable candidate."""
        best = self.choice
        much = "" if best is None else f", probability {self.probabilities[best]:.3f}"
        return f"{best}{much} by {self.by}, {self.how}"

    def tidy(self) -> Columns:
        """Give a row for each candidate."""
        labels = list(self.values)
        return {
            "candidate": labels,
            "log_evidence": list(self.values.values()),
            "probability": [self.probabilities[k] for k in labels],
            "stderr": [self.stderr[k] for k in labels],
        }

    @property
    def reliable(self) -> bool:
        """Whether its errors are known."""
        return self.covariance is not None

    @property
    def choice(self) -> Label | None:
        """The most probable candidate; None if no candidate has a value."""
        if self.doubts and self.ranking:
            return self.ranking[0]
        return choose(self.values, self.prior)

    @cached_property
    def ranking(self) -> list[Label]:
        """The candidates that have a value, the most probable first."""
        known = [k for k, v in self.values.items() if math.isfinite(v)]
        return sorted(known, key=lambda k: -self.probabilities[k])

    @cached_property
    def stderr(self) -> dict[Label, float | None]:
        """Standard errors of the probabilities; None where nothing tells.

        dp_i = p_i (dv_i − Σ_j p_j dv_j), so a candidate left at its score has next to none.
        """
        if self.covariance is None:
            return dict.fromkeys(self.values)
        p = np.nan_to_num(list(self.probabilities.values()))
        slope = p[:, None] * (np.eye(len(p)) - p)
        variance = np.einsum("ij,jk,ik->i", slope, self.covariance, slope)
        return dict(zip(self.values, np.sqrt(np.maximum(variance, 0.0)).tolist(), strict=True))

    def bayes_factor(self, one: Label, other: Label) -> Factor:
        """Give the Bayes factor of two candidates: how much more probable one makes the data."""
        i, j = (self._place(k) for k in (one, other))
        log = self.values[one] - self.values[other]
        C = self.covariance
        if C is None or not (self._has_error(one) and self._has_error(other)):
            return Factor(log, None)
        return Factor(log, math.sqrt(max(0.0, C[i, i] + C[j, j] - 2.0 * C[i, j])))

    def odds(self, one: Label, other: Label) -> Factor:
        """Give the posterior odds of two candidates: the Bayes factor times the prior odds."""
        factor = self.bayes_factor(one, other)
        if self.prior is None:
            return factor
        a, b = self.prior[one], self.prior[other]
        if not (a > 0 and b > 0):
            log = math.nan if not (a > 0 or b > 0) else math.inf if a > 0 else -math.inf
            return Factor(log, None)
        return Factor(factor.log + math.log(a / b), factor.stderr)

    def _has_error(self, label: Label) -> bool:
        """Whether a candidate's error is known: those that stand at a score have none."""
        place = self._place(label)
        known = self.covariance is not None and self.covariance[place, place] > 0
        return known or label in self.measured

    def _place(self, label: Label) -> int:
        labels = list(self.values)
        if label not in labels:
            raise OptionError(f"{label!r} is no candidate. There are {labels}.")
        return labels.index(label)


def about(kind: Kind, labels: Sequence[Label], unit: str) -> list[Flag]:
    """Make a flag about some candidates, if there are any; `unit` is what they are numbers of."""
    named = ", ".join(map(str, labels))
    number = f"{named} {unit}" if all(isinstance(k, int) for k in labels) else named
    return [Flag(kind, detail={"candidates": number})] if labels else []


def _exp(x: float) -> float:
    return math.exp(x) if x < math.log(np.finfo(float).max) else math.inf
