"""Two points crossed: what both tell apart, merged as by trying every pair."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from lacunet.fitting import recombination, schedules
from lacunet.fitting.agglomerate import (
    LabelledRows,
    RowClustering,
    count_families,
    first_gains,
    sparse_rows,
    statistics_around,
)
from lacunet.fitting.fit import learn
from lacunet.fitting.maxima import HIGHEST, LARGEST_MASS
from lacunet.fitting.objective import Estimate, Objective
from lacunet.fitting.recombination import Individual, Recombiner, recombine_all
from lacunet.fitting.schedules import StartResults, recombined
from lacunet.fitting.split_merge import StateBlocks
from lacunet.inference.kernels.merging import Counted, add_up, gains_of_counts
from lacunet.inference.problem import problem_of_codes
from lacunet.models.conjugacy import log_marginal as log_bd
from lacunet.models.latent_class import latent_class
from lacunet.models.network import Network
from lacunet.models.prior import dirichlet
from lacunet.models.surgery import with_hidden
from lacunet.runtime.executor import on_threads
from mixtures import mixed_rows
from problems import build, groups_of_rows, make

CLASSES = build("H>a H>b H>c H>d", {"H": 4, "a": 2, "b": 3, "c": 2, "d": 4}, "H")
BETWEEN = build("a>H H>b H>c d>c", {"a": 2, "H": 3, "b": 3, "c": 2, "d": 3}, "H")
TWO = build(
    "G>a G>b G>c H>c H>d H>e G>f H>g",
    {"G": 3, "H": 2, "a": 3, "b": 3, "c": 2, "d": 3, "e": 3, "f": 2, "g": 2},
    "GH",
)


def known_rows(network, rows, seed, missing=0.3):
    """Rows with missing values and whole weights, and the problem that they are."""
    rng = np.random.default_rng(seed)
    case = make(network, rows, missing=missing, seed=seed)
    codes = np.full((rows, len(network.variables)), -1)
    codes[:, list(network.observed)] = case.codes
    weights = rng.integers(1, 4, rows)
    problem = problem_of_codes(case.codes, weights * 1.0, network, dirichlet(network, 0.7))
    return problem, LabelledRows(codes, weights)


@pytest.mark.parametrize("network", [CLASSES, BETWEEN], ids=["classes", "between"])
@pytest.mark.parametrize("seed", range(4))
def test_clusters_are_merged_as_by_trying_every_pair(network, seed):
    problem, rows = known_rows(network, 40, seed)
    h, states = network.hidden[0], 3
    wide = with_hidden(network, {"H": 9})
    alpha = dirichlet(wide, 0.7)
    cluster = np.random.default_rng(seed).integers(0, 9, 40)
    codes = rows.codes.copy()
    codes[:, h] = cluster
    while len(used := np.unique(codes[:, h])) > states:
        trials = []
        for a, b in itertools.combinations(used, 2):
            trial = codes.copy()
            trial[trial[:, h] == b, h] = a
            N = count_families(wide, LabelledRows(trial, rows.weights))
            trials.append((log_bd(N, alpha, wide.layout).sum(), trial))
        codes = max(trials, key=lambda t: t[0])[1]
    small = with_hidden(network, {"H": states})
    narrow = problem_of_codes(problem.codes, problem.counts, small, dirichlet(small, 0.7))
    clusters = RowClustering.of(narrow, rows, h).merged(cluster)
    together = codes[:, h][:, None] == codes[:, h]
    np.testing.assert_array_equal(clusters[:, None] == clusters, together)


def test_gains_of_equal_rows_are_those_of_any_clusters():
    rng = np.random.default_rng(0)
    cases = rng.integers(1, 5, 12).astype(np.int32)
    counts = (rng.random((12, 7)) < 0.5).astype(np.int32) * cases[:, None]
    which = rng.integers(0, 2, 7).astype(np.int32)
    tables = np.cumsum(rng.normal(size=(2, int(cases.sum()) + 1)), axis=1)
    tables[:, 0] = 0.0
    by_products = first_gains(counts, cases, which, tables)
    gains = np.zeros((12, 12))
    first = which * np.int32(tables.shape[1])
    gains_of_counts(Counted(counts, first, tables.reshape(-1)), gains)
    apart = ~np.eye(12, dtype=bool)
    np.testing.assert_allclose(gains[apart], by_products[apart], atol=1e-12)
    a, b = counts[3], counts[8]
    expected = sum(
        tables[t, x + y] - tables[t, x] - tables[t, y] for t, x, y in zip(which, a, b, strict=True)
    )
    assert gains[3, 8] == pytest.approx(expected, abs=1e-12)


def test_rows_are_added_up_by_cluster():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(30, 5)) * (rng.random((30, 5)) < 0.4)
    cluster, sums = rng.integers(0, 4, 30), np.zeros((4, 5))
    add_up(sparse_rows(x), cluster, sums)
    np.testing.assert_allclose(sums, [x[cluster == k].sum(axis=0) for k in range(4)], atol=1e-14)


@pytest.mark.parametrize("network", [CLASSES, BETWEEN], ids=["classes", "between"])
def test_what_rows_add_to_a_state_is_what_is_counted(network):
    problem, rows = known_rows(network, 50, 2)
    holds(problem, rows, network.hidden[0])


@pytest.mark.parametrize("form", [{}, {"full": True}, {"common": True}], ids=str)
def test_what_rows_with_numbers_add_to_a_state_is_what_is_counted(form):
    problem = mixed_rows(0, 3, **form)
    codes = np.full((len(problem.codes), len(problem.network.variables)), -1)
    codes[:, list(problem.network.observed)] = problem.codes
    holds(problem, LabelledRows(codes, problem.counts.astype(np.int64)), problem.network.hidden[0])


def holds(problem, rows, h):
    """Statistics of rows with known states of h are sums of what each row adds."""
    network, places = problem.network, StateBlocks.build(problem.layout, h)
    state = np.random.default_rng(3).integers(0, len(places.states), len(rows.weights))
    N, mine = count_families(network, rows), np.zeros(places.states.shape)
    add_up(statistics_around(network, rows, h), state, mine)
    N[places.states] = mine
    codes = rows.codes.copy()
    codes[:, h] = state
    np.testing.assert_allclose(
        N, count_families(network, LabelledRows(codes, rows.weights)), atol=1e-12
    )


def of_groups(codes, classes, weights=1.0, rank=LARGEST_MASS):
    network = latent_class([(f"x{i}", (0, 1, 2)) for i in range(codes.shape[1])], classes)
    counts = np.full(len(codes), weights)
    problem = problem_of_codes(codes, counts, network, dirichlet(network, 1.01))
    return Recombiner.build(Objective.build(problem, Estimate.MAP), rank)


def from_labels(recombiner, labels):
    """The point that EM reaches from rows of known classes."""
    codes = recombiner.rows.codes.copy()
    codes[:, 0] = labels[recombiner.taken]
    N = count_families(recombiner.problem.network, LabelledRows(codes, recombiner.rows.weights))
    objective = recombiner.objective
    return schedules.ascend(objective, schedules.em_while_fast(objective, objective.best_for(N)))


@pytest.mark.parametrize("rank", [LARGEST_MASS, HIGHEST], ids=["largest_mass", "highest"])
@pytest.mark.parametrize("weights", [1.0, 0.3, 40.0])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_recombination_joins_what_both_optima_have(rank, weights, missing):
    """One joins groups 0 and 1 and divides 5, the other joins 2 and 3 and divides 4."""
    codes, labels = groups_of_rows(6, 12, 40, seed=1, missing=missing)
    recombiner = of_groups(codes, 6, weights, rank)
    odd = np.arange(len(labels)) % 2 == 1
    one = np.where(labels == 0, 1, np.where((labels == 5) & odd, 0, labels))
    other = np.where(labels == 2, 3, np.where((labels == 4) & odd, 2, labels))
    right, *wrong = (from_labels(recombiner, result).point for result in (labels, one, other))
    lines = tuple(recombiner.individual(point) for point in wrong)
    assert max(line.point.g for line in lines) < right.g - 5
    child = recombiner.recombine(lines)
    assert child.point.g > right.g - 0.01 * abs(weights)
    assert child.value == rank(recombiner.objective, child.point)


def test_two_hidden_variables_are_crossed_given_each_other():
    """Each point has lost one variable: its states are independent of the rows."""
    case = make(TWO, 600, seed=5)
    problem = problem_of_codes(case.codes, np.ones(600), TWO, dirichlet(TWO, 1.01))
    recombiner = Recombiner.build(Objective.build(problem, Estimate.MAP), LARGEST_MASS)
    assert [TWO.variables[h].name for h in recombiner.variables] == ["G", "H"]
    best = recombiner.individual(learn(problem).point)
    chance = np.random.default_rng(0)
    lost = []
    for place in range(2):
        states = best.states.copy()
        states[place] = chance.permutation(states[place])
        codes = recombiner.rows.codes.copy()
        codes[:, list(recombiner.variables)] = states.T
        point = recombiner.objective.best_for(
            count_families(TWO, LabelledRows(codes, recombiner.rows.weights))
        )
        lost.append(Individual(point, LARGEST_MASS(recombiner.objective, point), states))
    assert max(line.value for line in lost) < best.value - 15
    assert recombiner.recombine(tuple(lost)).value > best.value - 2


def test_points_that_divide_alike_are_not_crossed():
    codes, labels = groups_of_rows(4, 10, 60, seed=2)
    recombiner = of_groups(codes, 4)
    line = recombiner.individual(from_labels(recombiner, labels).point)
    swapped = recombiner.individual(from_labels(recombiner, 3 - labels).point)
    assert recombiner.recombine((line, swapped)) is None
    moved = Individual(line.point, line.value, line.states.copy())
    moved.states[0, :5] = (moved.states[0, :5] + 1) % 4
    assert recombiner.recombine((line, moved)) is not None


def test_rounds_end_with_the_best_and_never_with_less():
    codes, labels = groups_of_rows(8, 12, 25, seed=3, missing=0.1)
    recombiner = of_groups(codes, 8)
    starts = schedules.random_starts(recombiner.objective, 10, 0)
    lines = [recombiner.individual(point) for point in starts]
    result = recombine_all(recombiner, lines, seed=0, part=0)
    assert [line.value for line in result] == sorted((f.value for f in result), reverse=True)
    assert len(result) == len(lines)
    assert result[0].value >= max(line.value for line in lines)
    right = recombiner.individual(from_labels(recombiner, labels).point)
    assert result[0].value > right.value - 1.0
    again = recombine_all(recombiner, lines, seed=0, part=0)
    np.testing.assert_array_equal(again[0].point.theta, result[0].point.theta)


def test_small_clusters_too_many_go_to_the_largest_of_their_state(monkeypatch):
    monkeypatch.setattr(recombination, "CLUSTERS", (4, 1))
    codes, _ = groups_of_rows(3, 8, 30, seed=4)
    recombiner = of_groups(codes, 3)
    rng = np.random.default_rng(0)
    one, other = rng.integers(0, 3, 90), rng.integers(0, 3, 90)
    weights = recombiner.rows.weights[: len(one)]
    one, other = one[: len(weights)], other[: len(weights)]
    result = recombiner._clusters(one, other)
    before = one * 3 + other
    size = np.bincount(before, weights)
    kept = np.sort(size)[-4]
    for state in range(3):
        mine = one == state
        largest = 3 * state + size[3 * state : 3 * state + 3].argmax()
        expected = np.where(size[before[mine]] >= kept, before[mine], largest)
        np.testing.assert_array_equal(result[mine], expected)
    assert len(np.unique(result)) <= 4 + 3


def test_a_wide_table_is_seen_by_fewer_rows(monkeypatch):
    monkeypatch.setattr(recombination, "NUMBERS", 30 * 500)
    codes, _ = groups_of_rows(3, 10, 300, seed=4)
    assert of_groups(codes, 3).rows.weights.sum() == 15_000 // 31  # ten of three, and the sizes


def test_halves_that_agree_count_twice_and_what_was_known_before_does_not():
    codes, labels = groups_of_rows(6, 12, 40, seed=1)
    recombiner = of_groups(codes, 6)
    odd = np.arange(len(labels)) % 2 == 1
    one = np.where(labels == 0, 1, np.where((labels == 5) & odd, 0, labels))
    other = np.where(labels == 2, 3, np.where((labels == 4) & odd, 2, labels))
    third = np.where(labels == 1, 4, np.where((labels == 3) & odd, 1, labels))
    right, a, b, c = (from_labels(recombiner, improved) for improved in (labels, one, other, third))
    # Each half, 0 and 2, 1 and 3, can find the right ones by itself.
    improved = recombined(
        recombiner.objective, StartResults([a, a, b, c], []), LARGEST_MASS, seed=0
    )
    new = improved[4:]
    assert [climb.point.g for climb in new] == pytest.approx([right.point.g] * 2, abs=1e-6)
    # The second half knows them from the beginning: only the first finds something.
    improved = recombined(
        recombiner.objective, StartResults([a, right, b, c], []), LARGEST_MASS, seed=0
    )
    assert len(improved) == 5
    # Nothing improves: the results are those that were given.
    assert (
        len(recombined(recombiner.objective, StartResults([a, a], []), LARGEST_MASS, seed=0)) == 2
    )


def test_threads_change_nothing():
    codes, _ = groups_of_rows(10, 14, 15, seed=6, missing=0.1)
    problem = of_groups(codes, 10).objective.problem
    alone = learn(problem)
    with on_threads(2) as executor:
        together = learn(problem, executor=executor)
    np.testing.assert_array_equal(together.point.theta, alone.point.theta)
    assert (together.reached, together.finalists) == (alone.reached, alone.finalists)


def test_priors_stay_with_their_tables_whatever_is_hidden():
    """States are split with other hidden variables seen, which changes how tables are stored."""
    edges, cards = "G>H G>a H>b G>b", {"G": 3, "H": 2, "a": 2, "b": 3}
    network = build(edges, cards, "GH")
    seen = Network.build(
        [replace(v, hidden=v.name == "H") for v in network.variables], network.parents
    )
    alpha = np.random.default_rng(0).uniform(0.5, 2.0, network.layout.size)
    h = network.index("H")
    old, new = (StateBlocks.build(each.layout, h) for each in (network, seen))
    moved = old.regroup_prior(alpha, new, 0)
    for name in "Ga":
        i = network.index(name)
        ours, theirs = network.layout.table(alpha, i), seen.layout.table(moved, i)
        np.testing.assert_array_equal(theirs, ours)
