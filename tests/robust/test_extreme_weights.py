"""Weights of any size: the right answer, or a sentence."""

import math

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from lacunet import api
from lacunet.data.read import read_table
from lacunet.data.table import Column, Table
from lacunet.errors import DataError, OptionError

CELLS = {"a": ["x", "y", "x", "y"], "b": ["u", "u", "v", "v"]}


def weighted(*weights):
    return pl.DataFrame({**CELLS, "w": [float(w) for w in weights]})


def evidence(rows, **options):
    return api.log_evidence(rows, weights="w", **options)


@given(exponent=st.floats(-300, 307), survey=st.booleans())
def test_equal_weights_of_any_size_are_four_rows_or_refused(exponent, survey):
    weight = 10.0**exponent
    weights_as = "survey" if survey else "frequency"
    rows = weighted(*[weight] * 4)
    if survey or 0.25 <= weight <= 2.5e11:
        table = read_table(rows, weights="w", weights_as=weights_as)
        assert table.weight == pytest.approx(4.0 if survey else 4 * weight)
        return
    with pytest.raises(DataError, match=r"cases, and (one is the least|1e.12 are the most)"):
        read_table(rows, weights="w", weights_as=weights_as)


@pytest.mark.parametrize("weight", [1e-300, 5e-324, 1e-12])
def test_tiny_weights_are_those_of_a_survey(weight):
    four = evidence(weighted(1, 1, 1, 1), states=2).value
    assert evidence(weighted(*[weight] * 4), states=2).value == pytest.approx(four, abs=1e-12)


def test_weights_that_vanish_beside_others_change_nothing():
    with_it = evidence(weighted(1e-300, 1, 1, 1), states=2, weights_as="frequency").value
    assert with_it == pytest.approx(evidence(weighted(0, 1, 1, 1), states=2).value, abs=1e-9)


@pytest.mark.parametrize("weight", [1e308, 1e300, 1e154, 1e15])
def test_more_cases_than_floats_resolve_are_refused(weight):
    with pytest.raises(
        DataError, match=r"weight column 'w': rows add up to .* 1e\+12 are the most"
    ):
        evidence(weighted(weight, 1, 1, 1), states=2)
    with pytest.raises(DataError, match=r"counts: rows add up to .* cases"):
        Table.from_codes([[0], [1]], [Column("a", ("x", "y"))], counts=[weight, weight])


@pytest.mark.slow
def test_a_thousand_million_rows_by_weight_are_as_exact_as_one():
    """With one class the evidence is a product, which long sums of logs give."""
    rows = weighted(*[1e9] * 4)
    n = 2 * 10**9  # of each state of both columns
    beta = 2 * math.lgamma(n + 1) - math.lgamma(2 * n + 2)
    assert evidence(rows, states=1).value == pytest.approx(2 * beta, rel=1e-14)
    fit = api.fit(rows, 2, weights="w", starts=2)
    assert fit.log_lik == pytest.approx(-8e9 * math.log(2), rel=1e-12)


@pytest.mark.parametrize("method", ["smc", "walk"])
def test_no_method_unrolls_a_thousand_million_cases(method):
    with pytest.raises(OptionError, match=r"takes cases one by one, and 4e.09 are more than 1e.07"):
        evidence(weighted(*[1e9] * 4), states=2, method=method)


@examples(10)
@given(weights=st.lists(st.integers(1, 6), min_size=4, max_size=4))
def test_weights_are_rows_as_often(weights):
    rows = weighted(*[1] * 4)
    repeated = pl.concat([rows[i : i + 1] for i, w in enumerate(weights) for _ in range(w)])
    one, other = (evidence(x, states=2).value for x in (weighted(*weights), repeated))
    assert one == other
