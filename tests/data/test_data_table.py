"""Tables of codes, labels, and what a person sees of them."""

import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lacunet.data import Column, Table
from lacunet.data.distinct import DistinctRows, merge, pack, smallest
from lacunet.errors import DataError
from lacunet.runtime.states import label


@pytest.mark.parametrize(
    ("state", "text"),
    [(True, "true"), (False, "false"), (1, "1"), (1.0, "1"), (2.5, "2.5"), ("a", "a"), (-0.0, "0")],
)
def test_label(state, text):
    assert label(state) == text


def test_column_labels_and_a_state_listed_twice():
    assert Column("q", (1, 2.5, "a")).labels == ("1", "2.5", "a")
    with pytest.raises(DataError, match=r"column 'q': the state '1' is listed twice"):
        Column("q", (1, "1"))


def test_from_codes_merges_and_sorts():
    table = Table.from_codes([[1, 0], [0, -7], [1, 0], [-1, -1]])
    assert table.codes.tolist() == [[-1, -1], [0, -1], [1, 0]]
    assert table.counts.tolist() == [1, 1, 2]
    assert table.columns == (Column("x1", (0, 1)), Column("x2", (0,)))
    assert (table.rows, table.distinct_rows, table.empty_rows, table.weight) == (4, 3, 1, 4.0)
    assert table.missing.tolist() == [0.25, 0.5]
    assert not table.complete
    assert table.codes.dtype == np.int8
    assert table.codes.flags.c_contiguous
    assert table.notes == ("1 row has every cell missing: kept and counted.",)


def test_from_codes_leaves_its_input_alone():
    codes = np.array([[1, 0], [0, 1], [1, 0]], dtype=np.int8)
    Table.from_codes(codes)
    assert codes.tolist() == [[1, 0], [0, 1], [1, 0]]


def test_from_codes_counts_and_unsigned():
    table = Table.from_codes(np.array([[1], [0], [1]], np.uint8), counts=[0.5, 0, 1.25])
    assert table.counts.tolist() == [0, 1.75]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1],), "codes must be a 2-d array of integers, not 1-d"),
        (([[0.5]],), "codes must be a 2-d array of integers, not 2-d of float64"),
        ((np.zeros((0, 2), int),), "there are 0 rows and 2 columns"),
        (([[0, 5]], [Column("a", (0,)), Column("b", (0, 1))]), "'b' holds the code 5, but has 2"),
        (([[0, 1]], [Column("a", (0,))]), "2 columns of codes, but 1 are described"),
        (([[0]], None, [1, 2]), r"counts have the shape \(2,\), not \(1,\)"),
        (([[0]], None, [-1.0]), "counts must be finite, not negative, and not all zero"),
        (([[0]], None, [0]), "not all zero"),
    ],
)
def test_from_codes_refuses(arguments, message):
    with pytest.raises(DataError, match=message):
        Table.from_codes(*arguments)


def test_smallest_type():
    assert [smallest(n) for n in (128, 129, 32768, 32769)] == [
        np.int8,
        np.int16,
        np.int16,
        np.int32,
    ]
    assert Table.from_codes([[127], [-1]]).codes.dtype == np.int8
    assert Table.from_codes([[128], [-1]]).codes.dtype == np.int16


def test_packing_spans_words_and_keeps_the_order():
    rng = np.random.default_rng(1)
    codes = rng.integers(-1, 100, (200, 30)).astype(np.int16)
    words = pack(codes)
    assert len(words) > 1
    assert np.lexsort(words[::-1]).tolist() == np.lexsort(codes.T[::-1]).tolist()


def test_merge_against_a_dictionary():
    rng = np.random.default_rng(2)
    codes = rng.integers(-1, 2, (500, 3)).astype(np.int8)
    weight = rng.integers(0, 3, 500).astype(float)
    expected: dict[tuple[int, ...], int] = {}
    for row, w in zip(codes.tolist(), weight, strict=True):
        expected[*row, w] = expected.get((*row, w), 0) + 1
    got, w, copies = merge(codes.copy(), weight, np.ones(500, np.int64))
    keys = [(*row, x) for row, x in zip(got.tolist(), w, strict=True)]
    assert keys == sorted(expected)
    assert copies.tolist() == [expected[key] for key in keys]


def test_gathering_in_batches_merges_on_the_way(monkeypatch):
    monkeypatch.setattr("lacunet.data.distinct.FIRST_MERGE", 8)
    rng = np.random.default_rng(3)
    codes = rng.integers(-1, 2, (400, 2)).astype(np.int8)
    rows = DistinctRows()
    for part in np.split(codes, 50):
        rows.add(part.copy(), np.ones(8), np.ones(8, np.int64))
    joined = rows.joined()
    assert len(joined[0]) < 60
    assert joined[2].sum() == 400


@given(st.lists(st.tuples(st.integers(-1, 2), st.floats(0, 5)), min_size=1), st.randoms())
def test_sums_of_weights_do_not_depend_on_the_order(pairs, random):
    pairs.append((0, 1.0))
    shuffled = list(pairs)
    random.shuffle(shuffled)
    one, two = (
        Table.from_codes([[c] for c, _ in p], [Column("a", (0, 1, 2))], [w for _, w in p])
        for p in (pairs, shuffled)
    )
    assert one.codes.tobytes() == two.codes.tobytes()
    assert one.counts.tobytes() == two.counts.tobytes()


def test_audit_as_text_and_html():
    columns = [Column("<b>", ("no", "yes")), Column("long", tuple(f"state {i}" for i in range(9)))]
    table = Table.from_codes([[0, 1], [-1, 8], [-1, -1]], columns, source="a & b")
    lines = str(table).splitlines()
    assert lines[0] == "a & b: 3 rows, 3 distinct"
    assert lines[1].split() == ["column", "states", "missing"]
    assert lines[2].split() == ["<b>", "2", "no,", "yes", "66.7%"]
    assert "…" in lines[3]
    assert lines[-1] == "1 row has every cell missing: kept and counted."
    html = table._repr_html_()
    assert "&lt;b&gt;" in html
    assert "a &amp; b" in html
    assert "<b>" not in html
    assert repr(table) == "<Table: a & b, 3 rows, 2 columns>"


def test_importing_the_table_loads_no_dataframe_package():
    code = (
        "import sys, lacunet.data.table, lacunet.data;"
        "print([m for m in ('polars', 'narwhals', 'pandas', 'pyarrow') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_lazy_names():
    import lacunet.data

    for name in lacunet.data.__all__:
        assert hasattr(lacunet.data, name)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        lacunet.data.nothing  # noqa: B018


@pytest.mark.parametrize("word", [62, 0])
def test_rows_of_one_word_are_merged_as_others_are(monkeypatch, word):
    """Sorted as numbers, or by their columns: what plain Python counts."""
    monkeypatch.setattr("lacunet.data.distinct.WORD", word or 4)
    rng = np.random.default_rng(word)
    codes = rng.integers(-1, 3, (400, 4)).astype(np.int8)
    copies = rng.integers(1, 4, 400)
    expected = Counter()
    for row, times in zip(codes.tolist(), copies.tolist(), strict=True):
        expected[tuple(row)] += times
    result, weight, times = merge(codes.copy(), np.full(400, 2.0), copies)
    assert list(map(tuple, result.tolist())) == sorted(expected)
    assert times.tolist() == [expected[row] for row in sorted(expected)]
    assert weight.tolist() == [2.0] * len(expected)
    once = merge(codes[:1].copy(), np.ones(1), np.ones(1, np.int64))
    assert (once[0].tolist(), once[2].tolist()) == (codes[:1].tolist(), [1])
