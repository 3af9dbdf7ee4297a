"""Style of charts: colour schemes, sizes, markers, dashes, and shading of means."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from lacunet.runtime.arrays import FloatArray
from lacunet.summaries.profiles import NumberProfile

TEXT = 12.0  # pixels, like all sizes here
LINE, MAIN_LINE, ERROR_LINE = 1.4, 2.8, 1.3  # main: the curve of the headline score
MARK, MAIN_MARK, RING = 3.4, 4.2, 8.0  # radii
CAP = 4.0  # half the width of the ends of an error bar
EDGE = (0.6, 1.5)  # width of an edge with probability 0 and 1
FAINTEST = 0.25  # opacity of an edge with probability 0
MOST_TICKS = 7
STEPS = (1, 2, 5, 10)  # round numbers, times a power of ten

MARKERS = "os^Dv"  # they distinguish curves without colour, as dashes do
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
    return "\n".join(
        [
            f":root {{ color-scheme: light dark; {LIGHT.css()} }}",
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
    def marker(self) -> str:
        """Name of the marker in matplotlib."""
        return MARKERS[self.index % len(MARKERS)]

    @property
    def dash(self) -> tuple[int, ...]:
        """Lengths of dashes and gaps; empty for a solid line."""
        return DASHES[self.index // len(MARKERS) % len(DASHES)]


def edge_style(certainty: float | None) -> tuple[float, float]:
    """Return the width and opacity of an edge by its probability (None: 1).

    >>> edge_style(None) == edge_style(1.0), edge_style(0.5) < edge_style(0.9)
    (True, True)
    """
    p = 1.0 if certainty is None else certainty
    return EDGE[0] + p * (EDGE[1] - EDGE[0]), FAINTEST + (1.0 - FAINTEST) * p


FAR = 2.0  # overall standard deviations from the overall mean at the ends of the shading


def shading(number: NumberProfile) -> FloatArray:
    """Return shades (K + 1,) from 0 to 1; 0.5 is the overall mean."""
    return np.clip(0.5 + number.standing / (2.0 * FAR), 0.0, 1.0)
