"""From log weights to an evidence with an error bar.

Weights of independent chains average to the evidence (that average is unbiased), so its logarithm
is too low rather than too high: by Markov's inequality it exceeds the truth by t nats with
probability at most exp(−t). Where a few chains carry everything it is a lower bound and no more;
the verdict says so by the rules below.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self

import numpy as np

from lacunet.flags import Kind
from lacunet.runtime.arrays import FloatArray

RELIABLE_ERROR = 0.5  # nats: the largest standard error of a reliable estimate,
RELIABLE_SIZE = 10.0  # the least effective number of independent estimates it rests on,
RELIABLE_SHARE = 0.2  # and the largest part of it that may come from one chain
RELIABLE_SPREAD = 1.0  # and the largest standard deviation of the logs, which a few may understate
FAR = 8.0  # nats: a weight this far below the average counts as none
SURELY = 1.645  # standard errors of an upper limit, one-sided, 95 %


class Verdict(StrEnum):
    """How far an evidence can be trusted, in the words that the user reads."""

    EXACT = "exact"
    RELIABLE = "reliable"
    LOWER_BOUND = Kind.LOWER_BOUND.value


@dataclass(frozen=True)
class LogMean:
    """The log of an average of weights, or of a sum of such averages, with its error."""

    value: float  # −inf if every weight is zero
    stderr: float  # of the value, in nats
    size: float  # effective number of chains
    share: float  # of the largest chain in the sum
    chains: int
    spread: float = 0.0  # nats: upper limit of the standard deviation of the logs of the weights

    @property
    def verdict(self) -> Verdict:
        """Judge by the stated rules."""
        sure = self.stderr <= RELIABLE_ERROR
        many = self.size >= RELIABLE_SIZE and self.share <= RELIABLE_SHARE
        narrow = self.spread <= RELIABLE_SPREAD
        return Verdict.RELIABLE if sure and many and narrow else Verdict.LOWER_BOUND

    def plus(self, constant: float) -> Self:
        """Multiply the weights by exp(constant)."""
        return replace(self, value=self.value + constant)


NOTHING = LogMean(-math.inf, math.inf, 0.0, 1.0, 0)  # no chain ended where it counts


def known(value: float) -> LogMean:
    """Give a value without an error."""
    return LogMean(value, 0.0, math.inf, 0.0, 0)


def log_mean(log_weights: FloatArray) -> LogMean:
    """Average the weights of independent chains.

    The spread of a few weights with a long tail tells too little of the tail. So the error is also
    taken from the logs, as if the weights were log-normal, and the larger of the two is stated.

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
    by_logs, spread = _by_logs(log_weights, value)
    return LogMean(
        value,
        max(deviation / mean / math.sqrt(chains), by_logs),
        float(w.sum() ** 2 / (w**2).sum()),
        float(w.max() / w.sum()),
        chains,
        spread,
    )


def _by_logs(log_weights: FloatArray, value: float) -> tuple[float, float]:
    """Standard error of a log mean by the variance of the logs, and how far they may be spread.

    Log-normal weights have the log mean μ + σ²/2, whose errors are σ²/n and σ⁴/2(n − 1). Weights
    that hardly count are left out, as a part that was not hit: how low they are says nothing.
    """
    counting = log_weights[log_weights > value - FAR]
    n = len(counting)
    if n < 2:
        return math.inf, math.inf
    missed = 1.0 / n - 1.0 / len(log_weights)
    # An upper limit: a few weights that happen to be alike must not look sure.
    spread = float(counting.std(ddof=1)) * (1.0 + SURELY / math.sqrt(2 * (n - 1)))
    return math.sqrt(missed + spread**2 / n + spread**4 / (2 * (n - 1))), spread


def combined(one: LogMean, other: LogMean) -> LogMean:
    """Combine two estimates of one value, by their errors.

    Where they differ by more than their errors allow, the error grows by as much (Birge's ratio):
    which of the two is wrong cannot be told.
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
    """Add independent estimates: Σ exp(value), with the errors that follow."""
    top = max((p.value for p in parts), default=-math.inf)
    if not top > -math.inf:
        return replace(NOTHING, chains=sum(p.chains for p in parts))
    used = [p for p in parts if p.value > -math.inf]
    weights = [math.exp(p.value - top) for p in used]
    total = math.fsum(weights)
    shares = [w / total for w in weights]
    squares = math.fsum(s**2 / p.size for s, p in zip(shares, used, strict=True))
    return LogMean(
        top + math.log(total),
        math.sqrt(math.fsum((s * p.stderr) ** 2 for s, p in zip(shares, used, strict=True))),
        1.0 / squares if squares > 0 else math.inf,
        max(s * p.share for s, p in zip(shares, used, strict=True)),
        sum(p.chains for p in parts),
        math.fsum(s * p.spread for s, p in zip(shares, used, strict=True)),
    )
