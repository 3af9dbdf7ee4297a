"""A selection as grids: the answer, every candidate, what to know, and the chosen classes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lacunet.learn.show import profile_grid
from lacunet.scores import SCORES
from lacunet.search.average import Labellings
from lacunet.tabular import Grid, number, probability

if TYPE_CHECKING:
    from lacunet.search.states import Candidate, Selection

TITLES = {score.name: score.title for score in SCORES}


def answer(selection: Selection) -> str:
    """Say the answer in one sentence."""
    k = selection.states
    if k is None:
        return "No score has a value for any candidate: nothing can be chosen."
    by = TITLES[selection.headline]
    plain = selection.posterior()[k]
    labelled = selection.posterior(labellings=Labellings.ALL)
    best = max(labelled, key=lambda n: (labelled[n], -n))
    sentence = (
        f"{k} hidden class{'es' if k > 1 else ''}, by {by}: "
        f"probability {probability(plain)} among the candidates"
    )
    if best == k:
        return f"{sentence} ({probability(labelled[k])} with log k! for equal labellings)."
    return f"{sentence}; with log k! for equal labellings, {best} ({probability(labelled[best])})."


def candidate_grid(selection: Selection) -> Grid:
    """One row per candidate; a star marks what each score chooses."""
    names = [s.name for s in SCORES if any(s.name in c.scores for c in selection.candidates)]
    plain = selection.posterior()
    labelled = selection.posterior(labellings=Labellings.ALL)

    def row(c: Candidate) -> tuple[str, ...]:
        scores = [_starred(c, name, selection.chosen.get(name)) for name in names]
        return (
            str(c.states),
            str(c.dimension),
            number(c.fit.log_lik),
            *scores,
            probability(plain[c.states]),
            probability(labelled[c.states]),
            f"{c.fit.reached}/{c.fit.finalists}",
            number(sum(c.seconds.values())),
        )

    by = TITLES[selection.headline]
    header = (
        "states",
        "d",
        "log p(D|θ)",
        *(TITLES[n] for n in names),
        "p(k)",
        "p(k), k!",
        "starts",
        "seconds",
    )
    notes = (
        (
            f"* the choice of each score. p(k): posterior by {by}, plain and with log k!. "
            "starts: final starts that reached the best optimum."
        ),
    )
    rows = tuple(row(c) for c in selection.candidates)
    return Grid("Candidates (log marginal likelihoods in nats)", header, rows, frozenset(), notes)


def _starred(c: Candidate, score: str, chosen: int | None) -> str:
    if score not in c.scores:
        return ""
    return ("*" if chosen == c.states else "") + number(c.scores[score].value)


def remarks(selection: Selection) -> list[str]:
    """Every flag of every candidate, in words."""
    return [
        f"{c.states} states: {text}"
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
        grids.append(profile_grid(selection.best.fit.model))
    return grids
