"""Time StepMix's EM on numbers with missing cells: `python run_numbers.py INPUT.npz`.

Runs in the peers' environment. INPUT.npz has `numbers` (N, n), NaN where missing, `classes` and
`iterations`. One iteration is one E step and one M step in its own loop, from its own random start.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from importlib.metadata import version
from typing import Any

import numpy as np


def main() -> int:
    try:
        from sklearn.exceptions import ConvergenceWarning
        from stepmix.stepmix import StepMix
    except ImportError as error:
        print(json.dumps({"skipped": f"not importable here: {error}"}))
        return 0
    warnings.simplefilter("ignore", ConvergenceWarning)

    class Instrumented(StepMix):
        """StepMix, noting when each E step begins."""

        def _e_step(self, *args: Any, **kwargs: Any) -> Any:
            self.clock.append(time.perf_counter())
            return super()._e_step(*args, **kwargs)

    with np.load(sys.argv[1]) as file:
        numbers, classes, iterations = (file[k] for k in ("numbers", "classes", "iterations"))
    model = Instrumented(
        int(classes),
        measurement="gaussian_diag_nan" if np.isnan(numbers).any() else "gaussian_diag",
        max_iter=int(iterations),
        abs_tol=0.0,
        random_state=0,
        progress_bar=0,
    )
    model.clock = []
    model.fit(numbers)
    seconds = (model.clock[-1] - model.clock[0]) / (len(model.clock) - 1)
    answer = {"seconds_per_iteration": seconds, "version": version("stepmix")}
    print(json.dumps(answer))
    return 0


if __name__ == "__main__":
    sys.exit(main())
