"""One curve for each score over the numbers of hidden states."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lacunet.charts.series import Series
from lacunet.charts.style import AXIS, tick_labels, ticks
from lacunet.report.page.chart import Axis, Chart, dash, marks
from lacunet.report.page.svg import label, tag

RIGHT, TOP = 14.0, 34.0
BELOW = 46.0  # for what stands under the axis
CLOSE_TOGETHER = 26.0  # least room for the number of a candidate
DIGIT = 7.0  # likely width of a digit


@dataclass(frozen=True)
class _Place:
    """Where things are, in pixels."""

    left: float
    step: float  # from one candidate to the next
    axis: Axis

    @property
    def bottom(self) -> float:
        return self.axis.start

    def x(self, candidate: int) -> float:
        return self.left + (candidate + 0.5) * self.step


def draw_lines(chart: Chart) -> str:
    """Draw the chart."""
    levels = ticks(chart.frame.low, chart.frame.high)
    left = 16.0 + DIGIT * max(map(len, tick_labels(levels)))
    step = (chart.width - left - RIGHT) / len(chart.labels)
    height = 300.0 if chart.roomy else 260.0
    place = _Place(left, step, Axis(chart.frame, TOP + height, TOP, upright=True))
    candidates = range(len(chart.labels))
    band = (step, height + BELOW - 20)
    return chart.svg(
        [
            *_axes(chart, place, levels),
            *chart.groups(lambda s: [_line(s, chart, place), *marks(s, place.axis, place.x)]),
            *(
                label(f"✕ {n}", place.x(c), place.bottom - 6, class_="failed")
                for c in candidates
                if (n := chart.failed(c))
            ),
            *(chart.band(c, place.x(c) - step / 2, TOP, *band) for c in candidates),
        ],
        place.bottom + BELOW,
    )


def _axes(chart: Chart, place: _Place, levels: Sequence[float]) -> list[str]:
    every = max(1, math.ceil(CLOSE_TOGETHER / place.step))
    left, right = place.left, chart.width - RIGHT
    return [
        *(
            tag("line", x1=left, x2=right, y1=y, y2=y, class_="level")
            + label(words, left - 8, y + 4, "end")
            for y, words in zip(map(place.axis.at, levels), tick_labels(levels), strict=True)
        ),
        *(
            label(words, place.x(c), place.bottom + 18)
            for c, words in enumerate(chart.labels)
            if c % every == 0
        ),
        label(chart.unit, (left + right) / 2, place.bottom + 38, class_="axis"),
        label(AXIS, 0.0, 12.0, "start", class_="axis"),
    ]


def _line(series: Series, chart: Chart, place: _Place) -> str:
    """Draw the line, cut off where the frame ends; a score that failed leaves a gap."""
    pieces: list[list[str]] = [[]]
    for c, value in enumerate(series.values):
        if math.isnan(value):
            pieces.append([])
        else:
            pieces[-1].append(f"{place.x(c):.1f},{place.axis.at(value):.1f}")
    inside = (place.left, TOP - 4, chart.width - place.left - RIGHT, place.bottom - TOP + 4)
    dashes = dash(series.look)
    return tag(
        "svg",
        *(
            tag("polyline", points=" ".join(p), class_="curve", stroke_dasharray=dashes)
            for p in pieces
            if len(p) > 1
        ),
        **dict(zip(("x", "y", "width", "height"), inside, strict=True)),
        viewBox=" ".join(f"{n:.1f}" for n in inside),
    )
