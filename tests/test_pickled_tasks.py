"""Tasks give the same numbers, digit for digit, after they were pickled."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from lacunet.data.read import load_dataset
from lacunet.data.table import Table
from lacunet.evidence.annealing import Goal
from lacunet.evidence.consistency import sandwich
from lacunet.evidence.estimate import Method
from lacunet.evidence.measure import measure
from lacunet.fitting.fit import Options, learn
from lacunet.fitting.objective import Estimate
from lacunet.fitting.schedules import Schedule
from lacunet.inference.classes import with_classes
from lacunet.inference.leaves import leaves_of
from lacunet.inference.plans import plan
from lacunet.models.latent_class import grouped_classes
from lacunet.models.number_prior import NumberPrior
from lacunet.paper.experiments import PAPER, RESULTS, Experimenter, Task, run_all, work_of
from lacunet.runtime.checkpoint import Ledger
from lacunet.runtime.executor import SERIAL, Executor, on_threads
from lacunet.scores import SCORES, ScoreInput
from lacunet.scores.evaluation import score_at
from lacunet.selection.candidates import Proposal
from lacunet.selection.comparing import evaluate, latent_classes
from lacunet.selection.effects import NestedFitter, direct_effects
from lacunet.selection.groups import fit_levels
from lacunet.selection.measuring import measure_each
from lacunet.selection.missing_comparison import compare_readings
from lacunet.settings import Settings
from lacunet.structure.edges.certainty import resample_edges
from lacunet.structure.edges.posterior import EdgeSampling, find_edges
from lacunet.structure.knowledge import Knowledge
from lacunet.structure.searching import GraphSearch
from lacunet.summaries.bootstrap import bootstrap_intervals
from lacunet.summaries.ratio_tests import ratio_test
from problems import build, make, make_case, problem_for

QUICK = Options(starts=6)
SETTINGS = Settings(starts=6)


class Travelling(Executor):
    """Sends every function, argument and result through a pickle; so do tasks within tasks."""

    def __init__(self):
        self.tasks = 0

    def results(self, function, items):
        for place, item in enumerate(items):
            self.tasks += 1
            copied, given = pickle.loads(pickle.dumps((function, item)))
            yield place, pickle.loads(pickle.dumps(copied(given)))

    def report(self, task, done):
        pass

    def part(self, first, last, title=""):
        return self

    def silent(self):
        return self

    def beside(self, titles, weights):
        return [self] * len(weights)

    def if_worth(self, nanoseconds):
        return self

    def __reduce__(self):
        return Travelling, ()


class Plain(Travelling):
    """The same, but what is inside a task stays there, as with processes."""

    def __reduce__(self):
        return Executor.__reduce__(self)


def both(work):
    """Give what the plain executor gives, and what pickles give; something must have travelled."""
    results = []
    for executor in (SERIAL, Travelling(), Plain()):
        results.append(work(executor))
        assert executor is SERIAL or executor.tasks
    return results


def same_fit(one, other):
    np.testing.assert_array_equal(one.model.theta, other.model.theta)
    return (one.log_lik, one.flags, one.iterations, one.reached) == (
        other.log_lik,
        other.flags,
        other.iterations,
        other.reached,
    )


def missing():
    return make_case([2, 3, 2, 2], 2, 60, missing=0.2, seed=4)


def network_case():
    return make(build("G>H H>a H>b G>c a>d", {**dict.fromkeys("GHabcd", 2)}, "GH"), 60)


@pytest.mark.slow
@pytest.mark.parametrize("schedule", Schedule)
@pytest.mark.parametrize("case", [missing, network_case])
def test_fits(schedule, case):
    problem, options = case().problem, Options(schedule=schedule, starts=6)
    one, *others = both(lambda executor: learn(problem, options, executor=executor))
    assert all(same_fit(one, other) for other in others)


@pytest.mark.slow
@pytest.mark.parametrize("case", [missing, network_case])
@pytest.mark.usefixtures("short_steps_on_threads")
def test_fits_whose_e_steps_are_done_in_pieces(case, monkeypatch):
    monkeypatch.setattr(plan, "LONG", 100)
    monkeypatch.setattr(plan, "PIECE", 50)
    problem = case().problem
    one, *others = both(lambda executor: learn(problem, QUICK, executor=executor))
    assert all(same_fit(one, other) for other in others)
    for count in (2, 3):
        with on_threads(count) as executor:
            assert same_fit(one, learn(problem, QUICK, executor=executor))


@pytest.mark.slow
@pytest.mark.parametrize("scores", ["usual", "cs,icl,vb-occupied"])
def test_selections(scores):
    table = load_dataset("carcinoma")
    settings = replace(SETTINGS, scores=scores)
    proposals = latent_classes(table, [1, 3, 4])
    one, *others = both(lambda executor: evaluate(table, proposals, settings, executor=executor))
    for other in others:
        for a, b in zip(one.candidates, other.candidates, strict=True):
            assert same_fit(a.fit, b.fit)
            assert a.scores == b.scores
            assert list(a.scores) == list(b.scores)


@pytest.mark.slow
def test_comparisons_of_networks():
    table = network_case().table
    sizes = dict.fromkeys("GHabcd", 2)
    graphs = {"one": "G>a G>b G>c G>d", "two": "G>H H>a H>b G>c a>d"}
    networks = {
        n: build(g, {v: sizes[v] for v in sizes if v in g}, "GH") for n, g in graphs.items()
    }
    proposals = [Proposal(name, network, {}) for name, network in networks.items()]
    ranked = replace(SETTINGS, dimension="rank")
    one, *others = both(lambda e: evaluate(table, proposals, ranked, executor=e))
    for other in others:
        assert [c.scores for c in one.candidates] == [c.scores for c in other.candidates]


@pytest.mark.slow
def test_scores_of_given_parameters():
    case = problem_for(load_dataset("carcinoma"), 4, alpha=1.2)
    cheap = [s for s in SCORES if s.applies(case.problem)]

    def work(executor):
        at = ScoreInput(case.problem, case.theta, options=QUICK, executor=executor)
        return score_at(at, cheap)

    one, *others = both(work)
    assert all(one == other for other in others)
    alone = ScoreInput(case.problem, case.theta, options=QUICK)
    assert {s.name: s(alone) for s in cheap} == one


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "case"),
    [(Method.SMC, missing), (Method.AIS, missing), (Method.SMC, network_case)],
)
def test_evidence(method, case):
    problem = replace(case().problem, alpha=np.ones(case().problem.layout.size))
    goal = {"target": 3.0, "budget": 600.0}
    one, *others = both(lambda e: measure(problem, method, Goal(**goal), seed=1, executor=e))
    assert all(one == other for other in others)


@pytest.mark.slow
def test_bounds_from_both_sides():
    case = missing()
    problem, goal = replace(case.problem, alpha=np.ones(case.problem.layout.size)), (2.0, 600.0)
    one, *others = both(lambda e: sandwich(problem, case.theta, Goal(*goal), executor=e))
    assert all(one == other for other in others)


@pytest.mark.slow
def test_measured_selections():
    table = load_dataset("myocardial")
    result = evaluate(table, latent_classes(table, [1, 2]), replace(SETTINGS, alpha=1.0))
    one, *others = both(lambda e: measure_each(result, [1, 2], goal=Goal(0.3), executor=e))
    for other in others:
        assert [c.measured for c in one.candidates] == [c.measured for c in other.candidates]


def test_bootstrap_intervals():
    problem = missing().problem
    model = learn(problem, QUICK).model
    one, *others = both(lambda e: bootstrap_intervals(problem, model, QUICK, 6, executor=e))
    for other in others:
        np.testing.assert_array_equal(one.stderr, other.stderr)


def test_chains_over_graphs_and_resamples():
    rows = np.random.default_rng(0).integers(-1, 2, (30, 3))
    table, options = Table.from_codes(rows), EdgeSampling(sweeps=20, rounds=2)
    whole = Table.from_codes(np.abs(rows))
    for work in (
        lambda e: find_edges(table, "bdeu:2", Knowledge(), options, e),
        lambda e: resample_edges(whole, "bdeu:2", Knowledge(), GraphSearch(), 4, e),
    ):
        one, *others = both(work)
        for other in others:
            np.testing.assert_array_equal(one.arrows, other.arrows)


@pytest.mark.slow
def test_ratio_tests():
    problem = problem_for(load_dataset("values"), 1).problem
    wider, options = with_classes(problem, 2), Options(Estimate.ML, starts=3)
    one, *others = both(lambda e: ratio_test(problem, wider, options, 5, executor=e))
    for other in others:
        np.testing.assert_array_equal(one.replicates, other.replicates)
        assert one.statistic == other.statistic


@pytest.mark.slow
def test_readings_of_missing_values():
    case = missing()
    one, *others = both(
        lambda e: compare_readings(case.table, case.problem.network, SETTINGS, executor=e)
    )
    for other in others:
        assert one.log_bayes_factors == other.log_bayes_factors
        assert [c.alone for c in one.columns] == [c.alone for c in other.columns]


def test_classes_in_groups_and_direct_effects():
    table = load_dataset("values")
    grouped = grouped_classes(leaves_of(table, NumberPrior()), "A", 2)
    (classes,) = latent_classes(table, [1])
    one, *others = both(lambda e: fit_levels(NestedFitter(table, 1.0, QUICK, e), grouped, None))
    effect, *effects = both(
        lambda e: direct_effects(NestedFitter(table, 1.0, QUICK, e), classes.network)
    )
    assert effect.edges
    for other, same in zip(others, effects, strict=True):
        assert [t.gain for t in one.trials] == [t.gain for t in other.trials]
        for mine, theirs in zip(one.fits, other.fits, strict=True):
            assert same_fit(mine.fitted.fit, theirs.fitted.fit)
        assert (effect.edges, effect.fit.log_lik) == (same.edges, same.fit.log_lik)


def test_the_papers_experiments(tmp_path):
    tasks = [Task("fit", 4, 2, 50, 0, 0, k, 0.01) for k in (1, 2)]
    tasks.append(Task("reality", 4, 2, 50, 0, 0, 0, 0.01))
    design = replace(PAPER, reality_states=(1, 2))

    def work(executor):
        ledger = Ledger(tmp_path / f"{type(executor).__name__}.jsonl", RESULTS, {}, Task)
        run_all(tasks, work_of(Experimenter(design, 0, 4), executor), ledger, executor)
        return [
            {name: x for name, x in record.items() if name != "seconds"}
            for record in (ledger.records[task] for task in tasks)
        ]

    one, *others = both(work)
    assert all(one == other for other in others)


def test_parts_of_tasks_are_pickled_with_their_caches():
    case = network_case()
    problem = case.problem
    assert problem.filled
    assert problem.cases
    assert case.network.layout.size
    table = Table.from_codes(np.zeros((3, 2), dtype=int))
    for thing in (problem, case.network, case.network.layout, table, *SCORES):
        assert type(pickle.loads(pickle.dumps(thing))) is type(thing)
