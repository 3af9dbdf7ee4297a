"""Compare answers that are equal, partly equal and free in groups."""

from collections.abc import Sequence

from lacunet.models.grouped import Grouped
from lacunet.scores import HEADLINE, RECOMMENDED, VB
from lacunet.selection.candidates import Proposal, Selection
from lacunet.selection.effects.fitted import Workshop
from lacunet.selection.given_fits import candidate_at
from lacunet.selection.groups.levels import Levels, fit_levels

SCORES = (VB, HEADLINE, RECOMMENDED[0])  # what decides whether to measure, and what stands in


def compare_levels(
    workshop: Workshop, grouped: Grouped, named: Sequence[str] | None
) -> tuple[Levels, Selection]:
    """Fit the models, and take their scores."""
    levels = fit_levels(workshop, grouped, named)
    candidates = [
        candidate_at(
            Proposal(str(found.level), found.grouped.network, {}),
            found.fitted.fit,
            SCORES,
            workshop.executor.silent(),
        )
        for found in levels.fits
    ]
    alpha, options = workshop.alpha, workshop.options
    return levels, Selection(workshop.table, tuple(candidates), options, alpha, levels.prior)
