"""From evidence to probability: the posterior over candidates."""

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TypeAlias

import numpy as np

from lacunet.errors import OptionError


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
