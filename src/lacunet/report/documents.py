"""JSON documents of results, for `--json` and `--save`.

A document mostly contains attributes of a result under their names; `described` copies these.
"""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from enum import Enum
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np

from lacunet.api import Imputation, Scores
from lacunet.data import Column, Table
from lacunet.data.design import SamplingDesign
from lacunet.evidence.consistency import Sandwich
from lacunet.evidence.estimate import Measurement
from lacunet.fitting.fit import Fit
from lacunet.flags import Flag
from lacunet.models.network import Network
from lacunet.scores import Evidence
from lacunet.selection.average import ENOUGH, Labellings
from lacunet.selection.candidates import Candidate, Selection
from lacunet.selection.certainty import Certainty, Factor
from lacunet.selection.ensembles import Stack
from lacunet.selection.grids import calibration
from lacunet.selection.hidden_comparison import HiddenFound
from lacunet.structure.edges.certainty import EdgeCertainty
from lacunet.structure.hidden.latent_tree import LatentTree
from lacunet.structure.learned import Learned

T = TypeVar("T")


def to_json(document: Mapping[str, Any]) -> str:
    """Write strict JSON; NaN and infinities become null."""
    return json.dumps(_strict(document), indent=2, ensure_ascii=False, allow_nan=False)


def _strict(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(k): _strict(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(v) for v in value]
    return value


def described(result: object, names: str) -> dict[str, Any]:
    """Return attributes of a result under their names, or renamed by "name=attribute".

    Flags become sentences, members of enumerations their values, arrays lists.

    >>> described(2.5j, "imag other=real")
    {'imag': 2.5, 'other': 0.0}
    """
    pairs = (name.partition("=") for name in names.split())
    return {name: _plain(attrgetter(path or name)(result)) for name, _, path in pairs}


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Flag):
        return str(value)
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {_plain(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_plain(v) for v in value]
    return tuple(map(_plain, value)) if isinstance(value, tuple) else value


def if_given(document: Callable[[T], dict[str, Any]], result: T | None) -> dict[str, Any] | None:
    """Return the document of a result, or None."""
    return None if result is None else document(result)


def table_document(table: Table) -> dict[str, Any]:
    """Describe the data table."""
    columns = [
        {"name": c.name, **_values(c), "missing": float(share)}
        for c, share in ((table.columns[j], table.missing[j]) for j in table.shown)
    ]
    return {
        **described(table, "source rows distinct_rows weight empty_rows"),
        "columns": columns,
        "notes": list(table.notes),
        **(
            {"survey": described(table.survey, "rows total effective design_effect")}
            if table.survey
            else {}
        ),
        **({"design": _design(table.design)} if table.design and table.design.declared else {}),
    }


def _values(column: Column) -> dict[str, Any]:
    """List the categories; for numbers, return the kind and the range."""
    if not column.kind.number:
        return {"states": list(column.states)}
    return {"kind": column.kind.value, "range": [column.states[0], column.states[-1]]}


def _design(design: SamplingDesign) -> dict[str, Any]:
    columns = {"strata": design.strata, "clusters": list(design.clusters)}
    numbers = described(design, "units degrees people alone strata=number_of_strata")
    return {**numbers, "columns": columns}


def evidence_document(evidence: Evidence) -> dict[str, Any]:
    """Describe one score, with its standard error if it was sampled."""
    error = {} if evidence.stderr is None else {"stderr": evidence.stderr}
    return {"value": evidence.value, **error, **described(evidence, "terms flags")}


def measurement_document(measured: Measurement) -> dict[str, Any]:
    """Describe a measurement of the evidence."""
    names = "value one_labelling stderr ess verdict method seconds details notes used_classes=used"
    return described(measured, names)


def sandwich_document(bounds: Sandwich) -> dict[str, Any]:
    """Describe lower and upper bounds of the evidence."""
    return described(bounds, "lower lower_stderr upper upper_stderr gap steps chains seconds")


def fit_document(fit: Fit) -> dict[str, Any]:
    """Describe a fit."""
    return {
        **described(
            fit,
            """log_prior log_posterior estimate iterations log_likelihood=log_lik
            schedule=options.schedule scaled_gradient=gradient starts=options.starts
            final_starts=finalists reached_best=reached""",
        ),
        "status": str(fit.status),
        "flags": list(map(str, (*fit.flags, *fit.mass_flags))),
    }


def candidate_document(candidate: Candidate) -> dict[str, Any]:
    """Describe one candidate."""
    sizes = candidate.fit.model.network.hidden_sizes
    return {
        "label": candidate.label,
        "states": candidate.label if isinstance(candidate.label, int) else sizes,
        "hidden": sizes,
        "dimension": candidate.dimension,
        **fit_document(candidate.fit),
        "scores": {name: evidence_document(e) for name, e in candidate.scores.items()},
        "measured": if_given(measurement_document, candidate.measured),
        "seconds": candidate.seconds,
    }


def certainty_document(certainty: Certainty) -> dict[str, Any]:
    """Describe the posterior probabilities of the candidates and their errors."""
    best, labels = certainty.choice, certainty.values
    against_best = {} if best is None else {str(k): certainty.bayes_factor(k, best) for k in labels}
    return {
        **described(certainty, "how=basis by reliable probabilities stderr notes"),
        "measured": [label for label in labels if label in certainty.measured],
        "log_bayes_factors": {k: factor_document(f) for k, f in against_best.items()},
    }


def factor_document(factor: Factor) -> dict[str, Any]:
    """Describe a log Bayes factor."""
    return described(factor, "stderr value=log")


def selection_document(selection: Selection) -> dict[str, Any]:
    """Describe a whole selection."""
    names = [s.name for s in selection.scores]
    calibrated = calibration(selection)
    sensitive = [
        described(s, "what factor probabilities answer=choice") for s in selection.sensitivity
    ]
    document = {
        "data": table_document(selection.table),
        **described(selection, "alpha headline chosen seed=options.seed states=label"),
        "candidates": [candidate_document(c) for c in selection.candidates],
        "certainty": certainty_document(selection.certainty),
        "posterior": {name: selection.posterior(name) for name in names},
        "posterior_with_log_k_factorial": {
            n: selection.posterior(n, Labellings.ALL) for n in names
        },
        "calibration": calibrated and described(calibrated, "errors nearest"),
        "prior_average": _averaged(selection),
    }
    optional = {
        "failed": [asdict(f) for f in selection.failed],
        "sensitivity": sensitive,
        "reach": selection.reach and asdict(selection.reach),
        "range": _range(selection),
        "misfit": selection.misfit and selection.misfit.document(selection.best.title),
        "bootstrap_tests": _tests(selection),
    }
    document |= {name: value for name, value in optional.items() if value}
    return document | ({} if selection.unit != "classes" else {"used_classes": selection.used})


def _range(selection: Selection) -> dict[str, Any] | None:
    """Describe whether the answer is at the edge of the range, and the mass beyond it."""
    if not all(c.proposal.sizes for c in selection.candidates):
        return None
    prior = selection.named_prior
    return {
        **described(selection, "at_least at_edge more extended unidentified"),
        "limit": ENOUGH,
        "prior": None if prior is None else str(prior),
    }


def _averaged(selection: Selection) -> list[dict[str, float]] | None:
    """Describe the priors of the model average; None if there is only one."""
    grid = selection.grid
    if grid is None or not grid.averages:
        return None
    each = zip(grid.variants, grid.weights, strict=True)
    return [{**asdict(variant), "weight": weight} for variant, weight in each if weight]


def _tests(selection: Selection) -> list[dict[str, Any]]:
    """Describe the bootstrap tests of k states against k − 1."""
    names = "statistic p_value stderr exceeding asked draws=replicates.size stopped_early=stopped"
    return [
        {"states": k, "against": k - 1, **described(test, names)}
        for k, test in selection.ratio_tests.items()
    ]


def learned_document(learned: Learned) -> dict[str, Any]:
    """Describe a learned graph."""
    names = [v.name for v in learned.network.variables]
    between, sensitivity, missing = learned.between, learned.sensitivity, learned.missingness
    of_pair = "one other correlation shape p_value"
    unexplained = (
        {}
        if not between
        else {
            "between_numbers": {
                "modelled": False,
                "pairs_tested": between.pairs,
                "unexplained": [described(pair, of_pair) for pair in between.unexplained],
            }
        }
    )
    return {
        **described(
            learned,
            """log_evidence graph_prior log_prior complete score csl finalists bounds exact steps
            families_scored=scored graphs_fitted=fitted""",
        ),
        "measured": if_given(measurement_document, learned.measured),
        "parents": parents_document(learned.network),
        "compelled": learned.equivalence_class.compelled,
        "reversible": learned.equivalence_class.reversible,
        "families": dict(zip(names, learned.families, strict=True)),
        **unexplained,
        "sensitivity": sensitivity and described(sensitivity, "alphas differ usual"),
        "missing": missing and described(missing, "share tests p_value column other"),
        "flags": list(map(str, learned.flags)),
    }


def latent_tree_document(tree: LatentTree) -> dict[str, Any]:
    """Describe a latent tree, forest or class model."""
    return {
        **described(
            tree, "shape log_evidence bounds hidden flags log_evidence_by=by graphs_fitted=fitted"
        ),
        "parents": parents_document(tree.network),
    }


def stack_document(stack: Stack) -> dict[str, Any]:
    """Describe the models of a stack, their weights, and their held-out log likelihoods."""
    members = zip(stack.ensemble.members, stack.held_out.tolist(), strict=True)
    return {
        **described(stack, "folds in_order flags held_out_log_likelihood=together"),
        "members": [
            {**described(m, "name weight"), "held_out_log_likelihood": value}
            for m, value in members
        ],
    }


def imputation_document(imputation: Imputation) -> dict[str, Any]:
    """Describe an imputation; the output file has the rows."""
    cell_stack = imputation.cell_stack
    return {
        "holes": imputation.missing_cells,
        "tables": len(imputation.all_filled),
        "columns": imputation.sureness(),
        "weights": _plain(cell_stack.weights),
        "nats_per_hidden_cell": {**_plain(cell_stack.scores), "together": cell_stack.together},
        "members": [described(m, "name weight") for m in cell_stack.ensemble.members],
    }


def hidden_document(result: HiddenFound) -> dict[str, Any]:
    """Describe a graph with its hidden variables, if any."""
    averaged = result.averaged if result.factor is not None else None
    by_prior = zip(averaged.pairs, averaged.log_evidence, strict=True) if averaged else ()
    return {
        **described(result, "hidden log_evidence probability"),
        "log_bayes_factor": if_given(factor_document, result.factor),
        "averaged_log_bayes_factor": averaged and factor_document(averaged.factor),
        "prior_odds": averaged and averaged.prior_odds,
        "by_prior": [
            {"alpha": pair.alpha, "without": float(without), "with": float(more)}
            for pair, (without, more) in by_prior
        ],
        "certainty": certainty_document(result.selection.certainty),
        "parents": parents_document(result.network),
        "without": learned_document(result.without),
    }


def parents_document(network: Network) -> dict[str, list[str]]:
    """Name the parents of each variable."""
    names = [v.name for v in network.variables]
    return {names[i]: [names[p] for p in network.parents[i]] for i in network.shown}


def edges_document(sure: EdgeCertainty) -> dict[str, Any]:
    """Describe edge probabilities for each pair of variables, the likelier parent first."""
    pairs = [asdict(pair) for pair in sure.pairs()]
    return {**described(sure, "by draws chains flags"), "pairs": pairs}


def scores_document(scores: Scores) -> dict[str, Any]:
    """Describe the scores of a model."""
    return {
        **described(scores, "dimension log_likelihood log_prior flags"),
        "scores": {name: evidence_document(e) for name, e in scores.evidence.items()},
        **({} if scores.fit is None else {"refit": fit_document(scores.fit)}),
    }
