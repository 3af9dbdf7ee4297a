"""Classes in groups, as JSON documents."""

from typing import Any

from lacunet.report.documents import certainty_document, fit_document, measurement_document
from lacunet.report.effects_document import ratio_document, trial_document
from lacunet.selection.effects.adding import Trial
from lacunet.selection.groups.comparison import GroupComparison
from lacunet.selection.groups.levels import Level


def group_document(found: GroupComparison) -> dict[str, Any]:
    """Describe how far classes are the same in all groups."""
    alignment = found.alignment
    return {
        "group": found.group,
        "groups": list(found.groups),
        "cases": found.cases.tolist(),
        "answer": str(found.level),
        "free_items": list(found.free),
        "models": {str(f.level): _level(found, f.level) for f in found.levels.fits},
        "certainty": certainty_document(found.certainty),
        "sets": [
            {
                "free_items": list(names),
                "log_bayes_factor": found.log_factor(names),  # against none
                "probability": probability,
            }
            for names, probability in found.set_probabilities.items()
        ],
        "tests": [
            {"model": str(t.narrow), "against": str(t.wide), **ratio_document(t.ratio)}
            for t in found.tests
        ],
        "items": [_item(found, trial) for trial in found.levels.trials],
        "alignment": {
            "reference": alignment.groups[alignment.reference],
            "convincing": alignment.convincing,
            "distances": alignment.distances.tolist(),
        },
        "flags": list(map(str, found.flags)),
    }


def _item(found: GroupComparison, trial: Trial) -> dict[str, Any]:
    after, before = map(found.levels.names, (trial.after, trial.before))
    name = trial.edge[1]
    own = {"item": name, "probability_free": found.item_probability(name)}
    return {**own, **trial_document(trial, found.log_factor(after, before))}


def _level(found: GroupComparison, level: Level) -> dict[str, Any]:
    candidate, network = found.candidate(level), found.of(level).fitted.network
    measured = candidate.measured
    return {
        "log_likelihood": found.log_lik(level),
        "dimension": found.dimension(level),
        "criteria": found.criteria(level),
        "log_evidence": found.log_evidence(level),
        "measured_evidence": None if measured is None else measurement_document(measured),
        "free_items": list(found.grouped(level).free),
        "class_sizes": found.sizes(level).tolist(),
        "parents": {
            v.name: [network.variables[p].name for p in network.parents[i]]
            for i, v in enumerate(network.variables)
        },
        "tables": {v.name: candidate.model.table(v.name).tolist() for v in network.variables},
        "fit": fit_document(candidate.fit),
    }
