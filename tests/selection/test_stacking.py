"""Stacks: what is held out, the weights, and what members predict together."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

import lacunet
from lacunet import DataError, OptionError
from lacunet.data import Column, Table
from lacunet.inference.leaves import widest_block
from lacunet.inference.problem import build_problem
from lacunet.inference.queries.answers import row_log_lik
from lacunet.runtime.processes import on_processes
from lacunet.selection import recipes
from lacunet.selection.ensembles import learn_stack, stack_weights
from lacunet.selection.held_out import hold_out_rows
from lacunet.selection.recipes import (
    ClassRecipe,
    GraphRecipe,
    StackKind,
    expected,
    stacked,
)


def table_of(codes, counts=None):
    columns = [Column(f"x{j}", (0, 1, 2)) for j in range(codes.shape[1])]
    return Table.from_codes(codes, columns, counts)


def generator():
    return np.random.default_rng(0)


# What is held out


def test_blocks_are_rows_that_follow_each_other():
    codes = generator().integers(0, 3, (11, 2))
    folds, in_order = hold_out_rows(table_of(codes), codes, 3, generator())
    assert in_order
    np.testing.assert_array_equal(np.vstack([fold.whole for fold in folds]), codes)
    assert sorted(len(fold.whole) for fold in folds) == [3, 4, 4]


@pytest.mark.parametrize("ordered", [True, False])
def test_what_is_held_and_the_rest_are_everything(ordered):
    codes = generator().integers(-1, 3, (40, 3))
    whole = table_of(codes)
    for fold in hold_out_rows(whole, codes if ordered else None, 4, generator())[0]:
        again = Table.from_codes(
            np.vstack([fold.whole, fold.table.codes]),
            whole.columns,
            np.concatenate([fold.counts, fold.table.counts]),
        )
        np.testing.assert_array_equal(again.codes, whole.codes)
        np.testing.assert_allclose(again.counts, whole.counts)


def test_cases_with_fractions_keep_their_weight():
    whole = table_of(np.array([[0, 1], [1, 2], [2, 0]]), [2.5, 0.5, 3.0])
    folds, in_order = hold_out_rows(whole, None, 2, generator())
    assert not in_order
    assert sum(fold.counts.sum() for fold in folds) == pytest.approx(6.0)


def test_a_column_that_one_block_alone_shows_is_dealt_out():
    codes = generator().integers(0, 3, (40, 2))
    codes[8:, 1] = -1
    assert not hold_out_rows(table_of(codes), codes, 5, generator())[1]


def test_bad_input_is_refused_with_the_next_step():
    codes = np.array([[0, 1]] * 4 + [[1, -1]] * 4)
    with pytest.raises(OptionError, match="1 folds are not allowed: give 2 or more"):
        hold_out_rows(table_of(codes), codes, 1, generator())
    with pytest.raises(DataError, match="has one row"):
        hold_out_rows(table_of(codes[:1]), codes[:1], 5, generator())
    once = np.array([[0, 1]] + [[1, -1]] * 9)
    with pytest.raises(DataError, match=r"column 'x1' is seen in 1 row:.*exclude=\[.x1.\]"):
        hold_out_rows(table_of(once), once, 5, generator())
    with pytest.raises(DataError, match="column 'x1' is all missing"):
        lacunet.stack(table_of(np.array([[0, -1], [1, -1]])))


# Weights


def test_weights_are_optimal():
    rng = generator()
    log_lik, counts = np.log(rng.random((4, 60))), rng.integers(1, 4, 60).astype(float)

    def lost(free):
        weights = softmax(np.append(free, 0.0))
        each = logsumexp(log_lik + np.log(weights)[:, None], axis=0)
        return -(counts @ each + np.log(weights).mean())

    best = minimize(lost, np.zeros(3), tol=1e-12)
    result = stack_weights(log_lik, counts)
    assert result.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(result, softmax(np.append(best.x, 0.0)), atol=2e-3)


def test_every_member_keeps_weight_and_impossible_rows_are_no_obstacle():
    log_lik = np.array([[-1.0, -1.0, -1.0], [-np.inf, -50.0, -np.inf]])
    weights = stack_weights(log_lik, np.ones(3))
    assert 0 < weights[1] < 0.2
    assert weights.sum() == pytest.approx(1.0)


# What is learned


def test_graphs_are_searched_with_fewer_and_fewer_cases():
    codes = np.tile(generator().integers(0, 3, (40, 2)), (35, 1))  # 1,400 cases
    thinned = {r.thinned for r in stacked(table_of(codes)) if isinstance(r, GraphRecipe)}
    assert thinned == {1, 4, 16, 64}


def test_classes_have_members_and_kinds_can_be_chosen():
    table = table_of(np.tile(generator().integers(0, 3, (20, 2)), (5, 1)))  # 100 cases
    both, graphs, classes = (stacked(table, only) for only in (None, *StackKind))
    assert {r.classes for r in both if isinstance(r, ClassRecipe)} == {2, 4, 8}
    assert set(graphs) | set(classes) == set(both)
    assert set(graphs) & set(classes) == {GraphRecipe(1, edges=False)}
    with pytest.raises(OptionError, match=r"only 'class' is not known\. Did you mean 'classes'"):
        lacunet.stack(table, only="class")


@pytest.mark.parametrize("recipe", [GraphRecipe(10, 8), ClassRecipe(2, 0.25)])
def test_models_are_about_the_columns_and_have_names(recipe):
    codes = generator().integers(-1, 3, (60, 4))
    table = table_of(codes)
    models = recipe.learn(table, seed=0)
    assert len(models) == len(recipe.names)
    every = np.stack(np.unravel_index(range(81), (3,) * 4), axis=1).astype(np.int32)
    for model in models:
        assert np.exp(row_log_lik(model, every)).sum() == pytest.approx(1.0)


def test_without_edges_columns_are_independent_with_their_shares():
    codes = generator().integers(0, 3, (50, 3))
    model = GraphRecipe(1, edges=False).learn(table_of(codes), seed=0)[1]  # tables: bdeu:10
    shares = (np.bincount(codes[:, 1], minlength=3) + 10 / 3) / 60
    np.testing.assert_allclose(model.table("x1"), shares)


def test_expected_parameters_of_complete_rows_are_exact():
    codes = generator().integers(0, 3, (200, 3))
    result = lacunet.learn_structure(table_of(codes), alpha="bdeu:10").model
    again = expected(build_problem(table_of(codes), result.network, result.alpha))
    np.testing.assert_allclose(again.theta, result.theta)


# Together


@pytest.fixture(scope="module")
def villages():
    """Twelve villages of 40 rows: x0 goes with x1 everywhere, with x2 as each village has it."""
    rng = np.random.default_rng(4)
    rows = []
    for village in range(12):
        x0, x3 = rng.integers(0, 3, (2, 40))
        x1 = np.where(rng.random(40) < 0.9, x0, rng.integers(0, 3, 40))
        x2 = (x0 + rng.integers(3)) % 3
        x4 = (x3 + x0 * (village % 3)) % 3
        rows.append(np.column_stack([x0, x1, x2, x3, x4]))
    return np.vstack(rows)


def test_it_predicts_the_next_village_better_than_the_best_graph(villages):
    seen, new = villages[:-120], villages[-120:]
    graph = lacunet.learn_structure(table_of(seen)).model
    stack = lacunet.stack(table_of(seen), rows=seen, folds=3, threads=1)
    ours = lacunet.log_likelihoods(new, stack.ensemble)
    assert ours.sum() > row_log_lik(graph, new).sum() + 20.0
    assert stack.together > stack.held_out.max()


@pytest.mark.slow
def test_the_same_seed_gives_the_same_whatever_the_processes(villages):
    codes = np.where(np.random.default_rng(1).random(villages.shape) < 0.1, -1, villages)[:120]
    one = learn_stack(table_of(codes), codes, folds=2)
    with on_processes(2) as executor:
        two = learn_stack(table_of(codes), codes, folds=2, executor=executor)
    np.testing.assert_array_equal(one.ensemble.weights, two.ensemble.weights)
    np.testing.assert_array_equal(one.held_out, two.held_out)


def test_it_says_what_was_done(villages):
    text = str(lacunet.stack(table_of(villages[:80]), folds=2, threads=1))
    assert "Held out: 2 times cases at random" in text
    assert "nats each" in text.splitlines()[0]


# Numbers


def measurements(rows, seed):
    """Two sorts of cases, a number and a category each, and some missing values."""
    rng = np.random.default_rng(seed)
    sort = rng.random(rows) < 0.5
    height = rng.normal(np.where(sort, 180.0, 165.0), 4.0).round(1)
    sex = np.where(rng.random(rows) < np.where(sort, 0.9, 0.1), "m", "f")
    table = pl.DataFrame({"height": height, "sex": sex})
    missing = pl.Series(rng.random(rows) < 0.1)
    return table.with_columns(
        pl.when(missing).then(None).otherwise(pl.col("height")).alias("height")
    )


def test_numbers_and_categories_speak_together(monkeypatch):
    few = replace(recipes.GRID, scales=(1.0, 0.1), classes=(2,))
    monkeypatch.setattr(recipes, "GRID", few)
    seen, new = measurements(80, 1), measurements(200, 2)
    stack = lacunet.stack(seen, kinds="height=gaussian", folds=2, threads=1)
    names = {member.name for member in stack.ensemble.members}
    assert {name for name in names if "class" in name} == {
        f"{many}, α = {alpha}, scale = {scale}"
        for many in ("1 class", "2 classes")
        for alpha in (1, 0.25)
        for scale in (1, 0.1)
    }
    assert stack.in_order
    assert {name for name in names if name.startswith("graph, bdeu:10;")}
    one = stack.ensemble.members[0].model  # without edges
    together = lacunet.log_likelihoods(new, stack.ensemble).sum()
    assert together > lacunet.log_likelihoods(new, one).sum() + 10.0
    (height,) = lacunet.assign(new, stack.ensemble, impute=True).numbers
    man = (new["sex"] == "m").to_numpy()
    tall, small = (height.best[height.missing & who].mean() for who in (man, ~man))
    assert tall > small + 5.0


def test_numbers_that_vary_together_are_learned_together(monkeypatch):
    few = replace(recipes.GRID, scales=(1.0,), classes=(2,))
    monkeypatch.setattr(recipes, "GRID", few)
    rng = np.random.default_rng(3)
    x = rng.normal(0.0, 1.0, 120)
    both = pl.DataFrame({"x": x, "y": x + rng.normal(0.0, 0.2, 120)})
    stack = lacunet.stack(both[:80], kinds="x=gaussian,y=gaussian", folds=2, threads=1)
    together = sum(m.weight for m in stack.ensemble.members if "covariances" in m.name)
    assert together > 0.5
    apart = stack.ensemble.members[0].model
    new = both[80:]
    assert (
        lacunet.log_likelihoods(new, stack.ensemble).sum()
        > lacunet.log_likelihoods(new, apart).sum() + 20.0
    )


# Numbers


def number_frame(rows=60):
    """Measurements of which one is the sum of two others, and one hardly ever differs."""
    x = generator().normal(size=(rows, 3))
    rare = np.where(np.arange(rows) < rows - 10, 0.0, x[:, 2] ** 2)
    return pl.DataFrame(
        {"a": x[:, 0], "b": x[:, 1], "sum": x[:, 0] + x[:, 1], "c": x[:, 2], "rare": rare}
    )


def test_columns_that_follow_from_others_are_in_no_block():
    frame = number_frame()
    table = lacunet.read_table(frame, kinds=dict.fromkeys(frame.columns, "gaussian"))
    assert widest_block(table) == (("a", "b", "c", "rare"),)
    (model,) = ClassRecipe(2, 1.0, 0.1, together=True).learn(table, seed=0)
    blocks = {v.family.stands_at for v in model.network.variables}
    assert blocks == {None, "a"}


def test_covariances_are_learned_apart_and_in_common():
    frame = number_frame()
    table = lacunet.read_table(frame, kinds=dict.fromkeys(frame.columns, "gaussian"))
    classes = [r for r in stacked(table) if isinstance(r, ClassRecipe)]
    assert {(r.together, r.common) for r in classes} == {
        (False, False),
        (True, False),
        (True, True),
    }
    assert all(r.classes > 1 for r in classes if r.common)
    names = [name for r in stacked(table) for name in r.names]
    assert len(set(names)) == len(names)


def planted(rows, seed, odd=0.08):
    """Two clusters of numbers, and rows that are anywhere; which these are."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 2, rows)
    cells = rng.normal(0, 0.3, (rows, 4)) + 2.0 * z[:, None]
    strange = rng.random(rows) < odd
    cells[strange] = rng.uniform(-2, 4, (strange.sum(), 4))
    return pd.DataFrame(cells.round(3), columns=list("abcd")), strange


def area(strange, score):
    """Share of pairs of a strange row and another whose scores are in this order."""
    one, other = score[strange], score[~strange]
    return float((one[:, None] < other).mean() + 0.5 * (one[:, None] == other).mean())


def test_rows_of_the_table_are_judged_by_models_that_had_not_seen_them():
    """Planted rows are found among the rows learned from as well as among new ones."""
    frame, strange = planted(160, 1)
    new, other = planted(500, 2)
    stacked = lacunet.stack(frame, folds=3, threads=1)
    held_out, ensemble = stacked.held_out_rows, stacked.ensemble
    among_new = area(other, lacunet.log_likelihoods(new, ensemble))
    remembered = area(strange, lacunet.log_likelihoods(frame, ensemble))
    assert area(strange, held_out.log_likelihoods) > among_new - 0.03 > 0.9
    assert area(strange, held_out.tail_probabilities()) > among_new - 0.03
    assert remembered < among_new - 0.1
    # Their mean is what the stack says of held-out rows.
    assert held_out.log_likelihoods.mean() == pytest.approx(stacked.together)
    note = lacunet.assign(frame, ensemble, anomalies=True).unusual.note
    assert "learned from these rows" in note
    assert not lacunet.assign(new, ensemble, anomalies=True).unusual.note


def test_held_out_scores_are_those_of_each_row_whatever_the_order_of_columns_and_weights():
    rng = np.random.default_rng(3)
    z = rng.integers(0, 2, 60)
    cells = np.where(rng.random((60, 3)) < 0.85, z[:, None], 1 - z[:, None])
    frame = pd.DataFrame(cells, columns=["z", "m", "a"])
    options = {"folds": 3, "only": "classes", "threads": 1}
    result = lacunet.stack(frame, **options)
    # By hand: the models of the other rows, with the weights of the stack.
    half = slice(20, 40)
    rest = pd.concat([frame[:20], frame[40:]])
    columns = [Column(v.name, v.states) for v in result.ensemble.variables]
    codes = np.array([[c.states.index(x) for x in rest[c.name]] for c in columns]).T
    table = Table.from_codes(codes, columns)
    models = [m for r in stacked(table, StackKind.CLASSES) for m in r.learn(table, 0)]
    each = [lacunet.log_likelihoods(frame[half], model, plug_in=True) for model in models]
    weights = np.log(result.ensemble.weights)[:, None]
    np.testing.assert_allclose(
        result.held_out_rows.log_likelihoods[half],
        logsumexp(np.array(each) + weights, axis=0),
        atol=1e-6,
    )
    # With weights cases are dealt at random; every row of the data has a score, copies the same.
    weighted = lacunet.stack(frame.assign(w=2), weights="w", **options)
    assert weighted.held_out_rows.log_likelihoods.shape == (60,)
    scores = pd.Series(weighted.held_out_rows.log_likelihoods).groupby([frame[c] for c in frame])
    assert scores.nunique().max() == 1
    assert np.isfinite(weighted.held_out_rows.tail_probabilities(draws=20)).all()
    # A table has one score for each of its rows.
    table = lacunet.read_table(frame)
    assert lacunet.stack(table, **options).held_out_rows.log_likelihoods.shape == (
        len(table.codes),
    )
