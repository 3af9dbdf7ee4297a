"""The posterior over candidates, with its errors.

Where sampling did not converge, its values are combined with the score, weighted by their errors.
If the two disagree, the error grows until they agree (Birge's ratio). Probabilities are then
averaged over these errors, and a part of them is shared evenly by the candidates that matter.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np

from lacunet.deprecation import renamed
from lacunet.errors import OptionError
from lacunet.evidence.estimate import Measurement, Verdict
from lacunet.evidence.measure import measure
from lacunet.flags import Flag, Kind
from lacunet.runtime.arrays import FloatArray
from lacunet.scores import Evidence, Score, ScoreInput
from lacunet.selection.average import Label, choose, posterior
from lacunet.tabular import Columns, Documented, Framed, described

SCORED = 3.0  # error of the trusted score on data from the prior, in nats, about
UNCONVERGED = 1.0  # least error of chains that disagree, in nats;
TIMES = 3.0  # combined with this multiple of their standard error
UNFORESEEN = 0.2  # frequency of wrong answers without convergence: this share is spread evenly
WORTH = 1e-3  # least probability of a candidate that gets a part of it
DRAWS = 2048  # of errors, and as many with the opposite signs


@dataclass(frozen=True)
class SampledValue:
    """Log evidence of a candidate by sampling that did not converge."""

    value: float  # nats
    error: float  # nats
    bound: bool = False  # whether it is a lower bound


def unconverged_error(stderr: float) -> float:
    """Error in nats of a value from chains that disagree, given their standard error."""
    return math.hypot(UNCONVERGED, TIMES * stderr) if math.isfinite(stderr) else math.inf


def combine_with_scores(
    sampled: Mapping[Label, SampledValue], scored: Mapping[Label, float]
) -> tuple[dict[Label, float], dict[Label, float]]:
    """Combine sampled values with the scores; returns the values and their errors.

    >>> sampled = {1: SampledValue(-10.0, 3.0), 2: SampledValue(-12.0, 0.0)}
    >>> values, unconverged = combine_with_scores(sampled, {1: -10.0, 2: -15.0})
    >>> values, {k: round(x, 2) for k, x in unconverged.items()}
    ({1: -10.0, 2: -12.0}, {1: 2.12, 2: 0.0})
    """
    both = {k: _combined(one, scored.get(k, math.nan)) for k, one in sampled.items()}
    values = {k: value for k, (value, _) in both.items()}
    return dict(scored) | values, {k: error for k, (_, error) in both.items()}


def _combined(sampled: SampledValue, score: float) -> tuple[float, float]:
    """Precision-weighted mean of a sampled value and its score, and its error."""
    value, error = sampled.value, sampled.error
    if error == 0.0 or not math.isfinite(score):
        return value, error
    if not math.isfinite(value + error):
        return score, SCORED
    trust = SCORED**2 / (SCORED**2 + error**2)  # weight of the sampled value
    mean = trust * value + (1.0 - trust) * score
    apart = abs(value - score) / math.hypot(error, SCORED)
    error = max(1.0, apart) * math.sqrt(trust) * error
    return max(mean, value) if sampled.bound else mean, error


def widened(
    values: Mapping[Label, float],
    unconverged: Mapping[Label, float],
    prior: Mapping[Label, float] | None,
) -> dict[Label, float]:
    """Average the posterior over errors of the values.

    >>> values = {1: -10.0, 2: -20.0}
    >>> round(posterior(values)[1], 2), round(widened(values, {1: 1.0, 2: 1.0}, None)[1], 2)
    (1.0, 0.9)
    """
    p = posterior(values, prior)
    if any(map(math.isnan, p.values())):
        return p
    chances = np.array(list(p.values()))
    errors = np.array([unconverged.get(k, 0.0) for k in values])
    z = np.random.default_rng(0).standard_normal((DRAWS, len(errors)))  # fixed: the result repeats
    with np.errstate(divide="ignore"):
        logs = np.log(chances) + errors * np.concatenate([z, -z])
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    mean = (weights / weights.sum(axis=1, keepdims=True)).mean(axis=0)
    before = np.array(list(posterior(dict.fromkeys(values, 0.0), prior).values()))
    # At least two candidates share it, or one would get everything.
    matters = (mean >= WORTH) & np.array([k in unconverged for k in values])
    matters[np.argsort(-mean, kind="stable")[:2]] = True
    share = before * matters
    mean = (1.0 - UNFORESEEN) * mean + UNFORESEEN * share / share.sum()
    return dict(zip(values, mean.tolist(), strict=True))


ERRORS = 2.0  # half the width of an interval, in standard errors


class CertaintyBasis(StrEnum):
    """How the probabilities were computed, as shown to the user."""

    EXACT = "exact"
    MEASURED = "measured"
    UNRELIABLE = "measured, but not reliably: combined with the score, with wider errors"
    CLEAR = "the others are far behind"
    APPROXIMATED = "approximated, not measured"
    QUICK = "approximated, not calibrated"


@dataclass(frozen=True)
class Factor(Documented):
    """A Bayes factor, or posterior odds, of two candidates."""

    KEYS = "stderr value=log"

    log: float  # nats; above 0 favours the first of the two
    stderr: float | None  # of the log, in nats; None if unknown

    @property
    def ratio(self) -> float:
        """The factor itself."""
        return _exp(self.log)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The ratios two standard errors below and above; None if unknown."""
        if self.stderr is None:
            return None
        return _exp(self.log - ERRORS * self.stderr), _exp(self.log + ERRORS * self.stderr)

    def __str__(self) -> str:
        error = "" if not self.stderr else f" ± {self.stderr:.2g}"
        return f"{self.log:+.2f}{error} nats"


@dataclass(frozen=True, eq=False, repr=False)
class Certainty(Framed):
    """The posterior over the candidates, its computation, and its limits.

    Errors of log evidence are propagated to first order. Errors that candidates share cancel in
    their Bayes factor.
    """

    KEYS = "basis by reliable probabilities stderr notes"

    by: str  # the score whose values these are
    values: Mapping[Label, float]  # log evidence of each candidate; NaN where there is none
    prior: Mapping[Label, float] | None  # weights of the candidates; None = all the same
    basis: CertaintyBasis
    covariance: FloatArray | None = None  # (candidates, candidates) nats²; None: errors not known
    measured: frozenset[Label] = frozenset()  # the others keep a score, far behind
    notes: tuple[Flag, ...] = ()  # reasons for further uncertainty
    # Errors in nats, if sampling did not converge; else empty.
    unconverged: Mapping[Label, float] = field(default_factory=dict)

    how = renamed("how", "basis")
    doubts = renamed("doubts", "unconverged")

    @cached_property
    def probabilities(self) -> dict[Label, float]:
        """Return p(candidate | D); NaN if no candidate has a value."""
        if self.unconverged:
            return widened(self.values, self.unconverged, self.prior)
        return posterior(self.values, self.prior)

    def brief(self) -> str:
        best = self.choice
        much = "" if best is None else f", probability {self.probabilities[best]:.3f}"
        return f"{best}{much} by {self.by}, {self.basis}"

    def tidy(self) -> Columns:
        """Return a row for each candidate."""
        labels = list(self.values)
        return {
            "candidate": labels,
            "log_evidence": list(self.values.values()),
            "probability": [self.probabilities[k] for k in labels],
            "stderr": [self.stderr[k] for k in labels],
        }

    def to_dict(self) -> dict[str, Any]:
        """Give the document of `--json`, with Bayes factors against the choice."""
        best = self.choice
        factors = {} if best is None else {str(k): self.bayes_factor(k, best) for k in self.values}
        measured = [label for label in self.values if label in self.measured]
        return described(self, self.KEYS, measured=measured, log_bayes_factors=factors)

    @property
    def reliable(self) -> bool:
        """Whether its errors are known."""
        return self.covariance is not None

    @property
    def choice(self) -> Label | None:
        """The most probable candidate; None if no candidate has a value."""
        if self.unconverged and self.ranking:
            return self.ranking[0]
        return choose(self.values, self.prior)

    @cached_property
    def ranking(self) -> list[Label]:
        """The candidates that have a value, the most probable first."""
        known = [k for k, v in self.values.items() if math.isfinite(v)]
        return sorted(known, key=lambda k: -self.probabilities[k])

    @cached_property
    def stderr(self) -> dict[Label, float | None]:
        """Standard errors of the probabilities; None if unknown.

        dp_i = p_i (dv_i − Σ_j p_j dv_j), so a candidate far behind, at its score, has almost none.
        """
        if self.covariance is None:
            return dict.fromkeys(self.values)
        p = np.nan_to_num(list(self.probabilities.values()))
        slope = p[:, None] * (np.eye(len(p)) - p)
        variance = np.einsum("ij,jk,ik->i", slope, self.covariance, slope)
        return dict(zip(self.values, np.sqrt(np.maximum(variance, 0.0)).tolist(), strict=True))

    def bayes_factor(self, one: Label, other: Label) -> Factor:
        """Return the Bayes factor of two candidates: the ratio of their evidence."""
        i, j = (self._place(k) for k in (one, other))
        log = self.values[one] - self.values[other]
        C = self.covariance
        if C is None or not (self._has_error(one) and self._has_error(other)):
            return Factor(log, None)
        return Factor(log, math.sqrt(max(0.0, C[i, i] + C[j, j] - 2.0 * C[i, j])))

    def odds(self, one: Label, other: Label) -> Factor:
        """Return the posterior odds of two candidates: the Bayes factor times the prior odds."""
        factor = self.bayes_factor(one, other)
        if self.prior is None:
            return factor
        a, b = self.prior[one], self.prior[other]
        if not (a > 0 and b > 0):
            log = math.nan if not (a > 0 or b > 0) else math.inf if a > 0 else -math.inf
            return Factor(log, None)
        return Factor(factor.log + math.log(a / b), factor.stderr)

    def _has_error(self, label: Label) -> bool:
        """Whether the error of a candidate is known, which it is not for a score."""
        place, C = self._place(label), self.covariance
        return label in self.measured or (C is not None and C[place, place] > 0)

    def _place(self, label: Label) -> int:
        labels = list(self.values)
        if label not in labels:
            raise OptionError(f"{label!r} is not a candidate. There are {labels}.")
        return labels.index(label)


def about(kind: Kind, labels: Sequence[Label], unit: str) -> list[Flag]:
    """Flag some candidates, if any; `unit` is the noun after their numbers."""
    named = ", ".join(map(str, labels))
    number = f"{named} {unit}" if all(isinstance(k, int) for k in labels) else named
    return [Flag(kind, detail={"candidates": number})] if labels else []


def _exp(x: float) -> float:
    return math.exp(x) if x < math.log(np.finfo(float).max) else math.inf


def as_evidence(m: Measurement) -> Evidence:
    """Convert a measurement to the evidence that a score returns."""
    bound = (Flag(Kind.LOWER_BOUND),) if m.verdict is Verdict.LOWER_BOUND else ()
    stderr = None if m.verdict is Verdict.EXACT else m.stderr
    return Evidence(TRUTH.name, {"log p(D|S)": m.value}, (*bound, *m.notes), stderr, m.seconds)


def _evaluate(at: ScoreInput) -> Evidence:
    return as_evidence(measure(at.problem, seed=at.options.seed))


TRUTH = Score(
    "evidence",
    "measured evidence",
    "exact sums and sampling",
    _evaluate,
    column="evidence",
    usual=False,
    every_labelling=True,
)
