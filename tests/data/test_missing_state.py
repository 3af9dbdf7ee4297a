"""A missing value as a state of its own, and back."""

import numpy as np
import pytest
from hypothesis import given

from examples import examples
from lacunet.data.table import Column, Table
from lacunet.data.transform import (
    has_missing_state,
    missing_as_state,
    missing_state,
    put_missing_states,
    with_masks,
    with_missing_states,
)
from problems import cases


def rows_of(table):
    """The rows in labels, a missing value None, with their weights."""
    return {
        tuple(c.labels[x] if x >= 0 else None for c, x in zip(table.columns, row, strict=True)): n
        for row, n in zip(table.codes.tolist(), table.counts.tolist(), strict=True)
    }


@examples(40)
@given(cases())
def test_only_missing_values_change(case):
    table = case.table
    comparison = missing_as_state(table)
    assert comparison.complete
    assert (comparison.rows, comparison.weight, comparison.source) == (
        table.rows,
        table.weight,
        table.source,
    )
    before, after = rows_of(table), rows_of(comparison)
    assert {
        tuple("(missing)" if x is None else x for x in row): n for row, n in before.items()
    } == after
    for old, new, share in zip(table.columns, comparison.columns, table.missing, strict=True):
        assert new.states == ((*old.states, "(missing)") if share else old.states)
    # Sorted like any table: the same data always give the same arrays.
    order = np.lexsort(comparison.codes.T[::-1])
    np.testing.assert_array_equal(order, np.arange(len(order)))


def test_the_name_of_the_state_is_never_one_of_the_columns():
    table = Table.from_codes(
        [[0, 1], [-1, 0], [1, -1]],
        [Column("a", ("(missing)", "b")), Column("b", ("(missing)", "(missing 2)"))],
    )
    comparison = missing_as_state(table)
    assert comparison.columns[0].states == ("(missing)", "b", "(missing 2)")
    assert comparison.columns[1].states == ("(missing)", "(missing 2)", "(missing 3)")
    assert missing_state(Column("c", (1, 2))) == "(missing)"
    assert comparison.notes[:1] == (
        "column 'a': a missing cell counts as its state '(missing 2)'.",
    )
    assert has_missing_state(comparison.columns[0])
    assert not has_missing_state(Column("c", ("(missing)", "x")))


def test_a_complete_table_stays():
    table = Table.from_codes([[0, 1], [1, 0]])
    comparison = missing_as_state(table)
    assert comparison.columns == table.columns
    assert comparison.notes == ("no cell is missing: no column gets a state for it.",)


def test_rows_for_a_model_with_the_state():
    columns = [Column("a", ("x", "y", "(missing)")), Column("b", ("u", "v"))]
    codes = np.array([[-1, 0], [1, -1]], dtype=np.int8)
    put_missing_states(codes, columns)
    assert codes.tolist() == [
        [2, 0],
        [1, -1],
    ]  # b had no missing values then: its missing value is still one
    # A cell that names the state and an empty cell are the same row.
    table = Table.from_codes([[2, 0], [-1, 0], [0, 1]], columns)
    result = with_missing_states(table)
    assert result.codes.tolist() == [[0, 1], [2, 0]]
    assert result.counts.tolist() == [1.0, 2.0]


def test_masks_mark_missing_values():
    table = Table.from_codes(
        [[0, 1, 0], [-1, 0, 1], [1, -1, 0]],
        [Column("a", (0, 1)), Column("b", (0, 1)), Column("a is missing", (0, 1))],
    )
    result, names = with_masks(table)
    assert names == {"a": "a is missing?", "b": "b is missing"}
    assert [c.name for c in result.columns[3:]] == list(names.values())
    np.testing.assert_array_equal(result.codes[:, 3:], result.codes[:, :2] < 0)
    np.testing.assert_array_equal(result.codes[:, :3], table.codes)
    assert result.columns[3].states == ("seen", "missing")


@pytest.mark.parametrize("states", [126, 127, 128])
def test_one_more_state_may_need_a_wider_integer(states):
    codes = np.array([[k] for k in range(states)] + [[-1]])
    comparison = missing_as_state(Table.from_codes(codes, [Column("a", tuple(range(states)))]))
    assert comparison.codes.max() == states
    assert comparison.codes.min() == 0
