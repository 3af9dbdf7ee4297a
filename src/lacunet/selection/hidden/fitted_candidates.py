"""Graphs with hidden variables as candidates, each at the maximum that its search led to."""

from __future__ import annotations

from lacunet.fitting.fit import Options, learn
from lacunet.fitting.predictive import with_posterior
from lacunet.inference.symmetry import symmetries_of
from lacunet.runtime.executor import Executor
from lacunet.scores import CSL_OCCUPIED, VB, Score, ScoreInput
from lacunet.scores.evaluation import score_at
from lacunet.selection.average import Label
from lacunet.selection.candidates import Candidate, Proposal
from lacunet.structure.hidden.fitting import Fitted

SCORES: tuple[Score, ...] = (CSL_OCCUPIED, VB)


def candidate_of(label: Label, found: Fitted, options: Options, executor: Executor) -> Candidate:
    """Climb from what was found, and take the scores there."""
    network, problem = found.model.network, found.posterior.problem
    fit = learn(problem, options, executor=executor.silent(), start=found.model)
    at = ScoreInput(problem, fit.model.theta, options=options, executor=executor.silent())
    scores = score_at(at, SCORES)
    return Candidate(
        Proposal(label, network, network.hidden_sizes),
        with_posterior(fit, at.softmax_climb.point),
        at.dimension,
        scores,
        symmetries_of(problem).log_count,
    )
