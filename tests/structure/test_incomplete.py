"""Graphs of incomplete data: bounds that rise, exact evidence of all graphs, what is kept."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
import twins
from all_graphs import all_graphs
from examples import examples
from lacunet import Knowledge, learn_structure
from lacunet.data.table import Table
from lacunet.errors import DataError, OptionError
from lacunet.evidence.annealing import Goal
from lacunet.evidence.exact import exact_evidence
from lacunet.fitting.diagnose import at_hyperparameters, vary
from lacunet.flags import Kind
from lacunet.inference.problem import build_problem
from lacunet.models.conjugacy import random_theta
from lacunet.models.equivalence import find_compelled
from lacunet.models.network import Model, Network, Variable
from lacunet.models.prior import dirichlet
from lacunet.models.surgery import sample_codes
from lacunet.runtime.executor import SERIAL
from lacunet.structure import incomplete, learning, moves
from lacunet.structure.completing import Completer, draw_by_classes, sweep, wiring_of
from lacunet.structure.families import AVERAGED, GraphPrior
from lacunet.structure.incomplete import fit, search_incomplete
from lacunet.structure.learning import weigh
from lacunet.structure.scoring import AvailableCases, PairedCases
from lacunet.structure.searching import GraphSearch
from lacunet.structure.task import graph_task
from studies.calibration.known_networks import KNOWN

CHAIN = [(), (0,), (1,), (0, 2)]


def drawn(network, rows, missing, seed):
    rng = np.random.default_rng(seed)
    gamma = rng.standard_gamma(0.5, network.layout.size)
    theta = gamma / network.layout.spread(network.layout.sum_k(gamma))
    model = Model(network, theta, np.ones(network.layout.size))
    return Table.from_codes(sample_codes(model, rows, rng, missing))


def small(parents, rows, missing, seed):
    variables = [Variable(f"x{i + 1}", (0, 1)) for i in range(len(parents))]
    return drawn(Network.build(variables, parents), rows, missing, seed)


def task_of(table, **options):
    return graph_task(table, "bdeu:4", GraphSearch(**options), Knowledge())


def tangled(seed):
    """Eight variables, most with two parents, a quarter of the cells missing."""
    rng = np.random.default_rng(seed)
    parents = [sorted(rng.choice(v, min(v, 2), replace=False).tolist()) for v in range(8)]
    variables = [Variable(f"x{v}", (0, 1, 2)) for v in range(8)]
    return drawn(Network.build(variables, parents), 300, 0.25, seed)


def loose(n, rows, seed):
    """Variables with two to four states and up to three parents, 30% of the cells missing."""
    rng = np.random.default_rng(seed)
    order, parents = rng.permutation(n), [[] for _ in range(n)]
    for i, v in enumerate(order.tolist()):
        parents[v] = sorted(rng.choice(order[:i], min(i, int(rng.integers(4))), False).tolist())
    variables = [Variable(f"x{v}", tuple(range(int(rng.integers(2, 5))))) for v in range(n)]
    return parents, drawn(Network.build(variables, parents), rows, 0.3, seed)


def representatives(n):
    """One graph of each class with the same independences."""
    results = {}
    for parents in all_graphs(n):
        sure = find_compelled(parents.T)
        results.setdefault((sure.tobytes(), (parents | parents.T).tobytes()), parents)
    return list(results.values())


def exact_value(task, parents, alpha=None):
    network = task.network(parents)
    prior = dirichlet(network, task.alpha) if alpha is None else alpha
    return exact_evidence(build_problem(task.table, network, prior)).value


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_the_answer_is_nearly_the_best_of_all_graphs_by_exact_evidence(seed):
    """Four variables, a tenth of the cells missing, and what is missing summed out exactly."""
    task = task_of(small(CHAIN, 30, 0.1, seed))
    values = {g.tobytes(): exact_value(task, g) for g in representatives(4)}
    assert len(values) == 185
    learned = search_incomplete(task)
    reached = exact_value(task, learned.best.parents)
    assert learned.best.bound <= reached + 1e-9
    assert reached > max(values.values()) - 1.0
    assert reached > np.median(list(values.values())) + 1.0


@pytest.mark.slow
@examples(8)
@given(st.integers(0, 1000), st.integers(2, 5), st.sampled_from([0.05, 0.3]))
def test_the_bound_never_falls_and_is_that_of_the_answer(seed, n, missing):
    table = small([(), *[(i,) for i in range(n - 1)]], 50, missing, seed)
    if (table.missing == 1.0).any() or table.complete:
        return
    task = task_of(table, seed=seed)
    learned = search_incomplete(task)
    assert (np.diff(learned.bounds) >= 0.0).all()
    assert learned.bounds[0] >= fit(task, task.start).bound  # never below the graph to start from
    assert learned.best.bound == learned.bounds[-1]
    again = fit(task, learned.best.parents).bound
    assert again == pytest.approx(learned.best.bound, abs=0.1)
    assert again <= learned.best.bound + 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_complete_data_give_the_complete_answer(seed):
    table = small(CHAIN, 80, 0.0, seed)
    learned = learn_structure(table, alpha="bdeu:4", graph_prior="uniform")
    result = search_incomplete(task_of(table))
    assert learned.complete
    assert learned.bounds == ()
    assert result.best.bound == pytest.approx(learned.log_bd, abs=1e-9)
    np.testing.assert_allclose(result.best.model.theta.sum(), learned.model.theta.sum())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["asia", "child"])
def test_it_reaches_the_bound_of_the_graph_that_made_the_data(name):
    network = KNOWN[name]
    table = drawn(network, 2000, 0.1, 1)
    task = graph_task(table, AVERAGED, GraphSearch(prior=GraphPrior.FAIR), Knowledge())
    n = len(network.parents)
    true = np.array([[u in pa for u in range(n)] for pa in network.parents])
    assert learn_structure(table).log_joint > fit(task, true).value - 0.5


@pytest.fixture(scope="module")
def one():
    return learn_structure(small(CHAIN, 200, 0.2, 3), seed=5, threads=1)


@pytest.mark.slow
def test_the_number_of_threads_changes_nothing(one):
    same = learn_structure(small(CHAIN, 200, 0.2, 3), seed=5, threads=2)
    assert one.network == same.network
    assert one.bounds == same.bounds


@pytest.mark.slow
def test_what_is_known_is_kept():
    table = small(CHAIN, 300, 0.2, 1)
    known = Knowledge(require=[("x4", "x1")], forbid=[("x1", "x2"), ("x2", "x1")], max_parents=1)
    for probes in (0, 5):
        parents = learn_structure(table, knowledge=known, probes=probes).network.parents
        assert parents[0] == (3,)
        assert 0 not in parents[1]
        assert max(map(len, parents)) <= 1


@pytest.mark.slow
def test_bad_tables():
    with pytest.raises(DataError, match=r"'x2' is all missing.*exclude=\['x2'\]"):
        learn_structure(Table.from_codes([[0, -1, 1], [1, -1, 0]]))
    rng = np.random.default_rng(0)
    few = learn_structure(Table.from_codes(np.where(rng.random((6, 12)) < 0.2, -1, 1)))
    assert [flag.kind for flag in few.flags] == [Kind.FEW_ROWS]
    assert "few rows: 6 for 12 variables" in str(few)
    many = rng.integers(0, 300, (60, 3))
    many[0], many[5:20, 0], many[:, 2] = 299, -1, many[:, 2] % 2
    assert np.isfinite(learn_structure(Table.from_codes(many)).log_evidence)


@pytest.mark.slow
def test_it_says_that_the_bound_is_one(one):
    text = str(one)
    assert text.startswith("log p(D|S) ≥ ")
    assert "graphs fitted, bound raised" in text
    sums = one.model.network.layout.sum_k(one.model.theta)
    np.testing.assert_allclose(sums, 1.0)


@given(st.integers(0, 1000), st.integers(2, 4), st.sampled_from([1.0, 5]))
def test_available_cases_compare_families_on_the_same_rows(seed, n, alpha):
    rng = np.random.default_rng(seed)
    codes = np.where(rng.random((40, n)) < 0.2, -1, rng.integers(0, 3, (40, n)))
    table = Table.from_codes(np.vstack([codes, np.full((1, n), 2)]))
    child, parents = int(rng.integers(n)), rng.random(n) < 0.5
    parents[child] = False
    prior = f"bdeu:{alpha}" if isinstance(alpha, int) else alpha
    gains = AvailableCases(table, prior)(child, parents)
    assert gains[child] == 0.0

    def score(family, seen):
        shape = [3] * len(family)
        a = np.full(shape, alpha / 3 ** len(family) if isinstance(alpha, int) else alpha)
        rows = table.codes[seen], table.counts[seen]
        return twins.log_bd_of_family(*rows, [3] * n, family, a)

    for u in set(range(n)) - {child}:
        after = parents.copy()
        after[u] ^= True
        seen = (table.codes[:, (parents | after) | (np.arange(n) == child)] >= 0).all(axis=1)
        families = ([*np.flatnonzero(some), child] for some in (parents, after))
        before, then = (score(family, seen) for family in families)
        assert gains[u] == pytest.approx(then - before, rel=1e-9, abs=1e-9)


def test_drawn_cells_have_the_posterior_of_the_row():
    """Many copies of a row with three missing values, against the joint distribution."""
    cards, parents = (2, 3, 2, 2), [(), (0,), (0, 1), (2,)]
    variables = [Variable(f"x{i}", tuple(range(r))) for i, r in enumerate(cards)]
    network, rng = Network.build(variables, parents), np.random.default_rng(4)
    theta = random_theta(network.layout, rng)
    tables = [network.layout.table(theta, i) for i in range(4)]
    row = (-1, -1, -1, 1)
    q, _ = oracle.row_posterior(oracle.joint((cards, parents, tables)), row)
    copies = 20_000
    codes = np.tile(np.array([[0, 0, 0, 1]], dtype=np.int32), (copies, 1))
    missing = np.argwhere(np.tile([[True, True, True, False]], (copies, 1)))
    for _ in range(30):
        sweep(codes, missing, wiring_of(network), theta, rng)
    share = np.zeros(cards)
    np.add.at(share, tuple(codes.T), 1 / copies)
    np.testing.assert_allclose(share, np.broadcast_to(q, cards), atol=5 * np.sqrt(0.25 / copies))


def test_completions_keep_what_was_seen_and_the_weight():
    table = small(CHAIN, 60, 0.3, 2)
    completer = Completer(table, np.random.default_rng(0))
    model = fit(task_of(table), np.zeros((4, 4), dtype=bool)).model
    done = completer(model)
    assert done.complete
    assert done.weight == pytest.approx(table.weight)
    seen = table.codes >= 0
    assert (completer.codes[seen] == table.codes[seen]).all()


def test_classes_complete_rows_without_a_graph():
    """Seen cells stay; missing ones follow their row, though no edge joins any two columns."""
    rng = np.random.default_rng(5)
    x = rng.integers(0, 2, 400)
    flips = rng.random((400, 3)) < 0.05
    codes = np.where(flips, 1 - x[:, None], x[:, None])
    true = codes.copy()
    codes[rng.random(codes.shape) < 0.3] = -1
    table = Table.from_codes(codes)
    seen = table.codes >= 0
    completed = draw_by_classes(table, task_of(table).variables, 4, 0)
    assert (completed >= 0).all()
    assert (completed[:, seen] == table.codes[seen]).all()
    for u, v in ((0, 1), (0, 2), (1, 2)):
        alike = [np.average(one[:, u] == one[:, v], weights=table.counts) for one in completed]
        assert np.mean(alike) == pytest.approx(np.mean(true[:, u] == true[:, v]), abs=0.05)


@pytest.mark.slow
def test_a_search_with_many_missing_cells_is_no_lower_than_its_parts():
    """Bounds rise along a search that starts from classes and perturbs graphs, too."""
    table = tangled(3)
    assert incomplete._many_missing(task_of(table))
    one, more = (search_incomplete(task_of(table, restarts=k)) for k in (0, 2))
    assert more.best.value >= one.best.value - incomplete.RISE
    assert (np.diff(more.bounds) > 0).all()
    assert len(more.ends) > len(one.ends)


def test_moves_come_by_what_they_gain():
    rng = np.random.default_rng(1)
    parents = np.array([[0, 1, 0], [0, 0, 0], [0, 1, 0]], dtype=bool)
    limits = moves.Limits(~np.eye(3, dtype=bool), np.zeros((3, 3), dtype=bool), np.full(3, 3))
    gains = rng.normal(size=(3, 3))
    result = moves.every_move(parents, limits, gains)
    _, tied = moves.find_best(parents, limits, gains)
    assert result[0].tolist() == tied[0].tolist()
    assert len({tuple(move) for move in result.tolist()}) == len(result) == 6
    for move in result:
        after = moves.moved(parents, move)
        assert 1 <= (after != parents).sum() <= 2
        assert not moves.find_ancestors(after).diagonal().any()


@pytest.mark.slow
@pytest.mark.parametrize("score", ["available", "expected"])
def test_surrogates_may_decide_alone(score):
    table = small(CHAIN, 300, 0.2, 3)
    result, ours = learn_structure(table, score=score), learn_structure(table)
    assert result.score == score
    assert f"Decided by {score} c" in str(result)
    task = task_of(table)  # whatever decided, the bound is that of the answer
    task = graph_task(table, AVERAGED, task.options, Knowledge())
    parents = np.array([[u in pa for u in range(4)] for pa in result.network.parents])
    assert result.log_evidence == pytest.approx(fit(task, parents).bound, abs=0.1)
    assert result.log_joint <= ours.log_joint + 1e-6
    if score == "available":
        assert result.fitted == 1
    with pytest.raises(OptionError, match="score 'BIC' is not known"):
        learn_structure(table, score="BIC")


@pytest.mark.slow
def test_what_is_known_of_the_evidence_of_the_answer():
    """Four variables: what is missing can be summed out, so measuring is exact."""
    table = small(CHAIN, 30, 0.1, 1)
    learned = learn_structure(table, evidence=True)
    task = graph_task(table, AVERAGED, GraphSearch(), Knowledge())
    parents = np.array([[u in pa for u in range(4)] for pa in learned.network.parents])
    exact = exact_value(task, parents, learned.posterior.problem.alpha)  # of the sizes it took
    assert learned.measured.value == pytest.approx(exact)
    assert learned.posterior.bound <= exact
    assert learned.csl == pytest.approx(exact, abs=0.5)
    text = str(learned)
    assert f"≈ {learned.csl:.2f} by CSL" in text
    assert f"= {exact:.2f}, measured (exact, exact)" in text
    assert learn_structure(table).measured is None


@pytest.mark.slow
def test_of_graphs_that_are_close_measured_evidence_decides(monkeypatch):
    """All graphs that were fitted count as close: the answer is the best by exact evidence."""
    monkeypatch.setattr(incomplete, "CLOSE", 1e6)
    monkeypatch.setattr(incomplete, "FINALISTS", 3)
    table = small(CHAIN, 40, 0.1, 1)
    task = graph_task(table, AVERAGED, GraphSearch(prior=GraphPrior.FAIR), Knowledge())
    met = search_incomplete(task)
    finalists = [met.best, *met.close]
    assert len(finalists) == 3
    weighed = weigh(finalists, Goal(), 0, SERIAL)
    measured = [exact_value(task, one.parents, one.posterior.problem.alpha) for one in finalists]
    exact = {
        one.parents.tobytes(): value + one.averaging + one.log_prior
        for one, value in zip(finalists, measured, strict=True)
    }
    assert weighed[0].parents.tobytes() == max(exact, key=exact.get)
    learned = learn_structure(table, evidence=True)
    value = learned.measured.value + learned.averaging + learned.log_prior
    assert value == pytest.approx(max(exact.values()), abs=0.01)
    assert "Best by measured evidence of 3 graphs" in str(learned)


def test_without_csl_the_bound_decides(monkeypatch):
    monkeypatch.setattr(learning, "MOST_PARAMETERS", 3)
    learned = learn_structure(small(CHAIN, 30, 0.1, 0))
    assert learned.csl is None
    assert "by CSL" not in str(learned)


def test_a_fit_does_not_begin_without_cases_where_no_row_shows_a_family_whole():
    """Weights of variational Bayes are next to nothing there: what is lost so stays lost."""
    parents, table = loose(10, 300, 9)
    task = graph_task(table, "bdeu:1", GraphSearch(), Knowledge())
    true = fit(task, np.array([[u in pa for u in range(10)] for pa in parents]))
    problem = true.posterior.problem
    lost = vary(at_hyperparameters(problem, problem.prior)).bound
    assert true.bound > lost + 3.0


def test_gains_of_pairs_are_counted_where_both_show():
    """Against counts by hand, with draws for the rest; an edge that may turn gains nothing."""
    rng = np.random.default_rng(3)
    codes = np.where(rng.random((40, 4)) < 0.3, -1, rng.integers(0, 2, (40, 4)))
    table = Table.from_codes(np.vstack([codes, np.ones((1, 4), dtype=int)]))
    drawn = np.where(table.codes < 0, rng.integers(0, 2, (3, *table.codes.shape)), table.codes)
    drawn = drawn.astype(np.int32)
    cases = PairedCases(table, drawn, np.ones(4, dtype=bool), "bdeu:4")
    for child, parents in ((0, [1, 2]), (1, [2]), (3, [])):
        gains = cases(child, np.isin(np.arange(4), parents))
        for u in {0, 1, 2, 3} - {child}:
            both = (table.codes[:, [child, u]] >= 0).all(axis=1)
            weights = np.tile(table.counts[both] / 3, 3)
            seen = drawn[:, both].reshape(-1, 4)

            def score(family, seen=seen, weights=weights):
                a = np.full([2] * len(family), 4 / 2 ** len(family))
                return twins.log_bd_of_family(seen, weights, [2] * 4, family, a)

            after = sorted({*parents} ^ {u})
            expected = score([*after, child]) - score([*parents, child])
            assert gains[u] == pytest.approx(expected, abs=1e-9)
    away, back = cases(1, np.isin(np.arange(4), [0])), cases(0, np.zeros(4, dtype=bool))
    assert away[0] + back[1] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.slow
def test_without_probes_completed_rows_alone_propose(monkeypatch):
    task = task_of(tangled(1), probes=0)
    monkeypatch.setattr(incomplete, "search_by_gains", lambda *_: pytest.fail("proposed"))
    learned = search_incomplete(task)
    assert learned.best.bound > fit(task, task.start).bound
