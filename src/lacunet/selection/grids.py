"""A selection as tables: candidates, scores, tests, remarks, and the chosen model."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lacunet.flags import Flag, Kind, Sizes
from lacunet.models.display import model_grids
from lacunet.scores import SCORES
from lacunet.selection.average import Label, Labellings
from lacunet.selection.certainty import TRUTH, CertaintyBasis, Factor
from lacunet.selection.sentences import (
    ONCE,
    WORTH_A_WORD,
    answer,
    labellings_matter,
    limits,
    why_not_bic,
)
from lacunet.summaries.ratio_tests import RatioTest
from lacunet.tabular import Documented, Grid, Shown, chance, number, probability, share

if TYPE_CHECKING:
    from lacunet.selection.result import Selection

KNOWN = (TRUTH, *SCORES)
TITLES = {score.name: score.title for score in KNOWN}
COLUMNS = {score.name: score.column or score.title for score in KNOWN}
STOP_AFTER = 20  # draws that gain as much as the data, after which p is clearly large
TESTS = "Bootstrap likelihood-ratio tests (ML fits)"


def selection_grids(selection: Selection) -> list[Grid]:
    """Return all tables of a selection, the answer first."""
    why, flags = why_not_bic(selection), remarks(selection)
    tests = selection.ratio_tests
    grids = [
        Grid(answer(selection), notes=tuple(limits(selection))),
        candidate_grid(selection),
        score_grid(selection),
        ratio_grid(tests, selection.unit) if tests else None,
        Grid(why.title, notes=why.sentences) if why is not None else None,
        calibration_grid(selection),
        beside_classes(selection),
        Grid("What to know", notes=tuple(f"- {flag}" for flag in flags)) if flags else None,
    ]
    model = [] if selection.label is None else model_grids(selection.best.fit.model)
    return [*(grid for grid in grids if grid is not None), *model]


def candidate_grid(selection: Selection) -> Grid:
    """One row per candidate: its size, its fit, and its probability."""
    certainty, both = selection.certainty, labellings_matter(selection)
    alone, best = len(selection.candidates) == 1, certainty.choice
    used = None if alone else selection.used
    candidates, labels = selection.candidates, [c.label for c in selection.candidates]
    p, errors = certainty.probabilities, certainty.stderr
    first, words = first_column(selection)
    symbol = "S" if words else "k"
    columns: dict[str, Iterable[str]] = {
        first: map(str, labels),
        "d": [str(c.dimension) for c in candidates],
        "log p(D|θ)": [number(c.fit.log_lik) for c in candidates],
        f"p({symbol})": [chance(p[k], errors[k], exact=alone) for k in labels],
    }
    if both:
        labelled = selection.posterior(labellings=Labellings.ALL)
        columns[f"p({symbol}), k!"] = [probability(labelled[k], exact=alone) for k in labels]
    if used is not None:
        columns["used"] = [share(used.get(int(k), 0.0)) for k in labels]
    if best is not None:
        columns["log BF"] = [factor_words(certainty.bayes_factor(k, best)) for k in labels]
    columns["starts"] = [f"{c.fit.reached}/{c.fit.finalists}" for c in candidates]
    columns["seconds"] = [number(sum(c.seconds.values())) for c in candidates]
    # A row of dashes for each candidate that could not be fitted: the reason is given above.
    failed = [str(each.label) for each in selection.failed]
    nothing = [number(math.nan)] * len(failed)
    columns = {
        name: [*cells, *(failed if name == first else nothing)] for name, cells in columns.items()
    }
    ways = ", plain and with log k!" if both else ""
    with_score = f" and {selection.trusted.title}, widened"
    widened = with_score if certainty.basis is CertaintyBasis.UNRELIABLE else ""
    named = "" if selection.named_prior is None else f", prior {selection.named_prior}"
    tried = ", among those that were tried" * selection.at_least
    notes = (
        f"p({symbol}): posterior by {TITLES[certainty.by]}{ways}{widened}{named}{tried}.",
        *_used_note(selection),
        *([] if best is None else [f"log BF: log Bayes factor against {best}, in nats."]),
        "starts: final starts that reached the best optimum.",
    )
    return Grid.by_columns("Candidates", columns, words, notes)


def _used_note(selection: Selection) -> list[str]:
    """Describe the column of used classes, or why there is none."""
    if not isinstance(selection.candidates[0].label, int) or len(selection.candidates) == 1:
        return []
    if selection.used is not None:
        return ["used: posterior of the number of classes that have a case."]
    unknown = "The number of used classes is unknown, because it was not measured."
    return [unknown] if selection.unit == "classes" else []


def score_grid(selection: Selection) -> Grid:
    """One row per candidate, one column per score; a star marks what each score chooses."""
    names, labels = [s.name for s in selection.scores], [c.label for c in selection.candidates]
    first, words = first_column(selection)
    columns: dict[str, Iterable[str]] = {first: map(str, labels)}
    sampled, others = [], []
    for n in names:
        values, best = selection.values(n), selection.chosen[n]
        columns[COLUMNS[n]] = [starred(values[k], best == k) for k in labels]
        errors = [c.scores[n].stderr for c in selection.candidates if n in c.scores]
        if known := [e for e in errors if e is not None]:
            sampled.append(f"{COLUMNS[n]}: standard errors up to {max(known):.2g}.")
    for c in selection.candidates:  # scores that only some candidates have: BD of one state
        rest = [(n, e.value) for n, e in c.scores.items() if n not in names]
        others += [f"{TITLES[n]} of {c.title}: {number(value)}." for n, value in rest]
    short = [f"{COLUMNS[n]}: {TITLES[n]}." for n in names if COLUMNS[n] != TITLES[n]]
    notes = (" ".join(["* the choice of each score.", *short]), *sampled, *others)
    return Grid.by_columns("Scores: log marginal likelihoods in nats", columns, words, notes)


def first_column(selection: Selection) -> tuple[str, frozenset[int]]:
    """Head of the first column, and the indices of columns of text."""
    numbers = isinstance(selection.candidates[0].label, int)
    return (selection.unit, frozenset()) if numbers else ("network", frozenset({0}))


def factor_words(factor: Factor) -> Shown:
    """Format a log Bayes factor, with its error if known."""
    plain = number(factor.log)
    error = f" ± {factor.stderr:.2g}" if factor.stderr and math.isfinite(factor.log) else ""
    return Shown(f"{plain}{error}", factor.log)


def starred(x: float, chosen: bool) -> Shown:
    """Format a number, with a star if it is chosen."""
    return Shown(f"*{number(x)}", x) if chosen else number(x)


def drawn_p(test: RatioTest) -> Shown:
    """Format a p-value with its Monte Carlo error; the smallest possible one has none."""
    return chance(test.p_value, test.stderr if test.exceeding else None)


def simulation_note(tests: Mapping[int, RatioTest]) -> str:
    """Describe the number of draws, and the smallest p that they allow."""
    requested = max(test.requested for test in tests.values())
    stopped = any(test.stopped for test in tests.values())
    early = f" (fewer, where {STOP_AFTER} of them gain as much before)" * stopped
    least = number(1 / (1 + requested), 3)
    return (
        f"by {requested} data sets drawn from the smaller fit{early}; ± Monte Carlo standard "
        f"error; no p can be below {least}."
    )


def ratio_grid(tests: Mapping[int, RatioTest], unit: str) -> Grid:
    """One row for each test of a number of classes against one less."""
    each = {f"{k} against {k - 1}": test for k, test in tests.items()}
    columns = {
        unit: each,
        "2 log ratio": [number(test.statistic) for test in each.values()],
        "draws": [str(len(test.replicates)) for test in each.values()],
        "gain as much": [str(test.exceeding) for test in each.values()],
        "p": list(map(drawn_p, each.values())),
    }
    worse = [
        f"- {name}: {flag}"
        for name, test in each.items()
        for flag in test.flags
        if flag.kind is Kind.MORE_STATES_FIT_WORSE
    ]
    small = f"A small p is evidence against the smaller number of {unit}."
    return Grid.by_columns(TESTS, columns, notes=(f"p: {simulation_note(tests)}", small, *worse))


def calibration_grid(selection: Selection) -> Grid | None:
    """Scores against measured evidence, candidate by candidate."""
    comparison = calibration(selection)
    if comparison is None:
        return None
    columns: dict[str, Iterable[str]] = {
        "score": [*(TITLES[name] for name in comparison.errors), "standard error"]
    }
    for k, e in comparison.stderr.items():
        cells = [number(x[k]) if k in x else "–" for x in comparison.errors.values()]
        columns[str(k)] = [*cells, "lower bound" if e is None else number(e)]
    notes = ["Scores at one mode are compared with the evidence of one labelling, others with all."]
    if comparison.nearest:
        notes.append(f"Nearest here: {TITLES[comparison.nearest]}.")
    return Grid.by_columns("Score − measured evidence, in nats", columns, notes=notes)


def beside_classes(selection: Selection) -> Grid | None:
    """Table of alternatives to the classes and of predictive checks, if any is notable."""
    misfit = selection.misfit
    if misfit is None or misfit.chosen != selection.label:
        return None
    near = any(a.probability >= WORTH_A_WORD for a in misfit.alternatives)
    return misfit.grid(selection.best.title) if near or misfit.failed else None


def remarks(selection: Selection) -> list[str]:
    """Every flag of every candidate, in words."""
    lines = _identifiability_flags(selection)
    for c in selection.candidates:
        flags = [flag for flag in c.flags if flag.kind not in ONCE]
        of_scores = (f"{TITLES[n]}: {flag}" for n, e in c.scores.items() for flag in e.flags)
        lines += [f"{c.title}: {text}" for text in (*flags, *of_scores)]
    return lines


def _identifiability_flags(selection: Selection) -> list[str]:
    """Flags of identifiability: one line for each kind, with all its candidates."""
    lines = []
    for kind in ONCE:
        about = [(c, flag) for c in selection.candidates for flag in c.flags if flag.kind is kind]
        if about:
            values = {name: [flag.detail[name] for _, flag in about] for name in about[0][1].detail}
            ends = {
                n: f"{v[0]}" if v[0] == v[-1] else f"{v[0]} to {v[-1]}" for n, v in values.items()
            }
            labels = tuple(c.label for c, _ in about)
            fits = Sizes(labels, "" if isinstance(labels[0], str) else selection.unit)
            lines.append(str(Flag(kind, detail=ends, fits=fits)))
    return lines


@dataclass(frozen=True)
class Calibration(Documented):
    """Score − measured evidence, in nats, by score and candidate."""

    KEYS = "errors nearest"

    errors: Mapping[str, Mapping[Label, float]]
    stderr: Mapping[Label, float | None]  # None for a lower bound of the evidence

    @property
    def nearest(self) -> str | None:
        """The score with the smallest mean absolute error, among those of all candidates."""
        means = {
            name: math.fsum(map(abs, errors.values())) / len(errors)
            for name, errors in self.errors.items()
            if len(errors) == len(self.stderr) and all(map(math.isfinite, errors.values()))
        }
        return min(means, key=lambda name: means[name], default=None)


def calibration(selection: Selection) -> Calibration | None:
    """Compare scores with the measured evidence; None if nothing was measured.

    A score at one mode is compared with the evidence of one labelling, as in the paper; other
    scores with that of all labellings.
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
