"""From evidence to probability: the posterior over candidates."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum

import numpy as np

from lacunet.errors import OptionError


class Labellings(StrEnum):
    """What to do about the k! equal labellings of k hidden states."""

    PLAIN = "plain"  # one labelling, as in the paper
    ALL = "with log k!"  # the evidence has k! equal modes; a score at one mode sees one of them


def posterior(
    values: Mapping[int, float],
    prior: Mapping[int, float] | None = None,
    labellings: Labellings = Labellings.PLAIN,
) -> dict[int, float]:
    """Give p(k | D) ∝ p(k) exp(score) over numbers of states; a missing score gets no probability.

    >>> posterior({1: -10.0, 2: -10.0})
    {1: 0.5, 2: 0.5}
    """
    logs = [
        value + (math.lgamma(k + 1) if labellings is Labellings.ALL else 0.0)
        for k, value in _weighed(values, prior).items()
    ]
    top = max(logs, default=-math.inf)
    if top == -math.inf:
        return dict.fromkeys(values, math.nan)
    weights = np.exp(np.array(logs) - top)
    return {k: float(w) for k, w in zip(values, weights / weights.sum(), strict=True)}


def choose(values: Mapping[int, float], prior: Mapping[int, float] | None = None) -> int | None:
    """Give the most probable candidate; the smaller one where two are equal.

    >>> choose({1: -12.0, 2: -10.0}), choose({1: -12.0, 2: -10.0}, {1: 0.9, 2: 0.1})
    (2, 1)
    """
    usable = {k: v for k, v in _weighed(values, prior).items() if v > -math.inf}
    return min(usable, key=lambda k: (-usable[k], k)) if usable else None


def _weighed(values: Mapping[int, float], prior: Mapping[int, float] | None) -> dict[int, float]:
    """Give score + log p(k); −inf where there is no score or no prior probability."""
    weights = dict.fromkeys(values, 1.0) if prior is None else prior
    return {
        k: v + math.log(weights[k]) if math.isfinite(v) and weights[k] > 0 else -math.inf
        for k, v in values.items()
    }


def check_prior(prior: Mapping[int, float] | None, states: list[int]) -> None:
    """Check a prior over the candidates."""
    if prior is None:
        return
    for k in states:
        if k not in prior:
            raise OptionError(f"the prior says nothing of {k} states. Give one weight for each.")
        if not (math.isfinite(prior[k]) and prior[k] >= 0):
            raise OptionError(f"the prior of {k} is {prior[k]}. Weights must be 0 or more.")
    if not any(prior[k] > 0 for k in states):
        raise OptionError("the prior gives every candidate weight 0. At least one must be above 0.")
