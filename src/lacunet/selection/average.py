"""The posterior over candidates, other priors, and priors on the number of classes."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

import numpy as np
from scipy.special import betaln, gammaln, logsumexp

from lacunet.errors import OptionError
from lacunet.models.prior import PriorGrid, log_of
from lacunet.runtime.arrays import FloatArray
from lacunet.tabular import Documented
from lacunet.wording import worded


class Labellings(StrEnum):
    """How the evidence counts the k! equivalent labellings of k hidden states."""

    PLAIN = "plain"  # one labelling, as in the paper
    ALL = "with log k!"  # a score at one mode covers one of the k! equal modes


Label: TypeAlias = int | str  # of a candidate: a number of states, or a name


def posterior(
    values: Mapping[Label, float], prior: Mapping[Label, float] | None = None
) -> dict[Label, float]:
    """Compute p(k | D) ∝ p(k) exp(score); a candidate without a score has probability 0.

    >>> posterior({1: -10.0, 2: -10.0})
    {1: 0.5, 2: 0.5}
    """
    logs = np.array(list(_log_joint(values, prior).values()))
    top = logs.max(initial=-math.inf)
    if top == -math.inf:
        return dict.fromkeys(values, math.nan)
    weights = np.exp(logs - top)
    return dict(zip(values, (weights / weights.sum()).tolist(), strict=True))


def choose(
    values: Mapping[Label, float], prior: Mapping[Label, float] | None = None
) -> Label | None:
    """Return the most probable candidate; ties go to the first.

    >>> choose({1: -12.0, 2: -10.0}), choose({1: -12.0, 2: -10.0}, {1: 0.9, 2: 0.1})
    (2, 1)
    """
    usable = {k: v for k, v in _log_joint(values, prior).items() if v > -math.inf}
    return max(usable, key=lambda k: usable[k]) if usable else None


def _log_joint(
    values: Mapping[Label, float], prior: Mapping[Label, float] | None
) -> dict[Label, float]:
    """Return score + log p(k); −inf without a score or a prior probability."""
    return {
        k: v + log_weight_of(prior, k) if math.isfinite(v) else -math.inf for k, v in values.items()
    }


def log_weight_of(prior: Mapping[Label, float] | None, label: Label) -> float:
    """Log prior weight of a candidate; −inf of 0."""
    weight = 1.0 if prior is None else prior[label]
    return math.log(weight) if weight > 0 else -math.inf


@dataclass(frozen=True)
class PriorSensitivity(Documented):
    """The posterior over the candidates with another prior."""

    KEYS = "what factor probabilities answer=choice"

    what: str  # "strength" of the prior, or "scale" of the expected class variances
    factor: float
    probabilities: dict[Label, float]

    @property
    def choice(self) -> Label:
        """The most probable candidate."""
        return max(self.probabilities, key=lambda label: self.probabilities[label])


def sensitivities(
    by_prior: Mapping[Label, FloatArray], grid: PriorGrid, prior: Mapping[Label, float] | None
) -> tuple[PriorSensitivity, ...]:
    """Return the posterior over the candidates under each shift of the grid."""
    shifted = []
    for shift in grid.shifts:
        values = {k: float(logsumexp(v + log_of(shift.weights))) for k, v in by_prior.items()}
        if any(map(math.isfinite, values.values())):
            shifted.append(PriorSensitivity(shift.what, shift.factor, posterior(values, prior)))
    return tuple(shifted)


@dataclass(frozen=True)
class NamedPrior:
    """A named prior on the number of classes, k = 1, 2, …; `uniform` is improper."""

    family: str  # one of `NAMED`
    parameters: tuple[float, ...] = ()

    def log_weight(self, k: Iterable[int]) -> FloatArray:
        """Log p(k) of several numbers, (K,); 0 under `uniform`."""
        n = np.array(list(k), dtype=np.float64) - 1.0
        if self.family == "geometric":
            (q,) = self.parameters
            return np.asarray(math.log(q) + n * math.log1p(-q))
        if self.family == "bnb":
            r, a, b = self.parameters
            choices = gammaln(r + n) - gammaln(r) - gammaln(n + 1.0)
            return np.asarray(choices + betaln(r + a, n + b) - betaln(a, b))
        return np.zeros(len(n))

    def over(self, sizes: Mapping[Label, Iterable[int]]) -> dict[Label, float]:
        """Prior weights of candidates by the sizes of their hidden variables, independent."""
        return {label: math.exp(self.log_weight(k).sum()) for label, k in sizes.items()}

    def __str__(self) -> str:
        given = ",".join(f"{x:g}" for x in self.parameters)
        return f"{self.family}:{given}" if given else self.family


# Default parameters of each name: BNB(1, 4, 3) as Frühwirth-Schnatter,
# Malsiner-Walli & Grün (2021), geometric with 0.1 as Miller & Harrison (2018).
NAMED: dict[str, tuple[float, ...]] = {"uniform": (), "bnb": (1.0, 4.0, 3.0), "geometric": (0.1,)}


def named_prior(text: str) -> NamedPrior:
    """Parse a named prior on the number of classes, with optional parameters.

    >>> named_prior("bnb"), named_prior("geometric:0.5")
    (NamedPrior(family='bnb', parameters=(1.0, 4.0, 3.0)), NamedPrior(family='geometric', \
parameters=(0.5,)))
    """
    family, colon, rest = text.strip().partition(":")
    usual = NAMED.get(family, ())
    try:
        given = tuple(map(float, rest.split(","))) if colon else usual
    except ValueError:
        given = (math.nan,)
    valid = family in NAMED and len(given) == len(usual) and all(0 < x < math.inf for x in given)
    if not valid:
        raise OptionError(
            f"--prior '{text}' is not known. Give uniform, bnb (or bnb:1,4,3), geometric:0.1, or "
            "one weight for each number of classes."
        )
    if family == "geometric" and given[0] >= 1.0:
        raise OptionError(f"--prior '{text}': the probability must be below 1.")
    return NamedPrior(family, given)


PriorLike: TypeAlias = Mapping[Label, float] | NamedPrior | str | None


def understood_prior(prior: PriorLike, sizes: Sequence[Mapping[str, int]]) -> NamedPrior | None:
    """Return a named prior on these numbers of hidden states; None for weights or a uniform one."""
    if prior is None or isinstance(prior, Mapping):
        return None
    named = named_prior(prior) if isinstance(prior, str) else prior
    if not all(sizes):
        raise OptionError(
            f"--prior {named} is one of numbers of classes, and these candidates are networks. "
            "Give one weight for each."
        )
    return None if named.family == "uniform" else named


def check_prior(prior: Mapping[Label, float] | None, labels: Sequence[Label]) -> None:
    """Check a prior over the candidates."""
    if prior is None:
        return
    for k in labels:
        name = f"'{k}'" if isinstance(k, str) else f"{k} states"
        if k not in prior:
            raise OptionError(f"the prior has no weight for {name}. Give one weight for each.")
        if not (math.isfinite(prior[k]) and prior[k] >= 0):
            raise OptionError(f"the prior of {name} is {prior[k]}. Weights must be 0 or more.")
    if not any(prior[k] > 0 for k in labels):
        raise OptionError("the prior gives every candidate weight 0. At least one must be above 0.")


# Sets of edges


def price(present: int, possible: int) -> float:
    """Nats that one more edge must gain: its log prior odds against.

    >>> [round(price(present, possible=28), 2) for present in (0, 1, 27)]
    [4.03, 3.3, 0.0]
    """
    return max(0.0, math.log(2 * (possible - present) / (present + 1)))


def log_weight(present: int, possible: int) -> float:
    """Log prior probability of one set of `present` edges, relative to no edge.

    >>> round(log_weight(1, possible=28), 2), log_weight(0, possible=28)
    (-4.03, 0.0)
    """
    return -present * math.log(2.0) - math.log(math.comb(possible, present))


# Ranges of numbers of classes

FIRST = 8  # classes of the default range at most;
FURTHER = (12, 16, 24, 32)  # and of its extensions, while more are probable
ENOUGH = 0.05  # probability of more classes than were tried, below which a range is long enough
FALLING = 0.9  # ratio of the probabilities of k + 1 and k classes at most, under a uniform prior
TERMS = 10_000  # numbers in the tail of a named prior


@dataclass(frozen=True)
class Reach:
    """An early end of a range, because the evidence had fallen far and kept falling."""

    best: int  # states of largest evidence, of those looked at
    last: int  # the most that were tried
    requested: int  # the most that were requested
    fall: float  # nats of log evidence from the best to the last

    def __str__(self) -> str:
        return worded(
            f"{self.last + 1} to {self.requested} were left out: at {self.last} the evidence is "
            f"about {self.fall:.0f} nats below that of {self.best}, and decreases further beyond. "
            "With --whole-range they are tried too"
        )


def probability_of_more(
    values: Mapping[Label, float],
    probabilities: Mapping[Label, float],
    prior: NamedPrior | None = None,
) -> float:
    """Estimate the posterior probability of more classes than were tried.

    Beyond the largest number, the evidence is assumed to fall by a constant factor with each class
    (a geometric series, like the tail of p(k) where classes stay empty). If the largest number is
    the most probable, the result is 1.

    Parameters
    ----------
    values
        Log evidence of each number.
    probabilities
        Their posterior, given that one of them is right.
    prior
        On the number of classes; None: uniform.

    >>> values = {1: -20.0, 2: -10.0, 3: -12.0, 4: -14.0}
    >>> round(probability_of_more(values, {1: 0.0, 2: 0.87, 3: 0.12, 4: 0.01}), 4)
    0.0016
    """
    known = sorted(k for k, v in values.items() if isinstance(k, int) and math.isfinite(v))
    if len(known) < 2:
        return 0.0
    best, last = max(known, key=lambda k: (probabilities[k], -k)), known[-1]
    if best == last:
        return 1.0
    before = max(best, known[-3]) if len(known) > 2 else best  # two steps average errors
    slope = (values[last] - values[before]) / (last - before)
    if prior is None:
        slope = min(slope, math.log(FALLING))
        tail = math.exp(slope) / -math.expm1(slope)
    else:
        more = np.arange(1, TERMS + 1)
        weights = prior.log_weight((last + more).tolist()) - prior.log_weight([last])
        tail = float(np.exp(weights + min(slope, 0.0) * more).sum())
    beyond = probabilities[last] * tail
    return beyond / (1.0 + beyond)
