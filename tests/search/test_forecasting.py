"""What work would take: counts by hand, sizes of arrays, steps as many as the race makes."""

import numpy as np
import pytest

import lacunet
from lacunet.learn.fit import Options
from lacunet.learn.objective import Objective
from lacunet.learn.schedules import FINALISTS, Schedule
from lacunet.learn.starts import halving, random_starts
from lacunet.memory import in_bytes
from lacunet.search.forecasting import CLIMB, em_steps, size_of
from problems import make_case

CASE = make_case([3, 2, 2], 2, 40, missing=0.1, seed=3)


def test_rows_components_and_memory_are_those_of_the_problem():
    found = lacunet.forecast(CASE.table, [1, 2], starts=4, threads=1, quick=True)
    (plan,) = CASE.problem.components.plans
    assert (found.rows, found.distinct_rows) == (len(CASE.codes), len(CASE.table.codes))
    assert [fit.components for fit in found.fits] == [0, len(plan.counts)]
    assert [fit.parameters for fit in found.fits] == [4, 9]
    starts = 4 * 2 * 8 * CASE.layout.size
    assert found.fits[1].memory == starts + size_of(plan)
    assert size_of(plan) >= plan.index.nbytes + plan.counts.nbytes
    assert found.table_bytes == CASE.table.codes.nbytes + CASE.table.counts.nbytes
    assert found.sampling is None
    assert found.seconds == pytest.approx(sum(fit.step * fit.steps for fit in found.fits))
    assert found.engine == "one thread"
    assert "Nothing was fitted" in str(found)


@pytest.mark.parametrize("starts", [1, 3, 8, 64])
def test_the_race_is_counted_step_by_step(starts, monkeypatch):
    made, at = [], Objective.at
    monkeypatch.setattr(Objective, "at", lambda self, theta: made.append(0) or at(self, theta))
    objective = Objective.build(CASE.problem, Options().estimate)
    finalists = min(FINALISTS, max(starts // 4, min(2, starts)))
    points = random_starts(objective, starts, 0)
    for survivors in halving(objective, points, finalists=finalists):
        points = survivors
    assert em_steps(Options(starts=starts)) == len(made) + CLIMB * (finalists + 1)
    further = em_steps(Options(starts=starts, schedule=Schedule.THOROUGH))
    assert further > em_steps(Options(starts=starts))


def test_networks_holes_as_answers_and_clusters_are_forecast_too():
    names = [v.name for v in CASE.network.variables]
    found = lacunet.forecast(CASE.table, networks={"one": CASE.network}, starts=2, workers=3)
    assert [fit.label for fit in found.fits] == ["one"]
    assert (found.workers, found.engine) == (3, "Dask, 3 workers of this machine: fits are tasks")
    answered = lacunet.forecast(CASE.table, 2, missing_as_state=True, starts=2)
    assert answered.fits[0].parameters > found.fits[0].parameters
    with pytest.raises(lacunet.LacunetError, match="network"):
        lacunet.forecast(CASE.table, networks={"one": CASE.network}, edges=[tuple(names[1:3])])
    assert np.isfinite(found.seconds)
    assert in_bytes(2.5e9) == "2.5 GB"
