"""A selection as grids: the answer, every candidate, what to know, and the chosen classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lacunet.model.display import model_grids
from lacunet.model.latent_class import is_latent_class
from lacunet.scores import SCORES
from lacunet.search.average import Label, Labellings
from lacunet.search.calibration import calibration_grid
from lacunet.search.truth import TRUTH
from lacunet.tabular import Grid, Shown, number, probability

if TYPE_CHECKING:
    from lacunet.search.candidates import Candidate, Selection

KNOWN = (TRUTH, *SCORES)
TITLES = {score.name: score.title for score in KNOWN}
COLUMNS = {score.name: score.column or score.title for score in KNOWN}


def answer(selection: Selection) -> str:
    """Say the answer in one sentence."""
    k = selection.label
    if k is None:
        return "No score has a value for any candidate: nothing can be chosen."
    by = TITLES[selection.headline]
    plain = _chances(selection, Labellings.PLAIN)
    labelled = _chances(selection, Labellings.ALL)
    best = _most_probable(selection)
    sentence = f"{_what(selection)}, by {by}: probability {plain[k]} among the candidates"
    if not _labelled(selection):
        return f"{sentence}."
    if best == k:
        return f"{sentence} ({labelled[k]} with log k! for equal labellings)."
    return f"{sentence}; with log k! for equal labellings, {best} ({labelled[best]})."


def _what(selection: Selection) -> str:
    k = selection.label
    if isinstance(k, int) and is_latent_class(selection.best.fit.model.network):
        return f"{k} hidden class{'es' if k > 1 else ''}"
    if isinstance(k, int):
        (name,) = selection.best.proposal.sizes
        return f"{selection.best.title} of {name}"
    return str(k)


def _labelled(selection: Selection) -> bool:
    """Whether equal labellings can move the answer; all structures may have the same number."""
    if selection.score(selection.headline).every_labelling:
        return False
    numbers = {c.log_labellings for c in selection.candidates}
    return isinstance(selection.candidates[0].label, int) or len(numbers) > 1


def _most_probable(selection: Selection) -> Label:
    chances = selection.posterior(labellings=Labellings.ALL)
    return max(chances, key=lambda k: chances[k])


def _chances(selection: Selection, labellings: Labellings) -> dict[Label, str]:
    """Write the posterior; only a candidate without any rival is ever certain."""
    alone = len(selection.candidates) == 1
    chances = selection.posterior(labellings=labellings)
    return {k: probability(p, exact=alone) for k, p in chances.items()}


def candidate_grid(selection: Selection) -> Grid:
    """One row per candidate: its size, its fit, and its probability."""
    plain = _chances(selection, Labellings.PLAIN)
    labelled = _chances(selection, Labellings.ALL)
    both = _labelled(selection)
    first, words = _labels(selection)
    symbol = "S" if words else "k"
    rows = tuple(
        (
            str(c.label),
            str(c.dimension),
            number(c.fit.log_lik),
            plain[c.label],
            *([labelled[c.label]] if both else []),
            f"{c.fit.reached}/{c.fit.finalists}",
            number(sum(c.seconds.values())),
        )
        for c in selection.candidates
    )
    header = (
        first,
        "d",
        "log p(D|θ)",
        f"p({symbol})",
        *([f"p({symbol}), k!"] if both else []),
        "starts",
        "seconds",
    )
    notes = (
        f"p({symbol}): posterior by {TITLES[selection.headline]}"
        + (", plain and with log k!." if both else "."),
        "starts: final starts that reached the best optimum.",
    )
    return Grid("Candidates", header, rows, words, notes)


def score_grid(selection: Selection) -> Grid:
    """One row per candidate, one column per score; a star marks what each score chooses."""
    names = [s.name for s in selection.scores]
    first, words = _labels(selection)
    rows = tuple(
        (str(c.label), *(_starred(c, name, selection.chosen[name]) for name in names))
        for c in selection.candidates
    )
    short = [f"{COLUMNS[n]}: {TITLES[n]}." for n in names if COLUMNS[n] != TITLES[n]]
    notes = (
        " ".join(["* the choice of each score.", *short]),
        *_sampled(selection),
        *_only_some(selection),
    )
    header = (first, *(COLUMNS[n] for n in names))
    return Grid("Scores: log marginal likelihoods in nats", header, rows, words, notes)


def _labels(selection: Selection) -> tuple[str, frozenset[int]]:
    """Head of the first column, and whether that is of words."""
    numbers = isinstance(selection.candidates[0].label, int)
    return ("states", frozenset()) if numbers else ("network", frozenset({0}))


def _sampled(selection: Selection) -> list[str]:
    """How sure the scores are that come from sampling."""
    found = []
    for score in selection.scores:
        errors = [c.scores[score.name].stderr for c in selection.candidates]
        known = [e for e in errors if e is not None]
        if known:
            found.append(f"{COLUMNS[score.name]}: standard errors up to {max(known):.2g}.")
    return found


def _only_some(selection: Selection) -> list[str]:
    """Scores that not every candidate has, so that they compare nothing: BD of one state."""
    common = [s.name for s in selection.scores]
    return [
        f"{TITLES[name]} of {c.title}: {number(e.value)}."
        for c in selection.candidates
        for name, e in c.scores.items()
        if name not in common
    ]


def _starred(c: Candidate, score: str, chosen: Label | None) -> str:
    value = number(c.scores[score].value)
    return Shown(f"*{value}", value.value) if chosen == c.label else value


def remarks(selection: Selection) -> list[str]:
    """Every flag of every candidate, in words."""
    return [
        f"{c.title}: {text}"
        for c in selection.candidates
        for text in (
            *c.flags,
            *(f"{TITLES[n]}: {flag}" for n, e in c.scores.items() for flag in e.flags),
        )
    ]


def selection_grids(selection: Selection) -> list[Grid]:
    """Everything, in the order in which a person wants it."""
    grids = [Grid(answer(selection), (), ()), candidate_grid(selection), score_grid(selection)]
    if (calibrated := calibration_grid(selection)) is not None:
        grids.append(calibrated)
    if flags := remarks(selection):
        grids.append(Grid("What to know", (), (), notes=tuple(f"- {flag}" for flag in flags)))
    if selection.label is not None:
        grids += model_grids(selection.best.fit.model)
    return grids
