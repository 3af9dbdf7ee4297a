"""From evidence to probability: the posterior over candidates."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

import numpy as np
from scipy.special import betaln, gammaln

from lacunet.errors import OptionError
from lacunet.runtime.arrays import FloatArray


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
    logs = list(_weighed(values, prior).values())
    top = max(logs, default=-math.inf)
    if top == -math.inf:
        return dict.fromkeys(values, math.nan)
    weights = np.exp(np.array(logs) - top)
    return {k: float(w) for k, w in zip(values, weights / weights.sum(), strict=True)}


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
    weights = dict.fromkeys(values, 1.0) if prior is None else prior
    return {
        k: v + math.log(weights[k]) if math.isfinite(v) and weights[k] > 0 else -math.inf
        for k, v in values.items()
    }


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
    usual = NAMED.get(family)
    try:
        given = tuple(map(float, rest.split(","))) if colon else usual
    except ValueError:
        given = None
    positive = usual is not None and given is not None and all(0 < x < math.inf for x in given)
    if not positive or usual is None or given is None or len(given) != len(usual):
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
        if k not in prior:
            raise OptionError(f"the prior says nothing of {_name(k)}. Give one weight for each.")
        if not (math.isfinite(prior[k]) and prior[k] >= 0):
            raise OptionError(f"the prior of {_name(k)} is {prior[k]}. Weights must be 0 or more.")
    if not any(prior[k] > 0 for k in labels):
        raise OptionError("the prior gives every candidate weight 0. At least one must be above 0.")


def _name(label: Label) -> str:
    return f"'{label}'" if isinstance(label, str) else f"{label} states"
