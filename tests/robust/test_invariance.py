"""Evidence is continuous, and does not depend on how a table happens to be written down."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from lacunet import api

LETTERS = "xyz"
TABLES = st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=4, max_size=9, unique=False).filter(
    lambda rows: all(len({r[c] for r in rows}) > 1 for c in range(3))
)


def frame(rows):
    return pl.DataFrame(
        [[LETTERS[v] for v in r] for r in rows], schema=["a", "b", "c"], orient="row"
    )


def evidence(table, **options):
    return api.log_evidence(table, states=2, **options).value


@examples(12)
@given(rows=TABLES, rng=st.randoms(use_true_random=False))
def test_rows_columns_and_labels_in_any_order(rows, rng):
    table = frame(rows)
    expected = evidence(table)
    order, columns, letters = list(range(len(rows))), list("abc"), list(LETTERS)
    for things in (order, columns, letters):
        rng.shuffle(things)
    renamed = table.with_columns(pl.all().replace(dict(zip(LETTERS, letters, strict=True))))
    assert evidence(table[order]) == expected  # rows are sorted
    for other in (table.select(columns), renamed, renamed[order].select(columns)):
        assert evidence(other) == pytest.approx(expected, abs=1e-10)


@examples(12)
@given(rows=TABLES, log_alpha=st.floats(-9, 12))
def test_evidence_is_continuous_in_the_exponents(rows, log_alpha):
    table, alpha = frame(rows), 10.0**log_alpha
    here, beside = evidence(table, alpha=alpha), evidence(table, alpha=alpha * (1 + 1e-9))
    assert beside == pytest.approx(here, abs=1e-6)


@examples(12)
@given(rows=TABLES, weight=st.floats(0.5, 20.0))
def test_evidence_of_one_class_is_continuous_in_the_weights(rows, weight):
    """With more classes fractions of cases are sampled; sums over completions know whole ones."""
    values = []
    for w in (weight, weight * (1 + 1e-9)):
        table = frame(rows).with_columns(w=pl.Series([w, *[1.0] * (len(rows) - 1)]))
        options = {"weights": "w", "weights_as": "frequency"}
        values.append(api.log_evidence(table, states=1, **options).value)
    assert values[0] == pytest.approx(values[1], abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["smc", "ais", "walk"])
def test_one_two_and_seven_threads(method, short_steps_on_threads):
    rng = np.random.default_rng(3)
    table = frame(rng.integers(0, 3, (40, 3)))
    result = {
        evidence(table, method=method, target=0.5, threads=threads, seed=2) for threads in (1, 2, 7)
    }
    assert len(result) == 1


def test_fits_of_one_two_and_seven_threads(short_steps_on_threads):
    table = frame(np.random.default_rng(4).integers(0, 3, (40, 3)))
    fits = [api.fit(table, 2, starts=6, threads=threads) for threads in (1, 2, 7)]
    assert all(np.array_equal(f.model.theta, fits[0].model.theta) for f in fits)
