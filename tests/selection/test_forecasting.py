"""What work would take: counts by hand, sizes of arrays, steps as many as the race makes."""

import numpy as np
import pytest

import lacunet
from lacunet.fitting.fit import Options
from lacunet.fitting.objective import Objective, halving, random_starts
from lacunet.fitting.schedules import FINALISTS, Schedule
from lacunet.runtime.processes import in_bytes
from lacunet.selection.forecasting import CLIMB, em_steps, size_of, steps_of
from problems import make_case

CASE = make_case([3, 2, 2], 2, 40, missing=0.1, seed=3)


def test_rows_components_and_memory_are_those_of_the_problem():
    forecast = lacunet.forecast(CASE.table, [1, 2], starts=4, threads=1, quick=True)
    (plan,) = CASE.problem.components.plans
    assert (forecast.rows, forecast.distinct_rows) == (len(CASE.codes), len(CASE.table.codes))
    assert [fit.components for fit in forecast.fits] == [0, len(plan.counts)]
    assert [fit.parameters for fit in forecast.fits] == [4, 9]
    starts = 4 * 2 * 8 * CASE.layout.size
    assert forecast.fits[1].memory == starts + size_of(plan)
    assert size_of(plan) >= plan.index.nbytes + plan.counts.nbytes
    assert forecast.table_bytes == CASE.table.codes.nbytes + CASE.table.counts.nbytes
    assert forecast.sampling is None
    assert forecast.seconds == pytest.approx(sum(fit.step * fit.steps for fit in forecast.fits))
    assert forecast.engine == "one thread"
    assert "Nothing was fitted" in str(forecast)


@pytest.mark.parametrize("starts", [1, 3, 8, 64])
def test_the_race_is_counted_step_by_step(starts, monkeypatch):
    made, at = [], Objective.at
    monkeypatch.setattr(Objective, "at", lambda self, theta: made.append(0) or at(self, theta))
    objective = Objective.build(CASE.problem, Options().estimate)
    finalists = min(FINALISTS, max(starts // 4, min(2, starts)))
    points = random_starts(objective, starts, 0)
    for survivors, _ in halving(objective, points, finalists=finalists):
        points = survivors
    assert em_steps(Options(starts=starts)) == len(made) + CLIMB * (finalists + 1)
    further = em_steps(Options(starts=starts, schedule=Schedule.THOROUGH))
    assert further > em_steps(Options(starts=starts))


def test_reading_scores_and_measuring_are_separate(tmp_path):
    path = tmp_path / "table.csv"
    rows = np.random.default_rng(0).integers(0, 2, (200, 4))
    np.savetxt(path, rows, "%d", ",", header="a,b,c,d", comments="")
    forecast = lacunet.forecast(path, [1, 2, 3], starts=4, threads=1)
    assert forecast.reading > 0
    assert [fit.scores > 0 for fit in forecast.fits] == [False, True, True]  # one class is exact
    assert forecast.scoring == pytest.approx(sum(fit.scores for fit in forecast.fits))
    assert forecast.measuring.what.startswith("a walk over partitions")
    whole = forecast.reading + forecast.seconds + forecast.scoring + forecast.sampling
    assert forecast.total == pytest.approx(whole)
    assert "reading" in str(forecast)
    assert "(measured)" in str(forecast)
    quick = lacunet.forecast(path, [1, 2], starts=4, threads=1, quick=True)
    assert quick.measuring is None
    each = lacunet.forecast(path, [1, 2, 3], starts=4, evidence=True, budget="30s", threads=1)
    assert each.sampling == 60.0
    alone = lacunet.forecast(path, 2, starts=4, threads=1)
    assert alone.scoring == 0.0


def test_tables_too_large_to_measure_are_reported(monkeypatch):
    monkeypatch.setattr("lacunet.selection.measuring.MOST_WALKED", 1.0)
    monkeypatch.setattr("lacunet.selection.measuring.MOST_MEASURED", 1.0)
    walked = lacunet.forecast(CASE.table, [1, 2], starts=2, threads=1)
    assert (walked.sampling, "so large that scores decide" in walked.measuring.what) == (0.0, True)
    networks = {"one": CASE.network, "two": CASE.network}
    others = lacunet.forecast(CASE.table, networks=networks, starts=2, threads=1)
    assert others.measuring.what == "nothing: the networks are so large that scores decide"


def test_of_very_many_rows_a_part_counts_as_a_part(monkeypatch):
    monkeypatch.setattr("lacunet.inference.problem.LARGE", 5)
    monkeypatch.setattr("lacunet.inference.problem.PART", 4)
    problem = make_case([3, 2, 2], 2, 40, missing=0.1, seed=3).problem
    share = len(problem.part.counts) / len(problem.counts)
    assert steps_of(problem, Options(starts=8)) == round(em_steps(Options(starts=8)) * share) + 60


def test_networks_missing_values_as_answers_and_clusters_are_forecast_too():
    names = [v.name for v in CASE.network.variables]
    forecast = lacunet.forecast(CASE.table, networks={"one": CASE.network}, starts=2, workers=3)
    assert [fit.label for fit in forecast.fits] == ["one"]
    assert (forecast.workers, forecast.engine) == (
        3,
        "Dask, 3 workers of this machine: fits are tasks",
    )
    answered = lacunet.forecast(CASE.table, 2, missing_as_state=True, starts=2)
    assert answered.fits[0].parameters > forecast.fits[0].parameters
    with pytest.raises(lacunet.LacunetError, match="network"):
        lacunet.forecast(CASE.table, networks={"one": CASE.network}, edges=[tuple(names[1:3])])
    assert np.isfinite(forecast.seconds)
    assert in_bytes(2.5e9) == "2.5 GB"
