"""Figures for papers, by matplotlib: each function draws on an Axes, or makes one, and gives it.

They are small, with thin lines, and marks that differ in more than their colour; save them as PDF
or SVG. `with lacunet.plots.paper_style():` also sets the fonts of what matplotlib itself adds.
"""

from lacunet.plots.door import paper_style
from lacunet.plots.group_lines import plot_group_profiles
from lacunet.plots.network_picture import network
from lacunet.plots.number_charts import plot_densities, plot_pair
from lacunet.plots.profile_charts import plot_profiles
from lacunet.plots.profile_lines import plot_profile_lines
from lacunet.plots.score_curves import plot_evidence, plot_posterior
from lacunet.plots.trace_lines import plot_trace

__all__ = [
    "network",
    "paper_style",
    "plot_densities",
    "plot_evidence",
    "plot_group_profiles",
    "plot_pair",
    "plot_posterior",
    "plot_profile_lines",
    "plot_profiles",
    "plot_trace",
]
