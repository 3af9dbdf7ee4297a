"""Why BIC chooses another candidate than the evidence: from the numbers of the data at hand.

Both weigh how much better the larger candidate fits against what its parameters cost. BIC takes
½ log N for each, as if all N cases told of every parameter, whatever its value. The evidence takes
what they really cost: a probability within a class is told by the cases of that class alone, and
one at 0 or 1 costs less than one in between.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lacunet.fitting.diagnose import state_sizes
from lacunet.models.latent_class import find_classes

if TYPE_CHECKING:
    from lacunet.selection.candidates import Candidate, Selection

EDGE = 0.01  # a probability this near to 0 or 1 is at the edge


@dataclass(frozen=True)
class OtherChoice:
    """What BIC chooses, and why, in words and in numbers."""

    title: str
    sentences: tuple[str, ...]
    gain: float  # nats: how much better the larger of the two fits
    charged: float  # nats: what BIC takes for its additional parameters
    cost: float  # nats: what the evidence takes for them


def why_not_bic(selection: Selection) -> OtherChoice | None:
    """Explain why BIC chooses another candidate; None if it does not, or nothing is chosen."""
    if selection.label is None or len(selection.candidates) < 2:
        return None
    other = max(selection.candidates, key=_bic)
    best = selection.best
    if other.label == best.label:
        return None
    small, large = sorted((best, other), key=lambda c: c.dimension)
    factor = selection.bayes_factor(large.label, small.label).log
    more = large.dimension - small.dimension
    if not (more > 0 and math.isfinite(factor)):
        return None
    gain = large.fit.log_lik - small.fit.log_lik
    charged, cost = _bic_charge(large) - _bic_charge(small), gain - factor
    own, ways = _why(large, cost < charged), _ways(selection, small, large)
    cases = large.problem.cases
    sentences = (
        f"{large.title} fit {gain:.1f} nats better than {small.title}, by {more} more parameters.",
        f"BIC takes {charged:.1f} nats for them, ½ log {cases:,.6g} each, as if all cases told.",
        f"The evidence, an average over the parameters, takes {cost:.1f} nats.{own}{ways}",
    )
    says = "the evidence" if selection.certainty.reliable else "the answer above"
    title = f"Why BIC says {_short(other)}, and {says} {_short(best)}"
    return OtherChoice(title, sentences, gain, charged, cost)


def _short(candidate: Candidate) -> str:
    return str(candidate.label)


def _bic_charge(candidate: Candidate) -> float:
    return 0.5 * candidate.dimension * math.log(candidate.problem.cases)


def _bic(candidate: Candidate) -> float:
    return candidate.fit.log_lik - _bic_charge(candidate)


def _ways(selection: Selection, small: Candidate, large: Candidate) -> str:
    """What it is worth that more classes can be numbered in more ways, where that is counted."""
    more = large.log_labellings - small.log_labellings
    if not (more > 0 and selection.score(selection.headline).every_labelling):
        return ""
    return f" {more:.1f} nats are off already, for {large.title} can be numbered in more ways."


def _why(large: Candidate, cheap: bool) -> str:
    """What of this candidate makes its parameters cheaper, or dearer, than BIC thinks."""
    model, point = large.fit.model, large.fit.point
    if (classes := find_classes(model.network)) is None:
        return ""
    layout = model.network.layout
    smallest = float(state_sizes(layout, point.N, classes.root).min())
    if not cheap:
        return (
            f" That is more: a class of few cases (the smallest has {smallest:.1f}) leaves its "
            "probabilities open, and most values that they could have fit badly."
        )
    theta = model.theta[layout.in_simplex & layout.learned]
    edge = int(np.sum((theta < EDGE) | (theta > 1 - EDGE)))
    edges = f", and {edge} of {theta.size} probabilities are at 0 or 1" if edge else ""
    return (
        " That is less, for a class is told by its own cases alone: the smallest has "
        f"{smallest:.1f}{edges}."
    )
