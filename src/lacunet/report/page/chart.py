"""What a chart of the evidence shows, and how its curves look.

Each is drawn twice, for a wide screen and for a narrow one: a picture that is only scaled cannot be
read on a phone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lacunet.report.page.svg import MARKS, mark, tag, text
from lacunet.tabular import number

SHAPES = ("circle", *MARKS)
COLOURS = 8  # that the style sheet has
DASHES = ("", "7 3", "2 3", "8 3 2 3")
LEAST_REACH = 10.0  # nats below the answer that the near view shows at least,
BEST = 4  # or as many as these candidates need, or half of them if that is less,
FURTHER = 2.0  # and so many times that for the choices of other scores
PADDING = 0.06  # of the span, above and below
WORTH_ZOOMING = 2.0  # the near view is drawn where the whole one is so many times as high
ROOMY = 500.0  # width from which a chart is for a wide screen, in pixels
AXIS = "log evidence (nats)"


@dataclass(frozen=True)
class Series:
    """One score of every candidate."""

    title: str
    values: tuple[float, ...]  # NaN where the score failed
    errors: tuple[float | None, ...]  # standard errors
    chosen: int | None  # index of the candidate that it chooses
    main: bool = False  # whether the answer goes by it

    @property
    def known(self) -> list[float]:
        """The values that exist."""
        return [v for v in self.values if math.isfinite(v)]


@dataclass(frozen=True)
class Look:
    """How the i-th curve is drawn: no two alike, even where colours cannot be told apart."""

    index: int

    @property
    def shape(self) -> str:
        """Its mark."""
        return SHAPES[self.index % len(SHAPES)]

    @property
    def colour(self) -> str:
        """Its class in the style sheet."""
        return f"s{self.index % COLOURS}"

    @property
    def dash(self) -> str | None:
        """Its line."""
        return DASHES[self.index // COLOURS % len(DASHES)] or None

    def key(self) -> str:
        """Draw it small, for the legend."""
        return tag(
            "svg",
            tag("line", x1=0, y1=7, x2=26, y2=7, class_="curve", stroke_dasharray=self.dash),
            mark(self.shape, 13.0, 7.0, 3.6, class_="mark"),
            class_=f"key {self.colour}",
            viewBox="0 0 26 14",
            width=26,
            height=14,
            aria_hidden="true",
        )


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
class Chart:
    """What is drawn, and how wide."""

    labels: tuple[str, ...]  # of the candidates
    tips: tuple[str, ...]  # what to say of each: lines, with a tab between name and value
    series: tuple[Series, ...]
    frame: Frame
    width: float
    description: str  # for people who cannot see it

    @property
    def roomy(self) -> bool:
        """Whether it is for a wide screen."""
        return self.width > ROOMY

    def failed(self, candidate: int) -> int:
        """How many scores have no value for a candidate."""
        return sum(math.isnan(s.values[candidate]) for s in self.series)

    def group(self, i: int, parts: Sequence[str]) -> str:
        """Put all that belongs to one series together, so that it can be switched off."""
        kind = " main" if self.series[i].main else ""
        return tag("g", *parts, class_=f"series {Look(i).colour}{kind}", data_series=i)

    def band(self, candidate: int, x: float, y: float, width: float, height: float) -> str:
        """What the pointer touches to be told of a candidate; it lies in front of everything."""
        return tag(
            "rect",
            x=x,
            y=y,
            width=width,
            height=height,
            class_="band",
            data_tip=self.tips[candidate],
        )

    def svg(self, parts: Sequence[str], height: float) -> str:
        """Put everything together."""
        return tag(
            "svg",
            *parts,
            class_="chart",
            viewBox=f"0 0 {self.width:.0f} {height:.0f}",
            role="img",
            aria_label=self.description,
        )


def label(content: str, x: float, y: float, anchor: str = "middle", **more: object) -> str:
    """Write a text."""
    return tag("text", text(content), x=x, y=y, text_anchor=anchor, **more)


def tick_labels(values: Sequence[float]) -> list[str]:
    """Write the numbers of an axis, all with as many digits as they need.

    >>> tick_labels([-1.0, -0.5, 0.0]), tick_labels([-360.0, -350.0])
    (['−1.0', '−0.5', '0.0'], ['−360', '−350'])
    """
    digits = next((d for d in range(3) if all(abs(v - round(v, d)) < 1e-9 for v in values)), 3)
    return [number(v, digits).replace("-", "−") for v in values]
