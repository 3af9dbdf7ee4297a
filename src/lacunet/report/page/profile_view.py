"""Class profiles: answers, means and densities; the variables that separate best come first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from lacunet.errors import LacunetError
from lacunet.fitting.fit import Fit
from lacunet.models.latent_class import is_latent_class
from lacunet.models.network import Model
from lacunet.plots.group_lines import draw_panel, group_panels
from lacunet.plots.inline import InlineChart, inline_chart
from lacunet.plots.lines import (
    EDGES,
    TOGETHER,
    AxisPoint,
    draw_class,
    draw_lines,
    height,
    profile_lines,
    tidy,
)
from lacunet.plots.profile_figures import draw_densities, draw_ellipses
from lacunet.plots.style import shading
from lacunet.report.page.render import count
from lacunet.report.page.views import View
from lacunet.selection.group_comparison import GroupComparison
from lacunet.selection.groups import Level
from lacunet.summaries.intervals import Intervals
from lacunet.summaries.profiles import Answers, NumberProfile, Profiles, class_description, profile

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CELLS = 4000  # most cells of all heat maps of a page, to limit its size
STATES = 12  # most categories shown of a variable; those that differ least are merged
MOST = 60  # most numeric columns shown


def hidden_views(model: Model, cases: float) -> tuple[list[View], list[str]]:
    """Return the content for each hidden variable, and notes on failed computations.

    `cases` is the number of rows, or the sum of their weights.
    """
    views, notes = [], []
    for h in model.network.hidden:
        try:
            views.append(_view(model, profile(model, h), cases))
        except LacunetError as error:  # without evidence, cliques can be larger than in EM
            notes.append(f"no profiles of {model.network.variables[h].name}: {error}")
    return views, notes


def _view(model: Model, profiles: Profiles, cases: float) -> View:
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
        "people": [f"{cases * size:,.0f}" for size in ([1.0] if alone else profiles.sizes)],
        "descriptions": [
            "" if alone else class_description(profiles, k) for k in range(len(profiles.states))
        ],
        "variables": [
            {
                "name": a.name,
                "power": power(a.information),
                "answers": list(
                    zip(a.states, np.vstack([a.given, a.overall]).T.tolist(), strict=True)
                ),
            }
            for a in shown
        ],
        "numbers": [
            {
                "name": n.name,
                "power": power(n.information),
                "titles": n.titles,
                "means": list(zip(n.mean.tolist(), shading(n).tolist(), strict=True)),
                "spreads": n.spread.tolist(),
            }
            for n in numbers
        ],
        "densities": density_charts(profiles, numbers),
        "pair": pair_chart(profiles, model) if simple else [],
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


SHORT, TALL = 2.1, 2.9  # inches: heights of charts
KEYS = 3  # columns of a legend of classes
ANSWERS = 100  # most answers in a chart of lines


def density_charts(profiles: Profiles, numbers: Sequence[NumberProfile]) -> list[InlineChart]:
    """Draw the density of each number in each state."""
    return [
        inline_chart(
            partial(draw_densities, n=n, profiles=profiles),
            "",
            f"{n.name} in each state of {profiles.name}",
            SHORT,
            KEYS,
        )
        for n in numbers
    ]


def pair_chart(profiles: Profiles, model: Model) -> list[InlineChart]:
    """Draw the classes in the plane of the two most informative measurements, if there are two."""
    pair = [n for n in profiles.numbers if not n.whole][:2]
    if len(pair) < 2 or len(profiles.states) < 2:
        return []
    across, up = pair
    draw = partial(draw_ellipses, model=model, pair=pair, profiles=profiles)
    about = f"States of {profiles.name} by {across.name} and {up.name}"
    return [inline_chart(draw, "", about, TALL, KEYS)]


def line_charts(fit: Fit | Model, intervals: Intervals | bool = True) -> list[InlineChart]:
    """Draw the answers of a latent class model as lines with intervals, unless they are too many.

    Each of many classes has its own chart.
    """
    try:
        lines = profile_lines(fit, intervals)
    except LacunetError:  # numbers only, or a parameter that is not free
        return []
    points, names, title = lines
    if len(points) > ANSWERS:
        return []

    def draw(ax: Axes, c: int | None = None) -> None:
        if c is None:
            draw_lines(ax, points, names)
        else:
            draw_class(ax, lines, c)
        tidy(ax, points, title, upright=False)

    if len(names) <= TOGETHER:
        tall = EDGES + height(points, len(names))
        return [inline_chart(draw, "", f"Answers by {', '.join(names)}", tall)]
    tall = EDGES + height(points, 1)
    return [inline_chart(partial(draw, c=c), name, "", tall, 0) for c, name in enumerate(names)]


def group_charts(comparison: GroupComparison, intervals: Intervals | bool) -> list[InlineChart]:
    """Draw the answers of each class in each group."""
    shown = group_panels(comparison, Level(comparison.level), intervals)
    if shown is None:
        return []

    def draw(ax: Axes, points: Sequence[AxisPoint]) -> None:
        draw_panel(ax, points, shown.lines)
        tidy(ax, points, shown.title, upright=False)

    tall = EDGES + height(shown.points[0], len(shown.lines))
    each = zip(shown.titles, shown.points, strict=True)
    return [inline_chart(partial(draw, points=points), title, "", tall) for title, points in each]
