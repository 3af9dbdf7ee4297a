"""Class profiles: answers, means and densities; the variables that separate best come first."""

import math
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

import numpy as np

from lacunet.errors import LacunetError
from lacunet.models.latent_class import is_latent_class
from lacunet.models.network import Model
from lacunet.plots.style import Look, factor_ticks, shading, ticks
from lacunet.report.page.chart import dash, key
from lacunet.report.page.render import count, label, tag
from lacunet.report.page.views import View
from lacunet.summaries.profiles import (
    RINGS,
    Answers,
    NumberProfile,
    Profiles,
    pair_ellipses,
    profile,
)
from lacunet.tabular import measured

CELLS = 4000  # most cells of all heat maps of a page, to limit its size
STATES = 12  # most categories shown of a variable; those that differ least are merged
MOST = 60  # most numeric columns shown


def hidden_views(model: Model) -> tuple[list[View], list[str]]:
    """Return the content for each hidden variable, and notes on failed computations."""
    views, notes = [], []
    for h in model.network.hidden:
        try:
            views.append(_view(model, profile(model, h)))
        except LacunetError as error:  # without evidence, cliques can be larger than in EM
            notes.append(f"no profiles of {model.network.variables[h].name}: {error}")
    return views, notes


def _view(model: Model, profiles: Profiles) -> View:
    simple = is_latent_class(model.network)
    alone = len(profiles.states) == 1 and not simple
    entropy = -float(sum(p * math.log(p) for p in profiles.sizes if p > 0))
    shown = [] if alone else _within(profiles, CELLS // len(model.network.hidden))
    numbers = [] if alone else profiles.numbers[:MOST]
    every = len(profiles.answers) + len(profiles.numbers) + profiles.left_out
    left_out = every - len(shown) - len(numbers)
    more = f"{count(left_out, 'more variable')} that separate less are not shown."
    names = [f"{profiles.name} {state}" for state in profiles.states]

    def power(information: float) -> float:
        """Mutual information as a share of the entropy of the class."""
        return min(information / entropy, 1.0) if entropy > 0 else 0.0

    return {
        "name": profiles.name,
        "classes": names,
        "sizes": [1.0] if alone else profiles.sizes.tolist(),
        "variables": [_variable(a, profiles) | {"power": power(a.information)} for a in shown],
        "numbers": [
            {
                "name": n.name,
                "power": power(n.information),
                "titles": n.titles,
                "means": list(zip(n.mean.tolist(), shading(n).tolist(), strict=True)),
                "spreads": n.spread.tolist(),
                "chart": density_chart(n, profiles),
            }
            for n in numbers
        ],
        "legend": [(name, key(Look(k), marked=False)) for k, name in enumerate(names)],
        "pair": pair_chart(profiles, model) if simple else "",
        "left_out": "One state: there is nothing to compare."
        if alone
        else (more if left_out else ""),
        "latent_class": simple,
    }


def _within(profiles: Profiles, budget: int) -> list[Answers]:
    """Return as many variables as the budget of cells allows, at least one."""
    sizes = [(len(profiles.states) + 1) * min(len(a.states), STATES) for a in profiles.answers]
    fitting = int(np.sum(np.cumsum(sizes) <= budget))
    return [_shortened(a) for a in profiles.answers[: max(1, fitting)]]


def _shortened(a: Answers) -> Answers:
    """Merge the categories that differ least between the classes, if there are too many."""
    if len(a.states) <= STATES:
        return a
    difference = np.ptp(a.given, axis=0) if len(a.given) > 1 else a.overall
    most_different = sorted(np.argsort(-difference, kind="stable")[: STATES - 1].tolist())
    rest = [k for k in range(len(a.states)) if k not in most_different]
    return Answers(
        a.name,
        (*(a.states[k] for k in most_different), f"({len(rest)} others)"),
        np.column_stack([a.given[:, most_different], a.given[:, rest].sum(axis=1)]),
        np.append(a.overall[most_different], a.overall[rest].sum()),
        a.information,
    )


def _variable(a: Answers, profiles: Profiles) -> dict[str, Any]:
    """Return the rows of the heat map and the segments of the bars."""
    last = max(len(a.states) - 1, 1)
    shades = [0.12 + 0.8 * k / last for k in range(len(a.states))]  # from light to dark
    everybody = np.vstack([a.given, a.overall])
    return {
        "name": a.name,
        "answers": list(zip(a.states, shades, everybody.T.tolist(), strict=True)),
        "bars": [
            (state, [x for x in zip(a.states, row, shades, strict=True) if x[1] > 0])
            for state, row in zip(profiles.states, a.given.tolist(), strict=True)
        ],
    }


WIDTH, HEIGHT, EDGE, BELOW = 300.0, 120.0, 8.0, 22.0  # of a density chart, in pixels
FEW = 4  # most ticks on its axis
WIDE, TALL, LEFT, TOP = 480.0, 300.0, 52.0, 24.0  # of the chart of a pair of numbers


def _scale(ends: tuple[float, float], first: float, last: float) -> Callable[[Any], Any]:
    """Return the linear map from values to pixels."""
    unit = (last - first) / (ends[1] - ends[0] or 1.0)
    return lambda value: first + (value - ends[0]) * unit


def _curve(xs: Sequence[float], ys: Sequence[float], look: Look, kind: str = "polyline") -> str:
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True))
    return tag(kind, points=points, class_="curve", stroke_dasharray=dash(look))


def density_chart(n: NumberProfile, profiles: Profiles) -> str:
    """Draw the density of a number in each class."""
    ends = float(n.places[0]), float(n.places[-1])
    x = _scale(ends, EDGE, WIDTH - EDGE)
    heights = HEIGHT - n.density / float(n.density[:-1].max()) * (HEIGHT - EDGE)
    parts = [tag("line", x1=EDGE, x2=WIDTH - EDGE, y1=HEIGHT, y2=HEIGHT, class_="level")]
    for words, at in _ticks(n, ends):
        parts.append(tag("line", x1=x(at), x2=x(at), y1=HEIGHT, y2=HEIGHT + 4, class_="level"))
        parts.append(label(words, x(at), HEIGHT + 18))
    for k, state in enumerate(profiles.states):
        title = f"{profiles.name} {state}: {n.titles[0]} {measured(float(n.mean[k]))}"
        curve = _curve(x(n.places).tolist(), heights[k].tolist(), Look(k))
        parts.append(tag("g", tag("title", escape(title)), curve, class_=f"s{Look(k).colour}"))
    box = f"0 0 {WIDTH:.0f} {HEIGHT + BELOW:.0f}"
    about = f"{n.name} in each state of {profiles.name}"
    return tag("svg", *parts, class_="chart", viewBox=box, role="img", aria_label=about)


def _ticks(n: NumberProfile, ends: tuple[float, float]) -> list[tuple[str, float]]:
    """Return the tick labels of an axis, and their positions in coordinates of the family."""
    low, high = n.as_values(ends).tolist()
    if n.of_logarithm:  # the axis is logarithmic too
        shown = factor_ticks(low, high, FEW)
    else:
        shown = ticks(low, high, FEW) if high > low else [low]
    return [(f"{x:.6g}", at) for x, at in zip(shown, n.as_places(shown).tolist(), strict=True)]


def pair_chart(profiles: Profiles, model: Model) -> str:
    """Draw the classes in the plane of the two most informative measurements, if there are two.

    Ellipses mark one and two standard deviations around the means.
    """
    pair = [n for n in profiles.numbers if not n.whole][:2]
    if len(pair) < 2 or len(profiles.states) < 2:
        return ""
    across, up = pair
    ends = [_reach(n) for n in pair]
    x, y = _scale(ends[0], LEFT, WIDE - EDGE), _scale(ends[1], TALL, TOP)
    parts = [
        tag("line", x1=LEFT, x2=WIDE - EDGE, y1=TALL, y2=TALL, class_="level"),
        tag("line", x1=LEFT, x2=LEFT, y1=TOP, y2=TALL, class_="level"),
        *(label(words, x(at), TALL + 18) for words, at in _ticks(across, ends[0])),
        *(label(words, LEFT - 6, y(at) + 4, "end") for words, at in _ticks(up, ends[1])),
        label(across.name, (LEFT + WIDE) / 2, TALL + 38, class_="axis"),
        label(up.name, 0.0, TOP - 10.0, "start", class_="axis"),
    ]
    ellipses = pair_ellipses(model, across, up)
    for k, state in enumerate(profiles.states):
        cx, cy = (float(n.as_places(n.mean[k])) for n in pair)
        rings = (_curve(x(u).tolist(), y(v).tolist(), Look(k), "polygon") for u, v in ellipses[k])
        title = tag("title", escape(f"{profiles.name} {state}"))
        dot = tag("circle", cx=x(cx), cy=y(cy), r=3.0, class_="mark")
        parts.append(tag("g", title, *rings, dot, class_=f"s{Look(k).colour}"))
    box = f"0 0 {WIDE:.0f} {TALL + 2 * BELOW:.0f}"
    about = f"States of {profiles.name} by {across.name} and {up.name}"
    return tag("svg", *parts, class_="chart pair", viewBox=box, role="img", aria_label=about)


def _reach(n: NumberProfile) -> tuple[float, float]:
    """Return the ends of an axis with room for every ellipse."""
    middle = n.as_places(n.mean[:-1])
    far = 1.1 * RINGS[-1] * n.deviations[:-1]
    return float(np.min(middle - far)), float(np.max(middle + far))
