"""One curve for each score over the numbers of hidden states."""

import math
from dataclasses import dataclass

from lacunet.charts.series import Series
from lacunet.charts.style import AXIS, STATES, tick_labels, ticks
from lacunet.report.page.chart import Axis, Chart, dash, marks
from lacunet.report.page.svg import label, tag

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
        return ticks(self.chart.frame.low, self.chart.frame.high)

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

    @property
    def axis(self) -> Axis:
        return Axis(self.chart.frame, self.bottom, TOP, upright=True)


def draw_lines(chart: Chart) -> str:
    """Draw the chart."""
    place = _Place(chart)
    candidates = range(len(chart.labels))
    band = (place.step, place.height + BELOW - 20)
    return chart.svg(
        [
            *_axes(chart, place),
            *chart.groups(lambda s: [_line(s, chart, place), *marks(s, place.axis, place.x)]),
            *(
                label(f"✕ {n}", place.x(c), place.bottom - 6, class_="failed")
                for c in candidates
                if (n := chart.failed(c))
            ),
            *(chart.band(c, place.x(c) - place.step / 2, TOP, *band) for c in candidates),
        ],
        place.bottom + BELOW,
    )


def _axes(chart: Chart, place: _Place) -> list[str]:
    every = max(1, math.ceil(CLOSE_TOGETHER / place.step))
    left, right = place.left, chart.width - RIGHT
    heights = [place.axis.at(level) for level in place.levels]
    return [
        *(
            tag("line", x1=left, x2=right, y1=y, y2=y, class_="level")
            + label(words, left - 8, y + 4, "end")
            for y, words in zip(heights, tick_labels(place.levels), strict=True)
        ),
        *(
            label(words, place.x(c), place.bottom + 18)
            for c, words in enumerate(chart.labels)
            if c % every == 0
        ),
        label(STATES, (left + right) / 2, place.bottom + 38, class_="axis"),
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
    inside = (place.left, TOP - 4, chart.width - place.left - RIGHT, place.height + 4)
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
