"""Style of charts: colour schemes, sizes, markers, dashes, ticks, and shading of means.

Also the data series of a selection: a curve for each score, a bar for each candidate.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lacunet.runtime.arrays import FloatArray
from lacunet.selection.average import Label, Labellings
from lacunet.selection.grids import TITLES
from lacunet.selection.result import Selection
from lacunet.summaries.profiles import NumberProfile
from lacunet.tabular import number

Corners = tuple[tuple[float, float], ...]

TEXT = 12.0  # pixels, like all sizes here
LINE, MAIN_LINE, ERROR_LINE = 1.4, 2.8, 1.3  # main: the curve of the headline score
MARK, MAIN_MARK, RING = 3.4, 4.2, 8.0  # radii
CAP = 4.0  # half the width of the ends of an error bar
EDGE = (0.6, 1.5)  # width of an edge with probability 0 and 1
FAINTEST = 0.25  # opacity of an edge with probability 0
MOST_TICKS = 7
STEPS = (1, 2, 5, 10)  # round numbers, times a power of ten
AXIS = "log evidence (nats)"

# Corners of the markers around (0, 0), y down; they distinguish curves without colour.
MARKS: dict[str, Corners] = {
    "circle": (),
    "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    "triangle": ((0, -1.3), (1.2, 0.9), (-1.2, 0.9)),
    "diamond": ((0, -1.4), (1.4, 0), (0, 1.4), (-1.4, 0)),
    "down": ((0, 1.3), (1.2, -0.9), (-1.2, -0.9)),
}
DASHES = ((), (7, 3), (2, 3), (8, 3, 2, 3))


@dataclass(frozen=True)
class Palette:
    """The colours of one scheme."""

    page: Mapping[str, str]  # by purpose
    curves: tuple[str, ...]

    def variables(self) -> dict[str, str]:
        """Return the colours by name."""
        return {**self.page, **{f"s{i}": colour for i, colour in enumerate(self.curves)}}

    def css(self) -> str:
        """Return the CSS variables."""
        return " ".join(f"--{name}: {value};" for name, value in self.variables().items())


# The hues of Okabe & Ito, distinguishable with every colour vision, without the faint yellow.
LIGHT = Palette(
    {
        "paper": "#f7f8f8", "card": "#ffffff", "ink": "#1d242c", "soft": "#56616d",
        "line": "#dfe3e7", "faint": "#eef1f3", "accent": "#1b5e94", "tint": "#e7f0f7",
        "heat": "#559bd3", "shade": "#1f5f97", "hole": "#a4672b",
        # Text on light and on dark shades, and the threshold: contrast is at least 4.5 to 1.
        "low": "#000", "high": "#fff", "flip": ".83",
        "alert": "#8c2f1d", "alert-tint": "#fbeeea", "care": "#75500a", "care-tint": "#faf3e2",
        "fine": "#22633f", "fine-tint": "#e9f4ed",
    },
    ("#1b5e94", "#c4510a", "#1c7a57", "#9a3f84", "#9a6a00", "#128f9c", "#2b3138", "#737b84"),
)  # fmt: skip
DARK = Palette(
    {
        "paper": "#11151a", "card": "#181d23", "ink": "#e6eaee", "soft": "#a5b0bb",
        "line": "#303841", "faint": "#222930", "accent": "#82bbee", "tint": "#1b2a38",
        "heat": "#2d6ca3", "shade": "#8cc0ee", "hole": "#d79a5b",
        "low": "#fff", "high": "#000", "flip": ".595",
        "alert": "#ffab98", "alert-tint": "#35201b", "care": "#ecc46f", "care-tint": "#2e2717",
        "fine": "#8fd3ac", "fine-tint": "#1a2b21",
    },
    ("#82bbee", "#ff9a56", "#4fc79a", "#e59bd1", "#ebbd4b", "#45cfd3", "#eef1f3", "#98a2ac"),
)  # fmt: skip
PRINT = Palette(
    {
        **LIGHT.page,
        "paper": "#ffffff", "ink": "#111111", "soft": "#444444", "line": "#cccccc",
        "faint": "#f2f2f2", "accent": "#174f7c", "tint": "#eef3f8",
    },
    LIGHT.curves,
)  # fmt: skip


def style_sheet() -> str:
    """Return the CSS variables of every scheme."""
    sizes = f"--curve: {LINE}; --main-curve: {MAIN_LINE}; --error: {ERROR_LINE}; --edge: {EDGE[1]};"
    return "\n".join(
        [
            f":root {{ color-scheme: light dark; {LIGHT.css()} {sizes} }}",
            f"@media (prefers-color-scheme: dark) {{ :root {{ {DARK.css()} }} }}",
            f"@media print {{ :root {{ color-scheme: light; {PRINT.css()} }} }}",
        ]
    )


@dataclass(frozen=True)
class Look:
    """The style of the i-th curve; twenty curves differ even without colours."""

    index: int

    @property
    def colour(self) -> int:
        """Index of the colour in a palette."""
        return self.index % len(LIGHT.curves)

    @property
    def corners(self) -> Corners:
        """Corners of the marker; empty for a circle."""
        return tuple(MARKS.values())[self.index % len(MARKS)]

    @property
    def dash(self) -> tuple[int, ...]:
        """Lengths of dashes and gaps; empty for a solid line."""
        return DASHES[self.index // len(MARKS) % len(DASHES)]


def edge_style(certainty: float | None) -> tuple[float, float]:
    """Return the width and opacity of an edge by its probability (None: 1).

    >>> edge_style(None) == edge_style(1.0), edge_style(0.5) < edge_style(0.9)
    (True, True)
    """
    p = 1.0 if certainty is None else certainty
    return EDGE[0] + p * (EDGE[1] - EDGE[0]), FAINTEST + (1.0 - FAINTEST) * p


def ticks(low: float, high: float, most: int = MOST_TICKS) -> list[float]:
    """Return round numbers between two values, about `most` at most.

    >>> ticks(-360.2, -349.0, 4)
    [-360.0, -355.0, -350.0]
    """
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (*STEPS, 2 * STEPS[-1]) if m * power >= rough)
    first, last = math.ceil(low / step), math.floor(high / step)
    return [i * step for i in range(first, last + 1)]


def factor_ticks(low: float, high: float, most: int = MOST_TICKS) -> list[float]:
    """Return round numbers for a logarithmic axis, about `most` at most.

    >>> factor_ticks(300.0, 9000.0, 4)
    [500.0, 1000.0, 2000.0, 5000.0]
    >>> factor_ticks(0.5, 5e6, 4)
    [1.0, 100.0, 10000.0, 1000000.0]
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    inside: list[float] = []
    for steps in (STEPS[:-1], STEPS[:1]):
        every = [m * 10.0**power for power in range(first, last + 1) for m in steps]
        inside = [x for x in every if low <= x <= high]
        if len(inside) <= most:
            return inside if len(inside) > 1 else ticks(low, high, most)
    return inside[:: math.ceil(len(inside) / most)]


def tick_labels(values: Sequence[float]) -> list[str]:
    """Format the ticks of an axis, all with the same number of decimals.

    >>> tick_labels([-1.0, -0.5, 0.0]), tick_labels([-360.0, -350.0])
    (['−1.0', '−0.5', '0.0'], ['−360', '−350'])
    """
    digits = next((d for d in range(3) if all(abs(v - round(v, d)) < 1e-9 for v in values)), 3)
    return [number(v, digits).replace("-", "−") for v in values]


PLAIN = Labellings.PLAIN.value


@dataclass(frozen=True)
class Series:
    """One score of every candidate."""

    title: str
    values: tuple[float, ...]  # NaN: the score failed or was not computed
    errors: tuple[float | None, ...]  # standard errors
    chosen: int | None  # index of the best candidate
    look: Look
    main: bool = False  # whether it is the headline score
    left_out: frozenset[int] = frozenset()  # candidates without this score: too far behind

    def failed(self, candidate: int) -> bool:
        """Whether the computation for a candidate failed."""
        return math.isnan(self.values[candidate]) and candidate not in self.left_out

    @property
    def known(self) -> list[float]:
        """The finite values."""
        return [v for v in self.values if math.isfinite(v)]


def ranked(selection: Selection) -> list[str]:
    """Name the scores common to all candidates, the headline score first."""
    return sorted((s.name for s in selection.scores), key=lambda n: n != selection.headline)


def score_series(selection: Selection, names: Sequence[str]) -> tuple[Series, ...]:
    """Return a curve for each of the named scores.

    The headline score has the first style, so that it looks the same in every chart.
    """
    every = ranked(selection)
    labels = [c.label for c in selection.candidates]
    curves = []
    for name in names:
        values = selection.values(name).values()
        each = [c.scores.get(name) for c in selection.candidates]
        chosen = selection.chosen[name]
        curves.append(
            Series(
                TITLES[name],
                tuple(v if math.isfinite(v) else math.nan for v in values),
                tuple(e.stderr if e else None for e in each),
                None if chosen is None else labels.index(chosen),
                Look(every.index(name)),
                name == selection.headline,
                frozenset(i for i, e in enumerate(each) if e is None),
            )
        )
    return tuple(curves)


def posteriors(selection: Selection, score: str | None = None) -> dict[str, dict[Label, float]]:
    """Return the probabilities of the candidates by each distinct count of labellings."""
    ways = {way.value: selection.posterior(score, way) for way in Labellings}
    plain, labelled = ways.values()
    return {PLAIN: plain} if plain == labelled else ways


def errors_of(selection: Selection, score: str | None = None) -> dict[Label, float | None]:
    """Return the standard errors of the probabilities; only the score of the answer has any."""
    certainty = selection.certainty
    answer = score is None or score == certainty.by
    return certainty.stderr if answer else dict.fromkeys(certainty.stderr)


def by_number(selection: Selection) -> bool:
    """Whether candidates are numbers of states, so that a curve is meaningful."""
    return all(isinstance(c.label, int) for c in selection.candidates)


FAR = 2.0  # overall standard deviations from the overall mean at the ends of the shading


def shading(number: NumberProfile) -> FloatArray:
    """Return shades (K + 1,) from 0 to 1; 0.5 is the overall mean."""
    return np.clip(0.5 + number.standing / (2.0 * FAR), 0.0, 1.0)
