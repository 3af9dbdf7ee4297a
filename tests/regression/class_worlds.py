"""Data in which covariates predict classes, with known truth."""

import numpy as np
import pandas as pd

TRUTH = {  # log odds of classes 2 and 3 against 1: intercept, age (from 40, by the year), S, W
    "coefficients": np.array([[0.0, 0.0, 0.0, 0.0], [-0.2, 0.04, 0.0, 0.6], [-0.8, 0.1, 0.3, 0.3]]),
    "profiles": np.array(
        [
            [0.1, 0.9, 0.2, 0.1, 0.8, 0.2],
            [0.9, 0.8, 0.9, 0.2, 0.1, 0.8],
            [0.2, 0.1, 0.3, 0.9, 0.8, 0.8],
        ]
    ),
}


def people(n, seed, *, missing=0.0):
    """Draw people: age, region, six answers, and which class each is of."""
    rng = np.random.default_rng(seed)
    age, region = rng.normal(40, 12, n).round(), rng.integers(0, 3, n)
    design = np.column_stack([np.ones(n), age - 40, region == 1, region == 2])
    weight = np.exp(design @ TRUTH["coefficients"].T)
    cut = np.cumsum(weight / weight.sum(axis=1, keepdims=True), axis=1)
    z = (rng.random((n, 1)) > cut[:, :-1]).sum(axis=1)
    answers = (rng.random((n, 6)) < TRUTH["profiles"][z]).astype(float)
    answers[rng.random(answers.shape) < missing] = np.nan
    frame = pd.DataFrame(answers, columns=[f"y{j}" for j in range(6)]).astype("Int64")
    frame["age"], frame["region"] = age, np.array(["N", "S", "W"])[region]
    return frame, z
