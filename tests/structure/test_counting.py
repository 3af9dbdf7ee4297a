"""Counts and scores of families, held to whole tables."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import twins
from lacunet.data.table import Column, Table
from lacunet.errors import DataError
from lacunet.structure import counting, families
from lacunet.structure.families import CompleteCounts, FamilyScores, columns_of, largest_family


def whole(table, child, parents, alpha):
    """The score of a family by its whole table."""
    cards = [len(c.states) for c in table.columns]
    family = [*np.flatnonzero(parents), child]
    shape = [cards[v] for v in family]
    size = alpha / np.prod(shape) if isinstance(alpha, int) else alpha
    return twins.log_bd_of_family(
        table.codes, table.counts, cards, family, np.full(shape, float(size))
    )


@given(st.integers(0, 10_000), st.integers(1, 6), st.sampled_from([1.0, 0.3, 7]))
def test_families_and_their_neighbours_score_as_whole_tables_do(seed, n, alpha):
    rng = np.random.default_rng(seed)
    cards = rng.integers(1, 6, n)
    weights = rng.integers(1, 4, 40) / rng.integers(1, 3)
    table = Table.from_codes(rng.integers(0, cards, (40, n)), counts=weights)
    prior = f"bdeu:{alpha}" if isinstance(alpha, int) else alpha
    statistics = CompleteCounts(table, prior)
    child = int(rng.integers(n))
    parents = rng.random(n) < 0.5
    parents[child] = False
    scores = statistics(child, parents)
    for u in range(n):
        changed = parents.copy()
        changed[u] ^= u != child
        assert scores[u] == pytest.approx(whole(table, child, changed, alpha), rel=1e-11, abs=1e-9)


def test_numbers_are_given_anew_where_few_of_many_occur():
    """Six parents of nine states: half a million configurations, of which 30 occur."""
    rng = np.random.default_rng(1)
    table = Table.from_codes(np.vstack([rng.integers(0, 9, (30, 7)), np.full((1, 7), 8)]))
    parents = np.arange(7) > 0
    score = CompleteCounts(table, "bdeu:5")(0, parents)[0]
    assert score == pytest.approx(whole(table, 0, parents, 5), rel=1e-9)


@given(st.integers(0, 10_000), st.integers(1, 300))
def test_rows_gone_through_once_score_as_rows_cut_for_each_set(seed, rows):
    """Few and many states, tables that fit the rows and tables that are larger than they are."""
    rng = np.random.default_rng(seed)
    cards = rng.choice([1, 2, 3, 8, 9, 30], 6)
    codes = rng.integers(0, cards, (rows, 6))
    columns = [Column(f"x{v}", tuple(map(str, range(r)))) for v, r in enumerate(cards)]
    table = Table.from_codes(codes, columns, 1.0 + rng.random(rows))
    counts, child = CompleteCounts(table, "bdeu:3"), int(rng.integers(6))
    parents = np.flatnonzero((rng.random(6) < 0.3) & (np.arange(6) != child))
    result = families.score_toggles(counts.columns, counts.indicators, child, parents, counts.prior)
    one_by_one = families.score_by_cuts(counts.columns, child, parents, counts.prior)
    np.testing.assert_allclose(result, one_by_one, rtol=1e-11, atol=1e-9)


def test_indicators_show_the_states_of_each_row_while_there_is_room(monkeypatch):
    codes = np.array([[0, 2, 11, 1], [1, 0, 3, 1], [0, 1, 0, 0]])
    columns = columns_of(Table.from_codes(codes))
    shown, first = families.indicators_of(columns)
    assert first.tolist() == [0, 2, -1, 5]  # twelve states are too many
    assert shown.shape == (3, 8)
    for row, states in enumerate(columns.codes.T):
        ones = [int(first[v] + states[v]) for v in (0, 1, 3)]
        assert np.flatnonzero(shown[row]).tolist() == sorted(ones)
    monkeypatch.setattr(families, "ROOM", 3 * (2 + families.NARROW))
    assert families.indicators_of(columns).first.tolist() == [0, 2, -1, -1]


@pytest.mark.parametrize("rows", [3, 64, 203])
def test_sums_by_key_are_those_of_bincount(rows):
    """Small tables take turns, large ones do not, and the last rows of a turn may be missing."""
    rng = np.random.default_rng(rows)
    for size in (1, 7, 60):
        key, counts = rng.integers(0, size, rows), rng.random(rows)
        result = counting.add_up(key, counts, size)
        np.testing.assert_allclose(result, np.bincount(key, counts, size), rtol=1e-13)
        x = rng.integers(0, 3, rows)
        with_states = counting.add_up_states(key, size, x, 3, counts)
        expected = np.bincount(key * 3 + x, counts, size * 3)
        np.testing.assert_allclose(with_states, expected, rtol=1e-13)


def test_a_family_is_scored_once_and_never_with_a_table_too_large():
    codes = np.random.default_rng(0).integers(0, 40, (50, 3))
    codes[0] = 39
    scores = FamilyScores(CompleteCounts(Table.from_codes(codes), "k2"))
    one = scores(0, np.array([False, True, False]))
    assert scores(0, np.array([False, True, False])) is one
    assert 40**3 > largest_family(40, 3, 50) > 40**2  # 1,600 configurations of 50 cases
    assert largest_family(40, 3, 1e9) < 1e9
    assert one.gains[2] == -np.inf
    assert np.isfinite(one.gains[1])
    assert scores.scored == 3


def test_missing_values_are_refused():
    with pytest.raises(DataError, match=r"'x2' has missing cells \(50.0%\).*assign impute=True"):
        CompleteCounts(Table.from_codes([[0, 1], [1, -1]]), "k2")
