"""Gaussian classes beside scikit-learn's: the same likelihood at the same parameters."""

import numpy as np
import pytest
from sklearn.mixture import GaussianMixture

import lacunet
from lacunet.inference.classes import expect
from lacunet.inference.leaves import leaves_of
from lacunet.inference.plans.numbers import NumberPlan
from lacunet.inference.problem import build_problem
from lacunet.models.latent_class import over_leaves
from lacunet.models.number_prior import NumberPrior
from lacunet.models.prior import dirichlet


@pytest.mark.parametrize("rows", [200, 2000])  # by values, and by statistics
def test_the_likelihood_of_rows_is_its_score(rows):
    rng = np.random.default_rng(rows)
    X = rng.normal(rng.normal(0, 3, (3, 4))[rng.integers(0, 3, rows)], [1.0, 10.0, 0.1, 3.0])
    theirs = GaussianMixture(3, covariance_type="diag", random_state=0).fit(X)
    table = lacunet.read_table(X, kinds="auto")
    network = over_leaves(leaves_of(table, NumberPrior()), 3)
    problem = build_problem(table, network, dirichlet(network, 1.01))
    assert isinstance(problem.components.plans[0], NumberPlan) == (rows > 256)
    tables = [theirs.weights_]
    for j, v in enumerate(network.variables[1:]):
        mean = (theirs.means_[:, j] - v.unit.origin) / v.unit.size
        variance = theirs.covariances_[:, j] / v.unit.size**2
        tables.append(np.stack([mean, mean, variance, variance], axis=1))
    log_lik = expect(problem, problem.layout.flat(tables)).log_lik
    assert log_lik == pytest.approx(theirs.score(X) * rows, rel=1e-9)
