"""A selection as grids: the answer, every candidate, what to know, and the chosen classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lacunet.learn.show import model_grids
from lacunet.model.latent_class import is_latent_class
from lacunet.scores import SCORES
from lacunet.search.average import Label, Labellings
from lacunet.tabular import Grid, number, probability

if TYPE_CHECKING:
    from lacunet.search.candidates import Candidate, Selection

TITLES = {score.name: score.title for score in SCORES}
COLUMNS = {"cs": "CS"}  # titles that are too long for a column


def answer(selection: Selection) -> str:
    """Say the answer in one sentence."""
    k = selection.states
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
    k = selection.states
    if isinstance(k, int) and is_latent_class(selection.best.fit.model.network):
        return f"{k} hidden class{'es' if k > 1 else ''}"
    if isinstance(k, int):
        (name,) = selection.best.proposal.sizes
        return f"{selection.best.title} of {name}"
    return str(k)


def _labelled(selection: Selection) -> bool:
    """Whether equal labellings can move the answer; all structures may have the same number."""
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
    """One row per candidate; a star marks what each score chooses."""
    names = [s.name for s in selection.scores]
    plain = _chances(selection, Labellings.PLAIN)
    labelled = _chances(selection, Labellings.ALL)
    both = _labelled(selection)
    number_of_states = isinstance(selection.candidates[0].label, int)
    symbol = "k" if number_of_states else "S"

    def row(c: Candidate) -> tuple[str, ...]:
        return (
            str(c.label),
            str(c.dimension),
            *(_starred(c, name, selection.chosen[name]) for name in names),
            number(c.fit.log_lik),
            plain[c.label],
            *([labelled[c.label]] if both else []),
            f"{c.fit.reached}/{c.fit.finalists}",
            number(sum(c.seconds.values())),
        )

    header = (
        "states" if number_of_states else "network",
        "d",
        *(COLUMNS.get(n, TITLES[n]) for n in names),
        "log p(D|θ)",
        f"p({symbol})",
        *([f"p({symbol}), k!"] if both else []),
        "starts",
        "seconds",
    )
    notes = (
        "* the choice of each score. CS: Cheeseman–Stutz."
        if "cs" in names
        else "* the choice of each score.",
        f"p({symbol}): posterior by {TITLES[selection.headline]}"
        + (", plain and with log k!." if both else "."),
        "starts: final starts that reached the best optimum.",
        *_only_some(selection),
    )
    rows = tuple(row(c) for c in selection.candidates)
    words = frozenset() if number_of_states else frozenset({0})
    return Grid("Candidates (log marginal likelihoods in nats)", header, rows, words, notes)


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
    return ("*" if chosen == c.label else "") + number(c.scores[score].value)


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
    grids = [Grid(answer(selection), (), ()), candidate_grid(selection)]
    if flags := remarks(selection):
        grids.append(Grid("What to know", (), (), notes=tuple(f"- {flag}" for flag in flags)))
    if selection.states is not None:
        grids += model_grids(selection.best.fit.model)
    return grids
