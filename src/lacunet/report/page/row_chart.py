"""One line for each candidate that has a name, with the mark of every score on it."""

from lacunet.charts.style import AXIS, tick_labels, ticks
from lacunet.data.audit import shorten
from lacunet.report.page.chart import Axis, Chart, marks
from lacunet.report.page.svg import label, tag

LEFT, RIGHT, TOP, STEP = 14.0, 18.0, 8.0, 44.0
BELOW = 46.0  # for what stands under the axis
DOWN = 6.0  # from the middle of a row to its line: its name stands above
LETTER = 6.8  # likely width of a letter
FEW = 4  # numbers on the axis for a narrow screen


def draw_rows(chart: Chart) -> str:
    """Draw the chart."""
    axis = Axis(chart.frame, LEFT, chart.width - RIGHT, upright=False)
    bottom = TOP + STEP * len(chart.labels)
    candidates = range(len(chart.labels))
    return chart.svg(
        [
            *_axes(chart, axis, bottom),
            *chart.groups(lambda s: marks(s, axis, _middle)),
            *(
                label(f"✕ {n} failed", axis.end, _middle(c) - 16, "end", class_="failed")
                for c in candidates
                if (n := chart.failed(c))
            ),
            *(chart.band(c, 0.0, TOP + c * STEP, chart.width, STEP) for c in candidates),
        ],
        bottom + BELOW,
    )


def _middle(candidate: int) -> float:
    return TOP + (candidate + 0.5) * STEP + DOWN


def _axes(chart: Chart, axis: Axis, bottom: float) -> list[str]:
    frame = chart.frame
    levels = ticks(frame.low, frame.high) if chart.roomy else ticks(frame.low, frame.high, FEW)
    room = int((axis.end - LEFT) / LETTER)
    return [
        *(
            tag("line", x1=axis.at(v), x2=axis.at(v), y1=TOP, y2=bottom, class_="level")
            + label(words, axis.at(v), bottom + 18)
            for v, words in zip(levels, tick_labels(levels), strict=True)
        ),
        *(
            label(shorten(name, room), LEFT, _middle(c) - 16, "start", class_="name")
            + tag("line", x1=LEFT, x2=axis.end, y1=_middle(c), y2=_middle(c), class_="level")
            for c, name in enumerate(chart.labels)
        ),
        label(AXIS, chart.width / 2, bottom + 38, class_="axis"),
    ]
