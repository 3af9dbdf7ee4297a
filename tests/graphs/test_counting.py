"""Counts and scores of families, held to whole tables."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import twins
from lacunet.data.table import Table
from lacunet.errors import DataError
from lacunet.graphs import counting
from lacunet.graphs.families import CompleteCounts, FamilyScores, largest_family


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


@pytest.mark.parametrize("rows", [3, 64, 203])
def test_sums_by_key_are_those_of_bincount(rows):
    """Small tables take turns, large ones do not, and the last rows of a turn may be missing."""
    rng = np.random.default_rng(rows)
    for size in (1, 7, 60):
        key, counts = rng.integers(0, size, rows), rng.random(rows)
        found = counting.add_up(key, counts, size)
        np.testing.assert_allclose(found, np.bincount(key, counts, size), rtol=1e-13)


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


def test_holes_are_refused():
    with pytest.raises(DataError, match=r"'x2' has missing cells \(50.0%\).*assign impute=True"):
        CompleteCounts(Table.from_codes([[0, 1], [1, -1]]), "k2")
