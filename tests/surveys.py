"""People drawn in clusters from strata, with weights; and textbook formulas for them."""

import numpy as np
import pandas as pd

YES = np.array([[0.85, 0.8, 0.75, 0.9, 0.7], [0.2, 0.3, 0.15, 0.25, 0.3]])  # classes, items


def clustered(
    seed=0, *, strata=4, units=6, people=15, spread=1.0, missing=0.0, items=5, income=False
):
    """A frame of answers, stratum, unit and weight: classes go with units, weights with answers."""
    rng = np.random.default_rng(seed)
    unit = np.repeat(np.arange(strata * units), people)
    level = rng.normal(0.0, spread, strata * units)
    share = 1.0 / (1.0 + np.exp(-level))
    group = (rng.random(len(unit)) > share[unit]).astype(int)
    answers = (rng.random((len(unit), items)) < YES[group][:, :items]).astype(float)
    frame = pd.DataFrame(answers, columns=list("ABCDE")[:items])
    frame = frame.mask(rng.random(frame.shape) < missing)
    frame["stratum"] = np.array([f"region {h}" for h in range(strata)])[unit // units]
    frame["unit"] = unit + 100
    frame["w"] = rng.gamma(4.0, 1.0, len(unit)) * (1.0 + 0.5 * group) * (1 + unit // units)
    if income:  # which goes with the class, and with the unit
        known = 30 + 10 * group + 3 * rng.normal(size=strata * units)[unit]
        frame["income"] = (known + rng.normal(0, 5, len(unit))).round(1)
    return frame


def spread_of(z, stratum, unit):
    """Σ_h n_h/(n_h − 1) Σ_i (z_hi − z̄_h)(…)ᵀ, for z of rows, (rows, d): loops, as in textbooks."""
    result = np.zeros((z.shape[1],) * 2)
    for h in sorted(set(stratum)):
        here = [i for i in sorted(set(unit)) if (np.asarray(stratum)[unit == i] == h).all()]
        totals = np.array([z[unit == i].sum(axis=0) for i in here])
        apart = totals - totals.mean(axis=0)
        result += len(here) / (len(here) - 1) * apart.T @ apart
    return result
