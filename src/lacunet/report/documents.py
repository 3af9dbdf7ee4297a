"""The JSON document of a latent class regression."""

from typing import Any

from lacunet.selection.covariates import ClassRegression
from lacunet.tabular import described


def regression_document(regression: ClassRegression) -> dict[str, Any]:
    """Describe a latent class regression."""
    fit = regression.fit
    return {
        **described(
            regression,
            """dimension criteria flags log_likelihood=log_lik coefficients classification
            evidence=weighed.approximated measured_evidence=weighed.measured
            class_sizes=classification.sizes coefficient_sd=classes.logit.coefficient_sd
            class_size_exponent=classes.logit.exponent""",
        ),
        **described(
            fit,
            """estimate scaled_gradient=gradient final_starts=finalists reached_best=reached
            status""",
        ),
        "log_bayes_factors": {
            w.name: described(w, "stderr value=log_bayes_factor") for w in regression.worth
        },
        "seconds": {"em": fit.seconds},
    }
