"""Stacks that impute: hidden cells, weights of models, and draws with the right uncertainty."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kstest

from lacunet.data import Column, Table
from lacunet.data.kinds import ColumnKind
from lacunet.inference.queries.answers import ensemble_posterior, shares
from lacunet.inference.queries.query import posterior
from lacunet.models.ensemble import Ensemble, Member
from lacunet.models.formats import read_model_or_stack, write_stack
from lacunet.selection.ensembles import WEIGHING, draw_parameters, learn_cell_stack
from lacunet.selection.held_out import hide_cells, hide_column
from lacunet.selection.recipes import ClassRecipe, GraphRecipe, ImputerKind, imputers


def rng():
    return np.random.default_rng(0)


def table_of(codes, counts=None):
    return Table.from_codes(
        codes, [Column(f"x{j}", (0, 1, 2)) for j in range(codes.shape[1])], counts
    )


def copies(rows=120, wrong=0.1, missing=0.1):
    """Five columns that copy the first, more or less, with missing values."""
    rng_state = rng()
    first = rng_state.integers(0, 3, (rows, 1))
    codes = np.where(
        rng_state.random((rows, 5)) < wrong, rng_state.integers(0, 3, (rows, 5)), first
    )
    return np.where(rng_state.random(codes.shape) < missing, -1, codes).astype(np.int32)


# What is hidden


def test_hidden_cells_are_some_that_were_seen():
    table = table_of(copies())
    trials = hide_cells(table, rng())
    assert 1 < len(trials) <= 3
    for trial in trials:
        assert trial.table.weight == table.weight
        hidden = trial.shown != trial.whole
        assert hidden.any(axis=1).all()  # rows without a hidden cell are uninformative
        assert (trial.shown[hidden] == -1).all()
        lost = table.counts @ (table.codes >= 0) - trial.table.counts @ (trial.table.codes >= 0)
        assert lost.sum() == hidden.sum() == trial.hidden
        assert 0.05 < trial.hidden / (table.counts @ (table.codes >= 0)).sum() < 0.15


def test_the_order_of_rows_does_not_matter():
    codes = copies()
    one, other = (hide_cells(table_of(c), rng())[0] for c in (codes, codes[::-1]))
    np.testing.assert_array_equal(one.whole, other.whole)
    np.testing.assert_array_equal(one.shown, other.shown)


def test_of_a_column_that_one_row_shows_nothing_is_hidden():
    codes = copies()
    codes[:, 2] = -1
    codes[7, 2] = 1
    for trial in hide_cells(table_of(codes), rng()):
        assert (trial.table.missing < 1.0).all()


def test_a_hidden_column():
    codes = copies(missing=0.0)
    codes[:10, 1] = -1  # unlabelled
    trials = hide_column(table_of(codes), 1, 3, rng())
    assert sum(len(t.counts) for t in trials) == 110
    for trial in trials:
        assert (trial.shown[:, 1] == -1).all()
        assert (trial.whole[:, 1] >= 0).all()
        np.testing.assert_array_equal(np.delete(trial.shown, 1, 1), np.delete(trial.whole, 1, 1))
        assert trial.table.weight + len(trial.counts) == 120
        share = np.bincount(trial.whole[:, 1], minlength=3) / len(trial.counts)
        whole = np.bincount(codes[10:, 1], minlength=3) / 110
        np.testing.assert_allclose(share, whole, atol=0.03)


# Who gets how much say


def test_weights_go_to_members_that_predict_hidden_cells():
    table = table_of(copies())
    recipes = {
        ImputerKind.CLASSES: [ClassRecipe(1, 1.0), ClassRecipe(4, 1.0)],
        ImputerKind.NETWORK: [GraphRecipe(1, edges=False)],
    }
    cell_stack = learn_cell_stack(table, recipes, hide_cells(table, rng()))
    assert cell_stack.chosen is ImputerKind.CLASSES
    assert max(cell_stack.ensemble.members, key=lambda m: m.weight).name == "4 classes, α = 1"
    assert cell_stack.scores[ImputerKind.CLASSES] > cell_stack.scores[ImputerKind.NETWORK] + 0.1
    assert cell_stack.together == pytest.approx(cell_stack.scores[ImputerKind.CLASSES], abs=0.01)
    assert sum(cell_stack.weights.values()) == pytest.approx(1.0)
    assert cell_stack.to_frame().columns[-1] == "kind"
    assert "4 classes" in str(cell_stack)


def test_graphs_share_their_weight_with_those_of_resampled_rows():
    codes = copies(rows=60, wrong=0.45)
    codes[1:, 4] = -1  # one row shows this column: whatever its weight, it is not lost
    table, plain = table_of(codes), GraphRecipe(10)
    sure, unsure = (
        learn_cell_stack(table, {ImputerKind.NETWORK: [recipe]}, hide_cells(table, rng()))
        for recipe in (plain, replace(plain, bootstraps=6))
    )
    weights = {m.name: m.weight for m in sure.ensemble.members}
    assert unsure.together == sure.together
    assert len(unsure.ensemble.members) == 7 * len(weights)
    assert len(unsure.grids()[1].rows) == 2 * len(weights)  # those of a model in one line
    for name, weight in weights.items():
        members = [m for m in unsure.ensemble.members if m.name.split("; rows")[0] == name]
        assert members[0].weight == pytest.approx((1 - WEIGHING.resampled) * weight)
        assert sum(m.weight for m in members) == pytest.approx(weight)
        assert len({m.model.network.parents for m in members}) > 1
        first = members[0].model
        same = [m for m in members if m.model.network.parents == first.network.parents]
        for one in same:  # tables are those of the rows as they are
            np.testing.assert_allclose(one.model.theta, first.theta, rtol=1e-9)


@pytest.mark.parametrize("kind", ["gaussian", "lognormal", "poisson", "ordinal"])
def test_graphs_of_rows_weighed_anew_measure_numbers_as_the_others_do(kind):
    codes = copies()
    numbers = rng().integers(1, 30, len(codes)) + 3 * np.maximum(codes[:, 0], 0)
    states, places = np.unique(numbers, return_inverse=True)
    number = Column("number", tuple(states.tolist()), ColumnKind(kind))
    columns = [Column(f"x{j}", (0, 1, 2)) for j in range(3)]
    table = Table.from_codes(np.column_stack([codes[:, :3], places]), [*columns, number])
    recipe = GraphRecipe(10, bootstraps=3)
    cell_stack = learn_cell_stack(table, {ImputerKind.NETWORK: [recipe]}, hide_cells(table, rng()))
    members = cell_stack.ensemble.members
    assert len({(v.unit, v.prior) for m in members for v in m.model.network.variables[3:]}) == 1


def test_kinds():
    table = table_of(copies())
    assert [*imputers(table)] == ["classes", "network", "tree"]
    assert [*imputers(table, ImputerKind.TREE)] == ["tree"]
    two = table_of(copies()[:, :2])
    assert [*imputers(two, ImputerKind.TREE)] == []


def pair():
    table = table_of(copies())
    models = [recipe.learn(table, 0)[0] for recipe in (ClassRecipe(1, 1.0), ClassRecipe(4, 1.0))]
    members = tuple(
        Member(str(k), w, m) for k, (w, m) in enumerate(zip((0.3, 0.7), models, strict=True))
    )
    return members, table.codes[:9]


def test_fixed_shares_are_the_same_for_every_row(tmp_path):
    members, codes = pair()
    fixed = Ensemble(members, fixed=True)
    np.testing.assert_allclose(shares(fixed, codes), [[0.3] * 9, [0.7] * 9])
    assert np.ptp(shares(Ensemble(members), codes), axis=1).max() > 0.1
    each = [posterior(m.model, codes, [(m.model.network.observed[1],)])[0] for m in members]
    (result,) = ensemble_posterior(fixed, codes, [(1,)])
    np.testing.assert_allclose(result, 0.3 * each[0] + 0.7 * each[1])
    write_stack(fixed, tmp_path / "pool.json")
    assert read_model_or_stack(tmp_path / "pool.json").fixed
    write_stack(Ensemble(members), tmp_path / "stack.json")
    assert not read_model_or_stack(tmp_path / "stack.json").fixed


# Draws of parameters


def test_parameters_of_complete_columns_are_drawn_from_their_dirichlet():
    codes = np.repeat([[0], [1], [2]], [3, 5, 12], axis=0).astype(np.int32)
    table = table_of(codes)
    (model, *_) = GraphRecipe(1, edges=False).learn(table, 0)
    drawn = draw_parameters(Ensemble((Member("", 1.0, model),)), table, 400, rng())
    first = np.array([e.members[0].model.theta[0] for e in drawn])
    alpha = 1 / 3
    assert kstest(first, "beta", args=(3 + alpha, 17 + 2 * alpha)).pvalue > 0.01


def test_missing_values_make_parameters_less_sure():
    """Half of the second column is missing at random: it is as unsure as half of the rows are."""
    whole = np.tile([[0, 0], [0, 1], [1, 2]], (40, 1)).astype(np.int32)
    missing = whole.copy()
    missing[: len(missing) // 2, 1] = -1
    spread = {}
    for name, codes in (("whole", whole), ("holes", missing), ("half", whole[60:])):
        table = table_of(codes)
        (model, *_) = GraphRecipe(1, edges=False).learn(table, 0)
        drawn = draw_parameters(Ensemble((Member("", 1.0, model),)), table, 300, rng())
        spread[name] = np.std([e.members[0].model.table("x1")[0] for e in drawn])
    assert spread["holes"] == pytest.approx(spread["half"], rel=0.15)
    assert spread["holes"] > 1.25 * spread["whole"]
