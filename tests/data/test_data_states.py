"""How values become states: types, order, missing values."""

import numpy as np
import polars as pl
import pytest

from lacunet.data.discover import canonical, infer, match
from lacunet.data.read import read_rows, read_table
from lacunet.errors import DataError


def states(*values, missing=()):
    """States of one text column in which each value occurs twice."""
    table = read_table(pl.DataFrame({"a": list(values) * 2}), missing=missing)
    return table.columns[0].states


def exactly(actual, expected):
    assert actual == expected
    assert [type(s) for s in actual] == [type(s) for s in expected]


def test_integers_in_canonical_form():
    exactly(states("10", "2", "-1", "+3", "2.0"), (-1, 2, 3, 10))


def test_leading_zero_stays_text():
    exactly(states("01", "2", "10"), ("01", "2", "10"))


def test_numbers():
    exactly(states("2.5", "10", "1e1", ".5"), (0.5, 2.5, 10.0))


def test_long_digits_are_names_and_never_merge():
    exactly(states("1" * 25, "1" * 24 + "2"), ("1" * 25, "1" * 24 + "2"))


def test_booleans_in_any_case():
    exactly(states("TRUE", "False", "true"), (False, True))
    exactly(states(True, False), (False, True))


def test_text_in_natural_order():
    exactly(states("q10", "Q2", "q2", "b", "A"), ("A", "b", "Q2", "q2", "q10"))
    texts = ["x1y10", "x1y9", "x01y9", "é"]
    assert infer(texts, frozenset()).states == ("x01y9", "x1y9", "x1y10", "é")


def test_white_space_is_stripped():
    exactly(states(" yes", "yes ", "no"), ("no", "yes"))


def test_floats_that_are_whole_become_integers():
    exactly(states(1.0, 3.0, float("nan"), None), (1, 3))
    exactly(states(1.5, 3.0), (1.5, 3.0))


def test_missing_values_in_files_of_text(tmp_path):
    cells = ["x", "y", "", " NA ", "NaN", "nan", "null", "NULL", "?"]
    (tmp_path / "t.csv").write_text("\n".join(["a,b", *(f"{cell}," for cell in cells)]))
    table = read_table(tmp_path / "t.csv", exclude=["b"])
    assert table.columns[0].states == ("x", "y")
    assert table.empty_rows == 7


@pytest.mark.parametrize("marker", ["99", "99.0", 99])
def test_declared_missing_values_are_compared_by_meaning(marker):
    assert states("1", "2", "99", missing=[marker]) == (1, 2)
    assert states(1, 2, 99, missing=[marker]) == (1, 2)
    assert states(1.0, 2.0, 99.0, missing=[marker]) == (1, 2)


def test_declared_missing_values_negative_and_text_and_single():
    assert states(-9, 1, 2, missing=["-9"]) == (1, 2)
    assert states("N/A", "no", "yes", missing="N/A") == ("no", "yes")


def test_canonical():
    texts = ["+1.0", "-0", "2.50", "TRUE", "01", "a"]
    assert [canonical(t) for t in texts] == ["1", "0", "2.5", "true", "01", "a"]


def test_mixed_types_fall_back_to_text():
    exactly(infer([1, "a", True], frozenset()).states, ("1", "a", "true"))


def test_match_by_meaning():
    coding = match(["1.0", " 2", "TRUE", "?", "zz"], [1, 2, True], frozenset({"?"}))
    assert coding.codes.tolist() == [0, 1, 2, -1, -2]


def test_a_marker_that_is_a_state_is_that_state_unless_declared_missing():
    assert match(["?"], ["?", "a"], frozenset(), frozenset({"?"})).codes.tolist() == [0]
    assert match(["?"], ["b", "a"], frozenset(), frozenset({"?"})).codes.tolist() == [-1]
    assert match(["?"], ["?", "a"], frozenset({"?"})).codes.tolist() == [-1]


def test_given_states_fix_order_and_skip_the_checks():
    frame = pl.DataFrame({"id": [1, 2, 3], "c": ["b", "b", None], "spare": [1, 1, 1]})
    given = {"c": ("z", "b", "a"), "id": (3, 2, 1)}
    table = read_table(frame, states=given)
    assert [c.name for c in table.columns] == ["c", "id"]
    assert table.columns[0].states == ("z", "b", "a")
    assert table.codes.tolist() == [[-1, 0], [1, 1], [1, 2]]
    assert read_rows(frame, given).codes.tolist() == [[1, 2], [1, 1], [-1, 0]]
    assert table.notes == ()


def test_value_that_is_not_a_state():
    frame = pl.DataFrame({"smoke": ["no", "yes"] * 8 + ["N/A"]})
    with pytest.raises(DataError) as caught:
        read_table(frame, states={"smoke": ("no", "yes")})
    assert str(caught.value) == (
        "column 'smoke', row 17: 'N/A' is not one of its 2 states 'no', 'yes'. "
        "Declare it with missing=['N/A'], or add it to the states."
    )
    assert read_rows(frame, {"smoke": ("no", "yes")}, missing=["N/A"]).codes[-1, 0] == -1


def test_numpy_integers_keep_negative_states():
    assert read_table(np.array([[-1], [2], [2]])).columns[0].states == (-1, 2)
    assert read_table(np.array([[-1], [2], [2], [3]]), missing=["-1"]).columns[0].states == (2, 3)
