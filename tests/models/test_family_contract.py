"""The contract of families, for each that there is: closed forms against sums and differences."""

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from lacunet.inference.sampling.written_cases import log_predictive
from lacunet.likelihoods import CATEGORICAL, GAUSSIAN, POISSON, Binomial, Gaussian, Segment
from lacunet.likelihoods.categorical import Categorical
from lacunet.likelihoods.gaussian import NormalInverseGamma, hyperparameters
from lacunet.models.layout import Layout
from lacunet.models.network import Network, Variable
from toy_families import Exponential, Geometric

FAMILIES = {
    "categorical": CATEGORICAL,
    "poisson": POISSON,
    "gaussian": GAUSSIAN,
    "common": Gaussian(common=True),
    "binomial": Binomial(most=7),
    "geometric": Geometric(),
    "exponential": Exponential(),
}
NORMAL = (GAUSSIAN, Gaussian(common=True))
CONTINUOUS = (*NORMAL, Exponential())
each_family = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
EDGES = pytest.mark.parametrize("edge", [False, True])
STEP = 1e-5
GRID, WIDE = 0.05, 50.0  # of values that are integrated over


def values_of(family):
    """Few states; or enough values that hardly any probability is beyond them."""
    if family.tabular:
        return (0, 1, 2)
    if family in CONTINUOUS:  # at equal distances, so that sums are integrals (a part of R is cut)
        low = -WIDE if family in NORMAL else 0.0
        return tuple((low + GRID * (np.arange(round((WIDE - low) / GRID)) + 0.5)).tolist())
    return tuple(range(8)) if family == Binomial(most=7) else tuple(range(300))


def log_widths(family):
    """Log of the part of R that a value stands for."""
    return np.log(GRID) if family in CONTINUOUS else 0.0


def hyper_of(family, at, rng):
    """Hyperparameters, any that a family allows."""
    if family not in NORMAL:
        return rng.uniform(0.6, 3.0, len(at.ij))
    m, kappa, a, b = rng.uniform([-1, 0.5, 2.5, 0.6], [1, 2, 4, 3], (at.configurations, 4)).T
    return at.at_places(*hyperparameters(m, kappa, a, b))


def network_of(family):
    """Two variables of a family with parents, one of them with values that differ in number."""
    return Network.build(
        [
            Variable("root", (0, 1, 2), hidden=True),
            Variable("x", values_of(family), family=family),
            Variable("seen", (0, 1)),
            Variable("one", (0,)),
            Variable("y", values_of(family)[:-1], family=family),
        ],
        [(), (0, 2), (), (), (0,)],
    )


class World:
    """The segment of a family in a layout with others, a θ, hyperparameters, and data."""

    def __init__(self, family, seed=0):
        self.family, self.network = family, network_of(family)
        (self.at,) = [s for s in self.network.layout.segments if s.family == family]
        self.rng = np.random.default_rng(seed)
        self.size = len(self.at.ij)
        self.theta = family.random(np.ones(self.size), self.at, self.rng)
        self.hyper = hyper_of(family, self.at, self.rng)
        self.often = self.rng.integers(1, 6, self.at.configurations)  # cases
        self.N = self.data()

    def data(self):
        """Statistics of a few cases in each configuration, whatever values they have."""
        N, few = np.zeros(self.size), 2
        for q, n in enumerate(self.often):
            places = np.flatnonzero(self.at.ij == q)
            places = places[np.argsort(self.at.k[places])]
            width = len(places)
            states = tuple(range(width if self.family.tabular else few + 3))
            T = self.family.statistics(states)
            N[places] += T[self.rng.integers(0, len(states), n)].sum(axis=0)
        return N

    def value(self, theta, N=None):
        """N · η(θ)."""
        return float((self.N if N is None else N) @ self.family.natural(theta, self.at))

    def moved(self, position, step, edge=False):
        move = np.zeros(self.size)
        move[position] = step
        return self.family.moved(self.theta, move, self.at, edge=edge)


def alone(family, width=2):
    """One configuration of one variable."""
    (at,) = Layout.build([width], [()], [False], [family], [width]).segments
    return at


@each_family
def test_probabilities_sum_to_one_with_the_mean_statistics(family):
    world, values = World(family), values_of(family)
    theta = family.parameters(family.expected_natural(8 * world.hyper, world.at), world.at)
    theta = family.moved(theta, np.zeros(world.size), world.at)  # whatever it is, it is one now
    T, natural = family.statistics(values), family.natural(theta, world.at)
    for q in range(world.at.configurations):
        places = np.flatnonzero(world.at.ij == q)
        if len(places) != T.shape[1]:  # the variable with fewer states
            continue
        places = places[np.argsort(world.at.k[places])]
        p = np.exp(T @ natural[places] + family.log_base(values) + log_widths(family))
        # Where a density ends at a value, not in a tail, a sum over a grid is no better.
        rough = family == Exponential()
        assert p.sum() == pytest.approx(1.0, abs=GRID**2 if rough else 1e-9)
        mean = family.mean_statistics(theta, world.at)[places]
        np.testing.assert_allclose(p @ T, mean, rtol=GRID**2 if rough else 1e-6)


@each_family
def test_natural_parameters_are_those_of_theta(family):
    world = World(family)
    natural = family.natural(world.theta, world.at)
    np.testing.assert_allclose(family.parameters(natural, world.at), world.theta, rtol=1e-12)


@each_family
def test_cases_are_counted(family):
    world = World(family)
    np.testing.assert_array_equal(family.cases(world.N, world.at), world.often[world.at.ij])


@each_family
def test_the_integral_normalises_marginals_and_predictions(family):
    world, network = World(family), network_of(family)
    integrals = family.log_integral(np.stack([world.hyper, world.hyper + world.N]), world.at)
    marginal = family.log_marginal(world.N, world.hyper, world.at)
    assert len(marginal) == len(world.at.variables)
    assert marginal.sum() == pytest.approx(integrals[1] - integrals[0], rel=1e-12)
    # The probability of a value, as particles predict it: sums to 1, and is that of one case.
    hyper = np.full(network.layout.size, 2.0)
    hyper[world.at.where] = 4.0 * world.hyper
    x = network.cells.table(np.arange(network.cells.size), 1)[2, 1]  # one configuration
    log_p = log_predictive(network, hyper[None, :], x[:, None])[0]
    values = values_of(family)
    total = np.exp(log_p + family.log_base(values) + log_widths(family)).sum()
    assert total == pytest.approx(1.0, abs=GRID**2 if family == Exponential() else 1e-4)
    positions = network.layout.table(np.arange(network.layout.size), 1)[2, 1]
    for value in (0, 1, 2):
        N = np.zeros(network.layout.size)
        N[positions] = family.statistics(values)[value]
        once = family.log_marginal(N[world.at.where], hyper[world.at.where], world.at).sum()
        assert log_p[value] == pytest.approx(once, abs=1e-10)


@each_family
def test_expected_natural_parameters_are_the_slope_of_the_integral(family):
    world = World(family)
    h = 1e-5
    sides = [
        family.log_integral(world.hyper + s * h * np.eye(world.size), world.at) for s in (1, -1)
    ]
    slope = (sides[0] - sides[1]) / (2 * h)
    np.testing.assert_allclose(family.expected_natural(world.hyper, world.at), slope, atol=1e-8)


@each_family
def test_draws_have_the_predicted_means(family):
    world, chains = World(family), 6000
    natural = family.draw(np.tile(world.hyper, (chains, 1)), world.at, world.rng)
    theta = np.stack([family.parameters(x, world.at) for x in natural])
    for drawn, mean in (
        (natural, family.expected_natural(world.hyper, world.at)),
        (theta, family.mean(world.hyper, world.at)),
    ):
        error = drawn.std(axis=0) / np.sqrt(chains)
        assert (np.abs(drawn.mean(axis=0) - mean) <= 4.5 * error + 1e-12).all()


TWO_PLACES = [name for name, family in FAMILIES.items() if family not in NORMAL]


@pytest.mark.parametrize("name", TWO_PLACES)
@pytest.mark.parametrize("hyper", [(1.0, 1.0), (2.5, 1.2), (4.0, 7.0)])
def test_the_prior_integrates_to_one(name, hyper):
    family, hyper = FAMILIES[name], np.array(hyper)
    at = alone(family)
    simplex = isinstance(family, Categorical)

    def density(t):
        theta = np.array([t, 1.0 - t if simplex else t])
        return np.exp(family.log_prior(theta, hyper, at))

    total, _ = quad(density, 0.0, 1.0 if simplex else np.inf)
    assert total == pytest.approx(1.0, abs=1e-7)


def test_the_prior_of_numbers_is_that_of_scipy():
    m, kappa, a, b = 0.7, 0.4, 2.2, 1.3
    hyper, at = np.array(hyperparameters(m, kappa, a, b)), alone(GAUSSIAN, 4)
    for mean, variance in ((0.7, 0.5), (-2.0, 3.0), (4.0, 0.1)):
        expected = stats.invgamma.logpdf(variance, a, scale=b)
        expected += stats.norm.logpdf(mean, m, np.sqrt(variance / kappa))
        theta = np.array([mean, mean, variance, variance])
        assert GAUSSIAN.log_prior(theta, hyper, at) == pytest.approx(expected, rel=1e-12)
    # One number has a Student t distribution, and several what one after the other has.
    x, result, now = np.array([0.3, -4.0, 2.5]), 0.0, hyper
    for T in GAUSSIAN.statistics(x):
        m, kappa, a, b = (v.item() for v in NormalInverseGamma.of(now, at))
        scale = np.sqrt(b * (kappa + 1) / (a * kappa))
        result += stats.t.logpdf(T[0], 2 * a, m, scale)
        now = now + T
    N = GAUSSIAN.statistics(x).sum(axis=0)
    marginal = GAUSSIAN.log_marginal(N, hyper, at)[0] + GAUSSIAN.log_base(x).sum()
    assert marginal == pytest.approx(result, rel=1e-12)


@each_family
def test_the_prior_is_linear_in_the_natural_parameters(family):
    """As a density of θ it adds `in_theta`; as one of φ, with the Jacobian, its hyperparameters."""
    world = World(family)
    prior = family.log_prior(world.theta, world.hyper, world.at)
    constant = family.log_constant(world.hyper, world.at)
    added = family.in_theta(world.hyper, world.at)
    assert prior == pytest.approx(constant + world.value(world.theta, added), rel=1e-12)
    (integral,) = family.log_integral(world.hyper[None, :], world.at)
    assert constant == pytest.approx(-integral, rel=1e-12)
    if world.at.totals(np.ones(world.size)).min() > 1:  # one state: nothing to integrate over
        in_phi = prior + family.log_jacobian(world.theta, world.at)
        assert in_phi == pytest.approx(world.value(world.theta, world.hyper) - integral, rel=1e-12)
    strong = world.hyper if family in NORMAL else 1.0 + world.hyper
    assert family.has_mode(strong, world.at)
    assert not family.has_mode(0.5 * np.ones(world.size), world.at)


@each_family
def test_pulling_back_statistics_is_the_gradient(family):
    world = World(family)
    gradient = family.pull_back(world.theta, world.N, world.at)
    for p in range(world.size):
        slope = world.value(world.moved(p, STEP)) - world.value(world.moved(p, -STEP))
        assert gradient[p] == pytest.approx(slope / (2 * STEP), abs=1e-7)


@each_family
def test_slopes_in_the_coordinates_of_the_edge(family):
    world = World(family)
    gradient = family.pull_back(world.theta, world.N, world.at)
    for edge in (False, True):
        slope = family.slope(world.theta, gradient, world.at, edge=edge)
        for p in range(world.size):
            h = STEP * (np.sqrt(np.abs(world.theta[p])) if edge else 1.0)
            change = world.value(world.moved(p, h, edge)) - world.value(world.moved(p, -h, edge))
            assert slope[p] * h == pytest.approx(change / 2, abs=1e-7 * STEP + 1e-12)


@each_family
def test_information_is_the_negative_second_derivative(family):
    world = World(family)
    for p in range(world.size):
        unit = np.eye(world.size)[p]
        sides = [family.pull_back(world.moved(p, s * STEP), world.N, world.at) for s in (1.0, -1.0)]
        column = -(sides[0] - sides[1]) / (2 * STEP)
        result = family.information(world.theta, world.N, unit, world.at)
        np.testing.assert_allclose(result, column, atol=1e-7)
        sharpness = family.metric(world.theta, world.N, world.at)
        assert sharpness[p] >= result[p] - 1e-12  # its diagonal is no more than the metric


@each_family
def test_push_and_pull_back_are_adjoint(family):
    world = World(family)
    g, phi = world.rng.standard_normal((2, world.size))
    pushed = family.push(world.theta, phi, world.at)
    pulled = family.pull_back(world.theta, g, world.at)
    assert g @ pushed == pytest.approx(pulled @ phi, rel=1e-12)
    sides = [
        family.natural(family.moved(world.theta, s * STEP * phi, world.at), world.at)
        for s in (1.0, -1.0)
    ]
    np.testing.assert_allclose(pushed, (sides[0] - sides[1]) / (2 * STEP), atol=1e-8)


@each_family
@EDGES
def test_moves_go_there_and_back(family, edge):
    world = World(family)
    other = family.random(np.ones(world.size), world.at, world.rng)
    move = family.log_map(world.theta, other, world.at, edge=edge)
    result = family.moved(world.theta, move, world.at, edge=edge)
    np.testing.assert_allclose(result, other, rtol=1e-12)
    assert family.longest_moves[edge] > 0
    stay = family.log_map(other, other, world.at, edge=edge)
    np.testing.assert_array_equal(stay, np.zeros(world.size))


@each_family
def test_idle_directions_change_nothing(family):
    world = World(family)
    v = world.rng.standard_normal(world.size)
    idle = family.null_projection(world.theta, v, world.at)
    np.testing.assert_allclose(
        family.null_projection(world.theta, idle, world.at), idle, atol=1e-12
    )
    metric = np.sqrt(family.metric(world.theta, world.N, world.at))
    phi = np.divide(idle, metric, out=np.zeros(world.size), where=metric > 0)
    same = family.moved(world.theta, phi, world.at)
    np.testing.assert_allclose(same, world.theta, rtol=1e-12)


def jacobian(world):
    """dθ/dφ over the free coordinates, by differences."""
    free, _ = world.family.free(world.theta, world.at)
    columns = [
        (world.moved(p, STEP)[free] - world.moved(p, -STEP)[free]) / (2 * STEP) for p in free
    ]
    return np.array(columns)


@each_family
def test_volumes(family):
    world = World(family)
    free, reference = family.free(world.theta, world.at)
    assert len(set(free)) == len(free)
    assert (world.at.ij[free] == world.at.ij[reference]).all()
    assert (np.diff(world.at.ij[free]) >= 0).all()
    result = family.log_jacobian(world.theta, world.at)
    assert np.linalg.slogdet(jacobian(world))[1] == pytest.approx(result, abs=1e-5)
    if family in NORMAL:  # it has a determinant to speak of where statistics have their maximum
        world.theta = family.maximize(world.N, world.hyper, world.theta, world.at)
        world.N = world.N + world.hyper
    information = np.array(
        [family.information(world.theta, world.N, np.eye(world.size)[p], world.at) for p in free]
    )[:, free]
    closed = family.complete_log_det(world.theta, world.N, world.at)
    assert np.linalg.slogdet(information)[1] == pytest.approx(closed, abs=1e-8)


@each_family
def test_maximize_finds_the_maximum(family):
    world = World(family)
    pseudo = 0.3 * hyper_of(family, world.at, world.rng)
    best = family.maximize(world.N, pseudo, world.theta, world.at)
    N = world.N + pseudo
    np.testing.assert_allclose(family.pull_back(best, N, world.at), 0.0, atol=1e-10)
    for _ in range(20):
        phi = world.rng.standard_normal(world.size)
        near = family.moved(best, 0.1 * phi, world.at)
        assert world.value(near, N) < world.value(best, N)
    nothing = np.zeros(world.size)
    stays = family.maximize(nothing, nothing, world.theta, world.at)
    np.testing.assert_array_equal(stays, world.theta)


def test_ordered_answers_of_one_value_have_no_cases_to_count():
    family = Binomial(most=0)
    at = Segment.of_table(family, 2, 2)
    np.testing.assert_array_equal(family.cases(np.zeros(4), at), np.zeros(4))
