"""Candidates whose fits are there already."""

from collections.abc import Sequence

from lacunet.fitting.fit import Fit
from lacunet.fitting.predictive import with_posterior
from lacunet.inference.symmetry import symmetries_of
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.scores import Fitting, Score, applicable
from lacunet.scores.evaluation import score_at
from lacunet.selection.candidates import Candidate, Proposal


def candidate_at(
    proposal: Proposal, fit: Fit, scores: Sequence[Score], executor: Executor = SERIAL
) -> Candidate:
    """Take the scores of a fit, and give it its posterior."""
    at = Fitting(fit.problem, fit.options).input_at(fit, executor)
    found = score_at(at, applicable(scores, fit.problem))
    fit = with_posterior(fit, at.at_estimate.softmax_climb.point)
    labellings = symmetries_of(fit.problem).log_count
    return Candidate(proposal, fit, at.dimension, found, labellings)
