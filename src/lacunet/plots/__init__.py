"""Figures for papers, by matplotlib: each function draws on given or new Axes, and returns them.

Figures are small, with thin lines; markers and dashes also distinguish curves without colour. Save
them as PDF or SVG. `with lacunet.plots.paper_style():` sets fonts for all texts of a figure. Start
with `plot_evidence` for a selection and `plot_profile_lines` for a fit.
"""

from lacunet.plots.figures import paper_style, plot_trace
from lacunet.plots.group_lines import plot_group_profiles
from lacunet.plots.lines import plot_profile_lines
from lacunet.plots.network_picture import network
from lacunet.plots.profile_figures import plot_densities, plot_pair, plot_profiles
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
