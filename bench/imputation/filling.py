"""(x): share of hidden cells of real tables that are filled in right, and the time it takes.

15 % of the cells are hidden at random, with several seeds; every imputer gets the same holes.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench.imputation.imputers import THEIRS, Codes, Way, ours
from bench.peer import Peers
from bench.report import Line

DATA = Path(__file__).resolve().parent / "data"
SETS = ("hayes_roth", "vote", "spect_heart", "mushroom")
HIDDEN = 0.15
SEEDS = 5
QUICK = 1


def run(peers: Peers, quick: bool) -> Iterator[Line]:  # noqa: ARG001
    for name in SETS:
        whole = read_codes(name)
        seeds = range(QUICK if quick else SEEDS)
        mine = [_trial(ours, whole, seed) for seed in seeds]
        theirs = {who: [_trial(way, whole, seed) for seed in seeds] for who, way in THEIRS.items()}
        share, seconds = np.mean(mine, axis=0).tolist()
        told = {who: np.mean(trials, axis=0).tolist() for who, trials in theirs.items()}
        best = max(value for value, _ in told.values())
        yield Line(
            "x",
            f"hidden cells filled in right: {name}, {whole.shape[0]:,} × {whole.shape[1]}; "
            + ", ".join(told),
            f"{share:.3f}, {seconds:.1f} s",
            "; ".join(f"{value:.3f}, {took:.1f} s" for value, took in told.values()),
            f"{share - best:+.3f}",
            "",
            None,
            {"ours": mine, "theirs": theirs},
        )


def read_codes(name: str) -> Codes:
    """Read a table as numbers of states, column by column."""
    cells = np.loadtxt(DATA / f"{name}.csv", dtype=str, delimiter=",", skiprows=1)
    columns = [np.unique(column, return_inverse=True)[1] for column in cells.T]
    return np.column_stack(columns).astype(np.float64)


def _trial(way: Way, whole: Codes, seed: int) -> tuple[float, float]:
    """Share of the hidden cells that are filled in right, and CPU seconds."""
    hidden = np.random.default_rng([seed, 15]).random(whole.shape) < HIDDEN
    began = time.process_time()
    filled = way(np.where(hidden, np.nan, whole))
    took = time.process_time() - began
    return float((filled == whole)[hidden].mean()), took
