"""What describes a fit, as JSON documents: intervals, fit statistics, tests, readings of holes."""

from __future__ import annotations

from typing import Any

from lacunet.describe.bootstrap_test import RatioTest
from lacunet.describe.classification import Classification
from lacunet.describe.information_criteria import LOWER
from lacunet.describe.intervals import Intervals
from lacunet.describe.statistics import FitStatistics
from lacunet.report.documents import evidence_document, fit_document, table_document
from lacunet.search.candidate_criteria import Criteria
from lacunet.search.hole_readings import MissingComparison


def intervals_document(found: Intervals) -> dict[str, Any]:
    """Describe standard errors and intervals: a table of each for every variable."""
    network = found.model.network
    return {
        "estimate": found.estimate.value,
        "level": found.level,
        "method": found.method,
        "bootstrap": found.replicates,
        "flags": list(map(str, found.flags)),
        "variables": {
            v.name: {
                "parents": [network.variables[p].name for p in network.parents[i]],
                "states": list(v.labels),
                **{name: x.tolist() for name, x in found.table(v.name)._asdict().items()},
            }
            for i, v in enumerate(network.variables)
        },
    }


def classification_document(found: Classification) -> dict[str, Any]:
    """Describe how well rows are told apart by one hidden variable."""
    return {
        "states": list(found.states),
        "entropy_r2": found.entropy_r2,
        "classification_error": found.error,
        "given": found.given.tolist(),
        "expected": found.sizes.tolist(),
        "average_posterior": found.average.tolist(),
        "expected_cases": found.expected.tolist(),
    }


def statistics_document(found: FitStatistics) -> dict[str, Any]:
    """Describe fit statistics."""
    fit = found.goodness
    return {
        "log_likelihood": found.log_lik,
        "dimension": found.dimension,
        "cases": found.cases,
        "criteria": {"convention": LOWER, **found.criteria},
        "classification": {c.name: classification_document(c) for c in found.classification},
        "goodness_of_fit": fit
        and {
            "g2": fit.g2,
            "x2": fit.x2,
            "df": fit.df,
            "p_g2": fit.p_g2,
            "p_x2": fit.p_x2,
            "cells": fit.cells,
            "patterns": fit.patterns,
        },
        "bivariate_residuals": found.residuals
        and [
            {"columns": [r.first, r.second], "value": r.value, "x2": r.x2, "df": r.df}
            for r in found.residuals
        ],
    }


def criteria_document(found: Criteria) -> dict[str, Any]:
    """Describe the criteria of every candidate of a selection."""
    return {
        "convention": LOWER,
        "chosen": found.chosen,
        "candidates": [
            {
                "label": c.candidate.label,
                **c.criteria,
                "classification": {v.name: classification_document(v) for v in c.classification},
            }
            for c in found.candidates
        ],
    }


def ratio_document(found: RatioTest) -> dict[str, Any]:
    """Describe a bootstrap likelihood-ratio test."""
    return {
        "variable": found.variable,
        "states": list(found.states),
        "statistic": found.statistic,
        "p_value": found.p_value,
        "exceeding": found.exceeding,
        "replicates": found.replicates.tolist(),
        "asked": found.asked,
        "stopped_early": found.stopped,
        "seed": found.small.options.seed,
        "fits": [fit_document(found.small), fit_document(found.large)],
        "flags": list(map(str, found.flags)),
    }


def missing_document(found: MissingComparison) -> dict[str, Any]:
    """Describe the comparison of the two readings of holes."""
    return {
        "data": table_document(found.table),
        "hidden": found.hidden,
        "headline": found.headline,
        "log_bayes_factor": found.log_bayes_factor,
        "log_bayes_factors": found.log_bayes_factors,
        "columns": [
            {
                "name": c.name,
                "missing": c.missing,
                "alone": dict(c.alone),
                "given_others": c.given_others and dict(c.given_others),
            }
            for c in found.columns
        ],
        "readings": {
            str(c.label): {
                "dimension": c.dimension,
                **fit_document(c.fit),
                "scores": {name: evidence_document(e) for name, e in c.scores.items()},
            }
            for c in found.selection.candidates
        },
    }
