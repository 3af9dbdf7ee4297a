"""Long ranges of numbers of classes: how far they are followed, and that the answer is right."""

import numpy as np
import polars as pl
import pytest

import lacunet
from lacunet.selection import comparing
from lacunet.selection.comparing import spaced_places

QUICK = {"quick": True, "starts": 1, "threads": 1, "scores": "csl-occupied"}


def drawn(seed: int, rows: int, columns: int, classes: int) -> pl.DataFrame:
    """Rows of so many classes, each with its own answers; one in ten says something else."""
    rng = np.random.default_rng(seed)
    profiles = rng.integers(0, 3, (classes, columns))
    members = rng.integers(0, classes, rows)
    noise = rng.random((rows, columns)) < 0.1
    cells = np.where(noise, rng.integers(0, 3, (rows, columns)), profiles[members])
    return pl.DataFrame({f"x{j}": cells[:, j] for j in range(columns)})


@pytest.fixture
def two_classes(monkeypatch: pytest.MonkeyPatch) -> pl.DataFrame:
    """Few rows, for which eight classes are a long range, and ten nats are far."""
    monkeypatch.setattr(comparing, "SHORT", 6)
    monkeypatch.setattr(comparing, "FAR", 8.0)
    return drawn(0, 200, 4, 2)


@pytest.mark.slow
def test_a_long_range_ends_where_the_evidence_has_fallen_far(two_classes: pl.DataFrame) -> None:
    numbers = range(1, 15)
    selection = lacunet.select(two_classes, numbers, **QUICK)
    assert selection.reach is not None
    assert selection.reach.requested == 14
    assert [c.label for c in selection.candidates] == list(range(1, selection.reach.last + 1))
    whole = lacunet.select(two_classes, numbers, whole_range=True, **QUICK)
    assert whole.reach is None
    assert [c.label for c in whole.candidates] == list(numbers)
    assert whole.label == selection.label
    values = whole.values("csl-occupied")
    assert selection.reach.best == whole.label
    assert all(values[k] < values[whole.label] - 8.0 for k in range(selection.reach.last, 15))
    assert selection.reach.fall == pytest.approx(
        values[whole.label] - values[selection.reach.last], abs=2
    )
    assert f"{selection.reach.last + 1} to 14 were left out" in str(selection)
    assert "whole_range=True" in str(selection)
    assert selection.to_dict()["reach"] == vars(selection.reach)


@pytest.mark.slow
def test_short_ranges_and_those_with_a_prior_are_tried_whole(two_classes: pl.DataFrame) -> None:
    short = lacunet.select(two_classes, range(1, 7), **QUICK)
    assert short.reach is None
    assert [c.label for c in short.candidates] == list(range(1, 7))
    numbers = range(1, 11)
    weighted = lacunet.select(two_classes, numbers, prior=dict.fromkeys(numbers, 1.0), **QUICK)
    assert [c.label for c in weighted.candidates] == list(numbers)


@pytest.mark.slow
@pytest.mark.usefixtures("two_classes")
def test_many_classes_are_found_before_a_range_ends() -> None:
    selection = lacunet.select(drawn(1, 300, 10, 9), range(1, 25), **QUICK)
    assert selection.reach is not None
    assert 9 <= selection.label <= 10
    assert selection.reach.last > selection.label


def test_places_get_further_apart() -> None:
    for number in (1, 2, 25, 40, 200):
        places = spaced_places(number)
        assert places[0] == 0
        assert places[-1] == number - 1
        assert np.all(np.diff(places) > 0)


@pytest.mark.slow
def test_more_classes_than_few_rows_support() -> None:
    """Scores of many classes are far too high where rows are few; what is measured is not."""
    rng = np.random.default_rng(1)
    data = pl.DataFrame({f"x{j}": rng.integers(0, 2, 20) for j in range(6)})
    selection = lacunet.select(data, range(1, 21), threads=1)
    assert selection.certainty.covariance is not None
    errors, values = np.sqrt(np.diag(selection.certainty.covariance)), selection.certainty.values
    alike = {"alpha": 1.01, "threads": 1, "target": 0.05}
    few = lacunet.log_evidence(data, 2, **alike)
    assert selection.certainty.by == "evidence"
    assert {2, 8, 20} <= selection.certainty.measured
    for k in (8, 20):
        many = lacunet.log_evidence(data, k, method="smc", **alike)
        apart = (values[k] - values[2]) - (many.value - few.value)
        error = np.linalg.norm([errors[k - 1], errors[1], many.stderr, few.stderr])
        assert abs(apart) < 4.0 * error, k
        assert error < 0.4
