"""Time EM iterations of latent class models with whatever Lacunet PYTHONPATH leads to.

Uses only what has had the same name since before networks of any shape.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import lacunet
from bench import cases
from bench.ours import make_ready
from bench.timing import clock
from lacunet.fitting.objective import em

CASES = (cases.A, cases.B, cases.C, cases.D, cases.E)
CELLS = 2e8  # rows × leaves × classes × iterations of one trial, about
TRIALS = 5


def main(source: Path, *, warm: bool) -> None:
    if not Path(lacunet.__file__).resolve().is_relative_to(source.resolve()):
        raise SystemExit("lacunet came from another place than was asked for")
    print(json.dumps({case.name: _measure(case) for case in (CASES[:1] if warm else CASES)}))


def _measure(case: cases.Case) -> dict[str, object]:
    ready = make_ready(case)
    objective = ready.objective()
    point = em(objective, objective.at(ready.start), iterations=2)
    work = case.rows * case.leaves * case.classes
    iterations = max(3, min(100, round(CELLS / work)))
    seconds = [
        clock(lambda: em(objective, point, iterations=iterations)) / iterations
        for _ in range(TRIALS)
    ]
    return {"seconds": seconds, "iterations": iterations, "log_lik": point.log_lik}


if __name__ == "__main__":
    main(Path(sys.argv[1]), warm="--warm" in sys.argv[2:])
