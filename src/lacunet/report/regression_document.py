"""What predicts classes, as JSON documents."""

from typing import Any

from lacunet.report.descriptions import classification_document
from lacunet.report.documents import evidence_document, measurement_document
from lacunet.selection.regression.class_regression import ClassRegression
from lacunet.summaries.regression.coefficients import Coefficients, WaldTest
from lacunet.summaries.three_step.outcome import Outcome
from lacunet.summaries.three_step.three_steps import ThreeStep


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
