"""Very many rows: a part of them is searched, and all of them end at the same maximum."""

import numpy as np
import pytest

from lacunet.fitting.fit import Options, learn
from lacunet.fitting.objective import Objective
from lacunet.fitting.schedules import Schedule
from lacunet.inference.problem import at_equal_distances
from lacunet.runtime.rows import rows_at
from problems import make_case

CASE = make_case([3, 4, 3, 2, 4, 3, 3], 3, 4000, missing=0.1, seed=8)


@pytest.fixture
def large(monkeypatch):
    """Let few rows be many."""
    monkeypatch.setattr("lacunet.inference.problem.LARGE", 500)
    monkeypatch.setattr("lacunet.inference.problem.PART", 400)


def fresh(problem):
    """The same problem, of which nothing is kept."""
    return type(problem)(*(getattr(problem, name) for name in problem.__dataclass_fields__))


def count_steps(monkeypatch):
    """Count E steps by the number of rows that they go over."""
    steps, at = {}, Objective.at

    def counted(self, theta):
        rows = len(self.problem.counts)
        steps[rows] = steps.get(rows, 0) + 1
        return at(self, theta)

    monkeypatch.setattr(Objective, "at", counted)
    return steps


def test_the_maximum_is_that_of_all_rows_in_few_steps_over_them(large, monkeypatch):
    rows = len(CASE.problem.counts)
    assert CASE.problem.part is None or len(CASE.problem.part.counts) < rows
    steps = count_steps(monkeypatch)
    learned = learn(fresh(CASE.problem), Options(starts=16))
    over_all = steps[rows]
    monkeypatch.setattr("lacunet.inference.problem.LARGE", 1 << 20)
    steps.clear()
    alone = learn(fresh(CASE.problem), Options(starts=16))
    assert learned.log_lik == pytest.approx(alone.log_lik, rel=1e-9)
    np.testing.assert_allclose(learned.model.theta, alone.model.theta, atol=1e-5)
    assert learned.status == alone.status
    assert learned.stable
    assert 3 * over_all < steps[rows]


def test_the_schedule_of_the_paper_is_what_it_is(large, monkeypatch):
    options = Options(starts=4, schedule=Schedule.PAPER)
    learned = learn(fresh(CASE.problem), options)
    monkeypatch.setattr("lacunet.inference.problem.LARGE", 1 << 20)
    assert learn(fresh(CASE.problem), options).log_lik == learned.log_lik


def test_a_part_stands_for_all_cases(large):
    part = fresh(CASE.problem).part
    assert part.cases == pytest.approx(CASE.problem.cases)
    assert len(part.counts) <= 400
    known = {row.tobytes() for row in CASE.problem.codes}
    assert all(row.tobytes() in known for row in part.codes)


def test_rows_at_equal_distances_are_the_same_whatever_is_in_memory(monkeypatch):
    weights = np.random.default_rng(1).integers(0, 9, 1000).astype(float)
    expected = at_equal_distances(weights, 123)
    monkeypatch.setattr("lacunet.inference.problem.AT_ONCE", 7)
    for one, other in zip(at_equal_distances(weights, 123), expected, strict=True):
        np.testing.assert_array_equal(one, other)
    ends = np.cumsum(weights)
    along = (np.arange(123) + 0.5) * weights.sum() / 123
    np.testing.assert_array_equal(
        np.repeat(*expected), [next(i for i, e in enumerate(ends) if e > x) for x in along]
    )
    monkeypatch.setattr("lacunet.runtime.rows.PART", 10)
    np.testing.assert_array_equal(rows_at(weights, expected[0]), weights[expected[0]])
