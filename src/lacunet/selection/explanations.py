"""Why scores differ: BIC against the evidence, scores against measurements, bootstrap tests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lacunet.data.table import Table
from lacunet.fitting.diagnose import state_sizes
from lacunet.fitting.fit import Fit, Options, learn
from lacunet.inference.problem import build_problem
from lacunet.models.latent_class import find_classes
from lacunet.models.network import Network
from lacunet.models.prior import PAPER_ALPHA, dirichlet
from lacunet.runtime.checkpoint import Kept
from lacunet.runtime.executor import Executor
from lacunet.scores import SCORES
from lacunet.selection.average import Label
from lacunet.summaries.ratio_tests import RatioTest, ratio_of_fits

if TYPE_CHECKING:
    from lacunet.selection.candidates import Candidate, Selection

STOP_AFTER = 20  # draws that gain as much as the data: p is far from small then, and soon known
EDGE = 0.01  # a probability this near to 0 or 1 is at the edge
BEST_FEW = 3  # candidates whose evidence is measured to calibrate the scores


def ratio_tests(
    table: Table,
    networks: Mapping[int, Network],
    tested: Sequence[int],
    options: Options,
    draws: int,
    executor: Executor,
    kept: Kept,
) -> dict[int, RatioTest]:
    """Test each number of states against one less, by the bootstrap; `networks` has those too."""
    numbers = [k for k in tested if k - 1 in networks]
    fits: dict[int, Fit] = {}
    for k in sorted({n for pair in numbers for n in (pair - 1, pair)}):
        # The prior has no part in ML fits.
        problem = build_problem(table, networks[k], dirichlet(networks[k], PAPER_ALPHA))
        quiet = executor.if_worth(problem.components.nanoseconds).silent()
        fits[k] = learn(problem, options, executor=quiet)
    found = {}
    for i, k in enumerate(numbers):
        part = executor.part(i / len(numbers), (i + 1) / len(numbers), f"{k} against {k - 1}")
        found[k] = ratio_of_fits(
            fits[k - 1], fits[k], draws, stop_after=STOP_AFTER, executor=part, kept=kept
        )
    return found


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
    other = max(selection.candidates, key=lambda c: c.fit.log_lik - _bic_charge(c))
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
    ways, numbered = "", large.log_labellings - small.log_labellings
    if numbered > 0 and selection.score(selection.headline).every_labelling:
        ways = (
            f" {numbered:.1f} nats are off already, for {large.title} can be numbered in more ways."
        )
    cases = large.problem.cases
    why = _why(large, cost < charged)
    sentences = (
        f"{large.title} fit {gain:.1f} nats better than {small.title}, by {more} more parameters.",
        f"BIC takes {charged:.1f} nats for them, ½ log {cases:,.6g} each, as if all cases told.",
        f"The evidence, an average over the parameters, takes {cost:.1f} nats.{why}{ways}",
    )
    says = "the evidence" if selection.certainty.reliable else "the answer above"
    title = f"Why BIC says {other.label}, and {says} {best.label}"
    return OtherChoice(title, sentences, gain, charged, cost)


def _bic_charge(candidate: Candidate) -> float:
    return 0.5 * candidate.dimension * math.log(candidate.problem.cases)


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


def best_few(selection: Selection) -> list[Label]:
    """The most probable candidates by the headline, in the order of the selection."""
    p = {k: p if math.isfinite(p) else -1.0 for k, p in selection.posterior().items()}
    best = sorted(p, key=lambda label: -p[label])[:BEST_FEW]
    return [c.label for c in selection.candidates if c.label in best]


@dataclass(frozen=True)
class Calibration:
    """Score − measured evidence, in nats, by score and candidate."""

    errors: Mapping[str, Mapping[Label, float]]
    stderr: Mapping[Label, float | None]  # none where the evidence is only bounded from below

    @property
    def nearest(self) -> str | None:
        """The score with the smallest mean absolute error, of those that all of them have."""
        means = {
            name: math.fsum(map(abs, errors.values())) / len(errors)
            for name, errors in self.errors.items()
            if len(errors) == len(self.stderr) and all(map(math.isfinite, errors.values()))
        }
        return min(means, key=lambda name: means[name], default=None)


def calibration(selection: Selection) -> Calibration | None:
    """Hold the scores of measured candidates against the measurement; None if there is none.

    A score at one mode is held against one labelling, as the paper counts; one that includes all
    labellings against them all.
    """
    measured = [(c, c.measured) for c in selection.candidates if c.measured is not None]
    if not measured:
        return None
    errors: dict[str, dict[Label, float]] = {}
    for score in SCORES:
        for c, m in measured:
            if score.name in c.scores:
                truth = m.value if score.every_labelling else m.one_labelling
                errors.setdefault(score.name, {})[c.label] = c.scores[score.name].value - truth
    return Calibration(errors, {c.label: m.stderr for c, m in measured})
