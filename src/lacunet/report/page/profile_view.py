"""Numbers by class: means shaded by how far they are from that of everybody, and densities.

Class profiles as a heat map and as bars, what separates the classes first.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from lacunet.charts.style import Look, factor_ticks, shading, ticks
from lacunet.errors import LacunetError
from lacunet.models.latent_class import is_latent_class
from lacunet.models.network import Model
from lacunet.report.page.chart import dash
from lacunet.report.page.words import (
    Cell,
    chance_cell,
    count,
    hundredths,
    label,
    percent,
    share_cell,
    tag,
)
from lacunet.runtime.arrays import FloatArray
from lacunet.summaries.profiles import Answers, NumberProfile, Profiles, pair_rings, profile
from lacunet.tabular import measured, probability

MOST = 60  # numbers that are shown
WIDTH, HEIGHT, EDGE, BELOW = 300.0, 120.0, 8.0, 22.0  # of a chart, in pixels
FEW = 4  # numbers on its axis
WIDE, TALL, LEFT, TOP = 480.0, 300.0, 52.0, 24.0  # of the chart of a pair
RINGS = (1.0, 2.0)  # standard deviations of its ellipses


@dataclass(frozen=True)
class Number:
    """One number."""

    name: str
    power: str  # share of what could be known of the class, 0 to 1
    told: str  # the same in words
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]  # title, and a cell for each class and everybody
    chart: str  # its densities, as SVG


def number_view(profiles: Profiles, entropy: float) -> tuple[Number, ...]:
    """Give the numbers that tell the classes apart most."""
    return tuple(_number(n, profiles, entropy) for n in profiles.numbers[:MOST])


def legend(profiles: Profiles) -> list[tuple[str, str]]:
    """Give the line of each class, and its name."""
    line = {"x1": 0, "y1": 7, "x2": 26, "y2": 7, "class_": "curve"}
    box = {"viewBox": "0 0 26 14", "width": 26, "height": 14, "aria_hidden": "true"}
    return [
        (
            f"{profiles.name} {state}",
            tag(
                "svg",
                tag("line", **line, stroke_dasharray=dash(Look(k))),
                class_=f"key s{Look(k).colour}",
                **box,
            ),
        )
        for k, state in enumerate(profiles.states)
    ]


def _number(n: NumberProfile, profiles: Profiles, entropy: float) -> Number:
    power = min(n.information / entropy, 1.0) if entropy > 0 else 0.0
    means = tuple(
        Cell(measured(x), share=hundredths(share))
        for x, share in zip(n.mean.tolist(), shading(n).tolist(), strict=True)
    )
    spreads = tuple(Cell(measured(x)) for x in n.spread.tolist())
    rows = ((n.titles[0], means), (n.titles[1], spreads))
    return Number(n.name, hundredths(power), percent(power), rows, _chart(n, profiles))


def _chart(n: NumberProfile, profiles: Profiles) -> str:
    low, high = float(n.places[0]), float(n.places[-1])
    top = float(n.density[:-1].max())

    def x(places: FloatArray) -> FloatArray:
        return EDGE + (places - low) / (high - low or 1.0) * (WIDTH - 2 * EDGE)

    parts = [tag("line", x1=EDGE, x2=WIDTH - EDGE, y1=HEIGHT, y2=HEIGHT, class_="level")]
    for words, at in _ticks(n, (low, high)):
        place = float(x(np.array([at]))[0])
        parts.append(tag("line", x1=place, x2=place, y1=HEIGHT, y2=HEIGHT + 4, class_="level"))
        parts.append(label(words, place, HEIGHT + 18))
    for k, state in enumerate(profiles.states):
        heights = HEIGHT - n.density[k] / top * (HEIGHT - EDGE)
        points = zip(x(n.places).tolist(), heights.tolist(), strict=True)
        line = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
        said = f"{profiles.name} {state}: {n.titles[0]} {measured(float(n.mean[k]))}"
        curve = tag("polyline", points=line, class_="curve", stroke_dasharray=dash(Look(k)))
        parts.append(tag("g", tag("title", escape(said)), curve, class_=f"s{Look(k).colour}"))
    box = f"0 0 {WIDTH:.0f} {HEIGHT + BELOW:.0f}"
    about = f"{n.name} in each state of {profiles.name}"
    return tag("svg", *parts, class_="chart", viewBox=box, role="img", aria_label=about)


def _ticks(n: NumberProfile, ends: tuple[float, float]) -> list[tuple[str, float]]:
    """Words on an axis with these ends, and where they stand, as the family sees numbers."""
    low, high = n.as_values(ends).tolist()
    if n.of_logarithm:  # and so is the axis
        shown = factor_ticks(low, high, FEW)
    else:
        shown = ticks(low, high, FEW) if high > low else [low]
    return [(f"{x:.6g}", at) for x, at in zip(shown, n.as_places(shown).tolist(), strict=True)]


def pair_chart(profiles: Profiles, model: Model) -> str:
    """Draw the classes in the plane of the two measurements that tell most of them, if there are.

    Ellipses are one and two standard deviations around the means.
    """
    measured_ones = [n for n in profiles.numbers if not n.whole][:2]
    if len(measured_ones) < 2 or len(profiles.states) < 2:
        return ""
    across, up = measured_ones
    ends = [_reach(n) for n in measured_ones]
    wide, tall = (WIDE - LEFT - EDGE) / np.ptp(ends[0]), (TALL - TOP) / np.ptp(ends[1])

    def x(place: float) -> float:
        return float(LEFT + (place - ends[0][0]) * wide)

    def y(place: float) -> float:
        return float(TALL - (place - ends[1][0]) * tall)

    parts = [
        tag("line", x1=LEFT, x2=WIDE - EDGE, y1=TALL, y2=TALL, class_="level"),
        tag("line", x1=LEFT, x2=LEFT, y1=TOP, y2=TALL, class_="level"),
        *(label(words, x(at), TALL + 18) for words, at in _ticks(across, ends[0])),
        *(label(words, LEFT - 6, y(at) + 4, "end") for words, at in _ticks(up, ends[1])),
        label(across.name, (LEFT + WIDE) / 2, TALL + 38, class_="axis"),
        label(up.name, 0.0, TOP - 10.0, "start", class_="axis"),
    ]
    around = pair_rings(model, across, up)
    for k, state in enumerate(profiles.states):
        cx, cy = (float(n.as_places(n.mean[k])) for n in measured_ones)
        rings = (
            tag(
                "polygon",
                points=" ".join(
                    f"{x(cx + r * a):.1f},{y(cy + r * b):.1f}" for a, b in around[k].T.tolist()
                ),
                class_="curve",
                stroke_dasharray=dash(Look(k)),
            )
            for r in RINGS
        )
        said = tag("title", escape(f"{profiles.name} {state}"))
        dot = tag("circle", cx=x(cx), cy=y(cy), r=3.0, class_="mark")
        parts.append(tag("g", said, *rings, dot, class_=f"s{Look(k).colour}"))
    box = f"0 0 {WIDE:.0f} {TALL + 2 * BELOW:.0f}"
    about = f"States of {profiles.name} by {across.name} and {up.name}"
    return tag("svg", *parts, class_="chart pair", viewBox=box, role="img", aria_label=about)


def _reach(n: NumberProfile) -> tuple[float, float]:
    """The ends of an axis that has room for every ellipse."""
    middle = n.as_places(n.mean[:-1])
    far = 1.1 * RINGS[-1] * n.deviations[:-1]
    return float(np.min(middle - far)), float(np.max(middle + far))


CELLS = 4000  # numbers that heat maps may have: a page must stay small
STATES = 12  # answers of a variable that are shown; those that differ least are added up
ROOM = 0.11  # share from which a segment has room for its number


@dataclass(frozen=True)
class Segment:
    """A part of a stacked bar."""

    share: str
    shade: str
    text: str  # empty where there is no room
    said: str  # to those who hear the page
    tip: str


@dataclass(frozen=True)
class Answer:
    """One state of a variable: a row of the heat map, and an entry of the legend."""

    label: str
    cells: tuple[Cell, ...]  # one for each class, then everybody
    shade: str


@dataclass(frozen=True)
class Variable:
    """One variable."""

    name: str
    power: str  # share of what could be known of the class, 0 to 1
    told: str  # the same in words
    answers: tuple[Answer, ...]
    bars: tuple[tuple[str, tuple[Segment, ...]], ...]  # one for each class


@dataclass(frozen=True)
class Hidden:
    """One hidden variable."""

    name: str
    classes: tuple[str, ...]
    sizes: tuple[Cell, ...]
    variables: tuple[Variable, ...]
    numbers: tuple[Number, ...]
    legend: list[tuple[str, str]]  # of the charts of numbers: name and line of each class
    pair: str  # the classes in the plane of two numbers, as SVG; empty if there are no two
    left_out: str  # what is not shown
    latent_class: bool


def hidden_views(model: Model) -> tuple[list[Hidden], list[str]]:
    """Give what to show of every hidden variable, and what could not be worked out."""
    views, notes = [], []
    for h in model.network.hidden:
        try:
            views.append(_view(model, profile(model, h)))
        except LacunetError as error:  # nothing is seen here, so cliques can be larger than in EM
            notes.append(f"no profiles of {model.network.variables[h].name}: {error}")
    return views, notes


def _view(model: Model, profiles: Profiles) -> Hidden:
    simple = is_latent_class(model.network)
    alone = len(profiles.states) == 1 and not simple
    entropy = -float(sum(p * math.log(p) for p in profiles.sizes if p > 0))
    budget = CELLS // len(model.network.hidden)
    variables = [] if alone else _variables(profiles, budget, entropy)
    numbers = () if alone else number_view(profiles, entropy)
    every = len(profiles.answers) + len(profiles.numbers) + profiles.left_out
    hidden = every - len(variables) - len(numbers)
    left_out = f"{count(hidden, 'more variable')} that separate less are not shown."
    return Hidden(
        profiles.name,
        tuple(f"{profiles.name} {state}" for state in profiles.states),
        tuple(share_cell(p) for p in ((1.0,) if alone else profiles.sizes)),
        tuple(variables),
        numbers,
        legend(profiles),
        pair_chart(profiles, model) if simple else "",
        "One state: there is nothing to compare." if alone else left_out if hidden else "",
        simple,
    )


def _variables(profiles: Profiles, budget: int, entropy: float) -> list[Variable]:
    """Give as many variables as there may be cells, one at least."""
    variables: list[Variable] = []
    for a in profiles.answers:
        budget -= (len(profiles.states) + 1) * min(len(a.states), STATES)
        if budget < 0 and variables:
            break
        variables.append(_variable(_short(a), profiles, entropy))
    return variables


def _short(a: Answers) -> Answers:
    """Add up the answers that differ least between the classes, where there are very many."""
    if len(a.states) <= STATES:
        return a
    difference = np.ptp(a.given, axis=0) if len(a.given) > 1 else a.overall
    kept = sorted(np.argsort(-difference, kind="stable")[: STATES - 1].tolist())
    rest = [k for k in range(len(a.states)) if k not in kept]
    return Answers(
        a.name,
        (*(a.states[k] for k in kept), f"({len(rest)} others)"),
        np.column_stack([a.given[:, kept], a.given[:, rest].sum(axis=1)]),
        np.append(a.overall[kept], a.overall[rest].sum()),
        a.information,
    )


def _variable(a: Answers, profiles: Profiles, entropy: float) -> Variable:
    power = min(a.information / entropy, 1.0) if entropy > 0 else 0.0
    last = max(len(a.states) - 1, 1)
    shades = [0.12 + 0.8 * k / last for k in range(len(a.states))]  # from light to dark
    everybody = np.vstack([a.given, a.overall])
    answers = tuple(
        Answer(label, tuple(map(chance_cell, everybody[:, k])), hundredths(shades[k]))
        for k, label in enumerate(a.states)
    )
    bars = tuple(
        (state, tuple(_segments(a, profiles.name, state, row, shades)))
        for state, row in zip(profiles.states, a.given, strict=True)
    )
    return Variable(a.name, hundredths(power), percent(power), answers, bars)


def _segments(
    a: Answers, hidden: str, state: str, row: Sequence[float], shades: Sequence[float]
) -> list[Segment]:
    return [
        Segment(
            hundredths(p),
            hundredths(shade),
            f"{100 * p:.0f}" if p >= ROOM else "",
            f"{label} {probability(p)}",
            f"{a.name}\n{hidden} {state}: {label}\t{probability(p)}",
        )
        for label, p, shade in zip(a.states, row, shades, strict=True)
        if p > 0
    ]
