"""How far each cheap score is from the measured evidence, for candidates that have it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from lacunet.scores import SCORES
from lacunet.selection.average import Label
from lacunet.selection.candidates import Selection
from lacunet.tabular import Grid, number

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
