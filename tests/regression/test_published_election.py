"""Latent class regression as poLCA publishes it: the election data, with and without covariates.

Log-likelihoods are those of poLCA's documentation and of the commands of Linzer & Lewis (2011),
coefficients and standard errors those of the model with one covariate that the paper prints.
"""

import numpy as np
import pytest

import lacunet
from election import ITEMS, election

COEFFICIENTS = [[-3.81813, 0.79327], [1.16155, -0.57436]]  # of classes 2 and 3: intercept, PARTY
ERRORS = [[0.31109, 0.06232], [0.17989, 0.06401]]  # from the outer product of scores


@pytest.fixture(scope="module")
def people():
    return election()


@pytest.fixture(scope="module")
def complete(people):
    """The rows that poLCA uses: it leaves out those with a missing value."""
    return people[[*ITEMS, "PARTY"]].dropna()


@pytest.fixture(scope="module")
def by_party(complete):
    return lacunet.fit(complete, 3, covariates="~ PARTY", estimate="ml", starts=4)


@pytest.mark.parametrize(("classes", "log_lik"), [(1, -18647.31), (2, -17344.92), (3, -16714.66)])
def test_classes_alone(people, classes, log_lik):
    rows = people[ITEMS].dropna()
    assert len(rows) == 1311
    assert round(lacunet.fit(rows, classes, estimate="ml").log_lik, 2) == log_lik


def test_one_covariate(by_party):
    assert round(by_party.log_lik, 2) == -16222.32
    np.testing.assert_allclose(by_party.coefficients.estimate[1:], COEFFICIENTS, atol=6e-6)


@pytest.mark.long
def test_two_covariates_and_their_product(people):
    rows = people[[*ITEMS, "PARTY", "AGE"]].dropna()
    rows["PARTY:AGE"] = rows["PARTY"] * rows["AGE"]
    covariates = ["PARTY", "AGE", "PARTY:AGE"]
    fitted = lacunet.fit(rows, 3, covariates=covariates, estimate="ml", starts=4)
    assert round(fitted.log_lik, 2) == -16135.39


def outer_product(rows, regression):
    """Standard errors of coefficients from Σ s sᵀ over rows, by independent code.

    Parameters are the coefficients, and of each item and class the logits of all answers but the
    first; the inverse leaves out parameters without data.
    """
    design = np.column_stack([np.ones(len(rows)), rows["PARTY"].to_numpy(float)])
    tables = [regression.model.table(name) for name in ITEMS]
    codes = np.column_stack([rows[name].str[0].astype(int) - 1 for name in ITEMS])
    scale = np.exp(design @ regression.coefficients.estimate.T)
    prior = scale / scale.sum(axis=1, keepdims=True)
    joint = prior * np.prod([t[:, codes[:, j]].T for j, t in enumerate(tables)], axis=0)
    share = joint / joint.sum(axis=1, keepdims=True)
    scores = [(share - prior)[:, [c]] * design for c in (1, 2)]
    for j, table in enumerate(tables):
        states = range(1, table.shape[1])
        scores += [share * ((codes[:, [j]] == k) - table[:, k]) for k in states]
    s = np.hstack(scores)
    return np.sqrt(np.diag(np.linalg.pinv(s.T @ s, hermitian=True))[:4]).reshape(2, 2)


def test_standard_errors_differ_in_what_they_are_made_of(complete, by_party):
    """At our maximum the outer product of scores gives poLCA's; ours are of second derivatives."""
    np.testing.assert_allclose(outer_product(complete, by_party), ERRORS, atol=6e-6)
    ratio = by_party.coefficients.stderr[1:] / ERRORS
    assert (abs(ratio - 1) < 0.035).all()
    assert (abs(ratio - 1) > 5e-4).all()


@pytest.mark.long  # docs/coming-from/polca.md shows the numbers
def test_rows_with_missing_values_make_it_more_precise(people, complete, by_party):
    """None of those whom poLCA leaves out is lost, but for 25 without a party."""
    rows = people[[*ITEMS, "PARTY"]]
    known = rows[rows["PARTY"].notna()]
    assert (len(rows), len(known), len(complete)) == (1785, 1760, 1300)
    fitted = lacunet.fit(known, 3, covariates="~ PARTY", estimate="ml", starts=4)
    assert (fitted.coefficients.stderr[1:] < 0.91 * by_party.coefficients.stderr[1:]).all()
    apart = abs(fitted.coefficients.estimate - by_party.coefficients.estimate)[1:]
    assert (apart < by_party.coefficients.stderr[1:]).all()
