"""What people see belongs to the highest maximum, for every seed; scores to the largest mass."""

from dataclasses import replace

import numpy as np
import pytest

import lacunet
from classics import LIKELIEST, MOST_PROBABLE, classic, patterns
from lacunet.fitting.ascent import Climb, Convergence, ascend, em_while_fast
from lacunet.fitting.fit import Options, learn
from lacunet.fitting.maxima import BOTH, LARGEST_MASS, unseen
from lacunet.fitting.objective import Estimate, Objective, Point, random_start
from lacunet.runtime.executor import SERIAL
from lacunet.scores import BIC, CS, DRAPER, ICL, Fitting
from problems import make_case, problem_for

KNOWN = {Estimate.ML: LIKELIEST, Estimate.MAP: MOST_PROBABLE}
CASES = [(name, k) for name in LIKELIEST for k in (2, 3, 4)]


@pytest.fixture(scope="module")
def tables():
    return {name: classic(name) for name in LIKELIEST}


@pytest.mark.parametrize("estimate", KNOWN)
@pytest.mark.parametrize(("name", "classes"), CASES)
def test_every_seed_ends_at_the_highest_maximum(tables, name, classes, estimate):
    problem = problem_for(tables[name], classes).problem
    for seed in (0, 1, 2):
        fit = learn(problem, Options(estimate=estimate, seed=seed))
        assert fit.point.g == pytest.approx(KNOWN[estimate][name][classes - 2], abs=2e-4)
        assert fit.stable


@pytest.mark.parametrize("seed", range(3))
def test_no_climb_ends_higher(seed):
    """Tables drawn from latent classes, with missing values: brute force finds nothing better."""
    rng = np.random.default_rng(seed)
    cards = rng.integers(2, 5, 7).tolist()
    problem = make_case(cards, 3, 400, missing=0.1, seed=seed, true_classes=3).problem
    fit = learn(problem, Options(seed=seed))
    objective = Objective.build(problem, Estimate.MAP)
    drawn = (random_start(objective, 100 + seed, i) for i in range(60))
    ends = [ascend(objective, em_while_fast(objective, p), rival=fit.point.g) for p in drawn]
    assert max(end.point.g for end in ends) <= fit.point.g + 1e-4


@pytest.fixture(scope="module")
def apart(tables):
    """Four classes of carcinoma: the mode of largest mass is another maximum than the highest."""
    return learn(problem_for(tables["carcinoma"], 4).problem, ranks=BOTH)


def test_the_mass_belongs_to_the_scores(apart):
    mode = apart.for_scores
    assert apart.point.g == pytest.approx(MOST_PROBABLE["carcinoma"][2], abs=2e-4)
    assert apart.nats_above_mass == pytest.approx(apart.point.g - mode.point.g)
    assert apart.nats_above_mass > 1.0
    objective = Objective.build(apart.problem, Estimate.MAP)
    mass = LARGEST_MASS(objective, mode.point)
    assert mass > LARGEST_MASS(objective, apart.point)
    for other in (*mode.others, *apart.others):
        assert mass >= LARGEST_MASS(objective, other) - 1e-3
        assert apart.point.g >= other.g - 1e-4
    assert "the mass is elsewhere" in str(apart.mass_flags[0])


def test_information_criteria_are_those_of_the_estimate(apart):
    at = Fitting(apart.problem, apart.options).input_at(apart, SERIAL)
    d, cases = apart.problem.network.dimension, apart.problem.cases
    expected = apart.log_lik - d / 2 * np.log(cases)
    assert BIC(at).value == pytest.approx(expected)
    assert DRAPER(at).value == pytest.approx(expected + d / 2 * np.log(2 * np.pi))
    assert ICL(at).value < expected
    assert CS(at).terms["log p(D|θ)"] == pytest.approx(apart.for_scores.log_lik)


@pytest.mark.slow
def test_what_people_see_is_one_fit(tmp_path):
    """Selection, table of criteria, saved model and assigned rows: all at the highest maximum."""
    data = patterns("gss82")
    options = {"weights": "count", "threads": 1, "seed": 5}
    selection = lacunet.select(data, (3, 4), evidence=False, **options)
    for candidate, expected in zip(selection.candidates, (-2754.5653, -2746.6472), strict=True):
        fit = candidate.fit
        assert fit.log_lik == pytest.approx(expected, abs=2e-4)
        d = fit.model.network.dimension
        assert candidate.scores["bic"].value == pytest.approx(
            fit.log_lik - d / 2 * np.log(1202.0), abs=1e-6
        )
        one = lacunet.fit(data, candidate.label, **options)
        assert one.log_lik == pytest.approx(fit.log_lik, abs=1e-4)
        np.testing.assert_allclose(one.model.theta, fit.model.theta, atol=1e-4)
    lacunet.write_model(selection.candidates[-1].model, tmp_path / "model.json")
    rows, again = (
        lacunet.assign(data.drop("count"), model).tidy() for model in (tmp_path / "model.json", one)
    )
    assert list(rows) == list(again)
    for name, values in rows.items():
        if isinstance(values[0], float):
            np.testing.assert_allclose(values, again[name], atol=1e-4)
        else:
            assert list(values) == list(again[name])


def test_the_share_of_maxima_that_no_start_reached():
    def ended(*gs):
        point = Point(np.empty(0), np.empty(0), 0.0, 0.0)
        return [Climb(replace(point, g=g), 1, Convergence.CONVERGED) for g in gs]

    assert unseen(ended(-1.0)) == 1.0
    assert unseen(ended(*[-1.0] * 8)) == pytest.approx(2 / 56)
    assert unseen(ended(*[-1.0] * 7, -2.0)) == pytest.approx(6 / 56)
    assert unseen(ended(*[-1.0] * 6, -50.0, -50.5)) == pytest.approx(6 / 56)  # both far below
