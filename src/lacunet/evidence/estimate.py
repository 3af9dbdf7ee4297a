"""Estimates of the evidence with error bars: averages of weights, sums, and bridge sampling.

The average of the weights of independent chains is unbiased. By Markov's inequality its logarithm
exceeds the truth by t nats with probability at most exp(−t), so it is rather too low. If a few
chains carry the average, it is only a lower bound; `Verdict` reports this.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Self

import numpy as np
from scipy.special import expit

from lacunet.flags import Flag, Kind
from lacunet.runtime.arrays import BoolArray, FloatArray
from lacunet.tabular import Columns, Grid, Printable

RELIABLE_ERROR = 0.5  # nats: the largest standard error of a reliable estimate,
RELIABLE_SIZE = 10.0  # its least effective number of independent estimates,
RELIABLE_SHARE = 0.2  # the largest share of one chain in it,
RELIABLE_SPREAD = 1.0  # and the largest standard deviation of the log weights
FAR = 8.0  # nats: a weight this far below the average counts as zero
SURELY = 1.645  # standard errors of an upper limit, one-sided, 95 %
FAR_OUT = 6.0  # standard errors: the largest error assumed possible
STEPS = 100  # of Newton's method or bisection; a few suffice
EXACT = 1e-9  # nats: tolerance of the root
MARGIN = 50.0  # nats of the initial bracket beyond all weights


class Verdict(StrEnum):
    """The reliability of an evidence, as shown to users."""

    EXACT = "exact"
    RELIABLE = "reliable"
    LOWER_BOUND = Kind.LOWER_BOUND.value


@dataclass(frozen=True)
class LogMean:
    """The log of an average of weights, or of a sum of averages, with its standard error."""

    value: float  # −inf if every weight is zero
    stderr: float  # of the value, in nats
    size: float  # effective number of chains
    share: float  # of the chain with the largest weight
    chains: int
    spread: float = 0.0  # nats: upper limit of the standard deviation of the logs of the weights

    @property
    def verdict(self) -> Verdict:
        """Reliable if error, effective size, largest share and spread are within their limits."""
        sure = self.stderr <= RELIABLE_ERROR
        many = self.size >= RELIABLE_SIZE and self.share <= RELIABLE_SHARE
        narrow = self.spread <= RELIABLE_SPREAD
        return Verdict.RELIABLE if sure and many and narrow else Verdict.LOWER_BOUND

    def plus(self, constant: float) -> Self:
        """Multiply the weights by exp(constant)."""
        return replace(self, value=self.value + constant)


NOTHING = LogMean(-math.inf, math.inf, 0.0, 1.0, 0)  # no chain has a positive weight


def known(value: float) -> LogMean:
    """A value without an error."""
    return LogMean(value, 0.0, math.inf, 0.0, 0)


def log_mean(log_weights: FloatArray) -> LogMean:
    """Average the weights of independent chains.

    The sample variance of a few weights with a long tail is too small. So the error is at least
    that under a log-normal distribution, whose log mean is μ + σ²/2, with squared errors σ²/n and
    σ⁴/2(n − 1).

    >>> round(math.exp(log_mean(np.log([1.0, 3.0])).value), 9)
    2.0
    """
    chains = len(log_weights)
    top = float(log_weights.max(initial=-math.inf))
    if not top > -math.inf:
        return replace(NOTHING, chains=chains)
    w = np.exp(log_weights - top)
    mean = float(w.mean())
    value = top + math.log(mean)
    deviation = float(w.std(ddof=1)) if chains > 1 else math.inf
    # Negligible weights count as misses: their logs would distort the spread. The spread is an
    # upper limit, because a few similar weights must not look certain.
    counting = log_weights[log_weights > value - FAR]
    n, by_logs, spread = len(counting), math.inf, math.inf
    if n > 1:
        missed = 1.0 / n - 1.0 / chains
        spread = float(counting.std(ddof=1)) * (1.0 + SURELY / math.sqrt(2 * (n - 1)))
        by_logs = math.sqrt(missed + spread**2 / n + spread**4 / (2 * (n - 1)))
    stderr = max(deviation / mean / math.sqrt(chains), by_logs)
    size, share = float(w.sum() ** 2 / (w**2).sum()), float(w.max() / w.sum())
    return LogMean(value, stderr, size, share, chains, spread)


def combined(one: LogMean, other: LogMean) -> LogMean:
    """Inverse-variance mean of two estimates of one value.

    If they differ by more than their errors allow, the error is scaled by Birge's ratio.
    """
    a, b = 1.0 / one.stderr**2, 1.0 / other.stderr**2
    apart = abs(one.value - other.value) / math.hypot(one.stderr, other.stderr)
    return LogMean(
        (a * one.value + b * other.value) / (a + b),
        max(1.0, apart) / math.sqrt(a + b),
        one.size + other.size,
        max(a * one.share, b * other.share) / (a + b),
        one.chains + other.chains,
        (a * one.spread + b * other.spread) / (a + b),
    )


def log_sum(parts: Sequence[LogMean]) -> LogMean:
    """Log of the sum of independent estimates, Σ exp(value), with propagated errors."""
    top = max((p.value for p in parts), default=-math.inf)
    if not top > -math.inf:
        return replace(NOTHING, chains=sum(p.chains for p in parts))
    used = [p for p in parts if p.value > -math.inf]
    weights = [math.exp(p.value - top) for p in used]
    total = math.fsum(weights)
    each = [(w / total, p) for w, p in zip(weights, used, strict=True)]
    squares = math.fsum(s**2 / p.size for s, p in each)
    return LogMean(
        top + math.log(total),
        math.sqrt(math.fsum((s * p.stderr) ** 2 for s, p in each)),
        1.0 / squares if squares > 0 else math.inf,
        max(s * p.share for s, p in each),
        sum(p.chains for p in parts),
        math.fsum(s * p.spread for s, p in each),
    )


def leave_one_out(parts: FloatArray) -> FloatArray:
    """Leave-one-out sums: (R, ...) → (R, ...)."""
    return np.asarray(parts.sum(axis=0) - parts)


def jackknife_covariance(replicates: FloatArray) -> FloatArray:
    """Jackknife covariance from leave-one-out replicates: (R, K) → (K, K)."""
    apart = replicates - replicates.mean(axis=0)
    return np.asarray((len(apart) - 1) / len(apart) * apart.T @ apart)


def jackknife_error(replicates: FloatArray) -> FloatArray:
    """Jackknife standard errors from leave-one-out replicates: (R, ...) → (...)."""
    return np.asarray(np.std(replicates, axis=0) * np.sqrt(len(replicates) - 1))


def stderr_limit(replicates: FloatArray) -> float:
    """Upper 95 % limit of the jackknife standard error of replicates, (R,).

    It is infinite if a replicate is not finite. A limit is used because a few replicates may agree
    by chance.
    """
    n = len(replicates)
    if n < 2 or not np.isfinite(replicates).all():
        return math.inf
    return float(jackknife_error(replicates)) * (1.0 + SURELY / math.sqrt(2 * (n - 1)))


def log_bridge(up: FloatArray, down: FloatArray) -> float:
    """Bridge sampling estimate of a log mass, from log weights of forward and backward chains.

    −inf marks forward chains that ended in other regions, inf backward chains that started where
    no forward chain can end.

    >>> round(log_bridge(np.array([1.0, 1.0]), np.array([1.0, 60.0])), 6)  # 1 + log 2
    1.693147
    """
    all_up, all_down = (np.ones((1, len(chains)), dtype=np.bool_) for chains in (up, down))
    return float(log_bridges(up, down, all_up, all_down)[0])


def log_bridges(
    up: FloatArray,
    down: FloatArray,
    counted_up: BoolArray,
    counted_down: BoolArray,
    near: float | None = None,
) -> FloatArray:
    """The same for several subsets of the chains, masks (R, chains), at once: (R,).

    `near` is a start for Newton's method, usually the mass by all chains.
    """
    finite = np.concatenate([up[up > -np.inf], down[down < np.inf]])
    low = np.full(len(counted_up), finite.min() - MARGIN)
    high = np.full(len(counted_up), finite.max() + MARGIN)
    forth, back = (x / x.sum(axis=1, keepdims=True) for x in (counted_up, counted_down))
    middle = (low + high) / 2 if near is None else np.full(len(low), near)

    def added(shares: FloatArray, x: FloatArray) -> FloatArray:
        return np.asarray(shares @ x if x.ndim == 1 else np.einsum("rn,rn->r", shares, x))

    for step in range(STEPS):
        # All subsets start at one value, so the first step evaluates each chain once.
        at = middle[:1] if step == 0 else middle[:, None]
        left, right = expit(up - at), expit(at - down)
        forwards, backwards = added(forth, left), added(back, right)
        # `off` falls as the mass rises: it is positive below the root.
        with np.errstate(divide="ignore", invalid="ignore"):
            off = np.log(forwards) - np.log(backwards)
            fall = added(forth, left * (1.0 - left)) / forwards
            fall += added(back, right * (1.0 - right)) / backwards
            newton = middle + off / fall
        low, high = np.where(off > 0, middle, low), np.where(off > 0, high, middle)
        inside = (newton > low) & (newton < high)
        before, middle = middle, np.where(inside, newton, (low + high) / 2)
        if np.abs(middle - before).max() < EXACT:
            break
    reached = (counted_up & (up > -np.inf)).any(axis=1)
    return np.where(reached, middle, -math.inf)


class Method(StrEnum):
    """How to compute the evidence."""

    AUTO = "auto"
    EXACT = "exact"
    AIS = "ais"
    SMC = "smc"
    WALK = "walk"


@dataclass(frozen=True, repr=False)
class Measurement(Printable):
    """A computed evidence with its error, verdict and cost."""

    KEYS = "value one_labelling stderr ess verdict method seconds details notes used_classes=used"

    value: float  # log p(D|S), all labellings
    one_labelling: float  # the same for one of the equal labellings, as in CH96
    stderr: float | None  # nats; 0 if exact, None for a lower bound
    ess: float | None  # effective number of independent estimates; None where exact
    verdict: Verdict
    method: Method
    seconds: float = field(compare=False)
    used: dict[int, float]  # posterior of the number of used classes, of latent class models
    details: dict[str, int]  # counts of chains, runs, samples, …
    notes: tuple[Flag, ...] = ()

    @property
    def noise(self) -> float:
        """The largest assumed error above the truth, in nats."""
        return 0.0 if self.verdict is Verdict.EXACT else FAR_OUT * (self.stderr or RELIABLE_ERROR)

    @property
    def error(self) -> str:
        """The error bar as text; empty for exact values and lower bounds."""
        return f" ± {self.stderr:.2g}" if self.stderr else ""

    def tidy(self) -> Columns:
        """One row."""
        names = ("value", "one_labelling", "stderr", "ess", "seconds", "verdict", "method")
        return {name: [getattr(self, name)] for name in names}

    def grids(self) -> Sequence[Grid]:
        """The evidence as `print` and notebooks show it."""
        ran = ", ".join(f"{number:,} {name}" for name, number in self.details.items())
        lines = []
        if self.one_labelling != self.value:
            lines.append(f"{self.one_labelling:.3f} for one labelling of the hidden states")
        if self.ess is not None and math.isfinite(self.ess):  # chains that all agree have no error
            lines.append(f"effective number of independent estimates: {self.ess:.0f}")
        lines.append(f"{self.method}: {ran}; {self.seconds:.1f} s")
        if self.used:
            shares = ", ".join(f"{m} ({s:.1%})" for m, s in self.used.items() if s >= 0.0005)
            lines.append(f"classes in use: {shares}")
        title = f"log p(D|S) = {self.value:.3f}{self.error} nats: {self.verdict}"
        return [Grid(title, (), (), notes=(*lines, *(f"- {note}" for note in self.notes)))]
