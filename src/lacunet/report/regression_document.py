"""What predicts classes, as JSON documents."""

from typing import Any

from lacunet.describe.regression.coefficients import Coefficients, WaldTest
from lacunet.report.descriptions import classification_document
from lacunet.report.documents import evidence_document, measurement_document
from lacunet.search.regression.class_regression import ClassRegression


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
        "tests": [wald_document(test) for test in found.tests],
    }


def wald_document(test: WaldTest) -> dict[str, Any]:
    """Describe a test."""
    return test._asdict()
