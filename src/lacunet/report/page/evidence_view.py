"""The evidence of every candidate: chart, table of scores, and posterior probabilities."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from lacunet.plots.style import PLAIN, Series, by_number, posteriors, ranked, score_series
from lacunet.report.page.chart import Chart, draw_lines, draw_rows, near, whole
from lacunet.report.page.render import Cell, LabelledRow, chance_cell, count, listed, nats
from lacunet.scores import Evidence
from lacunet.selection.candidates import Candidate
from lacunet.selection.certainty import Factor
from lacunet.selection.grids import TITLES, factor_words
from lacunet.selection.result import Selection
from lacunet.tabular import probability

WIDE, NARROW = 760.0, 340.0
FAILED, OPEN = "failed", "not measured"
EVERY = "†"  # marks scores that count every labelling
DRAWN = 4000  # most markers of all charts, to limit the size of a page


def series(selection: Selection) -> tuple[Series, ...]:
    """Return a curve for each score common to all candidates; the main score comes first."""
    names = ranked(selection)
    curves = zip(score_series(selection, names), names, strict=True)
    return tuple(replace(curve, title=_marked(selection, name)) for curve, name in curves)


def mixed(selection: Selection) -> bool:
    """Whether some scores count every labelling, and others one."""
    return len({s.every_labelling for s in selection.scores}) > 1


def _marked(selection: Selection, name: str) -> str:
    dagger = mixed(selection) and selection.score(name).every_labelling
    return f"{TITLES[name]} {EVERY}" if dagger else TITLES[name]


def views(selection: Selection, curves: tuple[Series, ...]) -> list[tuple[str, str, str]]:
    """Draw the near view and the whole range; each has a title, a wide and a narrow chart."""
    frames = {"Near the best": near(curves), "Everything": whole(curves)}
    drawn = {title: frame for title, frame in frames.items() if frame is not None}
    if len(drawn) > 1 and len(curves) * len(selection.candidates) * 4 > DRAWN:
        drawn.pop("Everything")
    labels = tuple(str(c.label) for c in selection.candidates)
    tips = tuple(_tip(c, curves, i) for i, c in enumerate(selection.candidates))
    words, unit = _description(selection, curves), selection.unit
    draw = draw_lines if by_number(selection) else draw_rows

    def chart(title: str, width: float) -> str:
        return draw(Chart(labels, tips, curves, drawn[title], width, words, unit))

    return [(title, chart(title, WIDE), chart(title, NARROW)) for title in drawn]


def _description(selection: Selection, curves: Sequence[Series]) -> str:
    """Describe the chart, as its alternative text."""
    main = next(s for s in curves if s.main)
    what = f"Log evidence of {count(len(selection.candidates), 'candidate')} by {main.title}"
    each = zip(selection.candidates, main.values, strict=True)
    known = [f"{c.title}: {nats(v)}" for c, v in each if not math.isnan(v)]
    others = f" and {count(len(curves) - 1, 'other score')}" if len(curves) > 1 else ""
    return f"{what}{others}. {'; '.join(known[:12])}. The table below has all numbers."


def _tip(c: Candidate, curves: Sequence[Series], i: int) -> str:
    """Return the tooltip of a candidate: a title, then a line for each score."""
    ordered = sorted(curves, key=lambda s: math.inf if math.isnan(s.values[i]) else -s.values[i])
    lines = [
        f"{s.title}\t{OPEN if i in s.left_out else _with_error(s.values[i], s.errors[i])}"
        for s in ordered
    ]
    return "\n".join([c.title, *lines])


def _with_error(value: float, error: float | None) -> str:
    if math.isnan(value):
        return FAILED
    return f"{nats(value)} ± {error:.2g}" if error else nats(value)


def chart_notes(selection: Selection, curves: Sequence[Series]) -> list[str]:
    """Return the notes that explain the chart."""
    notes = ["Touch or point at a candidate for its values."]
    if any(e for s in curves for e in s.errors):
        notes.append("Error bars are one standard error, where a value was sampled.")
    if near(curves) is not None:
        notes.append("Near the best, small triangles mark values outside the chart.")
    if mixed(selection):
        unit = "classes" if selection.unit == "classes" else "hidden states"
        notes.append(
            f"{EVERY} counts every labelling of the {unit}; the others count one, as "
            "the 1996 paper does, and are log k! lower for that."
        )
    if any(s.failed(i) for s in curves for i in range(len(s.values))):
        notes.append("✕ is the number of scores that failed.")
    return notes


def score_names(selection: Selection) -> list[str]:
    """Name the scores of all candidates, then those of some."""
    some = (name for c in selection.candidates for name in c.scores)
    return list(dict.fromkeys([*(s.name for s in selection.scores), *some]))


def number_rows(selection: Selection) -> list[LabelledRow]:
    """Return the table of candidates: dimension, log likelihood, scores."""
    names = score_names(selection)
    return [
        LabelledRow(
            str(c.label),
            (
                Cell(f"{c.dimension:,}"),
                Cell(nats(c.fit.log_lik)),
                *(_value(c.scores.get(n), selection.chosen.get(n) == c.label) for n in names),
            ),
            c.label == selection.label,
        )
        for c in selection.candidates
    ]


def _value(evidence: Evidence | None, best: bool) -> Cell:
    if evidence is None:
        return Cell("–", "not defined here, or not measured")
    if math.isnan(evidence.value):
        return _failed(evidence)
    terms = "\n".join(f"{name}\t{nats(x)}" for name, x in evidence.terms.items())
    return Cell(_with_error(evidence.value, evidence.stderr), f"{evidence.name}\n{terms}", best)


def _failed(evidence: Evidence) -> Cell:
    return Cell(FAILED, "; ".join(map(str, evidence.flags)), failed=True)


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
        LabelledRow(
            _marked(selection, name), tuple(_chances(selection, name)), name == selection.headline
        )
        for name in ranked(selection)
    ]


def _chances(selection: Selection, name: str) -> Iterator[Cell]:
    chances, alone = selection.posterior(name), len(selection.candidates) == 1
    for c in selection.candidates:
        evidence = c.scores.get(name)
        if evidence is not None and math.isnan(evidence.value):
            yield _failed(evidence)
        else:
            p, best = chances[c.label], selection.chosen[name] == c.label
            tip = f"{TITLES[name]}\n{c.title}\t{probability(p, exact=alone)}"
            yield chance_cell(p, tip, best, exact=alone)


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
