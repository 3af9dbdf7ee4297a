"""One curve for each score over the numbers of hidden states."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lacunet.report.page.chart import AXIS, Chart, Look, label, tick_labels
from lacunet.report.page.svg import mark, tag, ticks

RIGHT, TOP = 14.0, 34.0
BELOW = 46.0  # for what stands under the axis
CLOSE_TOGETHER = 26.0  # least room for the number of a candidate
DIGIT = 7.0  # likely width of a digit


@dataclass(frozen=True)
class _Place:
    """Where things are, in pixels."""

    chart: Chart

    @property
    def levels(self) -> list[float]:
        return ticks(self.chart.frame.low, self.chart.frame.high, 7)

    @property
    def left(self) -> float:
        return 16.0 + DIGIT * max(len(words) for words in tick_labels(self.levels))

    @property
    def height(self) -> float:
        return 300.0 if self.chart.roomy else 260.0

    @property
    def bottom(self) -> float:
        return TOP + self.height

    @property
    def step(self) -> float:
        return (self.chart.width - self.left - RIGHT) / len(self.chart.labels)

    def x(self, candidate: int) -> float:
        return self.left + (candidate + 0.5) * self.step

    def y(self, value: float) -> float:
        return self.bottom - self.chart.frame.share(value) * self.height


def draw_curves(chart: Chart) -> str:
    """Draw the chart."""
    place = _Place(chart)
    candidates = range(len(chart.labels))
    return chart.svg(
        [
            *_axes(chart, place),
            *(chart.group(i, _curve(chart, i, place)) for i in range(len(chart.series))),
            *(
                label(f"✕ {n}", place.x(c), place.bottom - 6, class_="failed")
                for c in candidates
                if (n := chart.failed(c))
            ),
            *(
                chart.band(
                    c, place.x(c) - place.step / 2, TOP, place.step, place.height + BELOW - 20
                )
                for c in candidates
            ),
        ],
        place.bottom + BELOW,
    )


def _axes(chart: Chart, place: _Place) -> list[str]:
    every = max(1, math.ceil(CLOSE_TOGETHER / place.step))
    left, right = place.left, chart.width - RIGHT
    return [
        *(
            tag("line", x1=left, x2=right, y1=place.y(v), y2=place.y(v), class_="level")
            + label(words, left - 8, place.y(v) + 4, "end")
            for v, words in zip(place.levels, tick_labels(place.levels), strict=True)
        ),
        *(
            label(words, place.x(c), place.bottom + 18)
            for c, words in enumerate(chart.labels)
            if c % every == 0
        ),
        label("hidden states", (left + right) / 2, place.bottom + 38, class_="axis"),
        label(AXIS, 0.0, 12.0, "start", class_="axis"),
    ]


def _curve(chart: Chart, i: int, place: _Place) -> list[str]:
    series, look = chart.series[i], Look(i)
    parts = [_line(chart, i, place)]
    for c, (value, error) in enumerate(zip(series.values, series.errors, strict=True)):
        x, y = place.x(c), place.y(value)
        if math.isnan(value):
            continue
        if side := chart.frame.beyond(value):
            edge = TOP if side > 0 else place.bottom
            parts.append(tag("path", d=f"M{x - 4:.1f} {edge + 8 * side:.1f}h8l-4 {-6 * side}z"))
            continue
        if error:
            ends = max(place.y(value + error), TOP), min(place.y(value - error), place.bottom)
            parts.append(_error_bar(x, *ends))
        parts.append(mark(look.shape, x, y, 4.2 if series.main else 3.4, class_="mark"))
        if c == series.chosen:
            parts.append(tag("circle", cx=x, cy=y, r=8.0, class_="choice"))
    return parts


def _line(chart: Chart, i: int, place: _Place) -> str:
    """Draw the line, cut off where the frame ends; a score that failed leaves a gap."""
    values = chart.series[i].values
    pieces: list[list[str]] = [[]]
    for c, value in enumerate(values):
        if math.isnan(value):
            pieces.append([])
        else:
            pieces[-1].append(f"{place.x(c):.1f},{place.y(value):.1f}")
    inside = (place.left, TOP - 4, chart.width - place.left - RIGHT, place.height + 4)
    return tag(
        "svg",
        *(
            tag("polyline", points=" ".join(p), class_="curve", stroke_dasharray=Look(i).dash)
            for p in pieces
            if len(p) > 1
        ),
        **dict(zip(("x", "y", "width", "height"), inside, strict=True)),
        viewBox=" ".join(f"{n:.1f}" for n in inside),
    )


def _error_bar(x: float, top: float, bottom: float) -> str:
    ends: Sequence[float] = (top, bottom)
    caps = "".join(f"M{x - 4:.1f} {y:.1f}h8" for y in ends)
    return tag("path", d=f"M{x:.1f} {top:.1f}V{bottom:.1f}{caps}", class_="error")
