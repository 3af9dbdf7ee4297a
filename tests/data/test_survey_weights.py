"""Weights of rows: counts stay counts, survey weights are worth an effective sample."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import lacunet
from lacunet.data.design import WeightsAs, as_cases
from lacunet.data.table import Table
from lacunet.errors import OptionError

WEIGHTS = arrays.arrays(np.float64, st.integers(1, 20), elements=st.floats(0.01, 100.0))


def cases(weights, weights_as=WeightsAs.SURVEY):
    return as_cases(np.asarray(weights, dtype=float), np.ones(len(weights), np.int64), weights_as)


@given(WEIGHTS)
def test_they_sum_to_the_effective_sample_size(weights):
    scaled, survey = cases(weights)
    effective = weights.sum() ** 2 / (weights**2).sum()
    assert scaled.sum() == pytest.approx(effective)
    assert survey.effective == pytest.approx(effective)
    assert survey.total == pytest.approx(weights.sum())
    assert survey.design_effect == pytest.approx(len(weights) / effective)
    assert 1 - 1e-9 <= survey.effective <= len(weights) + 1e-9
    np.testing.assert_allclose(scaled / scaled.sum(), weights / weights.sum())


@given(WEIGHTS, st.floats(1e-6, 1e6))
def test_a_constant_changes_nothing(weights, constant):
    one, other = cases(weights)[0], cases(constant * weights)[0]
    np.testing.assert_allclose(one, other, rtol=1e-12)


@given(WEIGHTS, st.randoms(use_true_random=False))
def test_the_order_of_the_rows_changes_nothing(weights, random):
    order = list(range(len(weights)))
    random.shuffle(order)
    np.testing.assert_array_equal(cases(weights)[0][order], cases(weights[order])[0])


@pytest.mark.parametrize("weight", [1.0, 0.3, 1 / 7, 1234.5678])
def test_equal_weights_are_none(weight):
    scaled, survey = cases([weight] * 11)
    assert (scaled == 1.0).all()
    assert (survey.effective, survey.design_effect) == (11.0, 1.0)


def test_rows_of_weight_zero_are_no_cases():
    scaled, survey = cases([0.5, 0.0, 0.5])
    assert scaled.tolist() == [1.0, 0.0, 1.0]
    assert survey.rows == 2


def test_copies_are_rows():
    together = as_cases(np.array([0.5, 2.0]), np.array([3, 1]), WeightsAs.AUTO)
    apart = cases([0.5, 0.5, 0.5, 2.0], WeightsAs.AUTO)
    assert together[1] == apart[1]
    np.testing.assert_allclose(together[0], apart[0][[0, 3]], rtol=1e-15)


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.integers(0, 2, (60, 3)), columns=list("abc"))
    return rows.assign(w=rng.gamma(2.0, 0.5, 60), n=rng.integers(1, 4, 60), one=1.0)


def test_whole_numbers_are_counts(frame):
    table = lacunet.read_table(frame, weights="n", columns=["a", "b", "c"])
    assert table.survey is None
    assert table.weight == frame["n"].sum()
    same = lacunet.read_table(frame, weights="n", columns=["a", "b", "c"], weights_as="frequency")
    np.testing.assert_array_equal(table.counts, same.counts)
    survey = lacunet.read_table(frame, weights="n", columns=["a", "b", "c"], weights_as="survey")
    assert survey.weight < 60


def test_a_weight_of_one_is_no_weight(frame):
    abc = {"columns": ["a", "b", "c"]}
    plain = lacunet.read_table(frame, **abc)
    weighted = lacunet.read_table(frame, weights="one", weights_as="survey", **abc)
    np.testing.assert_array_equal(plain.counts, weighted.counts)


def test_a_table_states_the_meaning_of_its_weights(frame):
    table = lacunet.read_table(frame, weights="w", columns=["a", "b", "c"])
    effective = frame["w"].sum() ** 2 / (frame["w"] ** 2).sum()
    assert table.weight == pytest.approx(effective)
    (note,) = table.notes
    assert f"{effective:.4g} of 60 rows" in note
    assert f"design effect {60 / effective:.2f}" in note
    assert "weights_as='frequency'" in note
    assert f"worth {effective:.4g}" in str(table)
    raw = lacunet.read_table(frame, weights="w", columns=["a", "b", "c"], weights_as="frequency")
    assert raw.weight == pytest.approx(frame["w"].sum())
    assert (
        "not whole numbers. If the sample has fewer people, give weights_as='survey'"
        in raw.notes[0]
    )


def test_other_words_are_refused(frame):
    with pytest.raises(OptionError, match=r"weights_as 'people' is not known\. Choose from auto"):
        lacunet.read_table(frame, weights="w", weights_as="people")


def test_coded_rows_keep_their_counts():
    """`Table.from_codes` takes counts, whatever they are."""
    table = Table.from_codes([[0, 1], [1, 0]], counts=[0.5, 2.25])
    assert sorted(table.counts) == [0.5, 2.25]
    assert table.survey is None


def test_estimators_read_sample_weights_the_same_way(frame):
    pytest.importorskip("sklearn")
    X, options = frame[["a", "b", "c"]], {"n_init": 4, "random_state": 0}
    plain = lacunet.LatentClassModel(2, **options).fit(X)
    halves = lacunet.LatentClassModel(2, **options).fit(X, sample_weight=np.full(60, 0.5))
    np.testing.assert_array_equal(plain.predict_proba(X), halves.predict_proba(X))
    one, many = (
        lacunet.LatentClassModel(2, **options).fit(X, sample_weight=c * frame["w"])
        for c in (1.0, 64.0)
    )
    np.testing.assert_array_equal(one.predict_proba(X), many.predict_proba(X))


def test_counts_that_may_be_none_are_doubted(frame):
    """Weights times 10 are ten times as many cases: standard errors shrink, and that is said."""
    columns = ["a", "b", "c"]
    plain = lacunet.read_table(frame, weights="n", columns=columns)
    assert not plain.notes
    tens = lacunet.read_table(frame.assign(n=10 * frame["n"]), weights="n", columns=columns)
    assert tens.weight == 10 * plain.weight
    (note,) = tens.notes
    assert f"60 rows are {10 * frame['n'].sum():,} cases" in note
    assert "every weight is a multiple of 10" in note
    assert "give weights_as='survey'" in note
    parts = lacunet.read_table(frame, weights="w", columns=columns, weights_as="frequency")
    assert "they are not whole numbers" in parts.notes[0]
