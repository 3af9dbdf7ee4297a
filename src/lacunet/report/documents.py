"""Results as JSON documents: what `--json` prints and `--save` keeps."""

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from lacunet.api import (
    Imputation,
    Scores,
)
from lacunet.data import Column, Table
from lacunet.data.design import SamplingDesign, SurveyWeights
from lacunet.evidence.consistency import Sandwich
from lacunet.evidence.estimate import Measurement
from lacunet.fitting.fit import Fit
from lacunet.models.network import Network
from lacunet.scores import Evidence
from lacunet.selection.average import Labellings
from lacunet.selection.candidates import Candidate, Selection
from lacunet.selection.certainty import Certainty, Factor
from lacunet.selection.ensembles import Stack
from lacunet.selection.hidden_comparison import HiddenFound
from lacunet.selection.other_answers import calibration
from lacunet.selection.reach import ENOUGH
from lacunet.structure.edges.certainty import EdgeCertainty
from lacunet.structure.hidden.latent_tree import LatentTree
from lacunet.structure.learned import Learned
from lacunet.structure.numbers import BetweenNumbers


def to_json(document: Mapping[str, Any]) -> str:
    """Write strict JSON: a number that does not exist is null."""
    return json.dumps(_strict(document), indent=2, ensure_ascii=False, allow_nan=False)


def _strict(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(k): _strict(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(v) for v in value]
    return value


def taken(result: object, *names: str) -> dict[str, Any]:
    """Give what a document takes from a result by its own names."""
    return {name: getattr(result, name) for name in names}


def table_document(table: Table) -> dict[str, Any]:
    """Describe the data."""
    return {
        **taken(table, "source", "rows", "distinct_rows", "weight", "empty_rows"),
        "columns": [
            {"name": c.name, **_values(c), "missing": float(share)}
            for c, share in ((table.columns[j], table.missing[j]) for j in table.shown)
        ],
        "notes": list(table.notes),
        **({} if table.survey is None else {"survey": _survey(table.survey)}),
        **({} if table.design is None else _design(table.design)),
    }


def _values(column: Column) -> dict[str, Any]:
    """List states; of numbers, their kind, and the lowest and the highest."""
    if not column.kind.number:
        return {"states": list(column.states)}
    return {"kind": column.kind.value, "range": [column.states[0], column.states[-1]]}


def _survey(weights: SurveyWeights) -> dict[str, Any]:
    return taken(weights, "rows", "total", "effective", "design_effect")


def _design(design: SamplingDesign) -> dict[str, Any]:
    """Describe how rows were drawn, where that was told."""
    if not design.told:
        return {}
    columns = {"strata": design.strata, "clusters": list(design.clusters)}
    numbers = taken(design, "units", "degrees", "people", "alone")
    return {"design": {**numbers, "strata": design.number_of_strata, "columns": columns}}


def evidence_document(evidence: Evidence) -> dict[str, Any]:
    """Describe one score; one that was sampled has a standard error."""
    return {
        "value": evidence.value,
        **({} if evidence.stderr is None else {"stderr": evidence.stderr}),
        "terms": dict(evidence.terms),
        "flags": list(map(str, evidence.flags)),
    }


def measurement_document(measured: Measurement) -> dict[str, Any]:
    """Describe a measured evidence."""
    return {
        **taken(measured, "value", "one_labelling", "stderr", "ess"),
        "verdict": measured.verdict.value,
        "method": measured.method.value,
        "seconds": measured.seconds,
        "used_classes": measured.used,
        "details": measured.details,
        "notes": list(map(str, measured.notes)),
    }


def sandwich_document(bounds: Sandwich) -> dict[str, Any]:
    """Describe bounds from both sides."""
    ends = ("lower", "lower_stderr", "upper", "upper_stderr")
    return taken(bounds, *ends, "gap", "steps", "chains", "seconds")


def fit_document(fit: Fit) -> dict[str, Any]:
    """Describe a fit."""
    return {
        "log_likelihood": fit.log_lik,
        "log_prior": fit.log_prior,
        "log_posterior": fit.log_posterior,
        "estimate": fit.estimate.value,
        "schedule": fit.options.schedule.value,
        "status": str(fit.status),
        "iterations": fit.iterations,
        "scaled_gradient": fit.gradient,
        "starts": fit.options.starts,
        "final_starts": fit.finalists,
        "reached_best": fit.reached,
        "flags": list(map(str, (*fit.flags, *fit.mass_flags))),
    }


def candidate_document(candidate: Candidate) -> dict[str, Any]:
    """Describe one candidate."""
    sizes = candidate.fit.model.network.hidden_sizes
    measured = candidate.measured
    return {
        "label": candidate.label,
        "states": candidate.label if isinstance(candidate.label, int) else sizes,
        "hidden": sizes,
        "dimension": candidate.dimension,
        **fit_document(candidate.fit),
        "scores": {name: evidence_document(e) for name, e in candidate.scores.items()},
        "measured": measured and measurement_document(measured),
        "seconds": candidate.seconds,
    }


def certainty_document(certainty: Certainty) -> dict[str, Any]:
    """Describe how probable each candidate is, and how sure that is."""
    best = certainty.choice
    return {
        "how": certainty.how.value,
        "by": certainty.by,
        "reliable": certainty.reliable,
        "probabilities": certainty.probabilities,
        "stderr": certainty.stderr,
        "measured": [label for label in certainty.values if label in certainty.measured],
        "log_bayes_factors": {}  # against the answer
        if best is None
        else {
            str(label): {"value": factor.log, "stderr": factor.stderr}
            for label in certainty.values
            for factor in [certainty.bayes_factor(label, best)]
        },
        "notes": list(map(str, certainty.notes)),
    }


def selection_document(selection: Selection) -> dict[str, Any]:
    """Describe a whole selection."""
    names = [s.name for s in selection.scores]
    calibrated = calibration(selection)
    sensitive = [
        {**taken(s, "what", "factor", "probabilities"), "answer": s.choice}
        for s in selection.sensitivity
    ]
    return {
        "data": table_document(selection.table),
        "seed": selection.options.seed,
        "alpha": selection.alpha,
        "candidates": [candidate_document(c) for c in selection.candidates],
        **({} if not selection.failed else {"failed": [asdict(f) for f in selection.failed]}),
        "headline": selection.headline,
        "states": selection.label,
        "certainty": certainty_document(selection.certainty),
        "chosen": selection.chosen,
        "posterior": {name: selection.posterior(name) for name in names},
        "posterior_with_log_k_factorial": {
            n: selection.posterior(n, Labellings.ALL) for n in names
        },
        "calibration": calibrated and taken(calibrated, "errors", "nearest"),
        **({"sensitivity": sensitive} if sensitive else {}),
        "prior_average": _averaged(selection),
        **({} if selection.reach is None else {"reach": asdict(selection.reach)}),
        **range_document(selection),
        **(
            {}
            if selection.misfit is None
            else {"misfit": selection.misfit.document(selection.best.title)}
        ),
        **({} if selection.unit != "classes" else {"used_classes": selection.used}),
        **({} if not selection.ratio_tests else {"bootstrap_tests": _tests(selection)}),
    }


def range_document(selection: Selection) -> dict[str, Any]:
    """Say whether the answer is at the edge of what was tried, and how probable more are."""
    if not all(c.proposal.sizes for c in selection.candidates):
        return {}
    told = taken(selection, "at_least", "at_edge", "more", "extended", "unidentified")
    prior = selection.named_prior
    return {"range": {**told, "limit": ENOUGH, "prior": None if prior is None else str(prior)}}


def _averaged(selection: Selection) -> list[dict[str, float]] | None:
    """Describe the priors that the answer averages over; None: there is one only."""
    grid = selection.grid
    if grid is None or not grid.averages:
        return None
    each = zip(grid.variants, grid.weights, strict=True)
    return [{**asdict(variant), "weight": weight} for variant, weight in each if weight]


def _tests(selection: Selection) -> list[dict[str, Any]]:
    """Describe the tests of each number of states against one less."""
    told = ("statistic", "p_value", "stderr", "exceeding", "asked")
    return [
        {
            "states": k,
            "against": k - 1,
            **taken(test, *told),
            "draws": len(test.replicates),
            "stopped_early": test.stopped,
        }
        for k, test in selection.ratio_tests.items()
    ]


def learned_document(learned: Learned) -> dict[str, Any]:
    """Describe a learned graph."""
    names = [v.name for v in learned.network.variables]
    between = between_numbers_document(learned.between) if learned.between else None
    sensitivity, missing = learned.sensitivity, learned.missingness
    return {
        "log_evidence": learned.log_evidence,
        "graph_prior": learned.graph_prior.value,
        "log_prior": learned.log_prior,
        "complete": learned.complete,
        "score": learned.score.value,
        "csl": learned.csl,
        "measured": None if learned.measured is None else measurement_document(learned.measured),
        "finalists": learned.finalists,
        "bounds": learned.bounds,
        "parents": parents_document(learned.network),
        "compelled": learned.equivalence_class.compelled,
        "reversible": learned.equivalence_class.reversible,
        "exact": learned.exact,
        "families": dict(zip(names, learned.families, strict=True)),
        "steps": learned.steps,
        "families_scored": learned.scored,
        "graphs_fitted": learned.fitted,
        **({"between_numbers": between} if between else {}),
        "sensitivity": sensitivity and taken(sensitivity, "alphas", "differ", "usual"),
        "missing": missing and taken(missing, "share", "tests", "p_value", "column", "other"),
        "flags": list(map(str, learned.flags)),
    }


def between_numbers_document(found: BetweenNumbers) -> dict[str, Any]:
    """Describe the dependence between numbers that a graph leaves out."""
    of_pair = ("one", "other", "correlation", "shape", "p_value")
    return {
        "modelled": False,
        "pairs_tested": found.pairs,
        "unexplained": [taken(pair, *of_pair) for pair in found.unexplained],
    }


def latent_tree_document(found: LatentTree) -> dict[str, Any]:
    """Describe a latent tree, forest or class model."""
    return {
        "shape": found.shape,
        "log_evidence": found.log_evidence,
        "log_evidence_by": found.by,
        "bounds": found.bounds,
        "hidden": found.hidden,
        "parents": parents_document(found.network),
        "graphs_fitted": found.fitted,
        "flags": list(map(str, found.flags)),
    }


def stack_document(found: Stack) -> dict[str, Any]:
    """Describe models that speak together."""
    members = zip(found.ensemble.members, found.held_out.tolist(), strict=True)
    return {
        "held_out_log_likelihood": found.together,
        "folds": found.folds,
        "in_order": found.in_order,
        "members": [
            {"name": m.name, "weight": m.weight, "held_out_log_likelihood": value}
            for m, value in members
        ],
        "flags": list(map(str, found.flags)),
    }


def imputation_document(found: Imputation) -> dict[str, Any]:
    """Describe how holes were filled in; the rows themselves go to the output file."""
    pool = found.pool
    return {
        "holes": found.holes,
        "tables": len(found.all_filled),
        "columns": found.sureness(),
        "weights": {kind.value: weight for kind, weight in pool.weights.items()},
        "nats_per_hidden_cell": {
            **{kind.value: value for kind, value in pool.scores.items()},
            "together": pool.together,
        },
        "members": [{"name": m.name, "weight": m.weight} for m in pool.ensemble.members],
    }


def hidden_document(found: HiddenFound) -> dict[str, Any]:
    """Describe a graph with the hidden variables that were found, if any."""
    factor, averaged = found.factor, found.averaged
    known = factor is not None
    return {
        "hidden": found.hidden,
        "log_evidence": found.log_evidence,
        "log_bayes_factor": _factor_document(factor) if factor else None,
        "averaged_log_bayes_factor": _factor_document(averaged.factor) if known else None,
        "prior_odds": averaged.prior_odds if known else None,
        "probability": found.probability,
        "by_prior": [
            {"alpha": pair.alpha, "without": float(without), "with": float(more)}
            for pair, (without, more) in zip(averaged.pairs, averaged.log_evidence, strict=True)
        ]
        if known
        else [],
        "certainty": certainty_document(found.selection.certainty),
        "parents": parents_document(found.network),
        "without": learned_document(found.without),
    }


def _factor_document(factor: Factor) -> dict[str, float | None]:
    return {"value": factor.log, "stderr": factor.stderr}


def parents_document(network: Network) -> dict[str, list[str]]:
    """Name the parents of each variable."""
    names = [v.name for v in network.variables]
    return {names[i]: [names[p] for p in network.parents[i]] for i in network.shown}


def edges_document(sure: EdgeCertainty) -> dict[str, Any]:
    """Describe how sure each edge is: every pair of variables, the likelier parent first."""
    return {
        "by": sure.by.value,
        **taken(sure, "draws", "chains"),
        "flags": list(map(str, sure.flags)),
        "pairs": [asdict(pair) for pair in sure.pairs()],
    }


def scores_document(scores: Scores) -> dict[str, Any]:
    """Describe the scores of a model."""
    return {
        **taken(scores, "dimension", "log_likelihood", "log_prior"),
        "flags": list(map(str, scores.flags)),
        "scores": {name: evidence_document(e) for name, e in scores.evidence.items()},
        **({} if scores.fit is None else {"refit": fit_document(scores.fit)}),
    }
