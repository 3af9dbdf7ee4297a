"""Information criteria as other programs print them: minus twice the log-likelihood, so LOWER wins.

They are no scores of ours: every score of `lacunet.scores` is an approximation of log p(D|S), where
higher is better (its `bic` is −½ times the BIC here). To keep the two apart these live in tables of
their own, "fit statistics", whose title says which way is better.
"""

import math

LOWER = "lower is better"

FORMULAS = {
    "AIC": "−2 log L + 2 d",
    "AIC3": "−2 log L + 3 d",
    "BIC": "−2 log L + d log N",
    "CAIC": "−2 log L + d (log N + 1)",
    "SABIC": "−2 log L + d log((N + 2)/24)",
}


def criteria(log_lik: float, dimension: int, cases: float) -> dict[str, float]:
    """Give each criterion by its name, from log L at its maximum, d, and N (the total weight).

    >>> {name: round(x, 2) for name, x in criteria(-100.0, 3, 50).items()}
    {'AIC': 206.0, 'AIC3': 209.0, 'BIC': 211.74, 'CAIC': 214.74, 'SABIC': 202.32}
    """
    penalties = {
        "AIC": 2.0,
        "AIC3": 3.0,
        "BIC": math.log(cases),
        "CAIC": math.log(cases) + 1.0,
        "SABIC": math.log((cases + 2.0) / 24.0),
    }
    return {name: -2.0 * log_lik + dimension * p for name, p in penalties.items()}
