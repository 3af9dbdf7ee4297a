"""States of hidden variables exchanged, and candidates that learn from each other."""

from itertools import combinations, pairwise

import numpy as np
import pytest

from lacunet.fitting import split_merge
from lacunet.fitting.fit import Options, learn
from lacunet.fitting.maxima import BOTH, HIGHEST, LARGEST_MASS
from lacunet.fitting.neighbours import (
    learn_from_neighbours,
    more_states_of,
    steps_up,
    with_empty,
)
from lacunet.fitting.objective import Estimate, Objective
from lacunet.fitting.schedules import Schedule
from lacunet.fitting.split_merge import StateBlocks, mergers, split_and_merge
from lacunet.inference.classes import expect
from lacunet.inference.problem import Weighable, problem_of_codes, thinned
from lacunet.models.conjugacy import log_marginal, random_theta
from lacunet.models.latent_class import latent_class
from lacunet.models.network import Model
from lacunet.models.prior import dirichlet
from lacunet.models.surgery import with_hidden
from lacunet.runtime.executor import SERIAL, on_threads
from problems import build, groups_of_rows, make, make_case, problem_for

CLASSES = build("H>a H>b H>c H>d", {"H": 4, "a": 2, "b": 3, "c": 2, "d": 4}, "H")
BETWEEN = build("a>H H>b H>c d>c", {"a": 2, "H": 4, "b": 3, "c": 2, "d": 3}, "H")
TWO = build(
    "G>a G>b G>c H>c H>d H>e",
    {"G": 3, "H": 4, "a": 3, "b": 3, "c": 2, "d": 3, "e": 3},
    "GH",
)
NETWORKS = pytest.mark.parametrize("network", [CLASSES, BETWEEN, TWO])


def hidden_of(network):
    return next(i for i, v in enumerate(network.variables) if v.name == "H")


@NETWORKS
def test_regrouped_statistics_are_sums_along_the_variables_axis(network):
    h, layout = hidden_of(network), network.layout
    N = np.random.default_rng(0).random(layout.size)
    small = with_hidden(network, {"H": 3}).layout
    groups = [[2], [0, 3], []]
    result = StateBlocks.build(layout, h).regroup(N, StateBlocks.build(small, h), groups)
    for i, family in enumerate(layout.families):
        table, expected = layout.table(N, i), layout.table(N, i)
        if h in family:
            rolled = np.moveaxis(table, family.index(h), 0)
            parts = [rolled[2], rolled[0] + rolled[3], 0 * rolled[0]]
            expected = np.moveaxis(np.stack(parts), 0, family.index(h))
        np.testing.assert_allclose(small.table(result, i), expected)


@NETWORKS
def test_losses_are_those_of_log_bd_with_two_states_made_one(network):
    problem = make(network, 80, seed=2).problem
    h, layout = hidden_of(network), network.layout
    theta = random_theta(layout, np.random.default_rng(1))
    N = expect(problem, theta).N
    places = StateBlocks.build(layout, h)

    def log_bd(x):
        return float(log_marginal(x, problem.alpha, layout).sum())

    ways = mergers(problem, N, places)
    assert {way.touched for way in ways} <= {
        *combinations(range(4), 2),
        *((b, a) for a, b in combinations(range(4), 2)),
    }
    assert [way.loss for way in ways] == sorted(way.loss for way in ways)
    for way in ways:
        merged = N.copy()
        merged[places.states[way.a]] += merged[places.states[way.b]]
        merged[places.states[way.b]] = 0.0
        assert way.loss == pytest.approx(log_bd(N) - log_bd(merged), abs=1e-8)


def test_a_state_without_cases_is_free_for_nothing():
    problem = make_case([2] * 6, 4, 100, seed=0).problem
    theta = random_theta(problem.layout, np.random.default_rng(0))
    theta[problem.layout.block(0)] = [0.5, 0.5, 0.0, 0.0]
    ways = mergers(problem, expect(problem, theta).N, StateBlocks.build(problem.layout, 0))
    assert {(way.b, way.loss) for way in ways if way.a is None} == {(2, 0.0), (3, 0.0)}
    assert [{*way.touched} for way in ways if way.a is not None] == [{0, 1}]


@NETWORKS
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_rows_may_weigh_what_they_like(network, missing):
    case = make(network, 40, missing=missing, seed=1)
    rng = np.random.default_rng(0)
    weigh = Weighable(network, case.codes)
    for share in (0.3, 0.9):
        weights = rng.random(40) * (rng.random(40) < share)
        expected = problem_of_codes(case.codes, weights, network, case.problem.alpha)
        result = weigh(weights, case.problem.alpha)
        theta = random_theta(network.layout, rng)
        one, other = expect(expected, theta), expect(result, theta)
        assert other.log_lik == pytest.approx(one.log_lik, abs=1e-9)
        np.testing.assert_allclose(other.N, one.N, atol=1e-12)
        assert result.cases == pytest.approx(weights.sum())


def test_thinned_rows_keep_their_sum_and_their_proportions():
    weights = np.random.default_rng(0).random(3000) * np.repeat([0.0, 1.0, 3.0], 1000)
    result = thinned(weights, 300)
    assert result.sum() == pytest.approx(weights.sum())
    assert np.count_nonzero(result) <= 300
    assert result[:1000].sum() == 0
    assert result[2000:].sum() == pytest.approx(weights[2000:].sum(), rel=0.02)


def of_classes(codes, classes, alpha=1.01):
    network = latent_class([(f"x{i}", (0, 1, 2)) for i in range(codes.shape[1])], classes)
    return problem_of_codes(codes, np.ones(len(codes)), network, dirichlet(network, alpha))


def from_labels(objective, codes, labels):
    """The point that is best for rows with known classes."""
    problem = objective.problem
    layout, N = problem.layout, np.zeros(problem.layout.size)
    tables = [layout.table(N, i).copy() for i in range(len(layout.cards))]
    np.add.at(tables[0], labels, 1.0)
    for i in range(codes.shape[1]):
        seen = codes[:, i] >= 0
        np.add.at(tables[1 + i], (labels[seen], codes[seen, i]), 1.0)
    return objective.best_for(layout.flat(tables))


@pytest.mark.parametrize("rank", [HIGHEST, LARGEST_MASS])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_two_groups_in_one_state_and_one_in_two_are_put_right(rank, missing):
    """EM stands still where a pair of groups shares a state and another group has two."""
    codes, labels = groups_of_rows(6, 12, 40, seed=1, missing=missing)
    objective = Objective.build(of_classes(codes, 6), Estimate.MAP)
    halves = np.where((labels == 5) & (np.arange(len(labels)) % 2 == 1), 0, labels)
    wrong = np.where(labels == 0, 1, halves)  # 0 and 1 together, half of 5 in the place of 0
    problem, theta = objective.problem, from_labels(objective, codes, wrong).theta
    start = learn(problem, start=Model(problem.network, theta, problem.alpha))
    right = from_labels(objective, codes, labels)
    assert start.point.g < right.g - 50
    result, made = split_and_merge(objective, start.point, rank, seed=0)
    assert 1 <= made < split_merge.TURNS
    assert result.g > right.g - 1e-6


def test_what_is_right_already_stays():
    codes, labels = groups_of_rows(5, 12, 40, seed=2)
    objective = Objective.build(of_classes(codes, 5), Estimate.MAP)
    right = learn(objective.problem).point
    result, made = split_and_merge(objective, right, LARGEST_MASS, seed=0)
    assert made == 0
    assert result is right
    assert len(labels) == 200


def is_what_the_prior_takes(fewer, more):
    """Whether the fit with fewer classes falls as far, given a class without cases."""
    old, new = (StateBlocks.build(fit.problem.layout, 0) for fit in (fewer, more))
    objective = Objective.build(more.problem, more.options.estimate)
    theta = objective.best_for(with_empty(fewer, old, new)).theta
    start = Model(more.problem.network, theta, more.problem.alpha)
    assert objective.estimate is Estimate.SOFTMAX  # exponents of 1.01 take nothing from the others
    return learn(more.problem, more.options, start=start).log_lik <= more.log_lik + 0.1


@pytest.mark.parametrize("estimate", Estimate)
@pytest.mark.parametrize("seed", range(3))
def test_no_more_classes_ever_fit_worse(estimate, seed):
    """Few starts, missing values, and more classes than the data have."""
    table = make_case([3, 2, 4, 3, 2, 3], 3, 90, missing=0.15, seed=seed).table
    options = Options(estimate=estimate, starts=2, seed=seed)
    fits = [learn(problem_for(table, k).problem, options) for k in range(1, 8)]
    improved = learn_from_neighbours(fits)
    for fewer, more in pairwise(improved):
        assert more.log_lik >= fewer.log_lik - 0.1 or is_what_the_prior_takes(fewer, more)
    for before, after in zip(fits, improved, strict=True):
        assert after.problem is before.problem
        assert after.gradient < 1e-5


def test_neighbours_help_where_random_starts_fail(monkeypatch):
    """One start each, nothing exchanged or crossed: fits are left to what neighbours found."""
    monkeypatch.setattr(
        "lacunet.fitting.schedules.recombined", lambda _o, started, *_: started.climbs
    )
    monkeypatch.setattr("lacunet.fitting.schedules.split_and_merge", no_moves)
    monkeypatch.setattr("lacunet.fitting.schedules.agglomerated", random_instead)
    codes, labels = groups_of_rows(12, 14, 20, seed=3, missing=0.1)
    problems = {k: of_classes(codes, k) for k in range(9, 15)}
    fits = [learn(problem, Options(starts=1), ranks=BOTH) for problem in problems.values()]
    right = from_labels(Objective.build(problems[12], Estimate.MAP), codes, labels)
    assert fits[3].point.g < right.g - 100
    improved = learn_from_neighbours(fits)
    for fit in (improved[3], improved[3].for_scores):
        assert fit.point.g > right.g - 1e-6
        assert (fit.reached, fit.stable) == (0, False)
        assert "unstable: none of" in " ".join(map(str, fit.flags))
    for fewer, more in pairwise(improved):
        assert more.log_lik >= fewer.log_lik - 0.1


def no_moves(objective, point, rank, seed):
    return point, 0


def random_instead(problem, seed, index):
    return random_theta(problem.layout, np.random.default_rng([seed, index]))


def test_neighbours_differ_in_one_hidden_variable():
    def sizes(g, h):
        return with_hidden(TWO, {"G": g, "H": h})

    names = [v.name for v in TWO.variables]
    assert names[more_states_of(sizes(2, 2), sizes(2, 4))] == "H"
    assert names[more_states_of(sizes(2, 3), sizes(3, 3))] == "G"
    assert more_states_of(sizes(2, 3), sizes(3, 2)) is None
    assert more_states_of(sizes(2, 3), sizes(3, 4)) is None
    assert more_states_of(sizes(2, 3), sizes(2, 3)) is None
    assert more_states_of(sizes(2, 3), sizes(2, 2)) is None
    assert more_states_of(CLASSES, TWO) is None


@pytest.mark.slow
def test_several_hidden_variables_learn_along_each():
    case = make(TWO, 150, missing=0.1, seed=4)
    networks = [with_hidden(TWO, {"G": g, "H": h}) for g in (2, 3) for h in (2, 3)]
    fits = [
        learn(
            problem_of_codes(case.codes, case.counts, network, dirichlet(network, 1.01)),
            Options(starts=2),
        )
        for network in networks
    ]
    steps = {(step.source, step.target) for step in steps_up(fits)}
    assert steps == {(0, 1), (0, 2), (1, 3), (2, 3)}
    improved = learn_from_neighbours(fits)
    for source, target in steps:
        assert improved[target].log_lik >= improved[source].log_lik - 0.1


def test_the_papers_schedule_is_left_as_it_is():
    table = make_case([2] * 6, 3, 60, seed=0).table
    options = Options(schedule=Schedule.PAPER, starts=2)
    fits = [learn(problem_for(table, k).problem, options) for k in (1, 2, 3)]
    assert learn_from_neighbours(fits) == fits


@pytest.mark.usefixtures("short_steps_on_threads")
def test_the_number_of_threads_changes_nothing():
    codes, _ = groups_of_rows(5, 8, 25, seed=5, missing=0.1)

    def improved(executor):
        fits = [
            learn(of_classes(codes, k), Options(starts=3), executor=executor) for k in (2, 3, 4, 5)
        ]
        return [fit.point.theta for fit in learn_from_neighbours(fits, executor)]

    with on_threads(3) as executor:
        threaded = improved(executor)
    for one, other in zip(improved(SERIAL), threaded, strict=True):
        np.testing.assert_array_equal(one, other)
