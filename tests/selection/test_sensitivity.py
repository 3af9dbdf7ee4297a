"""The answer averaged over strengths of the prior, and with half and twice of it."""

import json

import numpy as np
import pytest

import lacunet
from lacunet.data.table import Table
from lacunet.errors import OptionError
from lacunet.evidence.exact import exact_evidence
from lacunet.inference.problem import build_problem
from lacunet.models.prior import PAPER_ALPHA
from lacunet.selection.average import posterior

NUMBERS = [1, 2, 3]
OPTIONS = {"starts": 6, "threads": 1}


@pytest.fixture(scope="module")
def small():
    """Few enough cases for exact sums, no clear answer, and a missing cell."""
    rows = np.random.default_rng(3).integers(0, 2, (9, 3))
    rows[:5, 1:] = rows[:5, :1]
    rows[2, 1] = -1
    return Table.from_codes(rows)


def exact(table, selection, profiles, classes):
    """Log evidence by listing all completions, with other exponents."""
    values = {}
    for c in selection.candidates:
        network = c.problem.network
        alpha = np.empty(network.layout.size)
        for i, v in enumerate(network.variables):
            network.layout.table(alpha, i)[...] = classes if v.hidden else profiles
        values[c.label] = exact_evidence(build_problem(table, network, alpha)).value
    return values


def mean_of(*each):
    return {k: np.logaddexp.reduce([v[k] for v in each]) - np.log(len(each)) for k in each[0]}


def test_the_default_is_an_average_over_two_strengths(small):
    selection = lacunet.select(small, NUMBERS, **OPTIONS)
    quarter, half, one, two = (
        exact(small, selection, PAPER_ALPHA * s, PAPER_ALPHA) for s in (0.25, 0.5, 1.0, 2.0)
    )
    expected = mean_of(half, one)
    assert selection.certainty.values == pytest.approx(expected, abs=0.1)
    assert selection.certainty.probabilities == pytest.approx(posterior(expected), abs=0.03)
    weak, strong = (s.probabilities for s in selection.sensitivity)
    assert weak == pytest.approx(posterior(mean_of(quarter, half)), abs=0.05)
    assert strong == pytest.approx(posterior(mean_of(one, two)), abs=0.05)
    assert selection.under_alpha == pytest.approx(one, abs=0.1)


def test_one_prior_is_compared_with_half_and_twice_of_it(small):
    selection = lacunet.select(small, NUMBERS, alpha=1.0, **OPTIONS)
    assert selection.certainty.values == pytest.approx(exact(small, selection, 1.0, 1.0), abs=0.1)
    for s in selection.sensitivity:
        expected = posterior(exact(small, selection, s.factor, s.factor))
        assert s.probabilities == pytest.approx(expected, abs=0.05)


def test_where_nothing_is_hidden_the_average_is_exact(small):
    selection = lacunet.select(small, [1], quick=True, **OPTIONS)
    half, one = (exact(small, selection, PAPER_ALPHA * s, 1.0) for s in (0.5, 1.0))
    assert selection.certainty.values[1] == pytest.approx(mean_of(half, one)[1], abs=1e-9)


def test_the_first_lines_warn_that_the_prior_decides():
    selection = lacunet.select(lacunet.load_dataset("carcinoma"), range(1, 5), alpha=1.0, **OPTIONS)
    second = str(selection).splitlines()[1]
    assert second.startswith(
        "Warning: the answer depends on the prior: with half and twice the prior strength: 3 (0."
    )
    assert second.split(", ")[-1].startswith("2 (0.")
    document = json.loads(json.dumps(selection.to_dict()))
    weak, strong = document["sensitivity"]
    assert [weak["what"], weak["factor"], weak["answer"]] == ["strength", 0.5, 3]
    assert [strong["factor"], strong["answer"]] == [2.0, 2]
    assert document["prior_average"] is None


def test_an_average_is_no_prior_of_one_model(small):
    with pytest.raises(OptionError, match="alpha average is for choosing among candidates"):
        lacunet.fit(small, 2, alpha="average", **OPTIONS)
