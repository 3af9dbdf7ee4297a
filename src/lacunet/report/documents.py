"""JSON documents of direct effects, group comparisons and latent class regressions."""

from typing import Any

from lacunet.data.design import flags_of
from lacunet.selection.effects import DirectEffects, Trial
from lacunet.selection.group_comparison import GroupComparison
from lacunet.selection.groups import Level
from lacunet.selection.regression import ClassRegression
from lacunet.tabular import described


def effects_document(effects: DirectEffects) -> dict[str, Any]:
    """Describe direct effects: the trials and the edges kept."""
    return {
        **described(effects, "pairs kept=edges log_likelihood_without=base.fit.log_lik"),
        "trials": [trial_document(trial) for trial in effects.trials],
        "notes": list(map(str, flags_of(effects.fit.problem.design))),
    }


def trial_document(trial: Trial, gain: float | None = None) -> dict[str, Any]:
    """Describe the trial of an edge; `gain` replaces its approximate log Bayes factor."""
    return {
        **described(trial, "edge step adds kept change_of_bic needs=price test=ratio"),
        "log_bayes_factor": trial.gain if gain is None else gain,
    }


def group_document(comparison: GroupComparison) -> dict[str, Any]:
    """Describe the comparison of classes between groups."""
    alignment = comparison.alignment
    return {
        **described(comparison, "group groups cases flags certainty answer=level free_items=free"),
        "models": {str(f.level): _level(comparison, f.level) for f in comparison.levels.fits},
        "sets": [
            {
                "free_items": list(names),
                "log_bayes_factor": comparison.log_factor(names),  # against none
                "probability": probability,
            }
            for names, probability in comparison.set_probabilities.items()
        ],
        "tests": [
            {"model": str(t.narrow), "against": str(t.wide), **t.ratio.to_dict()}
            for t in comparison.tests
        ],
        "items": [_item(comparison, trial) for trial in comparison.levels.trials],
        "alignment": {
            "reference": alignment.groups[alignment.reference],
            **described(alignment, "convincing distances"),
        },
    }


def _item(comparison: GroupComparison, trial: Trial) -> dict[str, Any]:
    after, before = map(comparison.levels.names, (trial.after, trial.before))
    name = trial.edge[1]
    item = {"item": name, "probability_free": comparison.item_probability(name)}
    return {**item, **trial_document(trial, comparison.log_factor(after, before))}


def _level(comparison: GroupComparison, level: Level) -> dict[str, Any]:
    candidate, network = comparison.candidate(level), comparison.of(level).fitted.network
    return {
        "log_likelihood": comparison.log_lik(level),
        "dimension": comparison.dimension(level),
        "criteria": comparison.criteria(level),
        "log_evidence": comparison.log_evidence(level),
        **described(candidate, "measured_evidence=measured fit"),
        "free_items": list(comparison.grouped(level).free),
        "class_sizes": comparison.sizes(level).tolist(),
        "parents": {
            v.name: [network.variables[p].name for p in network.parents[i]]
            for i, v in enumerate(network.variables)
        },
        "tables": {v.name: candidate.model.table(v.name).tolist() for v in network.variables},
    }


def regression_document(regression: ClassRegression) -> dict[str, Any]:
    """Describe a latent class regression."""
    fit = regression.fit
    return {
        **described(
            regression,
            """dimension criteria flags log_likelihood=log_lik coefficients classification
            evidence=weighed.approximated measured_evidence=weighed.measured
            class_sizes=classification.sizes""",
        ),
        **described(
            fit,
            """estimate=objective.estimate scaled_gradient=gradient final_starts=finalists
            reached_best=reached coefficient_sd=given.coefficient_sd
            class_size_exponent=given.exponent status=outcome""",
        ),
        "log_bayes_factors": {
            w.name: described(w, "stderr value=log_bayes_factor") for w in regression.worth
        },
        "seconds": {"em": fit.seconds},
    }
