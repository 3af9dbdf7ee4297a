"""Where sampling did not settle: what it told together with the score, and widened.

Chains that do not mix, and lower bounds, still tell more than nothing, often more than the score.
So both are taken, each by what it may be wrong by; where they contradict each other, the error
grows until they do not (Birge's ratio). Probabilities are averages over these errors, and a part
of them is shared out evenly to all that can matter: for what nobody foresaw.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from lacunet.selection.average import Label, posterior

SCORED = 3.0  # nats by which the score to trust is wrong on data from the prior, about
UNSETTLED = 1.0  # the same of what chains told that do not agree, at least;
TIMES = 3.0  # or so many of the standard errors that they would state
UNFORESEEN = 0.2  # of the probability: answers that did not settle are so often quite wrong
WORTH = 1e-3  # probability from which on a candidate has a share in that
DRAWS = 2048  # of errors, and as many with the opposite signs


@dataclass(frozen=True)
class Told:
    """What sampling told of a candidate."""

    value: float  # nats
    error: float  # by which it may be wrong
    bound: bool = False  # whether it can only be too low


def doubted(stderr: float) -> float:
    """Nats by which a value may be wrong of chains that do not agree, and state an error."""
    return math.hypot(UNSETTLED, TIMES * stderr) if math.isfinite(stderr) else math.inf


def together(
    told: Mapping[Label, Told], scored: Mapping[Label, float]
) -> tuple[dict[Label, float], dict[Label, float]]:
    """Combine what sampling told with the score: values, and what they may be wrong by.

    >>> values, doubts = together({1: Told(-10.0, 3.0), 2: Told(-12.0, 0.0)}, {1: -10.0, 2: -15.0})
    >>> values, {k: round(x, 2) for k, x in doubts.items()}
    ({1: -10.0, 2: -12.0}, {1: 2.12, 2: 0.0})
    """
    both = {k: _combined(one, scored.get(k, math.nan)) for k, one in told.items()}
    values = dict(scored) | {k: one.value for k, one in both.items()}
    return values, {k: one.error for k, one in both.items()}


def _combined(told: Told, score: float) -> Told:
    if told.error == 0.0 or not math.isfinite(score):
        return told
    if not math.isfinite(told.value + told.error):
        return Told(score, SCORED)
    trust = SCORED**2 / (SCORED**2 + told.error**2)  # in what was sampled
    value = trust * told.value + (1.0 - trust) * score
    apart = abs(told.value - score) / math.hypot(told.error, SCORED)
    error = max(1.0, apart) * math.sqrt(trust) * told.error
    return Told(max(value, told.value) if told.bound else value, error, told.bound)


def widened(
    values: Mapping[Label, float],
    doubts: Mapping[Label, float],
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
    errors = np.array([doubts.get(k, 0.0) for k in values])
    z = np.random.default_rng(0).standard_normal((DRAWS, len(errors)))  # the same every time
    with np.errstate(divide="ignore"):
        logs = np.log(chances) + errors * np.concatenate([z, -z])
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    mean = (weights / weights.sum(axis=1, keepdims=True)).mean(axis=0)
    before = np.array(list(posterior(dict.fromkeys(values, 0.0), prior).values()))
    # To whoever can matter at all: two at least, or one would get everything.
    matters = (mean >= WORTH) & np.array([k in doubts for k in values])
    matters[np.argsort(-mean, kind="stable")[:2]] = True
    share = before * matters
    mean = (1.0 - UNFORESEEN) * mean + UNFORESEEN * share / share.sum()
    return dict(zip(values, mean.tolist(), strict=True))
