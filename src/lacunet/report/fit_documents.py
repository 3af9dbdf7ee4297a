"""JSON documents of intervals, tests, query answers, row assignments and group comparisons."""

from typing import Any

from lacunet.api import Answer, Assigned, Assignment, MostProbable, NumberAnswer, Separations
from lacunet.api.results import Unusual
from lacunet.data.design import flags_of
from lacunet.models.network import Variable
from lacunet.report.documents import (
    certainty_document,
    described,
    evidence_document,
    fit_document,
    if_given,
    measurement_document,
    table_document,
)
from lacunet.selection.effects import DirectEffects, Trial
from lacunet.selection.forecasting import Forecast
from lacunet.selection.group_comparison import GroupComparison
from lacunet.selection.groups import Level
from lacunet.selection.hole_readings import MissingComparison
from lacunet.selection.paper_tables import Criteria
from lacunet.selection.regression import ClassRegression
from lacunet.summaries.coefficients import Coefficients, WaldTest
from lacunet.summaries.intervals import Interval, Intervals
from lacunet.summaries.ratio_tests import LikelihoodRatio, RatioTest
from lacunet.summaries.statistics import LOWER, Classification, FitStatistics
from lacunet.summaries.three_steps import Outcome, ThreeStep


def intervals_document(intervals: Intervals) -> dict[str, Any]:
    """Describe standard errors and intervals: a table of each for every variable."""
    network = intervals.model.network
    design = intervals.design
    return {
        **described(intervals, "estimate level method flags bootstrap=replicates"),
        **({} if design is None else {"design_effect": design.overall}),
        "variables": {
            v.name: {
                "parents": [network.variables[p].name for p in network.parents[i]],
                **_intervals_of(intervals, v),
            }
            for i, v in ((i, network.variables[i]) for i in network.shown)
        },
    }


def _intervals_of(intervals: Intervals, v: Variable) -> dict[str, Any]:
    """Return the intervals of a variable's categories, or of a number's summaries by title."""
    if v.family.tabular:
        return {"states": list(v.labels), **_lists(intervals.table(v.name))}
    return {title: _lists(summary) for title, summary in intervals.summaries(v.name).items()}


def _lists(interval: Interval) -> dict[str, Any]:
    return {name: x.tolist() for name, x in interval._asdict().items() if x is not None}


def forecast_document(forecast: Forecast) -> dict[str, Any]:
    """Describe the forecast time and memory of a run."""
    return {
        "dry_run": True,
        **described(
            forecast,
            """rows distinct_rows columns engine workers memory table_bytes reading_seconds=reading
            estimated_seconds=seconds estimated_seconds_of_scores=scoring
            sampling_at_most=sampling fits_of_drawn_data_at_most=drawn total_seconds=total""",
        ),
        "measured": None if forecast.measuring is None else forecast.measuring.what,
        "fits": [
            described(
                fit,
                """parameters components memory candidate=label em_step=step estimated_steps=steps
                estimated_seconds=seconds estimated_seconds_of_scores=scores""",
            )
            for fit in forecast.fits
        ],
    }


def classification_document(classification: Classification) -> dict[str, Any]:
    """Describe the classification of rows by one hidden variable."""
    return described(
        classification,
        """states entropy_r2 given classification_error=error expected=sizes
        average_posterior=average expected_cases=expected""",
    )


def statistics_document(statistics: FitStatistics) -> dict[str, Any]:
    """Describe fit statistics."""
    fit, residuals = statistics.goodness, statistics.residuals
    return {
        **described(statistics, "dimension cases log_likelihood=log_lik"),
        "criteria": {"convention": LOWER, **statistics.criteria},
        "classification": {c.name: classification_document(c) for c in statistics.classification},
        "goodness_of_fit": fit and described(fit, "g2 x2 df p_g2 p_x2 cells patterns"),
        "bivariate_residuals": residuals
        and [{"columns": [r.first, r.second], **described(r, "value x2 df")} for r in residuals],
    }


def criteria_document(criteria: Criteria) -> dict[str, Any]:
    """Describe the criteria of every candidate of a selection."""
    candidates = [
        {
            "label": c.candidate.label,
            **c.criteria,
            "classification": {v.name: classification_document(v) for v in c.classification},
        }
        for c in criteria.candidates
    ]
    return {"convention": LOWER, "chosen": criteria.chosen, "candidates": candidates}


def bootstrap_document(test: RatioTest) -> dict[str, Any]:
    """Describe a bootstrap likelihood-ratio test."""
    vuong = "statistic p_value adjusted adjusted_p mean deviation"
    return {
        **described(
            test,
            """variable states statistic p_value stderr exceeding replicates asked flags
            stopped_early=stopped seed=small.options.seed""",
        ),
        "vlmr": test.vuong and described(test.vuong, vuong),
        "fits": [fit_document(test.small), fit_document(test.large)],
    }


def missing_document(comparison: MissingComparison) -> dict[str, Any]:
    """Describe the comparison of missing at random and missing as a state."""
    names = "hidden headline log_bayes_factor log_bayes_factors"
    return {
        "data": table_document(comparison.table),
        **described(comparison, names),
        "columns": [described(c, "name missing alone given_others") for c in comparison.columns],
        "readings": {
            str(c.label): {
                "dimension": c.dimension,
                **fit_document(c.fit),
                "scores": {name: evidence_document(e) for name, e in c.scores.items()},
            }
            for c in comparison.selection.candidates
        },
    }


def assignment_document(assignment: Assignment) -> dict[str, Any]:
    """Describe an assignment; the output file has the rows."""

    def sizes(v: Assigned) -> dict[str, int]:
        return {name: int((v.best[v.missing] == k).sum()) for k, name in enumerate(v.states)}

    numbers = {v.name: int(v.missing.sum()) for v in assignment.numbers}  # imputed cells
    return {
        "rows": assignment.rows,
        "classes": sizes(assignment.variables[0]) if assignment.variables else {},
        "variables": {v.name: sizes(v) for v in assignment.variables},
        **({"numbers": numbers} if numbers else {}),
        "impossible": assignment.impossible,
        **({} if assignment.unusual is None else unusual_document(assignment.unusual)),
    }


def unusual_document(unusual: Unusual) -> dict[str, Any]:
    """Return the number of unusual rows, with a note if there is one."""
    return {"unusual": unusual.rare, **({"note": unusual.note} if unusual.note else {})}


def answer_document(answer: Answer | NumberAnswer) -> dict[str, Any]:
    """Describe the joint distribution of some variables, or the moments of a number."""
    given = {**answer.known.document(), "log_probability_of_given": answer.log_known}
    if isinstance(answer, NumberAnswer):
        moments = zip(answer.titles, (answer.mean, answer.spread), strict=True)
        return {"of": [answer.name], **given, **dict(moments)}
    return {
        "of": [v.name for v in answer.variables],
        **given,
        "states": {v.name: list(v.labels) for v in answer.variables},
        "probabilities": answer.probabilities.tolist(),  # nested, in the order of `of`
    }


def most_probable_document(answer: MostProbable) -> dict[str, Any]:
    """Describe the most probable states."""
    names = "log_probability_of_given=log_known most_probable=states probability log_probability"
    return {"of": list(answer.states), **answer.known.document(), **described(answer, names)}


def separations_document(separations: Separations) -> dict[str, Any]:
    """Describe which pairs of variables are d-separated."""
    pairs = [
        {"variables": list(pair), "d_separated": apart} for pair, apart in separations.pairs.items()
    ]
    return {**described(separations, "given do"), "pairs": pairs}


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
        **described(trial, "edge step adds kept change_of_bic needs=price"),
        "log_bayes_factor": trial.gain if gain is None else gain,
        "test": if_given(ratio_document, trial.ratio),
    }


def ratio_document(ratio: LikelihoodRatio) -> dict[str, Any]:
    """Describe a likelihood-ratio test."""
    return described(ratio, "statistic df p_value probabilities_at_edge=at_edge")


def group_document(comparison: GroupComparison) -> dict[str, Any]:
    """Describe the comparison of classes between groups."""
    alignment = comparison.alignment
    return {
        **described(comparison, "group groups cases flags answer=level free_items=free"),
        "models": {str(f.level): _level(comparison, f.level) for f in comparison.levels.fits},
        "certainty": certainty_document(comparison.certainty),
        "sets": [
            {
                "free_items": list(names),
                "log_bayes_factor": comparison.log_factor(names),  # against none
                "probability": probability,
            }
            for names, probability in comparison.set_probabilities.items()
        ],
        "tests": [
            {"model": str(t.narrow), "against": str(t.wide), **ratio_document(t.ratio)}
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
        "measured_evidence": if_given(measurement_document, candidate.measured),
        "free_items": list(comparison.grouped(level).free),
        "class_sizes": comparison.sizes(level).tolist(),
        "parents": {
            v.name: [network.variables[p].name for p in network.parents[i]]
            for i, v in enumerate(network.variables)
        },
        "tables": {v.name: candidate.model.table(v.name).tolist() for v in network.variables},
        "fit": fit_document(candidate.fit),
    }


def regression_document(regression: ClassRegression) -> dict[str, Any]:
    """Describe a latent class regression."""
    fit = regression.fit
    return {
        **described(regression, "dimension criteria flags log_likelihood=log_lik"),
        **described(
            fit,
            """estimate=objective.estimate scaled_gradient=gradient final_starts=finalists
            reached_best=reached coefficient_sd=given.coefficient_sd
            class_size_exponent=given.exponent""",
        ),
        "status": str(fit.outcome),
        "coefficients": coefficients_document(regression.coefficients),
        "evidence": evidence_document(regression.weighed.approximated),
        "measured_evidence": if_given(measurement_document, regression.weighed.measured),
        "log_bayes_factors": {
            w.name: described(w, "stderr value=log_bayes_factor") for w in regression.worth
        },
        "classification": classification_document(regression.classification),
        "class_sizes": regression.classification.sizes.tolist(),
        "seconds": {"em": fit.seconds},
    }


def coefficients_document(coefficients: Coefficients) -> dict[str, Any]:
    """Describe the coefficients of a latent class regression."""
    low, high = coefficients.interval
    return {
        **described(
            coefficients,
            """classes level method estimate stderr flags columns=titles odds_ratio=odds_ratios
            p_value=p_values why=identified.words""",
        ),
        "reference": coefficients.classes[coefficients.reference],
        "low": low.tolist(),
        "high": high.tolist(),
        "tests": [wald_document(test) for test in coefficients.tests],
    }


def wald_document(test: WaldTest) -> dict[str, Any]:
    """Describe a Wald test."""
    return {**test._asdict(), "why": test.why or None}


def three_step_document(result: ThreeStep) -> dict[str, Any]:
    """Describe the classes, outcomes and covariates of a three-step analysis."""
    return {
        **described(
            result,
            """notes assignment=assigning classes=rows.classes class_sizes=rows.every_size
            given=rows.every_error flags=rows.flags""",
        ),
        "coefficients": if_given(coefficients_document, result.coefficients),
        "outcomes": {name: outcome_document(x) for name, x in result.outcomes.items()},
    }


def outcome_document(outcome: Outcome) -> dict[str, Any]:
    """Describe an outcome by class."""
    low, high = outcome.interval
    return {
        **described(
            outcome,
            "correction cases missing level estimate stderr flags of=titles why=identified.words",
        ),
        "low": low.tolist(),
        "high": high.tolist(),
        "equality": wald_document(outcome.equality),
        "pairs": [wald_document(test) for test in outcome.pairs],
    }
