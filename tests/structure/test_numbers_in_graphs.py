"""Graphs over categories and numbers: numbers depend on categories, and nothing on numbers."""

import itertools
import math

import numpy as np
import polars as pl
import pytest

import lacunet
from lacunet import Knowledge, OptionError
from lacunet.flags import Kind
from lacunet.inference.problem import build_problem
from lacunet.models.network import Network
from lacunet.models.prior import dirichlet
from lacunet.structure.completing import Completer, draw_by_classes
from lacunet.structure.knowledge import edges_of
from lacunet.structure.scoring import available_scores, complete_scores
from lacunet.structure.searching import GraphSearch
from lacunet.structure.task import graph_task

KINDS = "x=gaussian,y=poisson,z=ordinal"
OPTIONS = GraphSearch(sweeps=1, restarts=0)
NOTHING = Knowledge()


def frame(rows, seed=0):
    """x depends on a and c, y on b, z on c; b on a."""
    rng = np.random.default_rng(seed)
    a, c = rng.integers(0, 2, rows), rng.integers(0, 3, rows)
    b = np.where(rng.random(rows) < 0.85, a, 1 - a)
    numbers = {
        "x": rng.normal(2.0 * a + c, 1.0).round(2),
        "y": rng.poisson(np.where(b == 1, 6.0, 2.0)),
        "z": 1 + rng.binomial(4, np.where(c == 0, 0.2, 0.7)),
    }
    columns = {
        name: [f"s{state}" for state in column]
        for name, column in zip("abc", (a, b, c), strict=True)
    }
    return pl.DataFrame(columns | numbers)


def with_missing_values(data, names, share=0.15, seed=1):
    rng = np.random.default_rng(seed)
    drawn = {name: pl.Series(rng.random(len(data)) < share) for name in names}
    return data.with_columns(
        pl.when(drawn[name]).then(None).otherwise(pl.col(name)).alias(name) for name in names
    )


def task_of(data, alpha="bdeu:10"):
    return graph_task(lacunet.read_table(data, kinds=KINDS), alpha, OPTIONS, NOTHING)


def log_evidence(task, parents):
    network = task.network(parents)
    return build_problem(task.table, network, dirichlet(network, task.alpha)).log_seen


@pytest.mark.parametrize("alpha", ["bdeu:10", 1.0])
@pytest.mark.parametrize("missing", [(), ("x", "y", "z")])
def test_gains_are_differences_of_the_exact_evidence(alpha, missing):
    task = task_of(with_missing_values(frame(60), missing), alpha)
    scores, rng = complete_scores(task, task.table), np.random.default_rng(2)
    names = [v.name for v in task.variables]
    for _ in range(4):
        parents = np.zeros((6, 6), dtype=bool)
        parents[1, 0] = True
        parents[3:, :3] = rng.random((3, 3)) < 0.5
        before = log_evidence(task, parents)
        for v, u in itertools.product(range(3, 6), range(3)):
            after = parents.copy()
            after[v, u] ^= True
            gain = scores(v, parents[v]).gains[u]
            change = log_evidence(task, after) - before
            assert gain == pytest.approx(change, abs=1e-8), (names[v], names[u])


def test_the_best_of_all_graphs_is_found():
    task = task_of(frame(80).drop("c"), alpha=0.5)
    learned = lacunet.learn_structure(task.table, alpha=0.5, restarts=0)
    best = -np.inf
    for among, sets in itertools.product(
        ([], [(1, 0)], [(0, 1)]), itertools.product(range(4), repeat=3)
    ):
        parents = np.zeros((5, 5), dtype=bool)
        for v, u in among:
            parents[v, u] = True
        for v, chosen in enumerate(sets, start=2):
            parents[v, :2] = [chosen & 1, chosen & 2]
        # Of two categories one has at most one parent; a number has one of the two in two ways.
        log_prior = -sum(math.log(2) for row in parents[2:] if row.sum() == 1)
        best = max(best, log_evidence(task, parents) + log_prior)
    assert learned.log_joint == pytest.approx(best, abs=1e-9)
    assert learned.log_prior == pytest.approx(
        -sum(math.log(2) for pa in learned.network.parents[2:] if len(pa) == 1)
    )
    assert sum(learned.families) == pytest.approx(learned.log_evidence, abs=1e-9)
    assert learned.complete


TRUE = {("a", "x"), ("c", "x"), ("b", "y"), ("c", "z")}


@pytest.mark.parametrize("missing", ["", "xyz", "abcxyz"])
def test_what_numbers_depend_on_is_found(missing):
    learned = lacunet.learn_structure(
        with_missing_values(frame(500), missing), kinds=KINDS, restarts=0
    )
    assert learned.complete is (missing != "abcxyz")  # a missing number is uninformative
    edges = set(edges_of(learned.network))
    assert edges - TRUE in ({("a", "b")}, {("b", "a")})
    assert edges >= TRUE
    assert set(learned.equivalence_class.compelled) >= TRUE  # nothing depends on numbers
    assert not learned.complete or learned.posterior.bound == pytest.approx(
        learned.posterior.problem.log_seen, abs=1e-8
    )


def test_available_cases_take_both_sides_of_a_move_on_the_same_rows():
    data = with_missing_values(frame(80), "abcxyz")
    task = task_of(data)
    scores, parents = available_scores(task), np.zeros(6, dtype=bool)
    both = data.filter(pl.col("x").is_not_null() & pl.col("a").is_not_null())
    units = {v.name: v for v in task.variables}
    whole = lacunet.read_table(both.select("a", "x"), kinds="x=gaussian")

    def evidence(*columns):
        x = next(c for c in whole.columns if c.name == "x")
        variables = [units["a"], units["x"]]
        variables[1] = type(variables[1])(
            "x", x.states, family=units["x"].family, unit=units["x"].unit, prior=units["x"].prior
        )
        network = Network.build(variables, [(), columns])
        return build_problem(whole, network, dirichlet(network, "bdeu:10")).log_seen

    assert scores(3, parents).gains[0] == pytest.approx(evidence(0) - evidence(), abs=1e-8)


def test_missing_categories_are_drawn_given_the_numbers_of_their_row():
    data = frame(60).with_columns(
        pl.when(pl.int_range(pl.len()) < 3).then(None).otherwise(pl.col("a")).alias("a")
    )
    model = lacunet.learn_structure(data, kinds=KINDS, restarts=0).model
    rows = lacunet.read_table(data, kinds=KINDS)
    missing = np.flatnonzero(rows.codes[:, 0] < 0)
    completer = Completer(rows, np.random.default_rng(0))
    drawn = np.zeros(len(missing))
    for _ in range(150):
        completer(model)
        drawn += completer.codes[missing, 0]
    expected = lacunet.assign(data.head(3), model, impute=True, plug_in=True).variables[0]
    assert expected.name == "a"
    assert np.sort(drawn / 150) == pytest.approx(np.sort(expected.probabilities[:, 1]), abs=0.13)


def test_classes_complete_categories_beside_numbers():
    data = frame(60).with_columns(
        pl.when(pl.int_range(pl.len()) < 12).then(None).otherwise(pl.col("a")).alias("a")
    )
    rows = lacunet.read_table(data, kinds=KINDS)
    task = graph_task(rows, "bdeu:4", GraphSearch(), Knowledge())
    completed = draw_by_classes(rows, task.variables, 3, 0)
    seen = rows.codes >= 0
    assert (completed[:, seen] == rows.codes[seen]).all()
    assert (completed[:, :, 0] >= 0).all()


def test_what_cannot_be_is_refused():
    data = frame(30)
    with pytest.raises(OptionError, match="the edge x → a cannot be: 'x' is a number"):
        lacunet.learn_structure(data, kinds=KINDS, knowledge=Knowledge(require=[("x", "a")]))
    with pytest.raises(OptionError, match="an exact search takes categories alone"):
        lacunet.learn_structure(data, kinds=KINDS, exact=True)
    kept = lacunet.learn_structure(
        data, kinds=KINDS, knowledge=Knowledge(require=[("b", "x")], forbid=[("a", "x")])
    )
    assert ("b", "x") in edges_of(kept.network)
    assert ("a", "x") not in edges_of(kept.network)


def test_numbers_alone_have_no_edges():
    learned = lacunet.learn_structure(frame(40).select("x", "y"), kinds="x=gaussian,y=poisson")
    assert learned.network.parents == ((), ())
    assert learned.log_evidence == pytest.approx(learned.posterior.problem.log_seen)


def pairs_in(data, **options):
    kinds = dict.fromkeys(set(data.columns) & {"x", "y", "z"}, "gaussian")
    learned = lacunet.learn_structure(data, kinds=kinds, sweeps=1, restarts=0, **options)
    flagged = learned.flags and learned.flags[0].kind is Kind.BETWEEN_NUMBERS
    assert bool(flagged) == bool(learned.between.unexplained)
    return learned, [(pair.one, pair.other, pair.shape) for pair in learned.between.unexplained]


def dependent(rng, rows, slope):
    """y depends on x, and z on c alone."""
    x, c = rng.normal(size=rows), rng.integers(0, 2, rows)
    y, z = slope(x) + 0.5 * rng.normal(size=rows), 2.0 * c + rng.normal(size=rows)
    return pl.DataFrame({"x": x, "y": y, "z": z, "c": [f"s{state}" for state in c]})


@pytest.mark.parametrize("slope", [lambda x: 1.5 * x, lambda x: x**2], ids=["line", "parabola"])
@pytest.mark.parametrize("missing", [(), ("x", "y", "c")])
@pytest.mark.parametrize("weighed", [False, True])
def test_dependence_between_numbers_is_reported_before_the_graph(slope, missing, weighed):
    data = with_missing_values(dependent(np.random.default_rng(3), 150, slope), missing)
    weights = np.random.default_rng(4).gamma(4.0, 1.0, len(data))
    data = data.with_columns(pl.Series("people", weights)) if weighed else data
    result, pairs = pairs_in(data, **({"weights": "people"} if weighed else {}))
    shape = "monotone" if slope(-1.0) != slope(1.0) else "spread"
    assert pairs[0] == ("x", "y", shape)
    first, title = str(result).splitlines()[0], result.brief()
    assert first.startswith("Warning: dependence between numbers is not modelled")
    assert "'x' and 'y'" in first
    assert title.endswith("none of them between numbers")


@pytest.mark.parametrize("weighed", [False, True])
def test_independent_numbers_seldom_have_an_edge(weighed):
    """What they share through a category that the graph has is explained."""
    wrong, sets = 0, 40
    for seed in range(sets):
        rng = np.random.default_rng(seed)
        c = rng.integers(0, 3, 120)
        sd = np.array([1.0, 2.0, 4.0])[c]
        columns = {name: 5.0 * c + sd * rng.standard_t(4, len(c)) for name in "xyz"}
        data = pl.DataFrame(columns | {"c": [f"s{state}" for state in c]})
        data = data.with_columns(people=rng.gamma(2.0, 1.0, len(c))) if weighed else data
        result, pairs = pairs_in(data, **({"weights": "people"} if weighed else {}))
        wrong += bool(pairs)
        assert pairs or "finds no dependence" in str(result)
        assert pairs or not str(result).startswith("Warning")
    assert wrong <= sets // 10


def test_one_number_has_nothing_to_depend_on():
    learned = lacunet.learn_structure(frame(60).select("a", "b", "x"), kinds="x=gaussian")
    assert learned.between is None
    assert "numbers" not in str(learned)
