"""A chart of the evidence as SVG: what it shows, and the marks of its scores.

Each is drawn twice, for a wide screen and for a narrow one: a picture that is only scaled cannot be
read on a phone.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lacunet.charts.series import Series
from lacunet.charts.style import CAP, MAIN_MARK, MARK, RING, Look
from lacunet.report.page.svg import mark, tag

LEAST_REACH = 10.0  # nats below the answer that the near view shows at least,
BEST = 4  # or as many as these candidates need, or half of them if that is less,
FURTHER = 2.0  # and so many times that for the choices of other scores
PADDING = 0.06  # of the span, above and below
WORTH_ZOOMING = 2.0  # the near view is drawn where the whole one is so many times as high
KEY = 3.6  # radius of a mark in the legend
ROOMY = 500.0  # width from which a chart is for a wide screen, in pixels


@dataclass(frozen=True)
class Frame:
    """The range of values that a chart shows."""

    low: float
    high: float

    def share(self, value: float) -> float:
        """Where a value is, 0 to 1."""
        return (value - self.low) / (self.high - self.low)

    def beyond(self, value: float) -> int:
        """Whether a value is below (−1) or above (1) the range."""
        return (value > self.high) - (value < self.low)

    def nearest(self, value: float) -> float:
        """The value in the range that is nearest to another."""
        return min(max(value, self.low), self.high)


def whole(series: Sequence[Series]) -> Frame | None:
    """Everything; nothing, if no score has a value."""
    values = [v for s in series for v in s.known]
    return _padded(min(values), max(values)) if values else None


def near(series: Sequence[Series]) -> Frame | None:
    """What is near to the answer; nothing, if that is nearly everything.

    That is the best few candidates of the score that the answer goes by, and the best one of every
    other score that is not too far away. What is further is marked at the edge of the chart.
    """
    everything = whole(series)
    main = sorted(next((s.known for s in series if s.main), []), reverse=True)
    if everything is None or not main:
        return None
    few = min(BEST, max(2, len(main) // 2))
    reach = max(LEAST_REACH, main[0] - main[:few][-1])
    tops = [max(s.known) for s in series if s.known]
    close = [t for t in tops if abs(t - main[0]) <= FURTHER * reach]
    frame = _padded(min(main[0] - reach, *close), max(close))
    zoom = (everything.high - everything.low) / (frame.high - frame.low)
    return frame if zoom >= WORTH_ZOOMING else None


def _padded(low: float, high: float) -> Frame:
    pad = PADDING * (high - low) or 1.0
    return Frame(low - pad, high + pad)


@dataclass(frozen=True)
class Axis:
    """The axis of the values: from which pixel to which it runs, and whether it stands upright."""

    frame: Frame
    start: float
    end: float
    upright: bool

    def at(self, value: float) -> float:
        """Where a value is."""
        return self.start + self.frame.share(value) * (self.end - self.start)

    def xy(self, along: float, across: float) -> tuple[float, float]:
        """The point that is so far along the axis, and so far across."""
        return (across, along) if self.upright else (along, across)

    def point(self, along: float, across: float) -> str:
        """The same, as SVG writes it."""
        return "{:.1f} {:.1f}".format(*self.xy(along, across))


def marks(series: Series, axis: Axis, place: Callable[[int], float]) -> list[str]:
    """Draw the values of a score, each across the axis where its candidate has its place."""
    parts = []
    for c, (value, error) in enumerate(zip(series.values, series.errors, strict=True)):
        if math.isnan(value):
            continue
        along, across = axis.at(axis.frame.nearest(value)), place(c)
        if side := axis.frame.beyond(value):
            out = side if axis.end > axis.start else -side
            parts.append(_pointer(axis, along, across, out))
            continue
        if error:
            ends = [axis.at(axis.frame.nearest(value + e)) for e in (-error, error)]
            parts.append(_error_bar(axis, min(ends), max(ends), across))
        x, y = axis.xy(along, across)
        size = MAIN_MARK if series.main else MARK
        parts.append(mark(series.look.corners, x, y, size, class_="mark"))
        if c == series.chosen:
            parts.append(tag("circle", cx=x, cy=y, r=RING, class_="choice"))
    return parts


def _pointer(axis: Axis, edge: float, across: float, out: int) -> str:
    """Draw a small triangle at the edge of the chart that points out of it."""
    way = f"h8l-4 {6 * out}" if axis.upright else f"v8l{6 * out} -4"
    return tag("path", d=f"M{axis.point(edge - 8 * out, across - 4)}{way}z")


def _error_bar(axis: Axis, first: float, last: float, across: float) -> str:
    line, cap = ("V", "h") if axis.upright else ("H", "v")
    caps = [f"M{axis.point(end, across - CAP)}{cap}{2 * CAP:g}" for end in (first, last)]
    whole = f"M{axis.point(first, across)}{line}{last:.1f}{''.join(caps)}"
    return tag("path", d=whole, class_="error")


def dash(look: Look) -> str | None:
    """Give the dashes of a line, as SVG writes them."""
    return " ".join(map(str, look.dash)) or None


def key(look: Look) -> str:
    """Draw a curve small, for the legend."""
    line = tag("line", x1=0, y1=7, x2=26, y2=7, class_="curve", stroke_dasharray=dash(look))
    point = mark(look.corners, 13.0, 7.0, KEY, class_="mark")
    box = {"viewBox": "0 0 26 14", "width": 26, "height": 14}
    return tag("svg", line, point, class_=f"key s{look.colour}", **box, aria_hidden="true")


@dataclass(frozen=True)
class Chart:
    """What is drawn, and how wide."""

    labels: tuple[str, ...]  # of the candidates
    tips: tuple[str, ...]  # what to say of each: lines, with a tab between name and value
    series: tuple[Series, ...]
    frame: Frame
    width: float
    description: str  # for people who cannot see it
    unit: str  # what labels are numbers of

    @property
    def roomy(self) -> bool:
        """Whether it is for a wide screen."""
        return self.width > ROOMY

    def failed(self, candidate: int) -> int:
        """How many scores failed for a candidate."""
        return sum(s.failed(candidate) for s in self.series)

    def groups(self, draw: Callable[[Series], Sequence[str]]) -> list[str]:
        """Draw each series, all that belongs to it together, so that it can be switched off."""
        kinds = [f"series s{s.look.colour}{' main' if s.main else ''}" for s in self.series]
        return [
            tag("g", *draw(s), class_=kinds[i], data_series=i) for i, s in enumerate(self.series)
        ]

    def band(self, candidate: int, x: float, y: float, width: float, height: float) -> str:
        """What the pointer touches to be told of a candidate; it lies in front of everything."""
        box = {"x": x, "y": y, "width": width, "height": height}
        return tag("rect", **box, class_="band", data_tip=self.tips[candidate])

    def svg(self, parts: Sequence[str], height: float) -> str:
        """Put everything together."""
        about = {"role": "img", "aria_label": self.description}
        box = f"0 0 {self.width:.0f} {height:.0f}"
        return tag("svg", *parts, class_="chart", viewBox=box, **about)
