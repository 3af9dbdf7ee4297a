"""The JSON document of a latent class regression."""

from typing import Any

from lacunet.selection.regression import ClassRegression
from lacunet.tabular import described


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
