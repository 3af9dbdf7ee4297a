"""What describes a fit, as JSON documents: intervals, fit statistics, tests, readings of holes."""

from typing import Any

from lacunet.models.network import Variable
from lacunet.report.documents import evidence_document, fit_document, table_document, taken
from lacunet.selection.forecasting import Forecast
from lacunet.selection.hole_readings import MissingComparison
from lacunet.selection.paper_tables import Criteria
from lacunet.summaries.intervals import Interval, Intervals
from lacunet.summaries.ratio_tests import RatioTest
from lacunet.summaries.statistics import LOWER, Classification, FitStatistics

VUONG = ("statistic", "p_value", "adjusted", "adjusted_p", "mean", "deviation")


def intervals_document(intervals: Intervals) -> dict[str, Any]:
    """Describe standard errors and intervals: a table of each for every variable."""
    network = intervals.model.network
    return {
        "estimate": intervals.estimate.value,
        "level": intervals.level,
        "method": intervals.method,
        "bootstrap": intervals.replicates,
        **({} if intervals.design is None else {"design_effect": intervals.design.overall}),
        "flags": list(map(str, intervals.flags)),
        "variables": {
            v.name: {
                "parents": [network.variables[p].name for p in network.parents[i]],
                **_intervals_of(intervals, v),
            }
            for i, v in ((i, network.variables[i]) for i in network.shown)
        },
    }


def _intervals_of(intervals: Intervals, v: Variable) -> dict[str, Any]:
    """Intervals of the states of a variable, or of what is told of a number, by its title."""
    if v.family.tabular:
        return {"states": list(v.labels), **_lists(intervals.table(v.name))}
    return {title: _lists(told) for title, told in intervals.told(v.name).items()}


def _lists(interval: Interval) -> dict[str, Any]:
    return {name: x.tolist() for name, x in interval._asdict().items() if x is not None}


def forecast_document(forecast: Forecast) -> dict[str, Any]:
    """Describe what work would take."""
    return {
        "dry_run": True,
        "rows": forecast.rows,
        "distinct_rows": forecast.distinct_rows,
        "columns": forecast.columns,
        "engine": forecast.engine,
        "workers": forecast.workers,
        "memory": forecast.memory,
        "table_bytes": forecast.table_bytes,
        "reading_seconds": forecast.reading,
        "estimated_seconds": forecast.seconds,
        "estimated_seconds_of_scores": forecast.scoring,
        "measured": None if forecast.measuring is None else forecast.measuring.what,
        "sampling_at_most": forecast.sampling,
        "fits_of_drawn_data_at_most": forecast.drawn,
        "total_seconds": forecast.total,
        "fits": [
            {
                "candidate": fit.label,
                "parameters": fit.parameters,
                "components": fit.components,
                "memory": fit.memory,
                "em_step": fit.step,
                "estimated_steps": fit.steps,
                "estimated_seconds": fit.seconds,
                "estimated_seconds_of_scores": fit.scores,
            }
            for fit in forecast.fits
        ],
    }


def classification_document(classification: Classification) -> dict[str, Any]:
    """Describe how well rows are told apart by one hidden variable."""
    return {
        "states": list(classification.states),
        "entropy_r2": classification.entropy_r2,
        "classification_error": classification.error,
        "given": classification.given.tolist(),
        "expected": classification.sizes.tolist(),
        "average_posterior": classification.average.tolist(),
        "expected_cases": classification.expected.tolist(),
    }


def statistics_document(statistics: FitStatistics) -> dict[str, Any]:
    """Describe fit statistics."""
    fit = statistics.goodness
    return {
        "log_likelihood": statistics.log_lik,
        "dimension": statistics.dimension,
        "cases": statistics.cases,
        "criteria": {"convention": LOWER, **statistics.criteria},
        "classification": {c.name: classification_document(c) for c in statistics.classification},
        "goodness_of_fit": fit
        and taken(fit, "g2", "x2", "df", "p_g2", "p_x2", "cells", "patterns"),
        "bivariate_residuals": statistics.residuals
        and [
            {"columns": [r.first, r.second], **taken(r, "value", "x2", "df")}
            for r in statistics.residuals
        ],
    }


def criteria_document(criteria: Criteria) -> dict[str, Any]:
    """Describe the criteria of every candidate of a selection."""
    return {
        "convention": LOWER,
        "chosen": criteria.chosen,
        "candidates": [
            {
                "label": c.candidate.label,
                **c.criteria,
                "classification": {v.name: classification_document(v) for v in c.classification},
            }
            for c in criteria.candidates
        ],
    }


def ratio_document(test: RatioTest) -> dict[str, Any]:
    """Describe a bootstrap likelihood-ratio test."""
    return {
        "variable": test.variable,
        "states": list(test.states),
        **taken(test, "statistic", "p_value", "stderr", "exceeding"),
        "replicates": test.replicates.tolist(),
        "asked": test.asked,
        "stopped_early": test.stopped,
        "seed": test.small.options.seed,
        "vlmr": test.vuong and taken(test.vuong, *VUONG),
        "fits": [fit_document(test.small), fit_document(test.large)],
        "flags": list(map(str, test.flags)),
    }


def missing_document(comparison: MissingComparison) -> dict[str, Any]:
    """Describe the comparison of the two readings of holes."""
    return {
        "data": table_document(comparison.table),
        **taken(comparison, "hidden", "headline", "log_bayes_factor", "log_bayes_factors"),
        "columns": [
            {
                "name": c.name,
                "missing": c.missing,
                "alone": dict(c.alone),
                "given_others": c.given_others and dict(c.given_others),
            }
            for c in comparison.columns
        ],
        "readings": {
            str(c.label): {
                "dimension": c.dimension,
                **fit_document(c.fit),
                "scores": {name: evidence_document(e) for name, e in c.scores.items()},
            }
            for c in comparison.selection.candidates
        },
    }
