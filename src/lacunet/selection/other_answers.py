"""Each number of hidden states against one less, by the bootstrap: what papers print beside BIC.

Why BIC chooses another candidate than the evidence: from the numbers of the data at hand.
How far each cheap score is from the measured evidence, for candidates that have it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lacunet.data.table import Table
from lacunet.fitting.diagnose import state_sizes
from lacunet.fitting.fit import Fit, Options, learn
from lacunet.flags import Kind
from lacunet.inference.problem import build_problem
from lacunet.models.latent_class import find_classes
from lacunet.models.network import Network
from lacunet.models.prior import PAPER_ALPHA, dirichlet
from lacunet.runtime.checkpoint import Kept
from lacunet.runtime.executor import Executor
from lacunet.scores import SCORES
from lacunet.selection.average import Label
from lacunet.selection.candidates import Selection
from lacunet.summaries.ratio_tests import RatioTest, ratio_of_fits
from lacunet.tabular import Grid, Shown, chance, number

if TYPE_CHECKING:
    from lacunet.selection.candidates import Candidate, Selection

STOP_AFTER = 20  # draws that gain as much as the data: p is far from small then, and soon known
TITLE = "Bootstrap likelihood-ratio tests (ML fits)"


def ratio_tests(
    table: Table,
    networks: Mapping[int, Network],
    tested: Sequence[int],
    options: Options,
    draws: int,
    executor: Executor,
    kept: Kept,
) -> dict[int, RatioTest]:
    """Test numbers of states against one less; `networks` has those too."""
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


def drawn_p(test: RatioTest) -> Shown:
    """Write a p-value with its Monte Carlo error; the smallest that the draws can show has none."""
    return chance(test.p_value, test.stderr if test.exceeding else None)


def how_drawn(tests: Mapping[int, RatioTest]) -> str:
    """Say how many draws there were, and what that means for p."""
    asked = max(test.asked for test in tests.values())
    stopped = any(test.stopped for test in tests.values())
    early = f" (fewer, where {STOP_AFTER} of them gain as much before)" * stopped
    least = number(1 / (1 + asked), 3)
    return (
        f"by {asked} data sets drawn from the smaller fit{early}; ± Monte Carlo standard error; "
        f"no p can be below {least}."
    )


def ratio_grid(tests: Mapping[int, RatioTest], unit: str) -> Grid:
    """One row for each test."""
    rows = tuple(
        (
            f"{k} against {k - 1}",
            number(test.statistic),
            str(len(test.replicates)),
            str(test.exceeding),
            drawn_p(test),
        )
        for k, test in tests.items()
    )
    notes = (
        f"p: {how_drawn(tests)}",
        f"A small p speaks against the smaller number of {unit}.",
        *(
            f"- {k} against {k - 1}: {flag}"
            for k, test in tests.items()
            for flag in test.flags
            if flag.kind is Kind.MORE_STATES_FIT_WORSE
        ),
    )
    header = (unit, "2 log ratio", "draws", "gain as much", "p")
    return Grid(TITLE, header, rows, frozenset({0}), notes)


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


BEST_FEW = 3  # candidates whose evidence is measured to calibrate the scores


def best_few(selection: Selection) -> list[Label]:
    """The most probable candidates by the headline, in the order of the selection."""
    chances = {k: p if math.isfinite(p) else -1.0 for k, p in selection.posterior().items()}
    ranked = sorted(chances, key=lambda label: -chances[label])
    return [c.label for c in selection.candidates if c.label in ranked[:BEST_FEW]]


@dataclass(frozen=True)
class Calibration:
    """Score − measured evidence, in nats, by score and candidate."""

    errors: Mapping[str, Mapping[Label, float]]
    stderr: Mapping[Label, float | None]  # none where the evidence is only bounded from below

    @property
    def nearest(self) -> str | None:
        """The score with the smallest mean absolute error, of those that all of them have."""
        means = {
            name: math.fsum(abs(e) for e in errors.values()) / len(errors)
            for name, errors in self.errors.items()
            if len(errors) == len(self.stderr) and all(math.isfinite(e) for e in errors.values())
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
    errors = {
        score.name: {
            c.label: c.scores[score.name].value
            - (m.value if score.every_labelling else m.one_labelling)
            for c, m in measured
            if score.name in c.scores
        }
        for score in SCORES
    }
    known = {name: of_candidates for name, of_candidates in errors.items() if of_candidates}
    return Calibration(known, {c.label: m.stderr for c, m in measured})


def calibration_grid(selection: Selection) -> Grid | None:
    """Score by score, candidate by candidate."""
    held = calibration(selection)
    if held is None:
        return None
    names = {s.name: s.title for s in SCORES}
    labels = list(held.stderr)
    rows = tuple(
        (names[name], *(number(errors[label]) if label in errors else "–" for label in labels))
        for name, errors in held.errors.items()
    )
    last = (
        "standard error",
        *("lower bound" if e is None else number(e) for e in held.stderr.values()),
    )
    notes = ["A score at one mode is held against one labelling, the others against them all."]
    if held.nearest:
        notes.append(f"Nearest here: {names[held.nearest]}.")
    header, title = ("score", *map(str, labels)), "Score − measured evidence, in nats"
    return Grid(title, header, (*rows, last), notes=tuple(notes))
