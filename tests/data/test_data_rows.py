"""Rows in their order, with the states that are left, and values that are none."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from lacunet import DataError
from lacunet.data.reading import code_rows

FRAME = pl.DataFrame({"a": ["x", "y", None, "x"], "b": [1, 2, 2, None]})


def test_rows_keep_their_order():
    rows = code_rows(FRAME)
    assert rows.codes.tolist() == [[0, 0], [1, 1], [-1, 1], [0, -1]]
    assert [c.states for c in rows.columns] == [("x", "y"), (1, 2)]
    assert rows.unseen == ()


def test_a_row_that_is_not_kept_leaves_no_state():
    rows = code_rows(FRAME, weights=np.array([0.0, 1.0, 1.0, 2.0]))
    assert rows.codes.tolist() == [[1, 0], [-1, 0], [0, -1]]
    assert [c.states for c in rows.columns] == [("x", "y"), (2,)]
    assert rows.notes == ("column 'b' has only one state, 2: it carries no information.",)


def test_given_states_and_what_is_none_of_them():
    rows = code_rows(FRAME, [["z", "x"], None])
    assert rows.codes[:, 0].tolist() == [1, -1, -1, 1]
    (unseen,) = rows.unseen
    assert (unseen.column, unseen.where, unseen.value) == ("a", "row 2", "y")
    assert unseen.states == ("z", "x")


def test_some_columns():
    rows = code_rows(FRAME, [(2, 1)], columns=[1])
    assert rows.codes.tolist() == [[1], [0], [0], [-1]]


def test_declared_categories_are_states():
    frame = pd.DataFrame({"a": pd.Categorical(["x", None], categories=["z", "x", "NA"])})
    assert code_rows(frame).columns[0].states == ("z", "x", "NA")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([None, None], "column 'a' has no observed value"),
        ([1.5, np.inf], "column 'a', row 2: inf is not a finite number"),
        ([f"s{i // 2}" for i in range(2002)], "more than 1,000 states"),
    ],
)
def test_what_cannot_be_coded(values, message):
    with pytest.raises(DataError, match=message):
        code_rows(pl.DataFrame({"a": values}))
    with pytest.raises(DataError, match="has no columns"):
        code_rows(pl.DataFrame())
