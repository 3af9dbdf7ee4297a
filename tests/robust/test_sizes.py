"""Tables of any size: no rows to speak of, hundreds of columns, more classes than rows."""

import json
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lacunet
from examples import examples
from lacunet import api
from lacunet.evidence.estimate import Verdict
from lacunet.tabular import to_json

KINDS = ("categories", "numbers", "counts", "mixed")


def drawn(rows, columns, kind, missing, seed):
    """A table with this many rows and columns."""
    rng = np.random.default_rng([seed, rows, columns])
    z = rng.integers(0, 2, rows)
    results = {}
    for j in range(columns):
        column_kind = ("categories", "numbers", "counts")[j % 3] if kind == "mixed" else kind
        if column_kind == "categories":
            cells = np.where(rng.random(rows) < np.where(z, 0.8, 0.3), "yes", "no").tolist()
        elif column_kind == "numbers":
            cells = rng.normal(2.0 * z).tolist()
        else:
            cells = rng.poisson(2.0 + 5.0 * z).tolist()
        results[f"{column_kind}{j}"] = [None if rng.random() < missing else x for x in cells]
    return pl.DataFrame(results, strict=False)


def declared(table):
    """Kinds of columns, as their names say."""
    named = {"numbers": "gaussian", "counts": "poisson"}
    return {c: k for c in table.columns for name, k in named.items() if c.startswith(name)}


def usable(table):
    """The columns of which something can be learned."""
    kinds = declared(table)
    least = {c: 2 if c in kinds else 1 for c in table.columns}
    return table.select(
        [c for c in table.columns if table[c].n_unique() - table[c].has_nulls() >= least[c]]
    )


def check(selection):
    """Every number is finite, or a dash with its reason; JSON and text hold no NaN and no ∞."""
    for candidate in selection.candidates:
        assert math.isfinite(candidate.fit.log_lik)
        for evidence in candidate.scores.values():
            assert math.isfinite(evidence.value) or evidence.flags, evidence.name
    assert not selection.failed
    text = to_json(selection.to_dict())
    json.loads(text, parse_constant=pytest.fail)
    assert not {"nan", "inf", "-inf"} & set(str(selection).split())


@pytest.mark.slow
@examples(6)
@given(
    rows=st.sampled_from([1, 2, 3, 5, 21, 60]),
    columns=st.sampled_from([1, 2, 6, 40, 150]),
    classes=st.sampled_from([1, 2, 3, 9]),
    kind=st.sampled_from(KINDS),
    missing=st.sampled_from([0.0, 0.3]),
    seed=st.integers(0, 9),
)
def test_any_number_of_rows_columns_and_classes(rows, columns, classes, kind, missing, seed):
    table = usable(drawn(rows, columns, kind, missing, seed))
    if not table.width:
        return
    selection = lacunet.select(
        table, [1, classes], kinds=declared(table), starts=2, threads=1, quick=True
    )
    check(selection)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1, 2, 3])
def test_more_classes_than_rows(rows):
    table = drawn(rows, 3, "categories", 0.0, 0)
    check(lacunet.select(table, [1, 2, 30], starts=2, threads=1, quick=True))
    one = api.log_evidence(table, 1, threads=1)
    many = api.log_evidence(table, 30, threads=1, budget=5)
    assert one.verdict is Verdict.EXACT
    assert math.isfinite(many.value)
    assert many.value < 0


@pytest.mark.slow
def test_hundreds_of_columns():
    table = drawn(25, 400, "mixed", 0.2, 1)
    check(
        lacunet.select(usable(table), [1, 2], kinds=declared(usable(table)), starts=2, quick=True)
    )


@given(seed=st.integers(0, 50), kind=st.sampled_from(["categories", "mixed"]))
@examples(8)
def test_a_constant_column_changes_nothing(seed, kind):
    table = drawn(12, 3, kind, 0.1, seed)
    more = table.with_columns(pl.lit("same").alias("constant"))
    options = {"kinds": declared(table), "threads": 1}
    for classes in (1, 2) if kind == "categories" else (1,):
        one, other = (api.log_evidence(t, classes, **options) for t in (table, more))
        assert one.verdict is other.verdict is Verdict.EXACT
        assert one.value == pytest.approx(other.value, rel=1e-12)


@pytest.mark.slow
@given(seed=st.integers(0, 50))
@examples(6)
def test_a_column_given_twice_is_no_trouble(seed):
    table = drawn(15, 3, "mixed", 0.1, seed)
    first = table.columns[0]
    twice = table.with_columns(pl.col(c).alias(f"{c} again") for c in table.columns)
    kinds = declared(twice)
    check(lacunet.select(twice, [1, 2], kinds=kinds, starts=2, threads=1, quick=True))
    alone = api.log_evidence(table.select(first), 1, threads=1).value
    both = api.log_evidence(twice.select(first, f"{first} again"), 1, threads=1).value
    assert both == pytest.approx(2 * alone, rel=1e-12)
