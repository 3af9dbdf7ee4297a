"""One line for each candidate that has a name, with the mark of every score on it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lacunet.data.audit import shorten
from lacunet.report.page.chart import AXIS, Chart, Look, label, tick_labels
from lacunet.report.page.svg import mark, tag, ticks

LEFT, RIGHT, TOP, STEP = 14.0, 18.0, 8.0, 44.0
BELOW = 46.0  # for what stands under the axis
DOWN = 6.0  # from the middle of a row to its line: its name stands above
LETTER = 6.8  # likely width of a letter


@dataclass(frozen=True)
class _Place:
    """Where things are, in pixels."""

    chart: Chart

    @property
    def bottom(self) -> float:
        return TOP + STEP * len(self.chart.labels)

    def x(self, value: float) -> float:
        return LEFT + self.chart.frame.share(value) * (self.chart.width - LEFT - RIGHT)

    def y(self, candidate: int) -> float:
        return TOP + (candidate + 0.5) * STEP + DOWN


def draw_rows(chart: Chart) -> str:
    """Draw the chart."""
    place = _Place(chart)
    candidates = range(len(chart.labels))
    right = chart.width - RIGHT
    return chart.svg(
        [
            *_axes(chart, place),
            *(chart.group(i, _marks(chart, i, place)) for i in range(len(chart.series))),
            *(
                label(f"✕ {n} failed", right, place.y(c) - 16, "end", class_="failed")
                for c in candidates
                if (n := chart.failed(c))
            ),
            *(
                chart.band(c, 0.0, place.y(c) - DOWN - STEP / 2, chart.width, STEP)
                for c in candidates
            ),
        ],
        place.bottom + BELOW,
    )


def _axes(chart: Chart, place: _Place) -> list[str]:
    levels = ticks(chart.frame.low, chart.frame.high, 7 if chart.roomy else 4)
    right = chart.width - RIGHT
    room = int((right - LEFT) / LETTER)
    return [
        *(
            tag("line", x1=place.x(v), x2=place.x(v), y1=TOP, y2=place.bottom, class_="level")
            + label(words, place.x(v), place.bottom + 18)
            for v, words in zip(levels, tick_labels(levels), strict=True)
        ),
        *(
            label(shorten(name, room), LEFT, place.y(c) - 16, "start", class_="name")
            + tag("line", x1=LEFT, x2=right, y1=place.y(c), y2=place.y(c), class_="level")
            for c, name in enumerate(chart.labels)
        ),
        label(AXIS, chart.width / 2, place.bottom + 38, class_="axis"),
    ]


def _marks(chart: Chart, i: int, place: _Place) -> list[str]:
    series, look = chart.series[i], Look(i)
    parts = []
    for c, (value, error) in enumerate(zip(series.values, series.errors, strict=True)):
        x, y = place.x(value), place.y(c)
        if math.isnan(value):
            continue
        if side := chart.frame.beyond(value):
            edge = chart.width - RIGHT if side > 0 else LEFT
            parts.append(tag("path", d=f"M{edge - 7 * side:.1f} {y - 4:.1f}v8l{7 * side} -4z"))
            continue
        if error:
            ends = max(place.x(value - error), LEFT), min(place.x(value + error), chart.width)
            parts.append(_error_bar(*ends, y))
        parts.append(mark(look.shape, x, y, 4.4 if series.main else 3.6, class_="mark"))
        if c == series.chosen:
            parts.append(tag("circle", cx=x, cy=y, r=8.0, class_="choice"))
    return parts


def _error_bar(left: float, right: float, y: float) -> str:
    caps = "".join(f"M{x:.1f} {y - 4:.1f}v8" for x in (left, right))
    return tag("path", d=f"M{left:.1f} {y:.1f}H{right:.1f}{caps}", class_="error")
