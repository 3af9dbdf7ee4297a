"""Traces of EM: the same search as the fit, one start after the other, never going down."""

import numpy as np
import pytest
from report_cases import two_hidden

from lacunet import api, load_dataset

CARCINOMA = load_dataset("carcinoma")


@pytest.mark.parametrize("schedule", ["default", "paper", "thorough"])
@pytest.mark.parametrize("estimate", ["map", "ml"])
def test_ends_where_the_fit_ends(schedule, estimate):
    fit = api.fit(CARCINOMA, 3, starts=8, schedule=schedule, estimate=estimate, threads=1)
    traces = api.em_traces(CARCINOMA, fit)
    g = fit.log_posterior if estimate == "map" else fit.log_lik
    assert traces.best.climbed
    assert traces.best.end == pytest.approx(g, abs=1e-7)
    assert max(t.end for t in traces.traces) == traces.best.end


def test_never_falls():
    fit = api.fit(CARCINOMA, 4, starts=16, threads=1)
    for trace in api.em_traces(CARCINOMA, fit).traces:
        assert np.diff(trace.values).min(initial=0.0) > -1e-9


def test_every_start_is_present():
    fit = api.fit(CARCINOMA, 3, starts=16, threads=1)
    traces = api.em_traces(CARCINOMA, fit)
    batches = (fit.finalists - 1) // 4  # of 16 starts, of which 4 are climbed
    assert len(traces.traces) == 16 * batches + 1  # and the one from merged rows
    assert sum(t.climbed for t in traces.traces) == fit.finalists == 4 * batches + 1
    ends = [t.end for t in traces.traces if t.climbed]
    assert sum(abs(end - traces.best.end) <= 1e-4 for end in ends) == fit.reached
    assert f"{12 * batches} other starts were left behind" in str(traces)


def test_starts_can_be_others():
    fit = api.fit(CARCINOMA, 2, starts=4, threads=1)
    assert len(api.em_traces(CARCINOMA, fit, starts=32).traces) == 33


@pytest.mark.slow
def test_networks_and_complete_data():
    network, data = two_hidden()
    fit = api.fit(data, network=network, starts=4, threads=1)
    ends = [t.end for t in api.em_traces(data, fit).traces if t.climbed]
    assert max(ends) == pytest.approx(fit.log_posterior, abs=1e-7)
    exact = api.fit(CARCINOMA, 1, threads=1)
    traces = api.em_traces(CARCINOMA, exact)
    assert traces.best.end == pytest.approx(exact.log_posterior, abs=1e-9)
    assert len(traces.traces) == 1
