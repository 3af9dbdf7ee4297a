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

from lacunet.arrays import FloatArray
from lacunet.flags import Kind

RELIABLE_ERROR = 0.5  # nats: the largest standard error of a reliable estimate,
RELIABLE_SIZE = 10.0  # the least effective number of independent estimates it rests on,
RELIABLE_SHARE = 0.2  # and the largest part of it that may come from one chain


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

    @property
    def verdict(self) -> Verdict:
        """Judge by the stated rules."""
        sure = self.stderr <= RELIABLE_ERROR
        many = self.size >= RELIABLE_SIZE and self.share <= RELIABLE_SHARE
        return Verdict.RELIABLE if sure and many else Verdict.LOWER_BOUND

    def plus(self, constant: float) -> Self:
        """Multiply the weights by exp(constant)."""
        return replace(self, value=self.value + constant)


def known(value: float) -> LogMean:
    """Give a value without an error."""
    return LogMean(value, 0.0, math.inf, 0.0, 0)


def log_mean(log_weights: FloatArray) -> LogMean:
    """Average the weights of independent chains.

    >>> round(math.exp(log_mean(np.log([1.0, 3.0])).value), 9)
    2.0
    """
    chains = len(log_weights)
    top = float(log_weights.max(initial=-math.inf))
    if not top > -math.inf:
        return LogMean(-math.inf, math.inf, 0.0, 1.0, chains)
    w = np.exp(log_weights - top)
    mean = float(w.mean())
    deviation = float(w.std(ddof=1)) if chains > 1 else math.inf
    return LogMean(
        top + math.log(mean),
        deviation / mean / math.sqrt(chains),
        float(w.sum() ** 2 / (w**2).sum()),
        float(w.max() / w.sum()),
        chains,
    )


def log_sum(parts: Sequence[LogMean]) -> LogMean:
    """Add independent estimates: Σ exp(value), with the errors that follow."""
    top = max((p.value for p in parts), default=-math.inf)
    if not top > -math.inf:
        return LogMean(-math.inf, math.inf, 0.0, 1.0, sum(p.chains for p in parts))
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
    )
