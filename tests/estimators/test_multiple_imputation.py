"""Rubin's rules on tables that were drawn: intervals hold the truth as often as they say."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lacunet import Imputer

TABLES, ROWS, DRAWS = 80, 200, 10
LEVEL = 0.95


def population(rng, rows=ROWS):
    """Three answers that two groups give differently, and one that says which are left out."""
    group = rng.random(rows) < 0.4
    whole = np.where(rng.random((rows, 4)) < np.where(group, 0.8, 0.25)[:, None], "yes", "no")
    missing = np.zeros(whole.shape, dtype=bool)
    more = np.where(whole[:, 3] == "yes", 0.45, 0.1)  # at random, given what is shown
    missing[:, :2] = rng.random((rows, 2)) < more[:, None]
    return pd.DataFrame(whole, columns=list("abcd")).mask(missing)


def rubin(estimates, variances):
    """The estimate, and half of its interval."""
    m, within, between = len(estimates), np.mean(variances), np.var(estimates, ddof=1)
    total = within + (1 + 1 / m) * between
    degrees = (m - 1) * (1 + within / ((1 + 1 / m) * between)) ** 2 if between > 0 else np.inf
    return np.mean(estimates), stats.t.ppf((1 + LEVEL) / 2, degrees) * np.sqrt(total)


def shares(table):
    """p(a), and p(a | b) − p(a | not b), each with its variance."""
    a, b = table["a"] == "yes", table["b"] == "yes"
    p, given, other = a.mean(), a[b].mean(), a[~b].mean()
    apart = given * (1 - given) / b.sum() + other * (1 - other) / (~b).sum()
    return (p, given - other), (p * (1 - p) / len(a), apart)


@pytest.mark.slow
@pytest.mark.long
def test_intervals_cover_the_truth_at_their_level():
    yes = 0.4 * 0.8 + 0.6 * 0.25
    both = 0.4 * 0.8**2 + 0.6 * 0.25**2
    truth = np.array([yes, both / yes - (yes - both) / (1 - yes)])
    held, alone = np.zeros(2), np.zeros(2)
    for seed in range(TABLES):
        X = population(np.random.default_rng([seed, 7]))
        imputer = Imputer("classes", random_state=seed, n_jobs=1).fit(X)
        drawn = [shares(table) for table in imputer.draw(X, n_imputations=DRAWS)]
        for j in range(2):
            estimate, half = rubin(*zip(*((e[j], v[j]) for e, v in drawn), strict=True))
            held[j] += abs(estimate - truth[j]) <= half
        (_, one), (_, variance) = shares(imputer.transform(X))
        alone[1] += abs(one - truth[1]) <= 1.96 * np.sqrt(variance)
    slack = 3 * np.sqrt(LEVEL * (1 - LEVEL) / TABLES)
    assert (held / TABLES > LEVEL - slack).all(), held / TABLES
    assert alone[1] < held[1], (alone, held)  # one table, filled in, is too sure of itself
