"""(f): Table 2's hardest row. The Laplace score against its two BLAS calls; EM with 64 starts."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf

import lacunet
from bench import cases
from bench.ours import make_ready
from bench.peer import Peers
from bench.report import Line, as_long, within
from bench.timing import alternate, clock
from lacunet.scores import ScoreInput
from lacunet.scores.approximations import LAPLACE

LAPLACE_LIMIT = 1.5  # times the two BLAS calls
EM_LIMIT = 0.5  # seconds on one core
SCHEDULES = ("default", "paper")


def run(_peers: Peers, quick: bool) -> Iterator[Line]:
    case = cases.F
    ready = make_ready(case)
    d = ready.problem.network.dimension
    theta = lacunet.fit(ready.table, case.classes, threads=1).model.theta
    blas = TwoCalls(case.rows, d)

    def score() -> float:
        at = ScoreInput(ready.problem, theta)
        return clock(lambda: LAPLACE(at))

    score(), blas.seconds()
    times = alternate({"ours": score, "theirs": blas.seconds}, 4 if quick else 10)
    evidence = LAPLACE(ScoreInput(ready.problem, theta))
    yield as_long(
        case.name,
        f"Laplace score, N = {case.rows}, d = {d}; dsyrk (N × d) and dpotrf (d × d)",
        min(times["ours"]),
        min(times["theirs"]),
        LAPLACE_LIMIT,
        ours_trials=times["ours"],
        their_trials=times["theirs"],
        value=evidence.value,
        flags=[str(flag) for flag in evidence.flags],
    )
    for schedule in SCHEDULES:
        trials = [
            clock(
                lambda: lacunet.fit(ready.table, case.classes, schedule=schedule, threads=1)  # noqa: B023
            )
            for _ in range(2 if quick else 4)
        ]
        yield within(
            case.name,
            f"EM with 64 starts, schedule '{schedule}': {case.title}",
            min(trials),
            EM_LIMIT,
            ours_trials=trials,
        )


class TwoCalls:
    """What no Laplace score can do without: GᵀG and a Cholesky factor, from SciPy's BLAS.

    Memory is touched before the clock starts, so that only the calls themselves are counted.
    """

    def __init__(self, rows: int, d: int) -> None:
        self.G = np.random.default_rng(0).standard_normal((rows, d))
        self.product = np.zeros((d, d), order="F")
        self.definite = np.asfortranarray(self.G.T @ self.G + rows * np.eye(d))
        self.factor = np.empty_like(self.definite)

    def seconds(self) -> float:
        self.factor[:] = self.definite
        return clock(
            lambda: (
                dsyrk(1.0, self.G.T, beta=0.0, c=self.product, lower=1, overwrite_c=1),
                dpotrf(self.factor, lower=1, overwrite_a=1, clean=0),
            )
        )
