"""Layouts with families of several kinds in between: the same as one configuration at a time."""

import numpy as np
import pytest

from lacunet.likelihoods import CATEGORICAL, GAUSSIAN, POISSON, Binomial
from lacunet.likelihoods.gaussian import hyperparameters
from lacunet.models import conjugacy
from lacunet.models.layout import Layout
from lacunet.models.network import Network, Variable
from toy_families import Geometric

NETWORK = Network.build(
    [
        Variable("count", (0, 1, 2, 5), family=POISSON),
        Variable("class", (1, 2), hidden=True),
        Variable("wait", (0, 1, 3), family=Geometric()),
        Variable("colour", ("red", "green", "blue")),
        Variable("again", (0, 1, 2), family=POISSON),
        Variable("other", (0, 1)),
        Variable("longer", (0, 1, 2, 3), family=Geometric()),
        Variable("height", (-1.5, 0.2, 0.7), family=GAUSSIAN),
        Variable("agree", (0, 1, 3), family=Binomial(most=3)),
        Variable("weight", (0.1, 2.0), family=GAUSSIAN),
    ],
    [(1,), (), (1, 3), (1,), (3, 1), (3, 1), (), (5, 1), (1,), ()],
)
LAYOUT, CELLS = NETWORK.layout, NETWORK.cells


def by_configuration():
    """(positions, segment) of each configuration by itself, and its variable."""
    positions = np.arange(LAYOUT.size)
    for i, v in enumerate(NETWORK.variables):
        width = LAYOUT.widths[i]
        (at,) = Layout.build([width], [()], [False], [v.family], [width]).segments
        for places in LAYOUT.table(positions, i).reshape(-1, width):
            yield i, places, at


@pytest.fixture
def world():
    rng = np.random.default_rng(0)
    N = NETWORK.to_statistics(rng.uniform(0.5, 6.0, CELLS.size))
    hyper = rng.uniform(0.6, 3.0, LAYOUT.size)
    for s in LAYOUT.segments:
        if s.family == GAUSSIAN:
            drawn = rng.uniform([-1, 0.5, 1.5, 0.6], [1, 2, 4, 3], (s.configurations, 4)).T
            hyper[s.where] = s.at_places(*hyperparameters(*drawn))
    return best_for(N, hyper, conjugacy.random_theta(LAYOUT, rng)), hyper, N


def best_for(N, hyper, theta):
    """Numbers have curvature to speak of where statistics have their maximum; others anywhere."""
    best = conjugacy.maximize(N, np.zeros(LAYOUT.size), theta, LAYOUT)
    numbers = np.array([kind == GAUSSIAN for kind in LAYOUT.kinds])[LAYOUT.owner]
    return np.where(numbers, best, theta)


def test_segments_take_every_position_once():
    kinds = [s.family for s in LAYOUT.segments]
    assert kinds == [POISSON, CATEGORICAL, Geometric(), GAUSSIAN, Binomial(most=3)]
    assert not LAYOUT.tabular
    assert CELLS.tabular
    where = np.concatenate([np.arange(LAYOUT.size)[s.where] for s in LAYOUT.segments])
    np.testing.assert_array_equal(np.sort(where), np.arange(LAYOUT.size))
    variables = np.concatenate([s.variables for s in LAYOUT.segments])
    np.testing.assert_array_equal(np.sort(variables), np.arange(10))
    for s in LAYOUT.segments:
        positions = np.arange(LAYOUT.size)[s.where]
        np.testing.assert_array_equal(LAYOUT.k[positions], s.k)
        # Configurations are numbered anew, in the same order.
        np.testing.assert_array_equal(np.unique(LAYOUT.ij[positions], return_inverse=True)[1], s.ij)
        assert s.configurations == s.ij.max() + 1
    widths = [2, 2, 2, 3, 2, 2, 2, 4, 2, 4]
    assert LAYOUT.dimension == 2 + 1 + 6 + 2 * 2 + 6 + 6 + 1 + 2 * 4 + 2 + 2
    assert list(LAYOUT.widths) == widths


def test_vectors_are_those_of_each_configuration(world):
    theta, hyper, N = world
    rng = np.random.default_rng(1)
    other = conjugacy.random_theta(LAYOUT, rng)
    phi = rng.standard_normal(LAYOUT.size)
    each = {
        "natural": (conjugacy.natural(theta, LAYOUT), lambda f, p, a: f.natural(theta[p], a)),
        "in_theta": (conjugacy.in_theta(hyper, LAYOUT), lambda f, p, a: f.in_theta(hyper[p], a)),
        "mean": (conjugacy.mean(hyper, LAYOUT), lambda f, p, a: f.mean(hyper[p], a)),
        "cases": (conjugacy.cases(N, LAYOUT), lambda f, p, a: f.cases(N[p], a)),
        "expected_natural": (
            conjugacy.expected_natural(hyper, LAYOUT),
            lambda f, p, a: f.expected_natural(hyper[p], a),
        ),
        "expected_statistics": (
            conjugacy.expected_statistics(theta, N, LAYOUT),
            lambda f, p, a: N[p] * f.mean_statistics(theta[p], a),
        ),
        "pull_back": (
            conjugacy.pull_back(theta, N, LAYOUT),
            lambda f, p, a: f.pull_back(theta[p], N[p], a),
        ),
        "push": (conjugacy.push(theta, phi, LAYOUT), lambda f, p, a: f.push(theta[p], phi[p], a)),
        "null_projection": (
            conjugacy.null_projection(theta, phi, LAYOUT),
            lambda f, p, a: f.null_projection(theta[p], phi[p], a),
        ),
        "information": (
            conjugacy.information(theta, N, phi, LAYOUT),
            lambda f, p, a: f.information(theta[p], N[p], phi[p], a),
        ),
    }
    for edge in (False, True):
        each[f"slope {edge}"] = (
            conjugacy.slope(theta, phi, LAYOUT, edge=edge),
            lambda f, p, a, edge=edge: f.slope(theta[p], phi[p], a, edge=edge),
        )
        each[f"metric {edge}"] = (
            conjugacy.metric(theta, N, LAYOUT, edge=edge),
            lambda f, p, a, edge=edge: f.metric(theta[p], N[p], a, edge=edge),
        )
        each[f"moved {edge}"] = (
            conjugacy.moved(theta, phi, LAYOUT, edge=edge),
            lambda f, p, a, edge=edge: f.moved(theta[p], phi[p], a, edge=edge),
        )
        each[f"log_map {edge}"] = (
            conjugacy.log_map(theta, other, LAYOUT, edge=edge),
            lambda f, p, a, edge=edge: f.log_map(theta[p], other[p], a, edge=edge),
        )
    for name, (whole, one) in each.items():
        assert whole.shape == (LAYOUT.size,), name
        for _, places, at in by_configuration():
            result = one(at.family, places, at)
            np.testing.assert_allclose(whole[places], result, rtol=1e-12, atol=1e-12, err_msg=name)


def test_the_best_parameters_are_those_of_each_configuration(world):
    theta, hyper, N = world
    best = conjugacy.maximize(N, hyper, theta, LAYOUT)
    for _, places, at in by_configuration():
        maximum = at.family.maximize(N[places], hyper[places], theta[places], at)
        np.testing.assert_allclose(best[places], maximum, rtol=1e-12)
    eta = conjugacy.natural(theta, LAYOUT)
    np.testing.assert_allclose(conjugacy.parameters(eta, LAYOUT), theta, rtol=1e-12)


def test_sums_are_those_of_each_configuration(world):
    theta, hyper, N = world
    parts = list(by_configuration())
    marginal = np.zeros(10)
    for i, p, at in parts:
        marginal[i] += at.family.log_marginal(N[p], hyper[p], at).sum()
    np.testing.assert_allclose(conjugacy.log_marginal(N, hyper, LAYOUT), marginal, rtol=1e-12)

    def total(one):
        return pytest.approx(sum(one(at.family, p, at) for _, p, at in parts), rel=1e-12)

    assert conjugacy.log_prior(theta, hyper, LAYOUT) == total(
        lambda f, p, a: f.log_prior(theta[p], hyper[p], a)
    )
    assert conjugacy.log_constant(hyper, LAYOUT) == total(
        lambda f, p, a: f.log_constant(hyper[p], a)
    )
    assert conjugacy.log_jacobian(theta, LAYOUT) == total(
        lambda f, p, a: f.log_jacobian(theta[p], a)
    )
    assert conjugacy.complete_log_det(theta, N, LAYOUT) == total(
        lambda f, p, a: f.complete_log_det(theta[p], N[p], a)
    )
    assert conjugacy.log_integral(hyper[None, :], LAYOUT)[0] == total(
        lambda f, p, a: f.log_integral(hyper[None, p], a)[0]
    )
    free, reference = conjugacy.free(theta, LAYOUT)
    sums = {
        (int(places[x]), int(places[y]))
        for _, places, at in parts
        for x, y in zip(*at.family.free(theta[places], at), strict=True)
    }
    assert set(zip(free.tolist(), reference.tolist(), strict=True)) == sums


def test_draws_stand_at_their_places():
    """Exponents so large that a draw is its mean."""
    hyper = NETWORK.to_statistics(np.random.default_rng(2).uniform(1.0, 9.0, CELLS.size)) * 1e8
    drawn = conjugacy.draw(np.tile(hyper, (3, 1)), LAYOUT, np.random.default_rng(3))
    expected = conjugacy.expected_natural(hyper, LAYOUT)
    np.testing.assert_allclose(drawn, np.tile(expected, (3, 1)), rtol=2e-3, atol=2e-3)


def test_cells_and_statistics_are_adjoint():
    rng = np.random.default_rng(4)
    eta, N = rng.standard_normal(LAYOUT.size), rng.uniform(0.0, 3.0, CELLS.size)
    cells, statistics = NETWORK.to_cells(eta), NETWORK.to_statistics(N)
    assert cells @ N == pytest.approx(eta @ statistics, rel=1e-12)
    for i, v in enumerate(NETWORK.variables):  # by their definitions
        T = v.family.statistics(v.states)
        log_weights = LAYOUT.table(eta, i).reshape(-1, LAYOUT.widths[i]) @ T.T
        np.testing.assert_allclose(CELLS.table(cells, i).reshape(log_weights.shape), log_weights)
        counts = CELLS.table(N, i).reshape(-1, len(v.states)) @ T
        np.testing.assert_allclose(LAYOUT.table(statistics, i).reshape(counts.shape), counts)
    several = np.stack([eta, 2 * eta, -eta])
    np.testing.assert_allclose(NETWORK.to_cells(several), np.stack([cells, 2 * cells, -cells]))
    several = np.stack([N, 2 * N])
    np.testing.assert_allclose(
        NETWORK.to_statistics(several), np.stack([statistics, 2 * statistics])
    )


def test_in_tabular_networks_cells_are_parameters():
    network = Network.build([Variable("a", (0, 1)), Variable("b", (0, 1, 2))], [(), (0,)])
    x = np.arange(float(network.layout.size))
    assert network.to_cells(x) is x
    assert network.to_statistics(x) is x
    assert network.cells is network.layout
