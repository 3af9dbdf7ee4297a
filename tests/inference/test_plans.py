"""The contract of plans: whatever their shape, they say what the enumeration plan says."""

import itertools
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from scipy.stats import chi2

import oracle
from enumeration import conditional, enumerated, indicators
from examples import examples
from lacunet.executor import SERIAL, on_threads
from lacunet.inference.curvature.coordinates import free_coordinates
from lacunet.inference.expectation import complete_counts, safe_log
from lacunet.inference.kernels.one_pass import Beliefs
from lacunet.inference.kernels.taking_in import Swarm
from lacunet.inference.plans import plan as contract
from lacunet.inference.plans.builder import Builder
from problems import MODES, build, engine, make, network_cases

modes = pytest.mark.parametrize("mode", MODES)
MANY = 400  # draws of one case
NETWORKS = {
    "latent class": build("H>a H>b H>c", {"H": 3, "a": 2, "b": 3, "c": 2}, "H"),
    "two hidden": build("G>a H>a H>b G>c", {"G": 2, "H": 3, "a": 2, "b": 2, "c": 3}, "GH"),
    "chain": build("P>Q Q>R P>a Q>b R>c", {"P": 3, "Q": 3, "R": 2, "a": 2, "b": 2, "c": 2}, "PQR"),
    "holes only": build("a>b a>c b>d c>d", {"a": 2, "b": 3, "c": 2, "d": 2}),
}
networks = pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)


def some_weights(case, seed=0):
    """Log weights: those of θ, and two vectors of numbers that are no probabilities."""
    others = np.random.default_rng(seed).standard_normal((2, case.layout.size))
    return np.vstack([safe_log(case.theta), others])


def expected(components, log_weights, executor=SERIAL):
    """(log-likelihoods, E[N]), what was seen among them."""
    N = np.tile(components.seen, (len(log_weights), 1))
    used = components.seen > 0
    seen = log_weights[:, used] @ components.seen[used]
    return sum((plan.expect(log_weights, N, executor) for plan in components.plans), seen), N


class RowByRow:
    """The plans of a problem, asked for one row at a time, with what the row shows whole."""

    def __init__(self, case):
        builder = Builder(case.network, case.codes, case.counts, keep_rows=True)
        self.plans = builder.build().plans
        self.seen = [[] for _ in case.codes]
        for collector in builder.collectors:
            for row, position in zip(*builder.seen_whole(collector), strict=True):
                self.seen[row].append(position)

    def components(self, row):
        """Its components, by plan."""
        for plan in self.plans:
            yield plan, plan.rows.component[plan.rows.rows == row]

    def draw(self, row, log_weights, rng):
        N = np.zeros_like(log_weights)
        N[:, self.seen[row]] += 1.0
        for plan, which in self.components(row):
            counts = np.bincount(which, minlength=len(plan.counts)).astype(float)
            plan.draw(log_weights, counts, rng, N)
        return N

    def take_in(self, row, swarm, rng):
        seen = self.seen[row]
        A, A_ij, log_weights, ij = swarm
        log_weights += np.log(A[:, seen] / A_ij[:, ij[seen]]).sum(axis=1)
        A[:, seen] += 1.0
        A_ij[:, ij[seen]] += 1.0
        for plan, which in self.components(row):
            assert plan.take_in(which, swarm, 0.0, rng) == len(which)

    def pass_over(self, row, drawn, beliefs, rng):
        seen = self.seen[row]
        total = beliefs.log_mean[seen].sum()
        for plan, which in self.components(row):
            total += plan.pass_over(which, drawn, beliefs, rng)
        beliefs.eta[seen] += 1.0
        beliefs.total[:] = np.bincount(beliefs.ij, beliefs.eta)
        beliefs.log_mean[:] = np.log(beliefs.eta / beliefs.total[beliefs.ij])
        return total


def beliefs_of(eta, layout):
    """Dirichlets with these exponents."""
    listed = np.argsort(layout.ij, kind="stable")
    starts = np.searchsorted(layout.ij[listed], np.arange(layout.configurations + 1))
    q = layout.configurations
    return Beliefs(
        eta.copy(),
        layout.sum_k(eta),
        np.log(eta / layout.spread(layout.sum_k(eta))),
        layout.ij,
        starts.astype(np.int64),
        listed,
        np.zeros(layout.size),
        np.empty(q, dtype=np.int64),
        np.zeros(q, dtype=np.bool_),
    )


def swarm_of(A, layout):
    sums = np.array([layout.sum_k(x) for x in A])
    return Swarm(A.copy(), sums, np.zeros(len(A)), layout.ij)


def exponents(case, seed=0):
    return np.random.default_rng(seed).uniform(0.3, 3.0, case.layout.size)


# The enumeration plan itself, against the joint distribution of all variables.


@examples(100)
@given(case=network_cases(zeros=True))
def test_the_enumeration_plan_sums_the_joint_distribution(case):
    problem, x = enumerated(case.problem), safe_log(case.theta)
    (plan,) = problem.components.plans
    log_z, N = plan.posterior(x, 0, case.layout.size)
    joint = oracle.joint(case.oracle())
    for i, row in enumerate(case.rows):
        q, z = oracle.row_posterior(joint, row)
        assert log_z[i] == pytest.approx(np.log(z), rel=1e-12, abs=1e-12)
        for f, table in enumerate(case.tables(N[i])):
            if table.any():  # a family that is not barren
                family = (*case.network.parents[f], f)
                np.testing.assert_allclose(table, oracle.marginal(q, family), atol=1e-12)
    wanted = oracle.expected_counts(case.oracle(), case.rows, case.counts)
    for table, other in zip(case.tables(complete_counts(problem, case.theta)), wanted, strict=True):
        np.testing.assert_allclose(table, other, atol=1e-12)


# Expectations.


@modes
@examples(100)
@given(case=network_cases(zeros=True))
def test_expected_counts(mode, case):
    x = some_weights(case)
    with engine(mode):
        components = case.problem.components
    log_lik, N = expected(components, x)
    wanted_log_lik, wanted = expected(enumerated(case.problem).components, x)
    np.testing.assert_allclose(log_lik, wanted_log_lik, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(N, wanted, atol=1e-11)
    for plan in components.plans:
        batch, alone = np.zeros_like(x), np.zeros_like(x)
        together = plan.expect(x, batch)
        for b in range(len(x)):  # several vectors at once are one after the other
            assert plan.expect_one(x[b], alone[b]) == together[b]
        np.testing.assert_array_equal(batch, alone)


@modes
@examples(100)
@given(case=network_cases(zeros=True))
def test_filled_in_counts(mode, case):
    with engine(mode):
        found = complete_counts(case.problem, case.theta)
    wanted = complete_counts(enumerated(case.problem), case.theta)
    np.testing.assert_allclose(found, wanted, atol=1e-11)


@modes
def test_a_row_that_is_impossible_counts_for_nothing(mode):
    case = make(NETWORKS["chain"], 5, seed=1, counts=[1.0, 2.0, 1.0, 0.0, 3.0])
    theta = case.theta.copy()
    case.layout.table(theta, 3)[:] = [0.0, 1.0]  # nobody shows the first state of a
    assert (case.codes[:, 0] == 0).any()
    with engine(mode):
        components = case.problem.components
    x = safe_log(theta)[None, :]
    log_lik, N = expected(components, x)
    wanted_log_lik, wanted = expected(enumerated(case.problem).components, x)
    np.testing.assert_array_equal(log_lik, wanted_log_lik)
    np.testing.assert_allclose(N, wanted, atol=1e-12)


@modes
@examples(100)
@given(case=network_cases(zeros=True))
def test_tangents(mode, case):
    with engine(mode):
        plans = case.problem.components.plans
    (enumeration,) = enumerated(case.problem).components.plans
    direction = np.random.default_rng(1).standard_normal(case.layout.size)
    for x in some_weights(case):
        change = sum((plan.tangent(x)(direction) for plan in plans), np.zeros(len(x)))
        np.testing.assert_allclose(change, enumeration.tangent(x)(direction), atol=1e-10)


@modes
@examples(60)
@given(case=network_cases())
def test_covariances_of_the_score(mode, case):
    with engine(mode):
        plans = case.problem.components.plans
    (enumeration,) = enumerated(case.problem).components.plans
    coordinates = free_coordinates(case.layout, case.theta)
    A, wanted = (np.zeros((len(coordinates.free),) * 2, order="F") for _ in range(2))
    for plan in plans:
        A = plan.less_covariance(A, case.theta, coordinates)
    wanted = enumeration.less_covariance(wanted, case.theta, coordinates)
    scale = 1.0 / case.theta[coordinates.free]  # θ may be anything between 1e-6 and 1
    unit = np.outer(scale, scale)
    np.testing.assert_allclose(np.tril(A) / unit, np.tril(wanted) / unit, atol=1e-9)


@modes
@examples(60)
@given(case=network_cases(zeros=True))
def test_posteriors_by_row(mode, case):
    with engine(mode):
        rows = RowByRow(case)
    (enumeration,) = enumerated(case.problem).components.plans
    x, size = safe_log(case.theta), case.layout.size
    family = case.layout.block(len(case.layout.cards) // 2)
    for first, last in ((0, size), (family.start, family.stop), (0, 0)):
        wanted_log_z, wanted = enumeration.posterior(x, first, last)
        answers = [plan.posterior(x, first, last) for plan in rows.plans]
        for row in range(len(case.codes)):
            seen = np.array(rows.seen[row], dtype=int)
            log_z, N = x[seen].sum(), np.bincount(seen, minlength=size)[first:last].astype(float)
            for (_, which), (z, own) in zip(rows.components(row), answers, strict=True):
                log_z += z[which].sum()
                N += own[which].sum(axis=0)
            assert log_z == pytest.approx(wanted_log_z[row], rel=1e-12, abs=1e-12)
            np.testing.assert_allclose(N, wanted[row], atol=1e-12)


@modes
@examples(60)
@given(case=network_cases(whole=True))
def test_choices_and_sizes(mode, case):
    """The joint states of a row are those of its components, combined."""
    with engine(mode):
        rows = RowByRow(case)
    (enumeration,) = enumerated(case.problem).components.plans
    assert case.problem.components.members == frozenset(enumeration.members)
    choices = [list(plan.choices()) for plan in rows.plans]
    for plan, own in zip(rows.plans, choices, strict=True):
        assert plan.sizes().tolist() == [len(c.cells) for c in own]
        assert [c.count for c in own] == plan.counts.tolist()
        most = [c.cells.size for c in own]
        assert (plan.touched() <= most).all()
        assert (plan.touched() > 0).all()
    for row, wanted in enumerate(enumeration.choices()):
        parts = [
            own[c].cells.tolist()
            for own, (_, which) in zip(choices, rows.components(row), strict=True)
            for c in which
        ]
        combined = [sum(cells, rows.seen[row]) for cells in itertools.product(*parts)]
        assert sorted(map(sorted, combined)) == sorted(map(sorted, wanted.cells.tolist()))


# Draws: each is one of the joint states, and all come as often as they should.


def check_frequencies(drawn, cells, p):
    """Draws (n, size) of one case: joint states, with these probabilities."""
    states = {u.tobytes(): i for i, u in enumerate(indicators(cells, drawn.shape[1]))}
    found = np.bincount([states[N.tobytes()] for N in drawn], minlength=len(cells))
    assert not found[p == 0].any()
    wanted = p * len(drawn)
    rare = wanted < 5  # taken together
    found = np.append(found[~rare], found[rare].sum())
    wanted = np.append(wanted[~rare], wanted[rare].sum())
    used = wanted > 0
    statistic = ((found - wanted)[used] ** 2 / wanted[used]).sum()
    # One of thousands of comparisons; a wrong distribution is wrong beyond any of them.
    assert chi2.sf(statistic, max(1, used.sum() - 1)) > 1e-6


@modes
@examples(25)
@given(case=network_cases(zeros=True, max_rows=4, max_variables=5))
def test_drawn_cells(mode, case):
    with engine(mode):
        rows = RowByRow(case)
    (enumeration,) = enumerated(case.problem).components.plans
    x, rng = safe_log(case.theta), np.random.default_rng(3)
    for row, cells in enumerate(enumeration.cells):
        drawn = rows.draw(row, np.tile(x, (MANY, 1)), rng)
        check_frequencies(drawn, cells, conditional(x, cells)[1])


@modes
@networks
def test_many_cases_drawn_at_once(mode, network):
    case = make(network, 8, missing=0.2, seed=3, counts=[1, 2, 40, 900] * 2)
    with engine(mode):
        components = case.problem.components
    (enumeration,) = enumerated(case.problem).components.plans
    x, rng = np.tile(safe_log(case.theta), (MANY, 1)), np.random.default_rng(5)
    drawn = np.tile(components.seen, (MANY, 1))
    for plan in components.plans:
        plan.draw(x, plan.counts, rng, drawn)
    same = np.zeros_like(drawn[:20])
    enumeration.draw(x[:20], case.counts, rng, same)
    covariance = enumeration.covariance(x[0])
    N = np.zeros((1, case.layout.size))
    enumeration.expect(x[:1], N)
    for found in (drawn, same):
        assert (found == np.round(found)).all()
        deviation = found.mean(axis=0) - N[0]
        error = np.sqrt(np.maximum(np.diag(covariance), 0.0) / len(found))
        assert (np.abs(deviation) <= 4.5 * error + 1e-9).all()
    varies = np.diag(covariance) > 1.0
    covariance, unit = covariance[np.ix_(varies, varies)], np.sqrt(np.diag(covariance)[varies])
    spread = np.cov(drawn.T[varies])
    assert (np.abs(spread - covariance) / np.outer(unit, unit)).max() < 6 / np.sqrt(MANY)


@modes
@examples(25)
@given(case=network_cases(whole=True, max_rows=4, max_variables=5))
def test_particles_take_in_a_case(mode, case):
    """A case weighs the same for all that believe the same; what is drawn is what is counted."""
    with engine(mode):
        rows = RowByRow(case)
    (enumeration,) = enumerated(case.problem).components.plans
    layout, rng = case.layout, np.random.default_rng(4)
    A = exponents(case)
    mean = np.log(A / layout.spread(layout.sum_k(A)))
    for row, cells in enumerate(enumeration.cells):
        one = swarm_of(A[None, :], layout)
        enumeration.take_in([row], one, 0.0, rng)
        swarm = swarm_of(np.tile(A, (MANY, 1)), layout)
        rows.take_in(row, swarm, rng)
        np.testing.assert_allclose(swarm.log_weights, one.log_weights[0], rtol=1e-11, atol=1e-11)
        np.testing.assert_allclose(swarm.A_ij, [layout.sum_k(x) for x in swarm.A], rtol=1e-12)
        check_frequencies(np.round(swarm.A - A, 9), cells, conditional(mean, cells)[1])
        if len(cells) == 1:
            np.testing.assert_array_equal(swarm.A[0], one.A[0])


@modes
@networks
def test_particles_stop_when_few_of_them_count(mode, network):
    case = make(network, 12, missing=0.3, seed=6)
    with engine(mode):
        plans = case.problem.components.plans
    layout, rng = case.layout, np.random.default_rng(0)
    for plan in plans:
        cases = np.repeat(np.arange(len(plan.counts)), 3)
        A = np.random.default_rng(1).uniform(0.2, 4.0, (30, layout.size))
        assert plan.take_in(cases, swarm_of(A, layout), 0.0, rng) == len(cases)
        assert plan.take_in(cases, swarm_of(A, layout), 31.0, rng) == 1
        swarm = swarm_of(A, layout)
        taken = plan.take_in(cases, swarm, 25.0, rng)
        w = np.exp(swarm.log_weights - swarm.log_weights.max())
        assert w.sum() ** 2 / (w**2).sum() < 25.0 or taken == len(cases)
        families = [c.cells.shape[1] for c in plan.choices()]
        counted = np.array([families[c] for c in cases[:taken]]).sum()
        np.testing.assert_allclose((swarm.A - A).sum(axis=1), counted)


@modes
@networks
def test_weights_of_particles_agree_over_many_cases(mode, network):
    """The mean weight is the probability of all cases; that of both plans, within their errors."""
    case = make(network, 6, missing=0.2, seed=7)
    with engine(mode):
        rows = RowByRow(case)
    (enumeration,) = enumerated(case.problem).components.plans
    layout, A = case.layout, exponents(case)
    ours = swarm_of(np.tile(A, (MANY, 1)), layout)
    rng = np.random.default_rng(8)
    for row in range(len(case.codes)):
        rows.take_in(row, ours, rng)
    theirs = swarm_of(np.tile(A, (MANY // 2, 1)), layout)
    enumeration.take_in(np.arange(len(case.codes)), theirs, 0.0, rng)
    top = ours.log_weights.max()
    w, v = (np.exp(swarm.log_weights - top) for swarm in (ours, theirs))
    error = np.hypot(w.std() / np.sqrt(len(w)), v.std() / np.sqrt(len(v)))
    assert w.mean() == pytest.approx(v.mean(), abs=4.5 * error)


@modes
@examples(60)
@given(case=network_cases(whole=True))
def test_a_pass_over_cases(mode, case):
    """Moments over the whole mixture, case by case."""
    with engine(mode):
        rows = RowByRow(case)
    (enumeration,) = enumerated(case.problem).components.plans
    eta, rng = exponents(case), np.random.default_rng(2)
    ours, theirs = beliefs_of(eta, case.layout), beliefs_of(eta, case.layout)
    several = case.layout.spread(case.layout.sum_k(np.ones(len(eta)))) > 1
    for row in rng.permutation(np.repeat(np.arange(len(case.codes)), 2)):
        found = rows.pass_over(row, 0, ours, rng)
        assert found == pytest.approx(enumeration.pass_over([row], 0, theirs, rng), abs=1e-9)
        np.testing.assert_allclose(ours.eta[several], theirs.eta[several], rtol=1e-8)
    np.testing.assert_allclose(ours.log_mean, theirs.log_mean, atol=1e-8)
    assert not ours.N.any()
    assert not ours.is_touched.any()


@modes
@networks
def test_a_pass_that_draws(mode, network):
    case = make(network, 2, missing=0.2, seed=9)
    with engine(mode):
        rows = RowByRow(case)
    (enumeration,) = enumerated(case.problem).components.plans
    eta, rng = exponents(case), np.random.default_rng(2)
    mean = beliefs_of(eta, case.layout).log_mean
    for row, cells in enumerate(enumeration.cells):
        log_z, p = conditional(mean, cells)
        drawn = []
        for _ in range(MANY // 2):
            beliefs = beliefs_of(eta, case.layout)
            assert rows.pass_over(row, 9, beliefs, rng) == pytest.approx(log_z, abs=1e-10)
            drawn.append(np.round(beliefs.eta - eta, 9))
        check_frequencies(np.array(drawn), cells, p)


# Long steps in pieces.


@modes
@networks
def test_pieces_side_by_side_change_nothing(mode, network):
    case = make(network, 80, missing=0.2, seed=1)
    x = some_weights(case)
    direction = np.random.default_rng(1).standard_normal(case.layout.size)

    def both(plans, executor):
        found = []
        for plan in plans:
            N = np.zeros_like(x)
            log_lik = plan.expect(x, N, executor)
            found += [log_lik, N, plan.tangent(x[0], executor)(direction)]
        return found

    with engine(mode):
        whole = case.problem.components.plans
        cut = Builder(case.network, case.codes, case.counts).build().plans
    wanted = both(whole, SERIAL)
    assert all(len(plan.pieces) == 1 for plan in whole)
    with patch.multiple(contract, LONG=60, PIECE=40):
        assert any(len(plan.pieces) > 3 for plan in cut)
        serial = both(cut, SERIAL)
    for a, b in zip(serial, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    for threads in (1, 2, 7):
        with on_threads(threads) as executor:
            for a, b in zip(both(cut, executor), serial, strict=True):
                np.testing.assert_array_equal(a, b)
