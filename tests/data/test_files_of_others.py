"""Files of SPSS and Stata, spreadsheets, decimal commas; codes that stand for no answer."""

import numpy as np
import polars as pl
import pyreadstat
import pytest

import lacunet
from lacunet.data.audit import odd_numbers
from lacunet.errors import DataError
from lacunet.models.formats import json_model

ANSWERS = pl.DataFrame(
    {
        "q1": [1.0, 2, 3, 99, 98, None, 1, 2],
        "age": [20.0, 31, 44, 50, -1, 17, 33, 28],
        "sex": ["m", "f", "m", "f", "m ", "", "f", "m"],
        "trust": [0.0, 1, 2, 0, 1, 2, 1, 0],
    }
)
LABELS = {
    "q1": {1: "Good", 2: "Fair", 3: "Bad", 4: "Awful", 98: "Don't know", 99: "Refused"},
    "age": {-1: "Unknown"},
    "trust": {0: "not at all", 2: "completely"},
}
TITLES = {"q1": "How is your health?", "age": "Age in years"}


@pytest.fixture
def spss(tmp_path):
    missing = {"q1": [{"lo": 98, "hi": 99}], "age": [-1]}
    path = tmp_path / "answers.sav"
    pyreadstat.write_sav(
        ANSWERS,
        path,
        variable_value_labels=LABELS,
        column_labels=TITLES,
        missing_ranges=missing,
    )
    return path


def column(table, name):
    return next(c for c in table.columns if c.name == name)


def test_labels_are_states_in_the_order_of_their_codes(spss):
    table = lacunet.read_table(spss, columns=["q1", "sex", "trust"])
    assert column(table, "q1").states == ("Good", "Fair", "Bad")  # as far as they occur
    assert column(table, "sex").states == ("f", "m")
    assert column(table, "trust").states == (0, 1, 2)  # 1 has no label
    assert column(table, "q1").title == "How is your health?"
    assert table.missing[0] == pytest.approx(3 / 8)
    first, second = table.notes
    assert first == (
        "column 'q1': 2 cells are declared missing in the file (98 \"Don't know\": 1, "
        "99 'Refused': 1)."
    )
    assert "2 of its 3 values have labels, so it shows the values" in second
    assert "How is your health?" in str(table)


def test_stata_files_have_labels_too(tmp_path):
    path = tmp_path / "answers.dta"
    whole = {"q1": LABELS["q1"]}
    pyreadstat.write_dta(
        ANSWERS.select("q1", "sex"), path, variable_value_labels=whole, column_labels=TITLES
    )
    table = lacunet.read_table(path)
    assert column(table, "q1").states == ("Good", "Fair", "Bad", "Don't know", "Refused")
    note = table.notes[0]  # Stata has no such declaration, but the labels give themselves away
    assert note.startswith("warning: column 'q1': 'Don't know' (1 row), 'Refused' (1 row) look")
    actual = lacunet.read_table(path, missing=["Refused", "Don't know"])
    assert column(actual, "q1").states == ("Good", "Fair", "Bad")


def test_titles_are_saved_with_a_model(spss):
    fit = lacunet.fit(spss, 2, columns=["q1", "trust"], starts=1)
    assert "q1: How is your health?" in str(fit)
    again = json_model.read(json_model.write(fit.model))
    titles = {v.name: v.title for v in again.network.variables}
    assert titles == {"class": "", "q1": "How is your health?", "trust": ""}


def test_two_codes_of_one_label_stay_apart(tmp_path):
    path = tmp_path / "twice.sav"
    frame = pl.DataFrame({"q": [1.0, 2, 2, 1]})
    pyreadstat.write_sav(frame, path, variable_value_labels={"q": {1: "other", 2: "other"}})
    assert column(lacunet.read_table(path), "q").states == ("other (1)", "other (2)")


@pytest.mark.parametrize("ending", ["sav", "dta", "xlsx"])
def test_what_is_no_such_file_is_refused(tmp_path, ending):
    path = tmp_path / f"other.{ending}"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match=rf"other\.{ending} cannot be read \("):
        lacunet.read_table(path)


def test_without_the_reader_its_extra_is_named(spss, monkeypatch):
    monkeypatch.setattr("lacunet.optional.find", lambda _: None)
    with pytest.raises(lacunet.OptionError, match=r"pip install 'lacunet\[files\]'"):
        lacunet.read_table(spss.rename(spss.with_name("again.sav")))


def test_spreadsheets(tmp_path):
    path = tmp_path / "answers.xlsx"
    frame = pl.DataFrame({"a": [1, 2, None, 1], "b": ["x", "refused", "NA", "x"]})
    frame.write_excel(path)
    table = lacunet.read_table(path)
    assert [c.states for c in table.columns] == [(1, 2), ("refused", "x")]
    assert table.missing.tolist() == [0.25, 0.25]
    assert "column 'b': 'refused' (1 row) looks like a code of no answer" in table.notes[0]


@pytest.mark.parametrize("separator", [";", "\t"])
def test_decimal_commas(tmp_path, separator):
    rows = [["x", "y", "z"], ["1,5", "1,2", "a"], ["2", "x", "b"], ["0,5", "1,2", "a"]]
    path = tmp_path / "komma.csv"
    path.write_text("\n".join(separator.join(row) for row in rows) + "\n")
    table = lacunet.read_table(path, kinds="categorical")
    assert column(table, "x").states == (0.5, 1.5, 2.0)
    assert column(table, "y").states == ("1,2", "x")  # texts stay texts
    assert "column 'x': numbers with a decimal comma." in table.notes


CODES = [
    ([1, 2, 3, 4, 5, 99], [99]),
    ([1, 2, 3, 97, 98, 99], [97, 98, 99]),
    ([1, 2, 3, 4, 8, 9], [8, 9]),
    ([0, 1, -99], [-99]),
    ([0, 1, 2, -8, -9], [-9, -8]),
    ([*range(18, 100)], []),
    ([*range(18, 90), 998, 999], [998, 999]),
    ([1, 2, 3, 4, 5, 6, 7], []),
    ([-2, -1, 0, 1, 2], []),
    ([-1, 0, 1], []),
    ([-10.5, -3, 2, 8], []),
    ([0, 99], []),  # two answers, whatever they are called
    ([1.5, 2.5, 999], [999]),
]


@pytest.mark.parametrize(("values", "codes"), CODES)
def test_codes_of_no_answer(values, codes):
    assert odd_numbers(np.unique(np.array(values, dtype=float))) == codes


def test_ambiguous_codes_are_reported_with_rows_and_remedy():
    frame = {
        "q": [1, 2, -99, 3, 2, 1, 99, 99],
        "w": ["yes", "no", "yes", "refused", "refused", "no", "no", "yes"],
    }
    first, second = lacunet.read_table(frame).notes
    assert first == (
        "warning: column 'q': -99 (1 row), 99 (2 rows) look like codes of no answer, and are "
        "values like any other. If it marks missing answers, give missing=['-99', '99']."
    )
    assert "'refused' (2 rows) looks like a code" in second
    cleaned = lacunet.read_table(frame, missing=["-99", "99", "refused"])
    assert not cleaned.notes
    assert [c.states for c in cleaned.columns] == [(1, 2, 3), ("no", "yes")]


def test_equal_remarks_about_columns_are_joined(tmp_path):
    rng = np.random.default_rng(0)
    frame = {f"q{i}": rng.choice([1, 2, 3, -99], 60).tolist() for i in range(7)}
    frame["other"] = [1, 2, 98] * 20
    many, alone = lacunet.read_table(frame).notes
    cells = sum(column.count(-99) for column in frame.values())
    assert many.startswith(
        f"warning: 7 columns ('q0', 'q1', 'q2', 'q3' and 3 more): -99 ({cells} cells) looks like"
    )
    assert alone.startswith("warning: column 'other': 98 (20 rows) looks like")
    path = tmp_path / "a.sav"
    answers = pl.DataFrame({"a": [1, 2, 98] * 5, "b": [98, 1, 2] * 5})
    pyreadstat.write_sav(answers, path, missing_ranges={"a": [98], "b": [98]})
    (note,) = lacunet.read_table(path).notes
    assert note == ("2 columns ('a', 'b'): 10 cells are declared missing in the file (98: 10).")


def test_labelled_answers_in_order_are_their_codes(tmp_path):
    """A scale of SPSS, 1 to 5 of which 2 never occurs: ordered answers keep their distances."""
    path, codes = tmp_path / "a.sav", {1: "not at all", 2: "little", 3: "so so", 5: "fully", 9: "?"}
    frame = pl.DataFrame({"q": [1, 3, 5, 9, 3, None, 1, 5], "r": [1, 3, 5, 5, 3, 1, 1, 5]})
    labels = {"q": codes, "r": codes}
    pyreadstat.write_sav(frame, path, variable_value_labels=labels, missing_ranges={"q": [9]})
    table = lacunet.read_table(path, kinds={"q": "ordinal"})
    assert list(column(table, "q").states) == [1, 3, 5]
    assert column(table, "r").states == ("not at all", "so so", "fully")
    assert "column 'q': 1 = not at all, 3 = so so, 5 = fully." in table.notes
    fit = lacunet.fit(table, 2, starts=2, threads=1)
    assigned = lacunet.assign(path, fit.model)  # by labels, as the file has them
    assert len(assigned.best) == 8


def test_declared_categories_in_order_are_ranks():
    pd = pytest.importorskip("pandas")
    order = ["low", "middle", "high"]
    answers = pd.Categorical(["low", "high", "high", None, "low"], order, ordered=True)
    table = lacunet.read_table(pd.DataFrame({"q": answers, "r": list("ababa")}), kinds="q=ordinal")
    assert list(column(table, "q").states) == [1, 3]
    plain = pd.DataFrame({"q": ["low", "high"] * 3, "r": list("ababab")})
    with pytest.raises(DataError, match="'low' is not a number, and the column is read as ordinal"):
        lacunet.read_table(plain, kinds="q=ordinal")


def test_labels_of_questions_that_were_skipped():
    for word in ("does not apply", "Not applicable", "inapplicable"):
        frame = {"q": ["yes", "no", word] * 4}
        assert f"'{word}' (4 rows) looks like a code" in lacunet.read_table(frame).notes[0]


def test_codes_among_many_numbers():
    ages = [*range(18, 80), 999, 999]
    table = lacunet.read_table({"age": ages})
    assert "999 (2 rows) looks like a code of no answer" in table.notes[0]
    binned = lacunet.read_table({"age": ages}, bin="age=4")
    assert "999 (2 rows) looks like a code of no answer" in binned.notes[0]


def test_spellings_that_differ_in_case():
    frame = {"q": ["Good", "good", "Good", "bad", "good ", "bad", "Bad"]}
    notes = lacunet.read_table(frame).notes
    assert notes[0] == "column 'q': 'good', 'good ' differ in spaces alone, and are one state."
    assert "'Good' (2), 'good' (2) differ in upper and lower case alone" in notes[-1]
    assert "give ignore_case=True" in notes[-1]
    table = lacunet.read_table({"q": [*frame["q"], "Good"]}, ignore_case=True)
    assert table.columns[0].states == ("bad", "Good")
    assert not [n for n in table.notes if "different states" in n]
