"""Count distinct rows, build components and run E steps once, with times and memory, as JSON."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np

from bench.networks.alarm import table
from bench.peak import forget_peak, peak, resident
from bench.timing import clock
from lacunet.fitting.prepare import prepare
from lacunet.inference.classes import expect
from lacunet.inference.plans.builder import Components
from lacunet.inference.problem import build_problem
from lacunet.models.formats import read_network
from lacunet.runtime.executor import SERIAL

TRIALS = 10


def main(network: Path, codes: Path) -> None:
    model = read_network(network)
    prepare(SERIAL, model.network)
    few = table(model.network, np.load(codes)[:100])
    expect(build_problem(few, model.network, model.alpha), model.theta)
    reset = forget_peak()
    before = resident() if reset else peak()
    rows = np.load(codes)
    began = time.perf_counter()
    data = table(model.network, rows)
    counted = time.perf_counter()
    with_table = peak()
    del rows
    problem = build_problem(data, model.network, model.alpha)
    built = time.perf_counter()
    with_components = peak()
    e_step = [clock(lambda: expect(problem, model.theta)) for _ in range(TRIALS)]
    components, cells = _sizes(problem.components)
    answer = {
        "distinct_rows": data.distinct_rows,
        "encoded": data.codes.nbytes + data.counts.nbytes,
        "counting": counted - began,
        "building": built - counted,
        "e_step": min(e_step),
        "e_step_trials": e_step,
        "components": components,
        "cells": cells,
        "before": before,
        "peak_with_table": with_table,
        "peak_with_components": with_components,
        "peak": peak(),
        "peak_was_reset": reset,
    }
    print(json.dumps(answer))


def _sizes(components: Components) -> tuple[int, int]:
    """Distinct components, and the cells of all their joint tables."""
    number = sum(len(plan.counts) for plan in components.plans)
    return number, int(sum(plan.sizes().sum() for plan in components.plans))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
