"""Whole fits: published maxima, true maxima, schedules, saddles, flags, seeds."""

import numpy as np
import pytest

from lacunet.data.read import load_dataset
from lacunet.data.table import Table
from lacunet.errors import OptionError
from lacunet.fitting import objective as starting
from lacunet.fitting.ascent import (
    Climb,
    Convergence,
    ascend,
    em_while_fast,
    least_curvature,
    leave_saddles,
)
from lacunet.fitting.fit import Options, learn
from lacunet.fitting.objective import Estimate, Objective
from lacunet.fitting.schedules import BATCHES, FINALISTS, Schedule
from lacunet.flags import Kind
from lacunet.inference.hessian import negative_hessian
from lacunet.inference.plans.plan import free_coordinates
from lacunet.runtime.executor import on_threads
from problems import make_case, problem_for

# poLCA's documentation for carcinoma and values, values computed elsewhere for myocardial.
PUBLISHED = [
    ("carcinoma", 2, -317.2568),
    ("carcinoma", 3, -293.705),
    ("carcinoma", 4, -289.2858),
    ("values", 1, -543.6498),
    ("values", 2, -504.4677),
    ("values", 3, -503.3011),
    ("myocardial", 1, -253.2855),
    ("myocardial", 2, -180.6977),
    ("myocardial", 3, -178.7412),
]
ML = Options(estimate=Estimate.ML)


@pytest.mark.parametrize(("name", "classes", "log_lik"), PUBLISHED)
def test_published_maximum_log_likelihoods(name, classes, log_lik):
    fit = learn(problem_for(load_dataset(name), classes).problem, ML)
    assert fit.log_lik == pytest.approx(log_lik, abs=6e-5)


SHAPES = [
    ([2] * 8, 4, 400, 0.0, 4),
    ([2] * 16, 6, 400, 0.0, 4),
    ([3] * 8, 5, 1500, 0.15, 3),
    ([2, 3, 4, 5], 3, 200, 0.3, 2),
]


@pytest.mark.parametrize(("cards", "classes", "rows", "missing", "truth"), SHAPES)
@pytest.mark.parametrize("estimate", Estimate)
def test_the_default_schedule_ends_at_a_true_maximum(
    cards, classes, rows, missing, truth, estimate
):
    case = make_case(cards, classes, rows, missing=missing, seed=3, true_classes=truth)
    fit = learn(case.problem, Options(estimate=estimate))
    assert fit.status is Convergence.CONVERGED
    assert fit.gradient < 1e-6
    assert fit.iterations < 400
    objective = Objective.build(case.problem, estimate)
    assert least_curvature(objective, fit.point).least > -1e-4
    if estimate is Estimate.MAP:
        theta = fit.model.theta
        A = negative_hessian(case.problem, theta, free_coordinates(case.layout, theta))
        assert np.linalg.eigvalsh(np.tril(A) + np.tril(A, -1).T)[0] > 0
    # Plain EM from there finds nothing more.
    after = starting.em(objective, fit.point, iterations=200)
    assert after.g == pytest.approx(fit.point.g, abs=1e-6)


@pytest.mark.slow
def test_the_default_is_never_worse_than_the_paper_by_much_work():
    """The accelerated tail needs far fewer passes than EM for the same point."""
    case = make_case([3] * 8, 5, 1500, missing=0.15, seed=3, true_classes=3)
    objective = Objective.build(case.problem, Estimate.MAP)
    start = em_while_fast(objective, objective.at(case.theta))
    fast = ascend(objective, start)
    point, iterations = start.point, 0
    while np.abs(objective.gradient(point)).max() > 1e-6:
        point, iterations = objective.em_step(point), iterations + 1
    assert fast.point.g == pytest.approx(point.g, abs=1e-7)
    assert 4 * (fast.steps - start.steps) < iterations


def test_paper_schedule_is_halving_then_200(monkeypatch):
    case = make_case([2] * 6, 3, 100, seed=1)
    calls = []
    step = Objective.em_step

    def counted(self, point):
        calls.append(1)
        return step(self, point)

    monkeypatch.setattr(Objective, "em_step", counted)
    fit = learn(case.problem, Options(schedule=Schedule.PAPER))
    # 64·1 + 32·2 + 16·4 + 8·8 + 4·16 + 2·32, then 200.
    assert len(calls) == 6 * 64 + 200
    assert fit.iterations == 200
    assert fit.status in (Convergence.PAPER_CONVERGED, Convergence.PAPER_STOPPED)
    assert (fit.finalists, fit.reached) == (1, 1)


def test_paper_schedule_by_hand():
    """The same race, written out."""
    case = make_case([2] * 5, 3, 60, seed=2)
    objective = Objective.build(case.problem, Estimate.MAP)
    points = starting.random_starts(objective, 64, 7)
    iterations = 1
    while len(points) > 1:
        points = [starting.em(objective, p, iterations=iterations) for p in points]
        points = sorted(points, key=lambda p: p.g, reverse=True)[: len(points) // 2]
        iterations *= 2
    best = starting.em(objective, points[0], iterations=200)
    fit = learn(case.problem, Options(schedule=Schedule.PAPER, seed=7))
    assert fit.point.g == pytest.approx(best.g, rel=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("schedule", Schedule)
@pytest.mark.usefixtures("short_steps_on_threads")
def test_same_seed_same_numbers_for_any_number_of_threads(schedule):
    case = make_case([2] * 10, 4, 300, missing=0.1, seed=5)
    options = Options(schedule=schedule, seed=11)
    results = []
    for threads in (1, 2, 5):
        with on_threads(threads) as executor:
            results.append(learn(case.problem, options, executor=executor))
    for other in results[1:]:
        np.testing.assert_array_equal(other.model.theta, results[0].model.theta)
        assert other.point.g == results[0].point.g
        assert other.flags == results[0].flags
    assert learn(case.problem, Options(schedule=schedule, seed=12)).iterations > 0


def test_starts_do_not_depend_on_how_many_there_are():
    objective = Objective.build(make_case([2, 2], 3, 20).problem, Estimate.MAP)
    few = starting.random_starts(objective, 3, 0)
    many = starting.random_starts(objective, 9, 0)
    for a, b in zip(few, many, strict=False):
        np.testing.assert_array_equal(a.theta, b.theta)


def test_a_saddle_is_left():
    """Two equal classes inside three: stationary by symmetry, and not a maximum."""
    case = make_case([2] * 6, 3, 500, seed=8)
    objective = Objective.build(case.problem, Estimate.MAP)
    two = learn(problem_for(case.table, 2).problem, Options())
    weights = two.model.table("class")
    columns = [two.model.table(c.name) for c in case.table.columns]
    halved = [np.array([weights[0] / 2, weights[0] / 2, weights[1]])]
    halved += [t[[0, 0, 1]] for t in columns]
    theta = case.layout.flat(halved)
    stuck = ascend(objective, Climb(objective.at(theta), 0, Convergence.MAX_STEPS))
    assert stuck.outcome is Convergence.CONVERGED
    curvature = least_curvature(objective, stuck.point)
    assert curvature.least < -1e-2
    left, at_end = leave_saddles(objective, stuck)
    assert left.point.g > stuck.point.g + 1
    assert at_end.least > -1e-4
    assert left.outcome is Convergence.CONVERGED


@pytest.mark.parametrize("classes", [2, 4, 9])
def test_least_curvature_is_that_of_the_dense_matrix(classes):
    """In free θ coordinates: the least eigenvalue of A against that of complete data."""
    case = make_case([3] * 7, classes, 400, missing=0.1, seed=classes)
    objective = Objective.build(case.problem, Estimate.MAP)
    fit = learn(case.problem, Options(starts=8))
    theta, layout = fit.model.theta, case.layout
    coordinates = free_coordinates(layout, theta)
    A = negative_hessian(case.problem, theta, coordinates)
    A = np.tril(A) + np.tril(A, -1).T
    a = fit.point.N + objective.pseudo
    complete = np.zeros_like(A)
    ij = layout.ij[coordinates.free]
    same = ij[:, None] == ij[None, :]
    complete[same] = (a / theta**2)[coordinates.reference][np.nonzero(same)[0]]
    complete[np.diag_indices_from(A)] += (a / theta**2)[coordinates.free]
    L = np.linalg.inv(np.linalg.cholesky(complete))
    expected = np.linalg.eigvalsh(L @ A @ L.T)[0]
    least = least_curvature(objective, fit.point).least
    assert least == pytest.approx(expected, rel=0.02, abs=1e-5)


def test_the_best_coordinates_are_chosen():
    case = make_case([2, 2], 2, 20)
    assert not Objective.build(case.problem, Estimate.MAP).edge
    assert Objective.build(case.problem, Estimate.ML).edge


def test_flags_of_a_fit():
    rng = np.random.default_rng(0)
    noise = Table.from_codes(rng.integers(0, 2, (40, 8)))
    fit = learn(problem_for(noise, 12).problem, Options())
    kinds = [flag.kind for flag in fit.flags]
    assert Kind.NO_EXPECTED_CASES in kinds
    # 8 random starts in each batch, and one from merged rows; up to three are found by crossing,
    # and one by exchange or a walk
    random = FINALISTS * (1 + BATCHES)
    assert 9 <= fit.finalists <= random + 1 + 3 + 1
    assert (Kind.UNSTABLE in kinds) == (fit.reached == 1)
    single = learn(problem_for(noise, 12).problem, start=fit.model)
    assert Kind.SINGLE_START in [flag.kind for flag in single.flags]


def test_empty_and_duplicate_classes_are_named():
    """One binary column cannot hold three classes."""
    table = Table.from_codes([[0], [1]], counts=[30, 70])
    fit = learn(problem_for(table, 3, alpha=1.0).problem, ML)
    assert Kind.FLAT_DIRECTION in [flag.kind for flag in fit.flags]
    case = problem_for(Table.from_codes([[0, 0], [0, 0], [1, 1]]), 3)
    rigged = case.layout.flat(
        [np.array([0.5, 0.5, 0.0]), *[np.array([[0.6, 0.4], [0.6, 0.4], [0.5, 0.5]])] * 2]
    )
    from lacunet.fitting.diagnose import diagnose
    from lacunet.inference.classes import expect

    flags = diagnose(case.problem, rigged, expect(case.problem, rigged).N)
    result = {flag.kind: flag for flag in flags}
    assert result[Kind.EMPTY_CLASS].where == ("class", "3")
    assert result[Kind.EMPTY_CLASS].detail["cases"] < 0.5
    assert result[Kind.DUPLICATE_CLASSES].where == ("class", "1", "2")


def test_classes_are_ordered_by_size():
    fit = learn(problem_for(load_dataset("carcinoma"), 3).problem)
    sizes = fit.model.table("class")
    assert (np.diff(sizes) <= 0).all()
    np.testing.assert_allclose(sizes, [0.445, 0.374, 0.182], atol=0.002)


def test_refit_from_a_model_stays_at_its_maximum():
    case = make_case([2] * 8, 3, 300, missing=0.1, seed=4)
    fit = learn(case.problem)
    again = learn(case.problem, start=fit.model)
    assert again.point.g == pytest.approx(fit.point.g, abs=1e-9)
    np.testing.assert_allclose(again.model.theta, fit.model.theta, atol=1e-6)


def test_parameters_are_recovered_as_data_grow():
    errors = []
    for rows in (300, 30_000):
        case = make_case([3] * 8, 2, rows, missing=0.2, seed=21)
        fit = learn(case.problem, ML)
        truth = make_truth([3] * 8, 2, seed=21)
        best = min(
            np.abs(fit.model.permuted(0, order).theta - truth).max() for order in ([0, 1], [1, 0])
        )
        errors.append(best)
    assert errors[1] < 0.03
    assert errors[1] < errors[0]


def make_truth(cards, classes, seed):
    """The parameters from which `make_case` samples."""
    from lacunet.models.conjugacy import random_theta
    from lacunet.models.latent_class import latent_class

    network = latent_class([(f"x{i}", range(r)) for i, r in enumerate(cards)], classes)
    return random_theta(network.layout, np.random.default_rng(seed))


@pytest.mark.parametrize("bad", [{"starts": 0}, {"seed": -1}])
def test_bad_options(bad):
    with pytest.raises(OptionError):
        Options(**bad)
