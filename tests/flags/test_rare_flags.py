"""Flags that real data hardly ever raise, raised on purpose."""

import math
from dataclasses import replace

import numpy as np

from lacunet import api
from lacunet.data.read import load_dataset
from lacunet.evidence import measure as measuring
from lacunet.evidence.ais import AnnealedMass, AnnealingRounds
from lacunet.evidence.annealing import Goal, OutOfTimeError
from lacunet.evidence.bridge import BridgedWalk
from lacunet.evidence.estimate import LogMean, Method, Verdict
from lacunet.evidence.measure import measure
from lacunet.evidence.smc import ParticleRounds
from lacunet.fitting import schedules
from lacunet.fitting.ascent import Convergence
from lacunet.fitting.fit import Options, learn
from lacunet.fitting.schedules import Schedule
from lacunet.flags import Flag, Kind, Sizes
from lacunet.models.network import Model
from lacunet.scores import BIC, LAPLACE, ScoreInput, approximations
from lacunet.scores.softmax import factorise
from lacunet.selection.certainty import as_evidence
from lacunet.summaries import bootstrap
from lacunet.summaries.ratio_tests import RatioTest
from problems import make_case, problem_for

SOON = Goal(target=100.0, budget=600.0)  # the first round, and no more


def case_input(case, theta=None):
    return ScoreInput(case.problem, case.theta if theta is None else theta)


def values_problem(classes=2):
    return problem_for(load_dataset("values"), classes, alpha=1.0).problem


def test_a_fit_that_did_not_converge(monkeypatch):
    monkeypatch.setattr(schedules, "PAPER_ITERATIONS", 1)
    fit = learn(values_problem(), Options(schedule=Schedule.PAPER, starts=1))
    not_converged = Flag(Kind.NOT_CONVERGED, detail={"outcome": Convergence.PAPER_STOPPED})
    assert not_converged in fit.flags


def test_refits_that_did_not_converge(monkeypatch):
    """Every second refit stops too soon."""
    problem = values_problem()
    model = learn(problem, Options(starts=4)).model
    stopped = Flag(Kind.NOT_CONVERGED, detail={"outcome": Convergence.MAX_STEPS})
    refits = iter(range(4))

    def stopping(*args, **options):
        return replace(learn(*args, **options), flags=(stopped,) * (next(refits) % 2))

    monkeypatch.setattr(bootstrap, "learn", stopping)
    intervals = bootstrap.bootstrap_intervals(problem, model, Options(), 4)
    assert Flag(Kind.REFITS_STOPPED, detail={"stopped": 2, "replicates": 4}) in intervals.flags


def test_more_states_that_fit_worse():
    small, large = (learn(values_problem(k), Options(starts=2)) for k in (1, 2))
    large = replace(large, point=replace(large.point, log_lik=small.log_lik - 1.0))
    result = RatioTest((1, 2), "class", small, large, 0.0, np.zeros(3), 3, None)
    assert result.flags[-1] == Flag(Kind.MORE_STATES_FIT_WORSE, detail={"fewer": 1, "more": 2})
    assert {flag.fits for flag in result.flags[:-1]} <= {
        Sizes((1,), "state"),
        Sizes((2,), "states"),
    }


def test_impossible_data():
    case = make_case([2, 2], 1, 20, seed=1)
    impossible = case.layout.flat([np.ones(1), *[np.array([[1.0, 0.0]])] * 2])
    assert BIC(case_input(case, impossible)).flags == (Flag(Kind.IMPOSSIBLE_DATA),)
    model = Model(case.problem.network, impossible, case.problem.alpha)
    assert api.score(case.table, model, scores="bic").flags == (Flag(Kind.IMPOSSIBLE_ROW),)


def test_parameters_that_are_no_maximum():
    """One class has a concave posterior: away from its top there is a slope, and no saddle."""
    case = make_case([2] * 4, 1, 100, seed=1)
    assert Kind.NOT_AT_MAXIMUM in [flag.kind for flag in LAPLACE(case_input(case)).flags]
    case = make_case([2] * 4, 2, 100, seed=1)
    uniform = np.full(case.layout.size, 0.5)
    saddle = Flag(Kind.NOT_POSITIVE_DEFINITE, detail={"point": "θ"})
    assert LAPLACE(case_input(case, uniform)).flags == (saddle,)


def test_a_nearly_singular_matrix():
    nearly = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-10]], order="F")
    assert factorise(nearly).flags == (Flag(Kind.NEARLY_SINGULAR),)


def test_variational_bayes_that_still_rises(monkeypatch):
    monkeypatch.setattr(approximations, "MAX_STEPS", 1)
    score = approximations.VB(case_input(make_case([2] * 4, 2, 60, seed=1)))
    assert score.flags == (Flag(Kind.STILL_RISING, detail={"steps": 1}),)


def out_of_time(*_arguments):
    raise OutOfTimeError


def test_annealing_where_only_one_search_went(monkeypatch):
    monkeypatch.setattr(AnnealingRounds, "unseen", 0.7)
    estimate = measure(values_problem(), Method.AIS, SOON)
    assert estimate.notes == (Flag(Kind.SEEN_ONCE, detail={"share": 0.7}),)
    assert (estimate.stderr, estimate.verdict) == (None, Verdict.LOWER_BOUND)


def test_a_walk_whose_starts_disagree(monkeypatch):
    monkeypatch.setattr(BridgedWalk, "estimate", LogMean(-520.0, 0.9, 50.0, 0.1, 64))
    monkeypatch.setattr(BridgedWalk, "until_done", lambda walk: walk.estimate)
    estimate = measure(values_problem(), Method.WALK, SOON)
    assert estimate.notes == (Flag(Kind.STARTS_DISAGREE),)
    assert (estimate.stderr, estimate.verdict) == (None, Verdict.LOWER_BOUND)
    assert estimate.value != -520.0  # what forward chains alone reach


def test_annealing_without_enough_time(monkeypatch):
    monkeypatch.setattr(AnnealedMass, "explore", out_of_time)
    estimate = measure(values_problem(), Method.AIS, SOON)
    assert estimate.notes == (Flag(Kind.OUT_OF_TIME),)
    assert math.isfinite(estimate.value)  # no chain, but a variational bound
    assert (estimate.stderr, estimate.verdict) == (None, Verdict.LOWER_BOUND)
    assert as_evidence(estimate).flags == (Flag(Kind.LOWER_BOUND), Flag(Kind.OUT_OF_TIME))


def test_annealing_that_rests_on_a_few_chains(monkeypatch):
    monkeypatch.setattr(AnnealingRounds, "unsure", 0.5)
    monkeypatch.setattr(AnnealingRounds, "until_done", lambda rounds: rounds.estimate)
    estimate = measure(values_problem(), Method.AIS, SOON)
    assert estimate.notes == (Flag(Kind.FEW_CHAINS, detail={"share": 0.5}),)


def test_annealing_that_missed_a_mode(monkeypatch):
    monkeypatch.setattr(measuring, "QUICK_STEPS", 1)
    monkeypatch.setattr(measuring, "walkable", lambda problems: False)
    monkeypatch.setattr(AnnealingRounds, "estimate", LogMean(-524.0, 0.1, 50.0, 0.1, 64))
    monkeypatch.setattr(AnnealingRounds, "sampled", LogMean(-524.0, 0.1, 50.0, 0.1, 64))
    monkeypatch.setattr(AnnealingRounds, "unsure", 0.0)
    monkeypatch.setattr(ParticleRounds, "estimate", LogMean(-515.0, 1.0, 5.0, 0.5, 8))
    monkeypatch.setattr(ParticleRounds, "until_done", lambda rounds: rounds.estimate)
    monkeypatch.setattr(AnnealingRounds, "until_done", lambda rounds: rounds.estimate)
    monkeypatch.setattr(ParticleRounds, "price", lambda rounds: 2.0)
    monkeypatch.setattr(AnnealingRounds, "price", lambda rounds: 1.0)
    estimate = measure(values_problem(), goal=Goal(0.01, 6000.0))
    assert estimate.verdict is Verdict.LOWER_BOUND
    assert estimate.notes == (Flag(Kind.MISSED_MODE, detail={"value": -515.0, "stderr": 1.0}),)
