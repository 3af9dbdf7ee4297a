"""Starts from merged rows, walks, and the schedules that go further."""

import itertools

import numpy as np
import pytest

from lacunet.fitting import agglomerate, schedules
from lacunet.fitting.agglomerate import (
    LabelledRows,
    RowClustering,
    agglomerated,
    count_families,
    take_rows,
)
from lacunet.fitting.ascent import Convergence, ascend, em_while_fast
from lacunet.fitting.diagnose import EMPTY, state_sizes
from lacunet.fitting.fit import Options, learn
from lacunet.fitting.maxima import BOTH, ESTIMATE, LARGEST_MASS, MASS, is_better
from lacunet.fitting.objective import Estimate, Objective, perturbed
from lacunet.fitting.schedules import Schedule, climb_from_starts
from lacunet.flags import Kind
from lacunet.inference.problem import problem_of_codes
from lacunet.models.conjugacy import log_marginal as log_bd
from lacunet.models.conjugacy import random_theta
from lacunet.models.latent_class import latent_class
from lacunet.models.network import Model
from lacunet.models.prior import dirichlet
from lacunet.models.surgery import sample_codes
from mixtures import mixed_rows
from problems import build, make, make_case, problem_for

FURTHER = (Schedule.DEFAULT, Schedule.THOROUGH)

# One hidden root; a hidden variable with an observed parent, and a child with another parent.
CLASSES = build("H>a H>b H>c H>d", {"H": 3, "a": 2, "b": 3, "c": 2, "d": 4}, "H")
BETWEEN = build("a>H H>b H>c d>c", {"a": 2, "H": 3, "b": 3, "c": 2, "d": 3}, "H")
TWO = build(
    "G>a G>b G>c H>c H>d H>e G>f H>g",
    {"G": 3, "H": 2, "a": 3, "b": 3, "c": 2, "d": 3, "e": 3, "f": 2, "g": 2},
    "GH",
)
# A hidden root that sees its leaves only through two more hidden variables.
TREE = build(
    "R>G R>H G>a G>b G>c H>d H>e H>f",
    {"R": 2, "G": 3, "H": 3, "a": 3, "b": 3, "c": 3, "d": 3, "e": 3, "f": 3},
    "RGH",
)
SCATTERED = build("a>b b>c a>c", {"a": 2, "b": 3, "c": 2})  # nothing hidden but scattered cells


def states_in_use(objective, point):
    """Count the states of hidden variables that hold some cases."""
    problem = objective.problem
    sizes = (state_sizes(problem.layout, point.N, h) for h in problem.network.hidden)
    return sum(int((cases >= EMPTY).sum()) for cases in sizes)


def uneven_prior(network, rng):
    """Exponents that differ from cell to cell, but not between the states of hidden variables."""
    layout, tables = network.layout, []
    for family in layout.families:
        shape = [1 if v in network.hidden else layout.cards[v] for v in family]
        tables.append(
            np.broadcast_to(rng.uniform(0.5, 2.0, shape), [layout.cards[v] for v in family])
        )
    return layout.flat(tables)


def log_bd_of(network, alpha, codes, weights):
    """Log BD of the families that each row shows whole, counted one by one."""
    layout, N = network.layout, np.zeros(network.layout.size)
    tables = [layout.table(N, i).copy() for i in range(len(layout.families))]
    for row, weight in zip(codes, weights, strict=True):
        for table, family in zip(tables, layout.families, strict=True):
            cell = tuple(row[list(family)])
            if min(cell) >= 0:
                table[cell] += weight
    return float(log_bd(layout.flat(tables), alpha, layout).sum())


def with_states(network, h, states):
    """The same network with another number of states of h."""
    cards = {v.name: len(v.states) for v in network.variables}
    edges = " ".join(
        f"{network.variables[p].name}>{v.name}"
        for v, parents in zip(network.variables, network.parents, strict=True)
        for p in parents
    )
    cards[network.variables[h].name] = states
    return build(edges, cards, [network.variables[i].name for i in network.hidden])


def merged_by_hand(network, codes, weights, h, seed, states):
    """Try every pair, score every trial from scratch, keep the best."""
    wide = with_states(network, h, len(codes))
    alpha = uneven_prior(wide, np.random.default_rng(seed))
    codes = codes.copy()
    codes[:, h] = alike(network, codes, h)
    while len(used := np.unique(codes[:, h])) > states:
        trials = []
        for a, b in itertools.combinations(used, 2):
            trial = codes.copy()
            trial[trial[:, h] == b, h] = a
            trials.append((log_bd_of(wide, alpha, trial, weights), trial))
        codes = max(trials, key=lambda t: t[0])[1]
    return codes[:, h]


def alike(network, codes, h):
    """Number the rows by what h sees of them: families with another unknown cell do not count."""
    views = []
    for row in codes:
        around = [[row[v] for v in f if v != h] for f in network.layout.families if h in f]
        views.append(tuple(tuple(cell) if min(cell, default=0) >= 0 else None for cell in around))
    return np.array([views.index(view) for view in views])


def partition(labels):
    return {frozenset(np.flatnonzero(labels == k).tolist()) for k in np.unique(labels)}


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("network", [CLASSES, BETWEEN], ids=["classes", "between"])
@pytest.mark.parametrize("seed", range(4))
def test_rows_are_merged_as_by_trying_every_pair(network, missing, seed):
    rng = np.random.default_rng(seed)
    case = make(network, 9, missing=missing, seed=seed)
    alpha = uneven_prior(network, np.random.default_rng(seed))
    problem = problem_of_codes(case.codes, case.counts, network, alpha)
    h = network.hidden[0]
    codes = np.full((9, len(network.variables)), -1)
    codes[:, list(network.observed)] = case.codes
    rows = LabelledRows(codes, rng.integers(1, 4, 9))
    expected = merged_by_hand(network, codes, rows.weights, h, seed, network.layout.cards[h])
    clusters = RowClustering.of(problem, rows, h).merged()
    assert partition(clusters) == partition(expected)


@pytest.mark.parametrize("seed", range(4))
def test_rows_with_numbers_are_merged_as_by_trying_every_pair(seed):
    problem, wide = (mixed_rows(seed, states) for states in (3, 11))
    rows = take_rows(problem, problem.counts, 3)
    codes = rows.codes.copy()
    codes[:, 0] = np.arange(len(codes))
    while len(used := np.unique(codes[:, 0])) > 3:
        trials = []
        for a, b in itertools.combinations(used, 2):
            trial = codes.copy()
            trial[trial[:, 0] == b, 0] = a
            N = count_families(wide.network, LabelledRows(trial, rows.weights))
            trials.append((log_bd(N, wide.alpha, wide.layout).sum(), trial))
        codes = max(trials, key=lambda t: t[0])[1]
    assert partition(RowClustering.of(problem, rows, 0).merged()) == partition(codes[:, 0])


@pytest.mark.parametrize("form", ["full", "common"])
def test_numbers_with_covariances_are_merged_as_if_they_had_none(form):
    alone, other = mixed_rows(5, 3), mixed_rows(5, 3, **{form: True})
    rows = take_rows(alone, alone.counts, 3)
    expected = RowClustering.of(alone, rows, 0).merged()
    np.testing.assert_array_equal(RowClustering.of(other, rows, 0).merged(), expected)


def test_families_are_counted_where_they_are_known():
    case = make(BETWEEN, 40, missing=0.3, seed=1)
    rng = np.random.default_rng(0)
    codes = np.full((40, 5), -1)
    codes[:, list(BETWEEN.observed)] = case.codes
    codes[:, BETWEEN.hidden[0]] = rng.integers(0, 3, 40)
    weights = rng.integers(1, 5, 40)
    N = count_families(BETWEEN, LabelledRows(codes, weights))
    for i, family in enumerate(BETWEEN.layout.families):
        known = (codes[:, list(family)] >= 0).all(axis=1)
        expected = np.zeros([BETWEEN.layout.cards[v] for v in family])
        np.add.at(expected, tuple(codes[known][:, list(family)].T), weights[known])
        np.testing.assert_array_equal(BETWEEN.layout.table(N, i), expected)


def test_few_rows_are_taken_as_they_are():
    case = make_case([2] * 4, 5, 300, seed=0)
    rows = take_rows(case.problem, case.problem.counts, 5)
    np.testing.assert_array_equal(rows.weights, case.problem.counts)
    np.testing.assert_array_equal(rows.codes[:, 1:], case.problem.codes)
    assert (rows.codes[:, 0] == -1).all()


@pytest.mark.parametrize("scale", [0.1, 7.3, 1e6])
def test_weights_that_are_not_whole_keep_their_proportions(scale):
    case = make_case([2] * 4, 5, 300, seed=0)
    counts = case.problem.counts * scale
    rows = take_rows(case.problem, counts, 5)
    expected = counts * (rows.weights.sum() / counts.sum())
    everywhere = np.zeros(len(counts))
    everywhere[
        np.isin(case.problem.codes @ 2 ** np.arange(4), rows.codes[:, 1:] @ 2 ** np.arange(4))
    ] = rows.weights
    assert (np.abs(everywhere - expected) < 1).all()
    assert rows.weights.sum() <= agglomerate.CASES


def test_of_many_rows_a_sample_is_taken():
    case = make_case([4] * 12, 3, 2000, seed=0)
    rows = take_rows(case.problem, case.problem.counts, 3)
    assert len(rows.weights) == rows.weights.sum() == 3 * agglomerate.ROWS_FOR_A_STATE[1]
    many = take_rows(case.problem, case.problem.counts, 50)
    assert many.weights.sum() == 50 * agglomerate.ROWS_FOR_A_STATE[0]


def hard_case(seed=0, missing=0.0):
    """Sixteen equal classes, 250 rows of 48 binary leaves, and the parameters that made them."""
    network = latent_class([(f"x{i}", (0, 1)) for i in range(48)], 16)
    rng = np.random.default_rng(seed)
    alpha = dirichlet(network, 1.01)
    theta = random_theta(network.layout, rng)
    theta[network.layout.block(0)] = 1 / 16
    truth = Model(network, theta, alpha)
    codes = sample_codes(truth, 250, rng, missing)
    return problem_of_codes(codes, np.ones(250), network, alpha), truth


def random_only(problem, estimate=Estimate.MAP, starts=64):
    """The best of the random starts alone."""
    objective = Objective.build(problem, estimate)
    climbs = climb_from_starts(objective, starts, 0, merged=0, ranks=ESTIMATE).climbs
    return max(c.point.g for c in climbs)


@pytest.mark.slow
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_where_random_starts_fail_the_data_show_the_way(missing):
    problem, truth = hard_case(missing=missing)
    top = learn(problem, start=truth).point.g
    missed = top - random_only(problem)
    quick = top - learn(problem).point.g
    further = top - learn(problem, Options(schedule=Schedule.THOROUGH)).point.g
    assert missed > 60
    assert quick < missed / 4
    assert further <= 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("network", [CLASSES, BETWEEN, TWO, TREE, SCATTERED])
@pytest.mark.parametrize("estimate", Estimate)
def test_each_schedule_keeps_its_promise(network, estimate):
    """Thorough ends no lower than default, and has no less mass around it; both are maxima."""
    problem = make(network, 60, missing=0.15, seed=3).problem
    objective = Objective.build(problem, estimate)
    fits = {
        s: learn(problem, Options(estimate=estimate, schedule=s, starts=16), ranks=BOTH)
        for s in Schedule
    }
    default, thorough = fits[Schedule.DEFAULT], fits[Schedule.THOROUGH]
    assert thorough.point.g >= default.point.g - 1e-6
    assert default.point.g >= random_only(problem, estimate, starts=16) - 1e-6
    for s in FURTHER:
        assert fits[s].status is Convergence.CONVERGED
        assert fits[s].gradient < 1e-5
        assert 1 <= fits[s].reached <= fits[s].finalists
    if estimate is Estimate.ML:  # a likelihood has no mass around its maxima
        assert all(fit.largest_mass is None for fit in fits.values())
        return
    most = LARGEST_MASS(objective, thorough.for_scores.point)
    for other in (default.point, thorough.point, default.for_scores.point):
        assert not is_better(LARGEST_MASS(objective, other), most + 1e-3)


@pytest.mark.slow
def test_a_narrow_peak_is_not_where_the_mass_is():
    """Leaves of many states: the highest peak gives a few rows a class of their own."""
    case = make_case([5] * 12, 6, 150, seed=0)
    objective = Objective.build(case.problem, Estimate.MAP)
    for schedule in FURTHER:
        fit = learn(case.problem, Options(schedule=schedule), ranks=BOTH)
        high, broad = fit.point, fit.for_scores.point
        assert high.g == pytest.approx(broad.g + fit.nats_above_mass)
        assert high.g > broad.g + 1
        (flag,) = fit.mass_flags
        assert flag.kind is Kind.MASS_ELSEWHERE
        assert states_in_use(objective, broad) == states_in_use(objective, high) == 6
        assert LARGEST_MASS(objective, broad) > LARGEST_MASS(objective, high) + 1


@pytest.mark.slow
def test_mass_is_that_of_a_model_with_all_its_states():
    """Two classes in the data, six in the model: with four of them empty more mass lies around."""
    case = make_case([2] * 12, 6, 300, seed=3, true_classes=2)
    objective = Objective.build(case.problem, Estimate.MAP)
    fit = learn(case.problem, Options(schedule=Schedule.THOROUGH), ranks=MASS)
    two = learn(problem_for(case.table, 2).problem).model
    theta = case.layout.flat(
        [
            np.array([*two.table("class"), *[0.0] * 4]),
            *(
                np.concatenate([two.table(c.name), np.full((4, 2), 0.5)])
                for c in case.table.columns
            ),
        ]
    )
    empty = objective.at(theta)
    assert (states_in_use(objective, empty), states_in_use(objective, fit.point)) == (2, 6)
    assert LARGEST_MASS.measure(objective, empty) > LARGEST_MASS.measure(objective, fit.point) + 5
    assert is_better(LARGEST_MASS(objective, fit.point), LARGEST_MASS(objective, empty))
    assert not any(flag.kind is Kind.EMPTY_CLASS for flag in fit.flags)


@pytest.mark.slow
@pytest.mark.parametrize("schedule", FURTHER)
def test_small_and_odd_problems(schedule):
    one = learn(make_case([2, 3], 1, 30).problem, Options(schedule=schedule))
    np.testing.assert_allclose(one.model.table("class"), [1.0])
    crowded = make_case([2, 2, 3], 9, 4, seed=2)  # more classes than rows
    fit = learn(crowded.problem, Options(schedule=schedule, starts=4))
    assert np.isfinite(fit.point.g)
    single = make_case([2, 2], 2, 1, seed=1)
    assert np.isfinite(learn(single.problem, Options(schedule=schedule, starts=2)).point.g)
    blank = make(TWO, 12, missing=0.9, seed=0, counts=[0.5] * 11 + [0.0])
    assert np.isfinite(learn(blank.problem, Options(schedule=schedule, starts=2)).point.g)
    lonely = build("a>H H>b G>c G>d G>e", dict.fromkeys("aHbGcde", 2), "HG")  # nothing around H
    case = make(lonely, 30, seed=0)
    case.codes[:, :2] = -1
    assert np.isfinite(learn(case.problem, Options(schedule=schedule, starts=2)).point.g)


def test_more_classes_than_rows_give_each_row_its_own():
    case = make_case([4] * 6, 9, 5, seed=2)
    theta = agglomerated(case.problem, 0, 0)
    weights = case.layout.table(theta, 0)
    assert (weights > weights.min() + 0.01).sum() == 5


def test_nested_hidden_variables_are_distinguished():
    """The root of the tree has no observed neighbour; its children have, and come first."""
    problem = make(TREE, 400, seed=4).problem
    theta = agglomerated(problem, 0, 0)
    layout = problem.layout
    p_G, p_H = (layout.table(theta, i) for i in (1, 2))
    assert np.abs(p_G[0] - p_G[1]).max() > 0.1
    assert np.abs(p_H[0] - p_H[1]).max() > 0.1


def test_starts_after_the_first_are_different_and_repeatable():
    problem, _ = hard_case()
    first, second, again = (agglomerated(problem, 5, i) for i in (0, 1, 1))
    np.testing.assert_array_equal(second, again)
    assert np.abs(first - second).max() > 0.01
    assert np.abs(agglomerated(problem, 6, 1) - second).max() > 0.01
    np.testing.assert_array_equal(agglomerated(problem, 6, 0), first)


def test_a_walk_in_a_sharp_mode_comes_back_to_it():
    case = make_case([3] * 10, 2, 2000, seed=6)
    objective = Objective.build(case.problem, Estimate.MAP)
    top = learn(case.problem).point
    end = perturbed(objective, top, 0, 0)
    # Draws from the posterior lie about half the number of parameters below its top.
    d = case.problem.network.dimension
    assert d / 4 < top.g - end.g < d
    back = ascend(objective, em_while_fast(objective, end)).point
    assert back.g == pytest.approx(top.g, abs=1e-6)
    np.testing.assert_array_equal(perturbed(objective, top, 0, 0).theta, end.theta)
    assert np.abs(perturbed(objective, top, 0, 1).theta - end.theta).max() > 1e-3


def test_the_search_ends_when_walks_bring_nothing(monkeypatch):
    """Patience, and not one round more."""
    case = make_case([3] * 8, 2, 500, seed=1)
    walks = []

    def counted(objective, point, seed, index):
        walks.append(index)
        return perturbed(objective, point, seed, index)

    monkeypatch.setattr(schedules, "perturbed", counted)
    fit = learn(case.problem, Options(schedule=Schedule.THOROUGH))
    assert walks == list(range(schedules.PATIENCE * schedules.WALKERS))
    assert fit.finalists == schedules.FINALISTS + 64 // schedules.MERGED
    assert fit.reached == fit.finalists
    assert not any(flag.kind is Kind.UNSTABLE for flag in fit.flags)


def test_an_unstable_fit_names_the_next_step(monkeypatch):
    """Where nothing is crossed, the best maximum of a hard case is found by one start at most."""
    monkeypatch.setattr(
        "lacunet.fitting.schedules.recombined", lambda _o, started, *_: started.climbs
    )
    problem, _ = hard_case()
    for options, advice in (
        (Options(), "schedule='thorough'"),
        (Options(schedule=Schedule.THOROUGH, starts=8), "starts=32"),
    ):
        fit = learn(problem, options)
        (flag,) = (f for f in fit.flags if f.kind is Kind.UNSTABLE)
        assert not fit.stable
        assert fit.margin > 0
        assert str(flag) == (
            f"unstable: only 1 of {fit.finalists} final starts reached the best optimum, "
            f"{fit.margin:.2g} nats above the next; there may be a better one (try {advice})"
        )
