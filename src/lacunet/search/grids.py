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
    from lacunet.search.candidates import Selection

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
    chances = selection.posterior(labellings=Labellings.ALL)
    best = max(chances, key=lambda k: chances[k])
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
    first, words = first_column(selection)
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
    chances = [f"p({symbol})", *([f"p({symbol}), k!"] if both else [])]
    header = (first, "d", "log p(D|θ)", *chances, "starts", "seconds")
    ways = ", plain and with log k!" if both else ""
    notes = (
        f"p({symbol}): posterior by {TITLES[selection.headline]}{ways}.",
        "starts: final starts that reached the best optimum.",
    )
    return Grid("Candidates", header, rows, words, notes)


def score_grid(selection: Selection) -> Grid:
    """One row per candidate, one column per score; a star marks what each score chooses."""
    names = [s.name for s in selection.scores]
    first, words = first_column(selection)
    rows = tuple(
        (str(c.label), *(starred(c.scores[n].value, selection.chosen[n] == c.label) for n in names))
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


def first_column(selection: Selection) -> tuple[str, frozenset[int]]:
    """Head of the first column, and whether that is of words."""
    numbers = isinstance(selection.candidates[0].label, int)
    return ("states", frozenset()) if numbers else ("network", frozenset({0}))


def _sampled(selection: Selection) -> list[str]:
    """How sure the scores are that come from sampling."""
    lines = []
    for score in selection.scores:
        errors = [c.scores[score.name].stderr for c in selection.candidates]
        if known := [e for e in errors if e is not None]:
            lines.append(f"{COLUMNS[score.name]}: standard errors up to {max(known):.2g}.")
    return lines


def _only_some(selection: Selection) -> list[str]:
    """Scores that not every candidate has, so that they compare nothing: BD of one state."""
    common = [s.name for s in selection.scores]
    return [
        f"{TITLES[name]} of {c.title}: {number(e.value)}."
        for c in selection.candidates
        for name, e in c.scores.items()
        if name not in common
    ]


def starred(x: float, chosen: bool) -> Shown:
    """Write a number, with a star where it is the one that is chosen."""
    return Shown(f"*{number(x)}", x) if chosen else number(x)


def remarks(selection: Selection) -> list[str]:
    """Every flag of every candidate, in words."""
    lines = []
    for c in selection.candidates:
        of_scores = (f"{TITLES[n]}: {flag}" for n, e in c.scores.items() for flag in e.flags)
        lines += [f"{c.title}: {text}" for text in (*c.flags, *of_scores)]
    return lines


def selection_grids(selection: Selection) -> list[Grid]:
    """Everything, in the order in which a person wants it."""
    grids = [Grid(answer(selection)), candidate_grid(selection), score_grid(selection)]
    if (calibrated := calibration_grid(selection)) is not None:
        grids.append(calibrated)
    if flags := remarks(selection):
        grids.append(Grid("What to know", notes=tuple(f"- {flag}" for flag in flags)))
    if selection.label is not None:
        grids += model_grids(selection.best.fit.model)
    return grids
