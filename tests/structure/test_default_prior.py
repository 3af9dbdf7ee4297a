"""The default prior of learned graphs, how answers depend on it, and on which cells are missing."""

import itertools
import math

import numpy as np
import pytest

import lacunet
from all_graphs import all_graphs, independences
from lacunet import learn_structure
from lacunet.data.table import Table
from lacunet.errors import OptionError
from lacunet.evidence.exact import exact_evidence
from lacunet.flags import Kind
from lacunet.inference.problem import build_problem
from lacunet.models import conjugacy
from lacunet.models.network import Network, Variable
from lacunet.models.prior import dirichlet, scale_alpha
from lacunet.structure.diagnostics import missingness
from lacunet.structure.edges.posterior import EdgeSampling, find_edges
from lacunet.structure.families import GraphPrior, log_prior_of_sizes, log_prior_over
from lacunet.structure.incomplete import fit
from lacunet.structure.knowledge import Knowledge
from lacunet.structure.scoring import complete_scores
from lacunet.structure.searching import GraphSearch
from lacunet.structure.task import graph_task


def chains(rows, columns, seed, same=0.8):
    """Each column copies the one before it, more or less."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, (rows, columns))
    for v in range(1, columns):
        codes[:, v] = np.where(rng.random(rows) < same, codes[:, v - 1], codes[:, v])
    return codes


def test_fair_makes_each_number_of_parents_as_probable():
    log_p = log_prior_of_sizes(GraphPrior.FAIR, np.array([5, 3]), 5)
    for row, candidates in zip(log_p, (5, 3), strict=True):
        total = [math.comb(candidates, k) * np.exp(row[k]) for k in range(candidates + 1)]
        np.testing.assert_allclose(total, 1.0)
    assert not log_prior_of_sizes(GraphPrior.UNIFORM, np.array([5]), 5).any()


@pytest.mark.parametrize("prior", GraphPrior)
def test_graphs_with_the_same_independences_are_equally_probable(prior):
    """Also where a column has one state, and where another holds numbers."""
    table = Table.from_codes(np.column_stack([chains(9, 4, 0), np.zeros(9, dtype=int)]))
    log_p = log_prior_over(table, prior)
    assert log_p[4, 0] == 0.0
    by_class = {}
    for graph in all_graphs(4):
        value = sum(log_p[v, int(row.sum())] for v, row in enumerate(graph))
        by_class.setdefault(independences(graph), []).append(value)
    assert max(max(values) - min(values) for values in by_class.values()) < 1e-12


def test_candidates_are_categories_with_two_states():
    rng = np.random.default_rng(0)
    frame = {"a": rng.integers(0, 2, 20), "b": rng.integers(0, 3, 20), "c": np.zeros(20, dtype=int)}
    data = lacunet.read_table(
        [
            dict(zip([*frame, "x"], row, strict=True))
            for row in zip(*frame.values(), rng.normal(size=20), strict=True)
        ],
        kinds="x=gaussian",
    )
    task = graph_task(data, 0.5, GraphSearch(prior=GraphPrior.FAIR), Knowledge())
    priors = dict(zip([v.name for v in task.variables], np.exp(-task.log_prior), strict=True))
    np.testing.assert_allclose(priors["x"][:3], [1, 2, 1])  # of a and b
    np.testing.assert_allclose(priors["a"][:2], [1, 1])  # of b alone


def averaged_evidence(table, graph, sizes):
    """Log p(D|S) where each family has one of some sizes: exact evidence of every combination."""
    network = Network.build([Variable(c.name, c.states) for c in table.columns], graph)
    cells = network.layout.offsets[1:] - network.layout.offsets[:-1]
    values = []
    for combination in itertools.product(sizes, repeat=len(cells)):
        evidences = np.concatenate(
            [np.full(n, size / n) for n, size in zip(cells, combination, strict=True)]
        )
        values.append(exact_evidence(build_problem(table, network, evidences)).value)
    return float(np.logaddexp.reduce(values) - math.log(len(values)))


SOME = ("bdeu:1-4", (1.0, 2.0, 4.0))


def lists(graph):
    return [np.flatnonzero(row).tolist() for row in graph]


@pytest.mark.parametrize("missing", [0.0, pytest.param(0.3, marks=pytest.mark.slow)])
def test_averaged_families_against_all_graphs_and_all_sizes(missing):
    """Best graph, bound and probabilities of edges; three columns, one with three categories."""
    rng, (alpha, sizes) = np.random.default_rng(3), SOME
    codes = chains(24, 3, 2, same=0.6)
    codes[:, 2] += rng.integers(0, 2, 24)
    codes[4:][rng.random((20, 3)) < missing] = -1
    table = Table.from_codes(codes)
    graphs = list(all_graphs(3))
    exact = np.array([averaged_evidence(table, lists(graph), sizes) for graph in graphs])
    prior = [-sum(math.log(math.comb(2, int(row.sum()))) for row in graph) for graph in graphs]
    learned = learn_structure(table, alpha=alpha)
    index = next(k for k, graph in enumerate(graphs) if (graph == learned.parents).all())
    if missing:
        task = graph_task(table, alpha, GraphSearch(prior=GraphPrior.FAIR), Knowledge())
        for graph, value, log_p in zip(graphs, exact, prior, strict=True):
            fitted = fit(task, graph)
            assert value - 4.0 < fitted.bound <= value + 1e-9
            assert fitted.value == pytest.approx(fitted.bound + log_p)
        assert exact[index] + prior[index] > max(exact + prior) - 1.5
    else:
        assert learned.log_evidence == pytest.approx(exact[index], abs=1e-9)
        assert learned.log_joint == pytest.approx(max(exact + prior), abs=1e-9)
        assert sum(learned.families) == pytest.approx(learned.log_evidence, abs=1e-9)
    weights = np.exp(exact + prior - max(exact + prior))
    expected = np.tensordot(weights / weights.sum(), np.array(graphs, dtype=float), 1)
    sampling = EdgeSampling(target=0.02, sweeps=250, rounds=3, prior=GraphPrior.FAIR)
    sure = find_edges(table, alpha, Knowledge(), sampling)
    off = np.abs(sure.arrows - expected)
    assert (off <= 4.5 * sure.arrows_stderr + 1e-9).all()
    assert sure.arrows_stderr.max() < (0.06 if missing else 1e-12)


def test_numbers_are_averaged_too():
    """A category and counts: the score of each family is the mean over all sizes."""
    rng, (alpha, sizes) = np.random.default_rng(0), SOME
    town = rng.integers(0, 3, 60)
    rows = [{"town": int(t), "won": int(rng.poisson(1.0 + t))} for t in town]
    table = lacunet.read_table(rows, kinds="won=poisson").in_canonical_order
    for graph in ([(), ()], [(), (0,)]):
        parents = np.array([np.isin(np.arange(2), parents_of) for parents_of in graph])
        task = graph_task(table, alpha, GraphSearch(), Knowledge())
        network = task.network(parents)
        logs = [build_problem(table, network, dirichlet(network, f"bdeu:{s:g}")) for s in sizes]
        each = [conjugacy.log_marginal(p.seen, p.alpha, p.layout) + p.log_bases for p in logs]
        expected = np.logaddexp.reduce(each, axis=0) - math.log(len(sizes))
        scores = complete_scores(task, table)
        base = logs[0].log_bases
        parents_of = [scores(v, parents[v]).score + base[v] for v in range(2)]
        np.testing.assert_allclose(parents_of, expected, atol=1e-9)


def test_what_averages_is_only_for_graphs_that_are_searched():
    with pytest.raises(OptionError, match="averages over equivalent sample sizes, as only"):
        lacunet.fit(lacunet.load_dataset("myocardial"), 2, alpha="bdeu:1-4")
    with pytest.raises(OptionError, match=r"bdeu:LOW-HIGH averages over .* The usual choice is"):
        learn_structure(lacunet.load_dataset("myocardial"), alpha="bdeu:4-1")


def test_fewer_spurious_edges_than_under_bdeu_10_and_a_uniform_prior():
    """Sparse random networks: the skeleton is nearer to the true one, and the model no worse."""
    better = worse = 0
    for seed in range(6):
        codes = chains(300, 9, seed)
        true = {frozenset(pair) for pair in itertools.pairwise(range(9))}
        for options in ({}, {"alpha": "bdeu:10", "graph_prior": "uniform"}):
            learned = learn_structure(Table.from_codes(codes), **options)
            joined = {frozenset((v, u)) for v, pa in enumerate(learned.network.parents) for u in pa}
            if options:
                worse += len(joined ^ true)
            else:
                better += len(joined ^ true)
    assert better <= 3
    assert worse >= better + 6


def test_sensitivity_to_the_prior_is_reported():
    table = Table.from_codes(chains(60, 6, 5, same=0.45))
    learned = learn_structure(table)
    sensitivity = learned.sensitivity
    assert sensitivity.alphas == ("bdeu:0.25-5", "bdeu:1-20")
    skeleton = learned.parents | learned.parents.T
    names = [v.name for v in learned.network.variables]
    for alpha, differ in zip(sensitivity.alphas, sensitivity.differ, strict=True):
        other = learn_structure(table, alpha=alpha).parents
        expected = np.argwhere(np.tril((other | other.T) ^ skeleton))
        assert {*differ} == {(names[u], names[v]) for v, u in expected}
    assert any(sensitivity.differ)
    assert str(sensitivity) in str(learned)
    assert learned.to_dict()["sensitivity"]["differ"] == sensitivity.differ
    assert learn_structure(table, sweeps=0).sensitivity is None
    assert [scale_alpha(a, 2.0) for a in ("k2", "bdeu:1", 0.25)] == [2.0, "bdeu:2", 0.5]


@pytest.mark.slow
def test_with_missing_cells_rows_are_completed_once():
    codes = chains(400, 5, 1)
    codes[np.random.default_rng(0).random(codes.shape) < 0.2] = -1
    learned = learn_structure(Table.from_codes(codes))
    assert "With half and twice the prior's exponents on completed rows: no edge" in str(learned)


def test_implausibly_many_edges_are_flagged():
    rng = np.random.default_rng(0)
    table = Table.from_codes(rng.integers(0, 2, (150, 14)))
    many = learn_structure(table, alpha="bdeu:50", graph_prior="uniform")
    assert Kind.MANY_EDGES in [flag.kind for flag in many.flags]
    assert "most of the others are probably spurious" in str(many)
    for options in ({}, {"alpha": "bdeu:1"}):
        flags = learn_structure(table, **options).flags
        assert Kind.MANY_EDGES not in [flag.kind for flag in flags]


@pytest.mark.slow
def test_whether_cells_are_missing_completely_at_random():
    """At most a tenth of such tables is flagged; cells that are missing by their value are."""
    spoke = 0
    for seed in range(60):
        rng, codes = np.random.default_rng(seed), chains((80, 300)[seed % 2], 6, seed)
        codes[rng.random(codes.shape) < (0.05, 0.3)[seed // 2 % 2]] = -1
        spoke += bool(missingness(Table.from_codes(codes)).flags)
    assert spoke <= 6
    for seed in range(5):
        rng, codes = np.random.default_rng(seed), chains(500, 6, seed)
        lost = rng.random(codes.shape) < np.where(codes == 1, 0.4, 0.1)
        learned = learn_structure(Table.from_codes(np.where(lost, -1, codes)), restarts=0)
        assert [flag.kind for flag in learned.flags] == [Kind.NOT_COMPLETELY_AT_RANDOM]
        assert "`lacunet compare-missing`" in str(learned)
        assert learned.missingness.p_value < 0.05


def test_a_pointer_where_cells_are_missing_and_none_where_few_are():
    codes = chains(300, 4, 2)
    codes[np.random.default_rng(1).random(codes.shape) < 0.1] = -1
    text = str(learn_structure(Table.from_codes(codes)))
    assert "are taken to be missing at random" in text
    assert "missing completely at random" not in text
    one = chains(300, 4, 2)
    one[3, 1] = -1
    assert learn_structure(Table.from_codes(one)).missingness is None
    few = Table.from_codes(np.where(np.eye(20, dtype=bool)[:, :4], -1, chains(20, 4, 0)))
    assert missingness(few).flags == ()  # too few for any test


def test_numbers_show_where_cells_are_missing():
    rng = np.random.default_rng(0)
    x, a = rng.normal(size=400), rng.integers(0, 2, 400)
    rows = [
        {"x": float(value), "a": None if value > 0.5 and rng.random() < 0.6 else int(k)}
        for value, k in zip(x, a, strict=True)
    ]
    shares = missingness(lacunet.read_table(rows, kinds="x=gaussian"))
    assert (shares.column, shares.other) == ("a", "x")
    assert shares.p_value < 1e-6
