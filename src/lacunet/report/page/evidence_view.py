"""The evidence of every candidate: chart, table of scores, and posterior probabilities."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from lacunet.plots.inline import InlineChart, inline_chart
from lacunet.plots.score_curves import (
    PLAIN,
    Series,
    by_number,
    near_best,
    plot_evidence,
    posteriors,
    ranked,
    score_series,
    size_of,
    zoom,
)
from lacunet.report.page.render import Cell, LabelledRow, chance_cell, count, listed, nats
from lacunet.scores import Evidence
from lacunet.selection.candidates import Candidate
from lacunet.selection.certainty import Factor
from lacunet.selection.grids import TITLES, factor_words
from lacunet.selection.result import Selection

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DRAWN = 2000  # most values in the charts of every score, to limit the size of a page


def main_scores(selection: Selection) -> list[str]:
    """Name the headline score, and BIC if it is another."""
    return [name for name in ranked(selection) if name in (selection.headline, "bic")]


def charts(selection: Selection, names: Sequence[str]) -> list[InlineChart]:
    """Draw scores near the best candidate and over their whole range."""
    curves = score_series(selection, names)
    if not any(s.known for s in curves):
        return []
    close, (_, tall) = near_best(curves), size_of(selection, len(curves))
    about = _description(selection, curves)

    def draw(ax: Axes, limits: tuple[float, float] | None) -> None:
        plot_evidence(selection, ax, scores=names, legend=False)
        if limits is not None:
            zoom(ax, limits, across=not by_number(selection))

    views = {"": None} if close is None else {"Near the best": close, "All candidates": None}
    return [
        inline_chart(partial(draw, limits=limits), title, about, tall)
        for title, limits in views.items()
    ]


def every_score(selection: Selection) -> list[InlineChart]:
    """Draw all scores, unless the main charts show them or they are too many."""
    names = ranked(selection)
    if len(names) == len(main_scores(selection)):
        return []
    drawn = len(names) * len(selection.candidates) <= DRAWN
    return charts(selection, names) if drawn else []


def _description(selection: Selection, curves: Sequence[Series]) -> str:
    """Describe the chart, as its alternative text."""
    main = curves[0]
    what = f"Log evidence of {count(len(selection.candidates), 'candidate')} by {main.title}"
    each = zip(selection.candidates, main.values, strict=True)
    known = [f"{c.title}: {nats(v)}" for c, v in each if not math.isnan(v)]
    others = f" and {count(len(curves) - 1, 'other score')}" if len(curves) > 1 else ""
    return f"{what}{others}. {'; '.join(known[:12])}. The table below has all numbers."


def labelling_note(selection: Selection) -> str:
    """Explain why some scores are higher by log k!, if there are scores of both kinds."""
    all_of_them = [TITLES[s.name] for s in selection.scores if s.every_labelling]
    if len(all_of_them) in (0, len(selection.scores)):
        return ""
    unit = "classes" if selection.unit == "classes" else "hidden states"
    return (
        f"Counted with every labelling of the {unit}: {listed(all_of_them)}. The other scores "
        "count one labelling, as the 1996 paper does, and are log k! lower for that."
    )


def _failed(evidence: Evidence) -> Cell:
    return Cell("failed", "; ".join(map(str, evidence.flags)), failed=True)


def posterior_bars(selection: Selection) -> tuple[list[str], list[LabelledRow]]:
    """Return column heads, and the probability of each candidate by each count of labellings."""
    chances, stderr = posteriors(selection), selection.certainty.stderr
    alone = len(selection.candidates) == 1
    rows = []
    for c in selection.candidates:
        bars = tuple(
            chance_cell(p[c.label], exact=alone, stderr=stderr[c.label] if way == PLAIN else None)
            for way, p in chances.items()
        )
        rows.append(LabelledRow(c.title, bars, c.label == selection.label))
    return ["probability"] if len(chances) == 1 else list(chances), rows


def factors(selection: Selection) -> list[str]:
    """Describe the log Bayes factor of each candidate against the answer, if there is one."""
    best = selection.label
    if best is None:
        return []
    return [factor_words(selection.bayes_factor(c.label, best)) for c in selection.candidates]


def posterior_matrix(selection: Selection) -> list[LabelledRow]:
    """Return the posterior probability of each candidate by each score."""
    return [
        LabelledRow(TITLES[name], tuple(_chances(selection, name)), name == selection.headline)
        for name in ranked(selection)
    ]


def _chances(selection: Selection, name: str) -> Iterator[Cell]:
    chances, alone = selection.posterior(name), len(selection.candidates) == 1
    for c in selection.candidates:
        evidence = c.scores.get(name)
        if evidence is not None and math.isnan(evidence.value):
            yield _failed(evidence)
        else:
            best = selection.chosen[name] == c.label
            yield chance_cell(chances[c.label], best, exact=alone)


def agreement(selection: Selection) -> str:
    """Describe whether the scores agree."""
    chosen = {n: k for n, k in selection.chosen.items() if k is not None}
    if len(chosen) < 2 or selection.label is None:
        return ""
    title = {c.label: c.title for c in selection.candidates}
    votes = Counter(chosen.values())
    agree = votes.pop(selection.label, 0)
    if agree == len(chosen):
        return f"All {len(chosen)} scores choose {title[selection.label]}."
    others = []
    for k, number in votes.most_common():
        mine = [TITLES[n] for n, choice in chosen.items() if choice == k]
        others.append(f"{title[k]} by {listed(mine, number)}")
    return f"{agree} of {len(chosen)} scores choose {title[selection.label]}; {'; '.join(others)}."


def runner_up(selection: Selection) -> tuple[Candidate, Factor] | None:
    """Return the second-best candidate, and the log Bayes factor of the best against it."""
    ranking = selection.certainty.ranking
    if len(ranking) < 2:
        return None
    first, second = ranking[:2]
    candidate = next(c for c in selection.candidates if c.label == second)
    return candidate, selection.bayes_factor(first, second)
