"""Every result as a dataframe, and in a line."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import lacunet
from lacunet import OptionError, api
from lacunet.tabular import Framed

WIDEST = 160  # characters of a repr: two lines


@pytest.fixture(scope="module")
def raw():
    """The rows of a small table, each as often as it occurs, and some missing values."""
    frame = pd.read_csv(lacunet.dataset_path("carcinoma"))
    rows = (
        frame.loc[frame.index.repeat(frame["count"])].drop(columns="count").reset_index(drop=True)
    )
    return rows[list("ABCD")].mask(np.random.default_rng(0).random((len(rows), 4)) < 0.1)


def regression(raw):
    """Classes that a number predicts, and what follows from classes."""
    rows = raw.assign(age=np.random.default_rng(1).normal(size=len(raw)))
    options = {"covariates": ["age"], "starts": 1, "threads": 1}
    result = lacunet.class_regression(rows, 2, **options)
    steps = lacunet.three_step(rows, lacunet.fit(raw, 2, starts=1), outcomes=["age"])
    return result, result.coefficients, steps, steps.outcomes["age"]


@pytest.fixture(scope="module")
def results(raw):
    table = lacunet.read_table(raw)
    selection = lacunet.select(table, (1, 2), starts=2, quick=True, scores="cs,bic")
    fit = selection.best.fit
    learned = lacunet.learn_structure(lacunet.load_dataset("values"))
    stack = lacunet.stack(table, folds=2, only="classes", threads=1)
    actual = [
        table,
        selection,
        selection.best,
        selection.certainty,
        selection.best.scores["bic"],
        fit,
        fit.model,
        fit.model.network,
        lacunet.assign(raw, fit.model, impute=True),
        lacunet.score(table, fit.model, scores="bic"),
        lacunet.fit_statistics(table, fit),
        lacunet.intervals(table, fit),
        lacunet.information_criteria(selection),
        lacunet.paper_tables(selection),
        lacunet.likelihood_ratio_test(table, 1, replicates=2, starts=1, threads=1),
        lacunet.em_traces(table, fit),
        lacunet.log_evidence(table, 1, method="exact"),
        learned,
        learned.equivalence_class,
        lacunet.edge_certainty(lacunet.load_dataset("values")),
        lacunet.graph_distances({"same": learned.network}, learned.network),
        lacunet.learn_latent_tree(table, "naive", starts=1),
        lacunet.compare_missing(table, 2, starts=1),
        lacunet.compare_groups(table, 2, "A", starts=1, quick=True, threads=1),
        lacunet.add_direct_effects(table, 2, starts=1, threads=1),
        lacunet.forecast(table, 2),
        *regression(raw),
        stack,
        stack.ensemble,
        lacunet.most_probable(fit.model, ["A", "B"]),
        api.answer(fit.model, ["A", "B"]),
        api.separations(fit.model, ["A", "B"], [], []),
    ]
    return {type(result).__name__: result for result in actual}


ROWS = {  # how many each has, and the columns that it begins with
    "Selection": (2, ["states", "dimension", "log_likelihood", "probability"]),
    "Candidate": (2, ["score", "value", "stderr"]),
    "Certainty": (2, ["candidate", "log_evidence", "probability", "stderr"]),
    "Evidence": (2, ["term", "value"]),
    "Fit": (2 + 2 * 2 * 4, ["variable", "given", "state", "quantity", "value"]),
    "Model": (2 + 2 * 2 * 4, ["variable", "given", "state", "quantity", "value"]),
    "Intervals": (2 + 2 * 2 * 4, ["variable", "given", "state", "quantity", "estimate"]),
    "Network": (5, ["variable", "states", "hidden", "parents"]),
    "Assignment": (118, ["class", "p(class=1)", "p(class=2)"]),
    "Scores": (1, ["score", "value", "stderr"]),
    "Criteria": (2, ["states", "dimension", "log_likelihood", "AIC"]),
    "PaperTables": (2, ["states", "log_likelihood", "dimension", "AIC"]),
    "RatioTest": (1, ["states", "against", "statistic", "p_value"]),
    "Measurement": (1, ["value", "one_labelling", "stderr"]),
    "EdgeCertainty": (6, ["parent", "child", "edge"]),
    "GraphDistances": (1, ["structure", "shd", "f1"]),
    "LatentTree": (5, ["variable", "states", "hidden", "parents"]),
    "MissingComparison": (4, ["column", "missing"]),
    "GroupComparison": (3, ["model", "log_likelihood", "dimension", "AIC"]),
    "MostProbable": (2, ["variable", "state"]),
    "Answer": (4, ["A", "B", "probability"]),
    "Separations": (1, ["variable", "other", "separated"]),
}


def test_every_result_has_a_frame_in_every_library(results):
    for name, result in results.items():
        frames = [result.to_frame(library) for library in ("polars", "pandas", "pyarrow")]
        assert isinstance(frames[0], pl.DataFrame)
        assert isinstance(frames[1], pd.DataFrame)
        assert frames[0].columns == list(frames[1].columns) == frames[2].column_names
        assert len({len(frame) for frame in frames}) == 1
        if name in ROWS:
            rows, columns = ROWS[name]
            assert (len(frames[0]), frames[0].columns[: len(columns)]) == (rows, columns), name


def test_every_result_has_a_line_of_text(results):
    for name, result in results.items():
        text = repr(result)
        assert text.startswith(f"<{name}: "), text
        assert text.endswith(">"), text
        assert len(text) <= WIDEST, text
        assert "\n" not in text
        assert "array" not in text


def test_public_results_are_all_among_them(results):
    public = [getattr(lacunet, name) for name in lacunet.__all__]
    framed = {c.__name__ for c in public if isinstance(c, type) and issubclass(c, Framed)}
    slow = {"CellStack", "HiddenStructure", "Imputation", "Sandwich"}  # each takes seconds to make
    assert framed - {*results} == slow


def test_frames_hold_the_values_of_results(results, raw):
    selection, table = results["Selection"], results["Table"]
    frame = selection.to_frame("pandas").set_index("states")
    assert frame["cs"].to_dict() == selection.values("cs")
    assert frame["probability"].to_dict() == selection.posterior()
    distinct = table.to_frame("pandas")
    assert distinct["count"].sum() == len(raw)
    assert distinct.loc[distinct["A"].isna(), "count"].sum() == raw["A"].isna().sum()
    parameters = results["Model"].to_frame()
    sums = parameters.group_by("variable", "given").agg(pl.col("value").sum())["value"]
    np.testing.assert_allclose(sums, 1.0)
    np.testing.assert_array_equal(results["Intervals"].to_frame()["estimate"], parameters["value"])


def test_rows_come_back_as_they_were_given(results, raw):
    """In the library of the input, in its order, classes numbered from 1."""
    model, assigned = results["Model"], results["Assignment"]
    frame = assigned.to_frame()
    assert isinstance(frame, pd.DataFrame)
    np.testing.assert_array_equal(frame["class"], assigned.best + 1)
    assert isinstance(lacunet.assign(pl.from_pandas(raw), model).to_frame(), pl.DataFrame)
    lines = assigned.to_csv().splitlines()
    assert len(lines) == 1 + len(raw)
    assert lines[0].startswith("class,p(class=1),p(class=2),A (imputed),")
    assert [int(line.split(",")[0]) for line in lines[1:]] == list(frame["class"])


def test_a_library_that_is_not_known(results):
    with pytest.raises(OptionError, match="Choose from polars, pandas, pyarrow"):
        results["Selection"].to_frame("excel")
