"""Edges that were tried beside the classes, as JSON documents."""

from typing import Any

from lacunet.data.sampling_design import flags_of
from lacunet.selection.effects.adding import Trial
from lacunet.selection.effects.direct import DirectEffects
from lacunet.summaries.likelihood_ratio import LikelihoodRatio


def effects_document(found: DirectEffects) -> dict[str, Any]:
    """Describe direct effects: what was tried, and what was kept."""
    return {
        "kept": list(found.edges),
        "pairs": found.pairs,
        "trials": [trial_document(trial) for trial in found.trials],
        "log_likelihood_without": found.base.fit.log_lik,
        "notes": list(map(str, flags_of(found.fit.problem.design))),
    }


def trial_document(trial: Trial, gain: float | None = None) -> dict[str, Any]:
    """Describe an edge that was tried; its log Bayes factor may be known better."""
    return {
        "edge": list(trial.edge),
        "step": trial.step,
        "adds": trial.adds,
        "kept": trial.kept,
        "log_bayes_factor": trial.gain if gain is None else gain,
        "needs": trial.price,
        "change_of_bic": trial.change_of_bic,
        "test": None if trial.ratio is None else ratio_document(trial.ratio),
    }


def ratio_document(ratio: LikelihoodRatio) -> dict[str, Any]:
    """Describe a likelihood-ratio test."""
    return {
        "statistic": ratio.statistic,
        "df": ratio.df,
        "p_value": ratio.p_value,
        "probabilities_at_edge": ratio.at_edge,
    }
