"""How EM climbed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lacunet.charts.style import PRINT
from lacunet.plots.door import GREY, SMALL, axes
from lacunet.summaries.em_traces import Traces

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NEAREST = 1e-8  # nats: what is nearer to the best end than this is drawn there


def plot_trace(traces: Traces, ax: Axes | None = None, *, below: bool = True) -> Axes:
    """Draw the objective after every step of every start of a search.

    Starts that were climbed to a maximum are blue, the best one thick; those that the race left
    behind are grey.

    Parameters
    ----------
    traces
        What `em_traces` returns.
    ax
        Where to draw (default: a new figure, one column wide).
    below
        Draw how far below the best end each one is, on a logarithmic scale; else the objective.
    """
    ax = axes(ax)
    best = traces.best.end
    for trace in reversed(traces.traces):
        values = np.maximum(best - trace.values, NEAREST) if below else trace.values
        winner = trace is traces.best
        ax.plot(
            np.arange(len(values)),
            values,
            color=PRINT.curves[0] if trace.climbed else GREY,
            linewidth=1.6 if winner else 0.7,
            alpha=1.0 if winner else 0.6,
            zorder=3 if winner else 2 if trace.climbed else 1,
        )
    if below:
        ax.set_yscale("log")
    ax.set_xlabel("step", fontsize=SMALL)
    words = "nats below the best" if below else f"{traces.objective} (nats)"
    ax.set_ylabel(words, fontsize=SMALL)
    return ax
