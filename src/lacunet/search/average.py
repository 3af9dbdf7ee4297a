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
    logs = []
    for k, value in values.items():
        log_weight = value + (math.lgamma(k + 1) if labellings is Labellings.ALL else 0.0)
        share = 1.0 if prior is None else prior[k]
        usable = math.isfinite(value) and share > 0
        logs.append(log_weight + math.log(share) if usable else -math.inf)
    top = max(logs, default=-math.inf)
    if top == -math.inf:
        return dict.fromkeys(values, math.nan)
    weights = np.exp(np.array(logs) - top)
    return {k: float(w) for k, w in zip(values, weights / weights.sum(), strict=True)}


def choose(values: Mapping[int, float]) -> int | None:
    """Give the candidate with the largest score; the smaller one where two are equal."""
    usable = {k: v for k, v in values.items() if math.isfinite(v)}
    return min(usable, key=lambda k: (-usable[k], k)) if usable else None


def check_prior(prior: Mapping[int, float] | None, states: list[int]) -> None:
    """Check a prior over the candidates."""
    if prior is None:
        return
    for k in states:
        if k not in prior:
            raise OptionError(f"the prior says nothing of {k} states. Give one weight for each.")
        if not (math.isfinite(prior[k]) and prior[k] >= 0):
            raise OptionError(f"the prior of {k} states is {prior[k]}. Weights must be 0 or more.")
    if not any(prior[k] > 0 for k in states):
        raise OptionError("the prior gives every candidate weight 0. At least one must be above 0.")
