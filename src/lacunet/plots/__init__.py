"""Figures for papers, by matplotlib: each function draws on an Axes, or makes one, and gives it.

They are small, with thin lines, and marks that differ in more than their colour; save them as PDF
or SVG. `with lacunet.plots.paper_style():` also sets the fonts of what matplotlib itself adds.
"""

from lacunet.plots.door import paper_style, plot_trace
from lacunet.plots.group_lines import plot_group_profiles
from lacunet.plots.lines import plot_profile_lines
from lacunet.plots.network_picture import network, plot_densities, plot_pair, plot_profiles
from lacunet.plots.score_curves import plot_evidence, plot_posterior

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
