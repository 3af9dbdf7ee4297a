"""How many classes have a case: the posterior of that, beside the classes that are offered."""

import itertools
import math

import numpy as np
import polars as pl
import pytest

import lacunet
from lacunet.selection.average import named_prior
from lacunet.selection.sentences import limits

ALPHA = 1.0
OPTIONS = {"starts": 2, "threads": 1, "scores": "csl-occupied,vb"}


@pytest.fixture(scope="module")
def few() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    sort = np.array([0] * 4 + [1] * 4)
    cells = np.where(rng.random((8, 4)) < 0.1, 1 - sort[:, None], sort[:, None])
    return pl.DataFrame({f"x{j}": cells[:, j] for j in range(4)})


def urn(counts) -> float:
    """Log probability of an order of draws from a Dirichlet with all exponents ALPHA."""
    a = ALPHA * len(counts)
    rise = sum(math.lgamma(ALPHA + n) - math.lgamma(ALPHA) for n in counts)
    return rise - math.lgamma(a + sum(counts)) + math.lgamma(a)


def listed(data: pl.DataFrame, classes: int) -> dict[int, float]:
    """p(D, number of classes with a case | k), by listing who is in which class."""
    x, result = data.to_numpy(), {}
    for members in itertools.product(range(classes), repeat=len(x)):
        z = np.array(members)
        log = urn(np.bincount(z, minlength=classes))
        for c in set(members):
            log += sum(urn(np.bincount(x[z == c, j], minlength=2)) for j in range(x.shape[1]))
        used = len(set(members))
        result[used] = result.get(used, 0.0) + math.exp(log)
    return result


@pytest.mark.parametrize("prior", ["uniform", "geometric:0.7"])
def test_it_is_that_of_listing_all_assignments(few, prior):
    numbers = (1, 2, 3)
    weights = np.exp(named_prior(prior).log_weight(numbers))
    joint: dict[int, float] = {}
    for k, weight in zip(numbers, weights, strict=True):
        for m, mass in listed(few, k).items():
            joint[m] = joint.get(m, 0.0) + weight * mass
    exact = {m: mass / sum(joint.values()) for m, mass in joint.items()}
    selection = lacunet.select(few, numbers, prior=prior, alpha=ALPHA, **OPTIONS)
    assert selection.certainty.reliable
    assert sum(selection.used.values()) == pytest.approx(1.0)
    for m in numbers:
        assert selection.used[m] == pytest.approx(exact[m], abs=0.04)
    p = selection.certainty.probabilities
    assert selection.used[3] < 0.8 * p[3]  # some of three classes stay empty
    first = next(text for text in limits(selection) if text.startswith("Classes with"))
    assert first.startswith(f"Classes with at least one case: {max(exact, key=exact.get)} (0.")
    assert "used: posterior of the number of classes that have a case." in str(selection)
    assert selection.to_dict()["used_classes"] == selection.used


def test_without_measurement_it_is_unknown(few):
    selection = lacunet.select(few, (1, 2, 3), quick=True, **OPTIONS)
    assert selection.used is None
    assert "is unknown, because it was not measured" in str(selection)
    assert selection.to_dict()["used_classes"] is None
    networks = lacunet.compare(few, ["x0 -> x1; x2", "x0 -> x1 -> x2"], starts=2, threads=1)
    assert networks.used is None
    assert "used_classes" not in networks.to_dict()


def test_separate_measurements_report_it_too(few):
    every = lacunet.select(few, (1, 2, 3), alpha=ALPHA, evidence=True, target=0.2, **OPTIONS)
    walked = lacunet.select(few, (1, 2, 3), alpha=ALPHA, **OPTIONS)
    if every.used is not None:  # exact sums do not tell how many are used
        assert every.used[2] == pytest.approx(walked.used[2], abs=0.1)
    assert walked.used is not None
    assert all(c.used is not None for c in walked.candidates)


@pytest.mark.slow
def test_fractional_weights_give_it_too():
    rows = pl.read_csv(lacunet.dataset_path("values"))
    half = rows.with_columns(pl.col("count") * 0.5 + 0.25)
    selection = lacunet.select(half, (1, 2, 3), weights="count", weights_as="frequency", **OPTIONS)
    assert sum(selection.used.values()) == pytest.approx(1.0)
    assert selection.used[2] + selection.used[3] > 0.99
    assert selection.used[3] < selection.certainty.probabilities[3]
