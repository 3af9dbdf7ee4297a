"""Numbers beside categories, with missing values: fitted, chosen, scored, saved and read."""

import math

import numpy as np
import polars as pl
import pytest

import lacunet
from lacunet.data.read import read_table
from lacunet.errors import DataError, ModelError, OptionError
from lacunet.fitting.fit import Options
from lacunet.flags import Kind
from lacunet.inference.leaves import leaves_of
from lacunet.models.ensemble import model_in_canonical_order
from lacunet.models.formats import read_network, write_network
from lacunet.models.network import Network, Variable
from lacunet.models.number_prior import NumberPrior, understand_number_prior
from people import FAST, KINDS, people


@pytest.fixture(scope="module")
def frame():
    return people()


@pytest.fixture(scope="module")
def fit(frame):
    return lacunet.fit(frame, 2, kinds=KINDS, **FAST)


def test_a_fit_separates_the_classes(fit):
    assert fit.gradient < 1e-6
    (grid,) = fit.grids()[1:]
    rows = {row[0]: row[1:] for row in grid.rows}
    assert [round(float(x) / 5) for x in rows["height: mean"]] == [33, 36]
    assert [round(math.log(float(x))) for x in rows["income: median"]] == [7, 8]
    assert float(rows["visits: rate"][0]) == pytest.approx(9.0, abs=0.8)
    assert float(rows["agree: mean"][1]) == pytest.approx(1.8, abs=0.3)


def test_the_number_of_classes_is_found_and_how_it_depends_on_the_prior(frame):
    selection = lacunet.select(frame, range(1, 4), kinds=KINDS, quick=True, **FAST)
    assert selection.label == 2
    scales = [s for s in selection.sensitivity if s.what == "scale"]
    assert [s.factor for s in scales] == [0.25, 4.0]
    narrow, wide = (s.probabilities for s in scales)
    assert sum(narrow.values()) == pytest.approx(1.0)
    assert narrow != wide
    assert "ith a quarter of and four times the variances that classes are expected" in str(
        selection
    )
    one = lacunet.select(frame["sex", "agree"], [1], quick=True, **FAST)
    assert "prior strength" not in str(one)


def test_shifted_bounds_are_those_of_the_other_prior(frame):
    """Numbers of classes that the data settle: the bound moves as it does after a new fit."""
    FIXED = {**FAST, "alpha": 1.01}
    usual = lacunet.select(
        frame, [1, 2], kinds=KINDS, scores="vb,csl-occupied", quick=True, **FIXED
    )
    wide = lacunet.select(
        frame,
        [1, 2],
        kinds=KINDS,
        number_prior="scale=4",
        scores="vb,csl-occupied",
        quick=True,
        **FIXED,
    )
    moved = {k: wide.values("vb")[k] - usual.values("vb")[k] for k in (1, 2)}
    *_, result = usual.sensitivity
    log_odds = math.log(result.probabilities[1]) - math.log(result.probabilities[2])
    before = usual.certainty.values
    assert log_odds == pytest.approx(before[1] - before[2] + moved[1] - moved[2], abs=0.01)


@pytest.mark.parametrize("column", ["height", "income"])
def test_units_change_the_evidence_by_their_jacobian_alone(frame, column):
    factor = 2.54
    other = frame.with_columns(pl.col(column) * factor)
    if column == "height":
        other = other.with_columns(pl.col(column) + 1000.0)  # and its origin
    observed = frame[column].drop_nulls().len()
    here, rescaled = (
        lacunet.select(x, [1, 2], kinds=KINDS, scores="bd,csl,vb,cs,laplace", quick=True, **FAST)
        for x in (frame, other)
    )
    for a, b in zip(here.candidates, rescaled.candidates, strict=True):
        for name, evidence in a.scores.items():
            shift = b.scores[name].value - evidence.value
            assert shift == pytest.approx(-observed * math.log(factor), abs=1e-5), name


def test_one_class_is_the_closed_form(frame):
    problem = lacunet.fit(frame, 1, kinds=KINDS, **FAST).problem
    measured = lacunet.log_evidence(frame, 1, kinds=KINDS, alpha=1.01, threads=1)
    assert measured.value == pytest.approx(problem.log_seen, abs=1e-9)


@pytest.mark.slow
def test_evidence_is_near_a_good_score(frame):
    small = frame.head(40)
    measured = lacunet.log_evidence(
        small, 2, kinds=KINDS, alpha=1.01, target=0.2, budget=6000, threads=1
    )
    selection = lacunet.select(small, [2], kinds=KINDS, quick=True, **FAST)
    score = selection.candidates[0].scores["csl-occupied"].value
    assert measured.value == pytest.approx(score, abs=4 * measured.stderr + 0.5)


def test_a_model_with_numbers_is_written_and_read(fit, frame, tmp_path):
    path = tmp_path / "model.json"
    write_network(fit.model, path)
    again = model_in_canonical_order(read_network(path))  # the file is in the order of the data
    np.testing.assert_array_equal(again.theta, fit.model.theta)
    np.testing.assert_array_equal(again.alpha, fit.model.alpha)
    np.testing.assert_array_equal(again.posterior, fit.model.posterior)
    scores = lacunet.score(frame, path, scores="cs,csl")
    expected_scores = lacunet.score(read_table(frame, kinds=KINDS), fit.model, scores="cs,csl")
    assert scores.log_likelihood == expected_scores.log_likelihood == fit.log_lik
    assert scores.evidence["csl"].value == pytest.approx(
        expected_scores.evidence["csl"].value, abs=1e-9
    )
    # Only the structure is taken by a fit.
    assert lacunet.fit(frame, network=path, **FAST).log_lik == pytest.approx(fit.log_lik, abs=1e-6)
    with pytest.raises(DataError, match="'height' holds numbers"):
        write_network(fit.model, tmp_path / "model.bif")


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"gaussian"', '"cauchy"', "family 'cauchy' is not known"),
        ('"size":', '"width":', "needs a range of two numbers, and a unit"),
        ('"most": 4', '"most": 0', "whole number from 1 up"),
    ],
)
def test_a_model_file_with_mistakes_is_refused(fit, tmp_path, old, new, words):
    path = tmp_path / "model.json"
    write_network(fit.model, path)
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(ModelError, match=words):
        read_network(path)


def test_answers_that_the_model_does_not_have(fit, frame):
    other = frame.with_columns(pl.col("agree") + 2)
    with pytest.raises(DataError, match="'agree': 6 is not among the answers"):
        lacunet.score(read_table(other, kinds=KINDS), fit.model)


def test_a_network_with_numbers_below_what_is_seen(frame):
    """A number may have seen and hidden parents; the same columns, another structure."""
    table = read_table(frame, kinds=KINDS)
    leaves = leaves_of(table, NumberPrior())
    root = Variable("class", (1, 2), hidden=True)
    network = Network.build([root, *leaves], [(), (0, 5), (5,), (0,), (0,), (0,)])
    fitted = lacunet.fit(table, network=network, **FAST)
    assert fitted.gradient < 1e-6
    assert math.isfinite(fitted.log_lik)
    assert "height: mean" in str(fitted)


def test_numbers_cannot_be_parents(frame):
    leaves = leaves_of(read_table(frame, kinds=KINDS), NumberPrior())
    with pytest.raises(ModelError, match=r"'height' is a number.*only categories can be parents"):
        Network.build(leaves, [(), (0,), (), (), ()])
    with pytest.raises(ModelError, match="Only categories can be hidden"):
        Network.build([Variable("h", (1.0,), True, leaves[0].family)], [()])


@pytest.mark.parametrize(
    "function",
    [
        lambda table, fit: lacunet.missing_as_state(table),
        lambda table, fit: lacunet.compare_missing(table, 2),
    ],
)
def test_functions_for_categories_refuse_numbers(function, fit, frame):
    with pytest.raises(DataError, match="'height' holds numbers"):
        function(read_table(frame, kinds=KINDS), fit)


def test_the_prior_of_numbers():
    prior = understand_number_prior("weight=0.1, scale=0.25")
    assert (prior.weight, prior.scale, prior.degrees) == (0.1, 0.25, 3.0)
    assert understand_number_prior({"shape": 2}).shape == 2.0
    for wrong, words in (
        ("degrees=2", "must be above 2"),
        ("scale=0", "must be above 0"),
        ("scael=1", "Did you mean 'scale'"),
        ("scale=x", "not a number"),
        ("mean=inf", "not a finite number"),
    ):
        with pytest.raises(OptionError, match=words):
            understand_number_prior(wrong)
    assert lacunet.Settings(number_prior="scale=2").numbers.scale == 2.0


def test_ordered_answers_are_better_read_so(frame):
    """The same column with and without its order: evidence says that the order is there."""
    rows = frame.select("agree", "visits").drop_nulls()
    values = [
        lacunet.select(rows, [2], kinds=f"visits=poisson,agree={kind}", quick=True, **FAST)
        .candidates[0]
        .scores["csl-occupied"]
        .value
        for kind in ("ordinal", "categorical")
    ]
    assert values[0] > values[1]


def test_a_class_of_one_rounded_value_is_named():
    rng = np.random.default_rng(0)
    x = np.concatenate([np.zeros(80), rng.normal(0.0, 3.0, 80).round()])
    fitted = lacunet.fit(
        pl.DataFrame({"x": x, "y": np.arange(160) % 2}), 2, kinds="x=gaussian", **FAST
    )
    (flag,) = [f for f in fitted.flags if f.kind is Kind.NARROW_CLASS]
    assert flag.detail["gap"] == pytest.approx(1.0, rel=1e-12)
    assert flag.detail["deviation"] < 1.0 / math.sqrt(12.0)
    fine = np.concatenate([np.zeros(2), rng.normal(0.0, 3.0, 158)])
    other = lacunet.fit(
        pl.DataFrame({"x": fine, "y": np.arange(160) % 2}), 2, kinds="x=gaussian", **FAST
    )
    assert Kind.NARROW_CLASS not in [f.kind for f in other.flags]


def test_the_same_seed_gives_the_same_numbers_on_any_number_of_threads(frame):
    one, two = (lacunet.fit(frame, 2, kinds=KINDS, starts=8, threads=threads) for threads in (1, 2))
    np.testing.assert_array_equal(one.model.theta, two.model.theta)
    assert one.options == Options(starts=8)
