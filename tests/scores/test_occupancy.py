"""The occupancy identity, exactly; the scores that use it; and the fits that they share."""

import itertools
import math
from unittest.mock import patch

import numpy as np
import pytest

import oracle
from lacunet import api
from lacunet.data.read import load_dataset
from lacunet.data.table import Column, Table
from lacunet.fitting.fit import Options, learn
from lacunet.fitting.objective import Estimate
from lacunet.inference.classes import exchangeable, safe_log, with_classes
from lacunet.runtime.executor import SERIAL
from lacunet.scores import BD, CS, LAPLACE, Fitting, ScoreInput, choose_scores, score
from lacunet.scores.occupancy import (
    gaussian_mode,
    log_all_used,
    log_occupancy,
    occupied,
)
from lacunet.selection.average import Labellings
from problems import make_case, problem_for

OCCUPIED = choose_scores("csl-occupied,vb-occupied")
CSL, VB = OCCUPIED
CS_OCCUPIED, LAPLACE_OCCUPIED = (
    occupied(score, lambda at: (gaussian_mode(at)[0], {})) for score in (CS, LAPLACE)
)


def fitted(case, **options):
    return ScoreInput(case.problem, learn(case.problem, Options(**options)).model.theta)


def exponents(classes, cards, alpha):
    return [np.full(classes, alpha), *(np.full((classes, r), alpha) for r in cards)]


def log_all_classes_used(rows, classes, cards, alpha):
    """The part of p(D|classes) in which none is empty, summed over all assignments of the rows."""
    terms = []
    for world in itertools.product(range(classes), repeat=len(rows)):
        if len(set(world)) == classes:
            root = np.bincount(world, minlength=classes)
            leaves = [np.zeros((classes, r)) for r in cards]
            for c, row in zip(world, rows, strict=True):
                for leaf, x in zip(leaves, row, strict=True):
                    leaf[c, x] += 1
            terms.append(oracle.log_bd([root, *leaves], exponents(classes, cards, alpha)))
    return np.logaddexp.reduce(terms) if terms else -np.inf


@pytest.mark.parametrize("alpha", [0.3, 1.0, 2.5])
@pytest.mark.parametrize("rows", [1, 2, 5])
def test_the_identity(alpha, rows):
    cards = [2, 3]
    data = [tuple(np.random.default_rng([rows, i]).integers(0, cards)) for i in range(rows)]
    for k in range(1, 5):
        parts = [log_all_classes_used(data, m, cards, alpha) for m in range(1, k + 1)]
        whole = np.logaddexp.reduce(log_occupancy(k, alpha, rows) + parts)
        hidden = [(-1, *row) for row in data]
        parents = [(), *[(0,)] * len(cards)]
        expected = oracle.log_evidence([k, *cards], parents, exponents(k, cards, alpha), hidden)
        assert whole == pytest.approx(expected, abs=1e-10)


def test_no_class_empty_against_all_assignments():
    case = make_case([2, 2], 2, 5, seed=3)
    weights, *tables = case.tables()
    posteriors = []
    for _, *row in case.cases:
        p = weights * np.prod([t[:, x] for t, x in zip(tables, row, strict=True)], axis=0)
        posteriors.append(p / p.sum())
    empty = [np.prod([1 - p[c] for p in posteriors]) for c in range(2)]
    # Two classes: each is empty just when all rows are in the other.
    assert log_all_used(case.problem, safe_log(case.theta)) == pytest.approx(
        math.log((1 - empty[0]) * (1 - empty[1])), abs=1e-12
    )
    edge = case.theta.copy()
    edge[:2] = [1.0, 0.0]
    assert log_all_used(case.problem, safe_log(edge)) == -np.inf


# Evidence by long sampling runs, a = 1.
EVIDENCE = {
    "carcinoma": (-540.068, -357.31, -351.01, -352.87, -354.93, -357.01),
    "myocardial": (-261.580, -201.1197, -201.71, -202.53, -203.41, -204.30),
    "values": (-553.796, -523.69, -523.63, -523.83, -524.14, -524.49),
}
# Measured: −0.7 to +0.1 and −1.1 to −0.3 nats, for one to six classes. Without the overlap of
# labellings the last two would be up to 2.9 nats too high.
NEAR = {"carcinoma": 0.7, "myocardial": 0.7, "values": 1.2}


@pytest.mark.slow
@pytest.mark.parametrize("name", EVIDENCE)
def test_csl_with_occupancy_is_near_the_sampled_evidence(name):
    """Every number of classes, those too many as well; and never above it by more than noise."""
    for k, truth in enumerate(EVIDENCE[name], start=1):
        score = CSL(fitted(problem_for(load_dataset(name), k, alpha=1.0)))
        assert truth - NEAR[name] < score.value < truth + 0.2


@pytest.mark.slow
@pytest.mark.parametrize("score", [VB, CS_OCCUPIED], ids=lambda s: s.name)
def test_bounds_with_occupancy_do_not_fall_for_classes_too_many(score):
    """p(D|k+1) ≥ k/(k+N) p(D|k) for a = 1; these can only lose what bounds lose."""
    table = load_dataset("carcinoma")
    values = [score(fitted(problem_for(table, k, alpha=1.0))).value for k in (3, 4, 5, 6)]
    for k, (before, after) in enumerate(itertools.pairwise(values), start=3):
        assert after >= before + math.log(k / (k + table.weight)) - 1e-9


@pytest.mark.parametrize("score", OCCUPIED, ids=lambda s: s.name)
def test_one_class_is_exact(score):
    case = make_case([2, 3], 1, 30, missing=0.2, seed=1)
    assert score(fitted(case)).value == pytest.approx(BD(fitted(case)).value, abs=1e-10)


@pytest.mark.parametrize("score", [CSL, VB], ids=lambda s: s.name)
def test_rows_that_show_nothing_change_nothing(score):
    table = load_dataset("myocardial")
    blank = np.full((1, table.codes.shape[1]), -1, table.codes.dtype)
    more = Table.from_codes(
        np.vstack([table.codes, blank]), table.columns, np.append(table.counts, 50.0)
    )
    values = [score(fitted(problem_for(t, 3, alpha=1.0), starts=16)).value for t in (table, more)]
    assert values[1] == pytest.approx(values[0], abs=1e-5)


def test_a_term_without_a_value_leaves_the_score_without_one():
    """Laplace with a = 1 is on the boundary; what is not known may be nearly all of the sum."""
    score = LAPLACE_OCCUPIED(fitted(problem_for(load_dataset("carcinoma"), 3, alpha=1.0)))
    assert math.isnan(score.value)
    assert score.flags
    assert all(set(flag.fits.numbers) <= {2, 3} for flag in score.flags)


# Fits with fewer classes.


def test_fewer_classes_have_the_prior_of_each_class():
    case = make_case([2, 3], 4, 40, seed=2, alpha=0.7)
    options = Options(Estimate.ML, starts=4)
    smaller = Fitting(case.problem, options, sizes=((0, 2),)).fit(SERIAL)
    assert smaller.problem.layout.cards == (2, 2, 3)
    assert exchangeable(smaller.problem)
    assert set(smaller.problem.alpha) == {0.7}
    names = [v.name for v in smaller.problem.network.variables]
    assert names == [v.name for v in case.problem.network.variables]


def counting():
    """Count the fits that are made, by their number of classes."""
    made = []

    def watched(problem, *args, **options):
        made.append(problem.layout.cards[0])
        return learn(problem, *args, **options)

    return made, patch.object(score, "learn", watched)


def selected(scores, states=(1, 2, 3, 4), **options):
    options = {"starts": 4, "threads": 1, "alpha": 1.0, "quick": True, **options}
    return api.select(load_dataset("carcinoma"), states, scores=scores, **options)


def test_candidates_share_their_fits():
    made, watching = counting()
    with watching:
        selected("csl-occupied,vb-occupied", threads=2)
    assert sorted(made) == [1, 2, 3, 4]


def test_fits_of_classes_that_are_no_candidates_are_made_once_too():
    made, watching = counting()
    with watching:
        selected("csl-occupied,vb-occupied", states=(3, 4))
    assert sorted(made) == [2, 3, 4]


def test_a_prior_that_depends_on_the_classes_shares_nothing():
    """With BDeu, E_2 in p(D|3) has the prior that 3 classes give each class."""
    made, watching = counting()
    with watching:
        selection = selected("vb-occupied", states=(2, 3), alpha="bdeu:24")
    assert sorted(made) == [2, 2, 3]
    three = selection.candidates[1]
    table = load_dataset("carcinoma")
    problem = problem_for(table, 3, alpha=24 / (3 * 2)).problem
    problem.alpha[:3] = 24 / 3
    here = ScoreInput(problem, three.fit.model.theta, options=Options(starts=4))
    assert VB(here).value == pytest.approx(three.scores["vb-occupied"].value, abs=1e-9)
    assert set(with_classes(problem, 2).alpha) == {8.0, 4.0}


@pytest.mark.slow
def test_the_number_of_threads_changes_nothing():
    names = "csl,csl-occupied,vb-occupied"
    one, three = (selected(names, threads=threads) for threads in (1, 3))
    for a, b in zip(one.candidates, three.candidates, strict=True):
        assert {n: e.terms for n, e in a.scores.items()} == {
            n: e.terms for n, e in b.scores.items()
        }


def test_alone_a_score_fits_by_itself():
    together = selected("vb-occupied").candidates[2]
    table = load_dataset("carcinoma")
    alone = ScoreInput(
        problem_for(table, 3, alpha=1.0).problem,
        together.fit.model.theta,
        options=Options(starts=4),
    )
    assert VB(alone).value == pytest.approx(together.scores["vb-occupied"].value, abs=1e-9)


@pytest.mark.slow
def test_labellings_are_not_added_twice():
    selection = selected("csl-occupied,csl")
    assert selection.posterior("csl-occupied", Labellings.ALL) == selection.posterior(
        "csl-occupied"
    )
    assert selection.posterior("csl", Labellings.ALL) != selection.posterior("csl")
    only = selected("csl-occupied")
    assert only.headline == "csl-occupied"
    assert "k!" not in str(only).split("What to know", maxsplit=1)[0]


def test_classes_below_alpha_one_are_fitted_by_maximum_likelihood():
    table = Table.from_codes(
        np.array([[0, 0], [1, 1], [0, 1]]), [Column(n, (0, 1)) for n in "ab"], np.array([9.0, 8, 2])
    )
    case = problem_for(table, 3, alpha=0.5)
    assert math.isfinite(VB(ScoreInput(case.problem, case.theta)).value)


def test_labels_of_their_own():
    """Classes far apart have all of their Gaussian to themselves; those of noise share it."""
    apart = fitted(problem_for(load_dataset("carcinoma"), 3, alpha=1.0))
    assert apart.softmax.log_mode_labels == 0.0
    rng = np.random.default_rng(0)
    noise = Table.from_codes(rng.integers(0, 2, (60, 4)))
    alike = fitted(problem_for(noise, 3, alpha=1.0))
    assert math.log(1 / 6) - 1.0 < alike.softmax.log_mode_labels < -0.2
