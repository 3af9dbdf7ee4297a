"""What is asked of a model, as JSON documents: rows, queries, explanations, separations.

Edges that were tried beside the classes, as JSON documents.
Classes in groups, as JSON documents.
What predicts classes, as JSON documents.
"""

from typing import Any

from lacunet.api import Answer, Assigned, Assignment, MostProbable, NumberAnswer, Separations
from lacunet.api.results import Unusual
from lacunet.data.design import flags_of
from lacunet.report.descriptions import classification_document
from lacunet.report.documents import (
    certainty_document,
    evidence_document,
    fit_document,
    measurement_document,
)
from lacunet.selection.effects import DirectEffects, Trial
from lacunet.selection.group_comparison import GroupComparison
from lacunet.selection.groups import Level
from lacunet.selection.regression import ClassRegression
from lacunet.summaries.ratio_tests import LikelihoodRatio
from lacunet.summaries.regression.coefficients import Coefficients, WaldTest
from lacunet.summaries.three_step.outcome import Outcome
from lacunet.summaries.three_step.three_steps import ThreeStep


def assignment_document(assignment: Assignment) -> dict[str, Any]:
    """Describe an assignment; the rows themselves go to the output file."""

    def sizes(v: Assigned) -> dict[str, int]:
        return {name: int((v.best[v.missing] == k).sum()) for k, name in enumerate(v.states)}

    numbers = {v.name: int(v.missing.sum()) for v in assignment.numbers}  # rows filled in
    return {
        "rows": assignment.rows,
        "classes": sizes(assignment.variables[0]) if assignment.variables else {},
        "variables": {v.name: sizes(v) for v in assignment.variables},
        **({"numbers": numbers} if numbers else {}),
        "impossible": assignment.impossible,
        **({} if assignment.unusual is None else unusual_document(assignment.unusual)),
    }


def unusual_document(unusual: Unusual) -> dict[str, Any]:
    """Say how many rows are unusual, and what to know of that."""
    return {"unusual": unusual.rare, **({"note": unusual.note} if unusual.note else {})}


def answer_document(answer: Answer | NumberAnswer) -> dict[str, Any]:
    """Describe the joint distribution of some variables, or what is expected of a number."""
    if isinstance(answer, NumberAnswer):
        return {
            "of": [answer.name],
            **answer.known.document(),
            "log_probability_of_given": answer.log_known,
            **dict(zip(answer.titles, (answer.mean, answer.spread), strict=True)),
        }
    return {
        "of": [v.name for v in answer.variables],
        **answer.known.document(),
        "log_probability_of_given": answer.log_known,
        "states": {v.name: list(v.labels) for v in answer.variables},
        "probabilities": answer.probabilities.tolist(),  # nested, in the order of `of`
    }


def most_probable_document(found: MostProbable) -> dict[str, Any]:
    """Describe the most probable states."""
    return {
        "of": list(found.states),
        **found.known.document(),
        "log_probability_of_given": found.log_known,
        "most_probable": dict(found.states),
        "probability": found.probability,
        "log_probability": found.log_probability,
    }


def separations_document(found: Separations) -> dict[str, Any]:
    """Describe which pairs of variables are d-separated."""
    return {
        "given": list(found.given),
        "do": list(found.do),
        "pairs": [
            {"variables": list(pair), "d_separated": apart} for pair, apart in found.pairs.items()
        ],
    }


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


def regression_document(found: ClassRegression) -> dict[str, Any]:
    """Describe classes and what predicts them."""
    fit, measured = found.fit, found.weighed.measured
    return {
        "estimate": fit.objective.estimate.value,
        "log_likelihood": found.log_lik,
        "dimension": found.dimension,
        "status": str(fit.outcome),
        "scaled_gradient": fit.gradient,
        "final_starts": fit.finalists,
        "reached_best": fit.reached,
        "criteria": found.criteria,
        "coefficients": coefficients_document(found.coefficients),
        "coefficient_sd": fit.given.coefficient_sd,
        "class_size_exponent": fit.given.exponent,
        "evidence": evidence_document(found.weighed.approximated),
        "measured_evidence": None if measured is None else measurement_document(measured),
        "log_bayes_factors": {
            w.name: {"value": w.log_bayes_factor, "stderr": w.stderr} for w in found.worth
        },
        "classification": classification_document(found.classification),
        "class_sizes": found.classification.sizes.tolist(),
        "flags": list(map(str, found.flags)),
        "seconds": {"em": fit.seconds},
    }


def coefficients_document(found: Coefficients) -> dict[str, Any]:
    """Describe log odds."""
    low, high = found.interval
    return {
        "columns": list(found.titles),
        "classes": list(found.classes),
        "reference": found.classes[found.reference],
        "level": found.level,
        "method": found.method,
        "estimate": found.estimate.tolist(),
        "stderr": found.stderr.tolist(),
        "low": low.tolist(),
        "high": high.tolist(),
        "odds_ratio": found.odds_ratios.tolist(),
        "p_value": found.p_values.tolist(),
        "why": found.identified.words,
        "flags": list(map(str, found.flags)),
        "tests": [wald_document(test) for test in found.tests],
    }


def wald_document(test: WaldTest) -> dict[str, Any]:
    """Describe a test."""
    return {**test._asdict(), "why": test.why or None}


def three_step_document(found: ThreeStep) -> dict[str, Any]:
    """Describe what goes with classes."""
    rows, coefficients = found.rows, found.coefficients
    return {
        "assignment": found.assigning.value,
        "classes": list(rows.classes),
        "class_sizes": rows.every_size.tolist(),
        "given": rows.every_error.tolist(),
        "coefficients": None if coefficients is None else coefficients_document(coefficients),
        "outcomes": {name: outcome_document(x) for name, x in found.outcomes.items()},
        "notes": list(found.notes),
        "flags": list(map(str, rows.flags)),
    }


def outcome_document(found: Outcome) -> dict[str, Any]:
    """Describe an outcome by class."""
    low, high = found.interval
    return {
        "correction": found.correction.value,
        "of": list(found.titles),
        "cases": found.cases,
        "missing": found.missing,
        "level": found.level,
        "estimate": found.estimate.tolist(),
        "stderr": found.stderr.tolist(),
        "low": low.tolist(),
        "high": high.tolist(),
        "why": found.identified.words,
        "flags": list(map(str, found.flags)),
        "equality": wald_document(found.equality),
        "pairs": [wald_document(test) for test in found.pairs],
    }
