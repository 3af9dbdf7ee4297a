"""From log evidence to probability: the posterior over candidates, and priors of them."""

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
from lacunet.wording import worded


class Labellings(StrEnum):
    """What to do about the k! equal labellings of k hidden states."""

    PLAIN = "plain"  # one labelling, as in the paper
    ALL = "with log k!"  # the evidence has k! equal modes; a score at one mode sees one of them


Label: TypeAlias = int | str  # of a candidate: a number of states, or a name


def posterior(
    values: Mapping[Label, float], prior: Mapping[Label, float] | None = None
) -> dict[Label, float]:
    """Give p(k | D) ∝ p(k) exp(score) over candidates; a missing score gets no probability.

    >>> posterior({1: -10.0, 2: -10.0})
    {1: 0.5, 2: 0.5}
    """
    logs = np.array(list(_weighed(values, prior).values()))
    top = logs.max(initial=-math.inf)
    if top == -math.inf:
        return dict.fromkeys(values, math.nan)
    weights = np.exp(logs - top)
    return dict(zip(values, (weights / weights.sum()).tolist(), strict=True))


def choose(
    values: Mapping[Label, float], prior: Mapping[Label, float] | None = None
) -> Label | None:
    """Give the most probable candidate; the first one where two are equal.

    >>> choose({1: -12.0, 2: -10.0}), choose({1: -12.0, 2: -10.0}, {1: 0.9, 2: 0.1})
    (2, 1)
    """
    usable = {k: v for k, v in _weighed(values, prior).items() if v > -math.inf}
    return max(usable, key=lambda k: usable[k]) if usable else None


def _weighed(
    values: Mapping[Label, float], prior: Mapping[Label, float] | None
) -> dict[Label, float]:
    """Give score + log p(k); −inf where there is no score or no prior probability."""
    return {
        k: v + log_weight_of(prior, k) if math.isfinite(v) else -math.inf for k, v in values.items()
    }


def log_weight_of(prior: Mapping[Label, float] | None, label: Label) -> float:
    """Log prior weight of a candidate; −inf of 0."""
    weight = 1.0 if prior is None else prior[label]
    return math.log(weight) if weight > 0 else -math.inf


@dataclass(frozen=True)
class PriorSensitivity:
    """The posterior over the candidates with another prior."""

    what: str  # "strength" of the prior, or "scale": variances that classes are expected to have
    factor: float
    probabilities: dict[Label, float]

    @property
    def choice(self) -> Label:
        """The most probable candidate."""
        return max(self.probabilities, key=lambda label: self.probabilities[label])


def sensitivities(
    by_prior: Mapping[Label, FloatArray], grid: PriorGrid, prior: Mapping[Label, float] | None
) -> tuple[PriorSensitivity, ...]:
    """Give the posterior over the candidates with each shift of the grid."""
    found = []
    for shift in grid.shifts:
        values = {k: float(logsumexp(v + log_of(shift.weights))) for k, v in by_prior.items()}
        if any(map(math.isfinite, values.values())):
            found.append(PriorSensitivity(shift.what, shift.factor, posterior(values, prior)))
    return tuple(found)


@dataclass(frozen=True)
class NamedPrior:
    """A prior of the number of classes, k = 1, 2, …, by its name; `uniform` is improper."""

    family: str  # one of `NAMED`
    parameters: tuple[float, ...] = ()

    def log_weight(self, k: Iterable[int]) -> FloatArray:
        """Log p(k) of several numbers, (K,); of `uniform` 0."""
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
        """Give weights of candidates by the sizes of what is hidden; several are independent."""
        return {label: math.exp(self.log_weight(k).sum()) for label, k in sizes.items()}

    def __str__(self) -> str:
        given = ",".join(f"{x:g}" for x in self.parameters)
        return f"{self.family}:{given}" if given else self.family


# Parameters that a name has, where none are given: BNB(1, 4, 3) as Frühwirth-Schnatter,
# Malsiner-Walli & Grün (2021), geometric with 0.1 as Miller & Harrison (2018).
NAMED: dict[str, tuple[float, ...]] = {"uniform": (), "bnb": (1.0, 4.0, 3.0), "geometric": (0.1,)}


def named_prior(text: str) -> NamedPrior:
    """Read the name of a prior of the number of classes, perhaps with parameters.

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
    """Give a prior that has a name, for candidates with these numbers of hidden states, if any."""
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
            raise OptionError(f"the prior says nothing of {name}. Give one weight for each.")
        if not (math.isfinite(prior[k]) and prior[k] >= 0):
            raise OptionError(f"the prior of {name} is {prior[k]}. Weights must be 0 or more.")
    if not any(prior[k] > 0 for k in labels):
        raise OptionError("the prior gives every candidate weight 0. At least one must be above 0.")


# Ranges of numbers of classes

FIRST = 8  # classes that are tried where no range is given;
FURTHER = (12, 16, 24, 32)  # and how far they are followed while more are probable
ENOUGH = 0.05  # probability of more than were tried, below which a range is long enough
FALLING = 0.9  # of its probability that each further class has at most, where nothing else says so
TERMS = 10_000  # of a series: numbers beyond the last


@dataclass(frozen=True)
class Reach:
    """A range was left where the evidence had fallen far, and went on falling."""

    best: int  # states, of those that were looked at
    last: int  # the most that were tried
    asked: int  # the most that were asked for
    fall: float  # nats of log evidence from the best to the last

    def __str__(self) -> str:
        return worded(
            f"{self.last + 1} to {self.asked} were left out: at {self.last} the evidence is about "
            f"{self.fall:.0f} nats below that of {self.best}, and beyond it goes on falling. "
            "With --whole-range they are tried too"
        )


def probability_of_more(
    values: Mapping[Label, float],
    probabilities: Mapping[Label, float],
    prior: NamedPrior | None = None,
) -> float:
    """Give the probability of more than the largest number, beside those that were tried.

    What was not tried has no evidence. Beyond the largest number the evidence is therefore taken to
    go on falling by the same factor with every further class (a geometric series, like the tail of
    p(k) where classes stay empty). Where it does not fall yet, more may be right, however probable
    the last number is among those that were tried.

    Parameters
    ----------
    values
        Log evidence of each number.
    probabilities
        Their posterior, as if there were no others.
    prior
        Of the number of classes; None: the same for all.

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
    before = max(best, known[-3]) if len(known) > 2 else best  # two steps: errors count for less
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
