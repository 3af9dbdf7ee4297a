"""A model whose classes covariates predict: its file, posteriors of rows, and what follows.

Posteriors are held to those of the fit, and to a few lines of NumPy that read the file themselves.
"""

import json

import numpy as np
import pandas as pd
import pytest
from class_worlds import people
from scipy.special import logsumexp

import lacunet
from lacunet.api.fitting import predicted_rows
from lacunet.api.options import AS_USUAL
from lacunet.errors import DataError, ModelError, OptionError
from lacunet.fitting.fit import Options, learn
from lacunet.inference.predicted import PredictedClasses
from lacunet.inference.problem import problem_of_codes
from lacunet.settings import DEFAULTS
from lacunet.summaries.first_step import Assigning, assign_rows

ITEMS = [f"y{j}" for j in range(6)]
WHAT = "~ age + C(region, ref=S)"


@pytest.fixture(scope="module")
def frame():
    return people(300, 11, missing=0.06)[0]


@pytest.fixture(scope="module")
def regression(frame):
    return lacunet.fit(frame, 3, covariates=WHAT, starts=4)


@pytest.fixture(scope="module")
def path(regression, tmp_path_factory):
    file = tmp_path_factory.mktemp("saved") / "model.json"
    lacunet.write_model(regression, file)
    return file


def by_hand(document, frame, what):
    """Log p(class, items | covariates) of every row, (rows, K), from what the file says."""
    entry = document["class_predictors"]
    columns = [np.ones(len(frame))]
    for one in entry["covariates"]:
        values = frame[one["name"]]
        if "centre" in one:
            columns.append((values.to_numpy(float) - one["centre"]) / one["scale"])
        else:
            columns += [(values == state).to_numpy(float) for state in one["shown"][1:]]
    logits = np.column_stack(columns) @ np.array(entry[what]).T
    joint = logits - logsumexp(logits, axis=1, keepdims=True)
    tables = {f["child"]: np.array(f["table"]) for f in document["families"]}
    for name in ITEMS:
        answers = frame[name].astype(float).to_numpy()
        for k in (0, 1):
            joint[answers == k] += np.log(tables[name][:, k])
    return joint


def rows_of_fit(regression, frame):
    """Posteriors of the fit in the order of the rows: its table has each distinct row once."""
    names = [c.name for c in regression.table.columns]
    posteriors = {
        tuple(
            None if k < 0 else c.labels[k]
            for c, k in zip(regression.table.columns, row, strict=True)
        ): p
        for row, p in zip(regression.table.codes, regression.probabilities, strict=True)
    }

    def text(value):
        return None if pd.isna(value) else f"{value:g}" if isinstance(value, float) else str(value)

    return np.array(
        [posteriors[tuple(map(text, row))] for row in frame[names].itertuples(index=False)]
    )


def test_rows_have_the_posteriors_of_the_fit(frame, regression, path):
    expected = rows_of_fit(regression, frame)
    for model in (regression, path):
        (classes,) = lacunet.assign(frame, model, plug_in=True).variables
        np.testing.assert_allclose(classes.probabilities, expected, atol=1e-9)
    rows = lacunet.log_likelihoods(frame, path, plug_in=True)
    assert rows.sum() == pytest.approx(regression.log_lik, abs=1e-8)


def test_the_file_has_all_that_is_needed(frame, path):
    document = json.loads(path.read_text())
    assert document["format"] == "lacunet-model/4"
    joint = by_hand(document, frame, "coefficients")
    rows = lacunet.log_likelihoods(frame, path, plug_in=True)
    np.testing.assert_allclose(rows, logsumexp(joint, axis=1), atol=1e-9)
    (classes,) = lacunet.assign(frame, path, plug_in=True).variables
    np.testing.assert_allclose(
        classes.probabilities, np.exp(joint - logsumexp(joint, axis=1)[:, None]), atol=1e-9
    )


def test_files_of_version_3_are_read(frame, path, tmp_path):
    old = tmp_path / "old.json"
    text = path.read_text().replace("lacunet-model/4", "lacunet-model/3")
    old.write_text(text.replace('"joint_mode"', '"asked"'))
    new, given = (lacunet.assign(frame, m).variables[0].probabilities for m in (path, old))
    np.testing.assert_array_equal(new, given)


def test_rows_are_assigned_by_the_posterior_predictive(frame, regression, path):
    """By default items are averaged over their posterior, and coefficients stand at the mode."""
    document = json.loads(path.read_text())
    for family in document["families"]:
        exponents = np.array(family["posterior"])
        family["table"] = exponents / exponents.sum(axis=-1, keepdims=True)
    joint = by_hand(document, frame, "joint_mode")
    saved, fitted = (
        lacunet.assign(frame, m).variables[0].probabilities for m in (path, regression)
    )
    np.testing.assert_array_equal(saved, fitted)
    np.testing.assert_allclose(saved, np.exp(joint - logsumexp(joint, axis=1)[:, None]), atol=1e-9)


def test_a_file_is_read_back_exactly(regression, path, tmp_path):
    again = lacunet.read_model(path)
    lacunet.write_model(again, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()
    assert again.dimension == regression.dimension
    assert "predicted by age, region" in str(again)
    odds = [row for row in zip(*again.tidy().values(), strict=True) if row[3] == "log odds"]
    assert [x for *_, x in odds] == pytest.approx(regression.coefficients.estimate[1:].ravel())


def test_classes_may_be_renumbered(frame, path):
    model = lacunet.read_model(path)
    turned = model.permuted(model.network.index("class"), [2, 0, 1])
    one, other = (lacunet.assign(frame, m).variables[0].probabilities for m in (model, turned))
    np.testing.assert_allclose(other, one[:, [2, 0, 1]], atol=1e-12)
    matched = lacunet.assign(frame, lacunet.match_classes(turned, model)).variables[0]
    np.testing.assert_allclose(matched.probabilities, one, atol=1e-12)


def test_a_fit_may_be_renumbered(regression):
    """Coefficients are differences from the first class, which is another one then."""
    fit, order = regression.fit, [2, 0, 1]
    turned = regression.model.permuted(regression.model.network.index("class"), order)
    matched = lacunet.match_classes(fit, turned)
    coefficients = regression.model.predictors.coefficients[order]
    expected = coefficients - coefficients[0]
    np.testing.assert_allclose(matched.predicted.coefficients(matched.point.theta), expected)
    np.testing.assert_allclose(matched.model.predictors.coefficients, expected)
    again = fit.objective.at(matched.point.theta)
    assert again.log_lik == pytest.approx(fit.log_lik, abs=1e-9)
    np.testing.assert_allclose(again.N, matched.point.N, atol=1e-9)


def test_one_case_may_show_its_covariates(frame, path):
    row = frame.iloc[[0]]
    shown = {name: row[name].iloc[0] for name in (*ITEMS, "age", "region")}
    case = {name: None if pd.isna(value) else value for name, value in shown.items()}
    answer = lacunet.query(path, "class", case)
    np.testing.assert_allclose(answer, lacunet.assign(row, path).variables[0].probabilities[0])
    # Without covariates: the sizes over all rows.
    sizes = lacunet.query(path, "class", plug_in=True)
    everybody = lacunet.assign(frame.assign(**dict.fromkeys(ITEMS)), path, plug_in=True)
    np.testing.assert_allclose(sizes, everybody.variables[0].probabilities.mean(axis=0), atol=1e-9)
    with pytest.raises(OptionError, match=r"'region' is not given: .* Give all of them; or none"):
        lacunet.query(path, "class", {"age": 40})
    with pytest.raises(OptionError, match="'age': 'old' is not a number"):
        lacunet.query(path, "class", {"age": "old", "region": "S"})
    with pytest.raises(DataError, match="'Q' is not one of its states"):
        lacunet.query(path, "class", {"age": 40, "region": "Q"})


def test_tail_probabilities_are_given_the_covariates(frame, path):
    rows = frame[frame[ITEMS].notna().all(axis=1)].head(5)
    result = lacunet.anomalies(rows, path, plug_in=True)
    every = pd.DataFrame(np.indices((2,) * 6).reshape(6, -1).T, columns=ITEMS)
    document = json.loads(path.read_text())
    for i in range(len(rows)):
        alike = every.assign(age=rows["age"].iloc[i], region=rows["region"].iloc[i])
        p = np.exp(logsumexp(by_hand(document, alike, "coefficients"), axis=1))
        joint = np.exp(logsumexp(by_hand(document, rows.iloc[[i]], "coefficients"), axis=1))
        assert result[i] == pytest.approx(p[p <= joint * (1 + 1e-9)].sum())


def test_missing_values_are_filled_in_by_covariates(frame, path):
    young, old = (frame.head(1).assign(**dict.fromkeys(ITEMS), age=a) for a in (20.0, 70.0))
    document = json.loads(path.read_text())
    for row in (young, old):
        p = np.exp(by_hand(document, row, "coefficients"))[0]
        yes = np.array([p @ np.array(f["table"])[:, 1] for f in document["families"][1:]])
        variables = lacunet.assign(row, path, impute=True, plug_in=True).variables
        assert [v.probabilities[0, 1] for v in variables[1:]] == pytest.approx(yes)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.drop(columns="age"), "no column 'age', from which the model predicts classes"),
        (lambda f: f.assign(region="Q"), "row 1, covariate 'region': .* Known values: S, N, W"),
        (lambda f: f.assign(age=f["age"].where(f.index != 3)), "column 'age', row 4: .* missing"),
        (lambda f: f.assign(age="old"), "'old' is not a number"),
    ],
)
def test_rows_that_cannot_be_assigned(frame, path, change, message):
    with pytest.raises(DataError, match=message):
        lacunet.assign(change(frame), path)


def test_bins_and_unused_states_are_kept(frame, tmp_path):
    wide = frame.assign(region=pd.Categorical(frame["region"], ["E", "N", "S", "W"]))
    regression = lacunet.class_regression(wide, 2, ["age", "region"], bin={"age": 3}, starts=2)
    lacunet.write_model(regression, tmp_path / "m.json")
    one = lacunet.assign(wide, regression, plug_in=True).variables[0].probabilities
    plain = wide.assign(region=wide["region"].astype(str))
    other = lacunet.assign(plain, tmp_path / "m.json", plug_in=True).variables[0].probabilities
    np.testing.assert_array_equal(one, other)
    total = lacunet.log_likelihoods(plain, tmp_path / "m.json", plug_in=True).sum()
    assert total == pytest.approx(regression.log_lik, abs=1e-8)
    with pytest.raises(DataError, match="no training row has 'E'"):
        lacunet.assign(plain.assign(region="E"), tmp_path / "m.json")


def test_items_that_are_numbers(tmp_path):
    rng = np.random.default_rng(2)
    x = rng.normal(size=120).round(3)
    z = rng.random(120) < 1 / (1 + np.exp(-2 * x))
    table = pd.DataFrame({"u": rng.normal(3.0 * z).round(2), "x": x})
    table["a"] = np.where(rng.random(120) < 0.2 + 0.6 * z, "yes", "no")
    regression = lacunet.class_regression(table, 2, "x", starts=2)
    lacunet.write_model(regression, tmp_path / "m.json")
    total = lacunet.log_likelihoods(table, tmp_path / "m.json", plug_in=True).sum()
    assert total == pytest.approx(regression.log_lik, abs=1e-7)


def test_three_steps_use_the_first_fit(frame, regression, path):
    """Its classes go by covariates, and it is a maximum: no note says otherwise."""
    extended = frame.assign(income=np.random.default_rng(1).normal(30, 5, len(frame)))
    steps = lacunet.three_step(extended, path, outcomes="income")
    assert not any("maximum" in note for note in steps.notes)
    assert any("not to depend on covariates" in note for note in steps.notes)
    names = [c.name for c in regression.table.columns]
    rows = rows_of_fit(regression, frame[names]).mean(axis=0)
    np.testing.assert_allclose(steps.rows.sizes, rows, atol=1e-9)
    same = lacunet.three_step(extended, regression, outcomes="income").outcomes["income"]
    np.testing.assert_allclose(same.stderr, steps.outcomes["income"].stderr)
    with pytest.raises(OptionError, match="predicts its classes from 'age', 'region' already"):
        lacunet.three_step(extended, path, covariates="income")
    with pytest.raises(OptionError, match="'age' predicts the classes of the model"):
        lacunet.three_step(extended, path, outcomes="age")


def bch_means(problem, theta, y):
    """Means of y by class, with rows given to all classes, by the book."""
    rows = assign_rows(problem, theta, Assigning.PROPORTIONAL)
    weights = rows.counts[:, None] * (rows.given @ np.linalg.inv(rows.errors))
    return weights.T @ y / weights.sum(axis=0)


def test_errors_of_three_steps_are_those_of_an_infinitesimal_jackknife():
    """Every row counts a little more or less, and classes are fitted again."""
    frame, z = people(60, 5)
    frame["income"] = np.random.default_rng(3).normal(30 + 5 * z, 4.0).round(2)
    left = ["region", "income"]
    regression = lacunet.class_regression(frame, 2, "age", exclude=left, starts=2)
    options = {"outcomes": "income", "assignment": "proportional", "correction": "bch"}
    outcome = lacunet.three_step(frame, regression, **options).outcomes["income"]
    table, problem = predicted_rows(frame, regression.model, DEFAULTS, AS_USUAL, ["income"])
    theta = PredictedClasses(problem).parameters_of(regression.model)
    column = [c.name for c in table.columns].index("income")
    y = np.array(table.columns[column].states, dtype=float)[table.codes[:, column]]
    np.testing.assert_allclose(bch_means(problem, theta, y), outcome.estimate[:, 0])
    variance, step = np.zeros(2), 1e-3
    for i, n in enumerate(problem.counts):
        ends = []
        for sign in (1.0, -1.0):
            counts = problem.counts + sign * step * (np.arange(len(problem.counts)) == i)
            heavier = problem_of_codes(problem.codes, counts, problem.network, problem.alpha)
            again = learn(heavier, Options(), start=regression.model)
            ends.append(bch_means(heavier, again.point.theta, y))
        variance += n * ((ends[0] - ends[1]) / (2 * step)) ** 2
    np.testing.assert_allclose(outcome.stderr[:, 0], np.sqrt(variance), rtol=1e-3)


def test_what_is_of_models_without_covariates(frame, path):
    with pytest.raises(ModelError, match="predicts its classes from 'age', 'region'"):
        lacunet.score(frame, path)


def test_other_formats_report_losses(path, tmp_path):
    model = lacunet.read_model(path)
    with pytest.warns(UserWarning, match=r"BIF holds .* but not that 'age', 'region' predict them"):
        lacunet.write_network(model, tmp_path / "m.bif")
    with pytest.warns(UserWarning, match="networkx holds the classes"):
        lacunet.to_networkx(model)
    assert lacunet.read_network(tmp_path / "m.bif").predictors is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda e: e.pop("class"), 'has no "class"'),
        (lambda e: e.update({"class": "y0"}), "'y0' is not a hidden variable without parents"),
        (lambda e: e.update(coefficient_sd=0), '"coefficient_sd" is 0'),
        (lambda e: e.update(coefficients=[[0, 0]]), r"of the shape \(3, 4\)"),
        (lambda e: e["covariates"][0].update(scale=-1), '"scale" above 0'),
        (lambda e: e["covariates"][1].update(shown=["S", "X"]), "two or more of its"),
        (lambda e: e["covariates"][1].update(name="age"), "'age' occurs twice"),
    ],
)
def test_mistakes_in_a_file(path, tmp_path, change, message):
    document = json.loads(path.read_text())
    change(document["class_predictors"])
    (tmp_path / "m.json").write_text(json.dumps(document))
    with pytest.raises(ModelError, match=message):
        lacunet.read_model(tmp_path / "m.json")


def test_files_without_covariates_are_as_they_were(frame, tmp_path):
    fit = lacunet.fit(frame[ITEMS], 2, starts=2)
    lacunet.write_model(fit, tmp_path / "m.json")
    document = json.loads((tmp_path / "m.json").read_text())
    assert (document["format"], set(document)) == (
        "lacunet-model/1",
        {"format", "variables", "families"},
    )
