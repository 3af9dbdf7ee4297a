"""Columns of numbers: what they are read as, why, and what is refused."""

import numpy as np
import polars as pl
import pytest

from lacunet.data.kinds import ColumnKind, understand_kinds
from lacunet.data.read import read_table
from lacunet.errors import DataError, OptionError


def people(rows=60, seed=0):
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, rows),
            "visits": np.append(rng.poisson(5.0, rows - 25), np.arange(25)),
            "height": rng.normal(170.0, 10.0, rows).round(1),
            "agree": rng.integers(1, 6, rows),
            "sex": rng.choice(["female", "male"], rows),
        }
    )


def kinds_of(table):
    return {c.name: c.kind.value for c in table.columns}


def test_auto_follows_its_rule_and_gives_the_reason():
    table = read_table(people(), kinds="auto")
    assert kinds_of(table) == {
        "age": "gaussian",  # whole, but not from 0
        "visits": "poisson",
        "height": "gaussian",
        "agree": "categorical",  # few different numbers
        "sex": "categorical",
    }
    why = {c.name: c.why for c in table.columns}
    assert why["agree"] == "5 different numbers"
    assert why["sex"] == "not numbers"
    assert why["visits"].endswith(f"whole, from 0, mean {people()['visits'].mean():.3g}")
    shown = str(table)
    assert "read as" in shown
    assert "poisson" in shown


def test_what_is_declared_counts_first():
    table = read_table(people(), kinds="auto, agree=ordinal ,age=categorical")
    assert kinds_of(table)["agree"] == "ordinal"
    assert kinds_of(table)["age"] == "categorical"
    alone = read_table(people(), kinds={"agree": "ordinal"})
    assert kinds_of(alone) == {**kinds_of(read_table(people())), "agree": "ordinal"}
    every = read_table(people(), kinds="categorical")
    assert set(kinds_of(every).values()) == {"categorical"}
    known = people().select(pl.col("sex").cast(pl.Enum(["male", "female"])), "age")
    assert read_table(known, kinds="auto").columns[0].why == "its states were declared"
    assert not any(c.why for c in read_table(known.select("sex")).columns)


def test_values_that_occur_are_the_states(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("x\n2.50\n1e1\n2.5\nNA\n-3\n+10\n")
    table = read_table(path, kinds="x=gaussian")
    (column,) = table.columns
    assert column.states == (-3.0, 2.5, 10.0)
    assert column.kind is ColumnKind.GAUSSIAN
    np.testing.assert_array_equal(table.codes[:, 0], [-1, 0, 1, 2])
    np.testing.assert_array_equal(table.counts, [1, 1, 2, 2])


def test_more_different_numbers_than_any_category_has():
    x = np.random.default_rng(0).normal(size=40_000)
    table = read_table(pl.DataFrame({"x": x, "y": np.arange(40_000) % 3}), kinds="x=gaussian")
    assert len(table.columns[0].states) == 40_000
    values = np.array(table.columns[0].states)
    np.testing.assert_array_equal(np.sort(values[table.codes[:, 0]]), np.sort(x))


@pytest.mark.parametrize(
    ("cells", "kind", "words"),
    [
        ("1 2 x 3", "gaussian", r"row 3 \(line 4\): 'x' is not a number.*categories"),
        ("1 2 inf 3", "gaussian", r"row 3 \(line 4\): 'inf' is not finite"),
        ("1 -2 3 3", "poisson", r"row 2 \(line 3\): -2 is not a count"),
        ("1 2.5 3 3", "poisson", r"row 2 \(line 3\): 2.5 is not a count"),
        ("1 2.5 3 3", "ordinal", r"row 2 \(line 3\): 2.5 is not whole"),
        ("1.5 0 3 3", "lognormal", r"row 2 \(line 3\): 0 is not above 0"),
        ("1.5 1.5 1.5", "gaussian", "has only one value, 1.5"),
        ("NA NA NA", "gaussian", "no observed value"),
        ("true false true", "gaussian", "'true' is not a number"),
    ],
)
def test_what_is_no_number_of_its_kind_is_refused(cells, kind, words, tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("x,y\n" + "".join(f"{cell},{n % 2}\n" for n, cell in enumerate(cells.split())))
    with pytest.raises(DataError, match=words):
        read_table(path, kinds={"x": kind})


def test_typed_infinities_and_truths_are_refused():
    with pytest.raises(DataError, match="true and false: they are categories"):
        read_table(pl.DataFrame({"x": [True, False, True]}), kinds="x=gaussian")
    with pytest.raises(DataError, match="inf"):
        read_table(pl.DataFrame({"x": [1.0, 2.0, np.inf]}), kinds="x=gaussian")


def test_identifiers_and_dates_are_named():
    rows = 30
    with pytest.raises(DataError, match=r"looks like an identifier.*kinds="):
        read_table(pl.DataFrame({"id": range(100, 100 + rows)}), kinds="auto")
    measured = read_table(pl.DataFrame({"id": range(100, 100 + rows)}), kinds="id=gaussian")
    assert measured.columns[0].kind is ColumnKind.GAUSSIAN
    days = [f"2024-01-{1 + n % 25:02d}" for n in range(rows)]
    with pytest.raises(DataError, match="holds 25 dates"):
        read_table(pl.DataFrame({"day": days}), kinds="auto")


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        ("age=gausian", "Did you mean 'gaussian'"),
        ("age", "Give NAME=KIND, one kind"),
        ("aeg=gaussian", "no column 'aeg'.*Did you mean 'age'"),
        ("auto,sex=gaussian", "'(fe)?male' is not a number"),
    ],
)
def test_kinds_that_are_not_understood(kinds, words):
    with pytest.raises((OptionError, DataError), match=words):
        read_table(people(), kinds=kinds)


def test_the_kind_of_a_column_that_is_not_used():
    with pytest.raises(OptionError, match="'age' is not used"):
        read_table(people(), exclude=["age"], kinds="auto,age=gaussian")


def test_names_may_have_equal_signs():
    assert understand_kinds("a=b=poisson").declared == {"a=b": ColumnKind.POISSON}


COLUMNS = {
    "ages": (lambda rng, n: rng.integers(18, 90, n), "gaussian"),
    "incomes": (lambda rng, n: np.round(rng.lognormal(10.0, 0.6, n)), "gaussian"),
    "blood pressures": (lambda rng, n: np.round(rng.normal(120.0, 15.0, n)), "gaussian"),
    "years": (lambda rng, n: rng.integers(1980, 2021, n), "gaussian"),
    "lengths": (lambda rng, n: rng.normal(170.0, 10.0, n).round(1), "gaussian"),
    "answers": (lambda rng, n: rng.integers(1, 6, n), "categorical"),
    "ten steps": (lambda rng, n: rng.integers(1, 11, n), "categorical"),
    "tens": (lambda rng, n: rng.integers(1, 11, n) * 10, "categorical"),
    "codes": (lambda rng, n: rng.choice([1, 2, 3, 4, 98, 99], n), "categorical"),
    "far codes": (lambda rng, n: rng.choice(np.arange(8) * 137 + 11, n), "categorical"),
    "few counts": (lambda rng, n: rng.poisson(3.0, n), "categorical"),
    "doses": (lambda rng, n: rng.choice([0.5, 1.0, 1.5, 2.0], n), "categorical"),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_part_of_a_column_is_read_like_the_whole(name):
    draw, kind = COLUMNS[name]
    result = {
        n: {
            read_table(draw(np.random.default_rng([7, n, r]), n)[:, None]).columns[0].kind.value
            for r in range(10 if n < 1000 else 2)
        }
        for n in (25, 30, 50, 100, 300, 1000, 10_000)
    }
    assert result == {rows: {kind} for rows in result}


@pytest.mark.parametrize("rows", [6, 20, 30, 200])
def test_measurements_may_all_be_different(rows):
    x = np.random.default_rng(rows).choice(50 * rows * rows, rows, replace=False)
    (column,) = read_table(pl.DataFrame({"income": x})).columns
    assert column.kind is ColumnKind.GAUSSIAN


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("x", np.arange(30)),
        ("x", np.arange(30)[::-1] * 10 + 7),
        ("x", np.random.default_rng(0).choice(100, 80, replace=False)),  # a fold of 1 to 100
        ("customer_id", np.random.default_rng(0).choice(10**6, 40, replace=False)),
        ("caseId", np.random.default_rng(0).choice(10**6, 40, replace=False)),
    ],
)
def test_whole_numbers_that_number_the_rows_are_identifiers(name, values):
    with pytest.raises(DataError, match="looks like an identifier"):
        read_table(pl.DataFrame({name: values}))


@pytest.mark.parametrize("text", ["inf", "-inf", "Infinity", "+INF", "1e400"])
@pytest.mark.parametrize("rows", [12, 40, 12_000])
def test_the_advice_about_infinite_numbers_works(text, rows, tmp_path):
    x = np.random.default_rng(0).normal(size=rows).round(6).astype(str).astype(object)
    x[rows - 3] = text
    path = tmp_path / "x.csv"
    path.write_text("x,y\n" + "".join(f"{cell},{n % 2}\n" for n, cell in enumerate(x)))
    where = rf"column 'x', row {rows - 2} \(line {rows - 1}\): .* is not a finite number"
    with pytest.raises(DataError, match=where) as refused:
        read_table(path)
    advice = str(refused.value).partition("declare it with ")[2].rstrip(".")
    assert advice == f"missing=['{text}']"
    table = read_table(path, missing=[text])
    assert table.columns[0].kind is ColumnKind.GAUSSIAN
    assert table.missing[0] == pytest.approx(1 / rows)


def test_infinite_numbers_among_few_and_among_texts():
    few = pl.DataFrame({"x": ["1", "2", "inf"] * 5})
    with pytest.raises(DataError, match="column 'x', row 3: inf is not a finite number"):
        read_table(few)
    assert read_table(few, kinds="x=categorical").columns[0].states == ("1", "2", "inf")
    texts = pl.DataFrame({"x": ["inf", "none", "inf"] * 5, "y": ["inf", "-inf", "inf"] * 5})
    assert [c.states for c in read_table(texts).columns] == [("inf", "none"), ("-inf", "inf")]
