"""(k): a million rows of ALARM: components, an E step, memory; and how these grow with the rows."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench.networks.alarm import FILE, alarm, draw
from bench.peer import Peers
from bench.report import Line, as_long, megabytes, skipped, within

ROWS = (100_000, 1_000_000)
QUICK_ROWS = (20_000, 200_000)
MISSING = 0.05
LIMIT = 1.5  # times as long per component, and per cell of their tables


def run(peers: Peers, quick: bool) -> Iterator[Line]:
    few, many = QUICK_ROWS if quick else ROWS
    title = f"ALARM, {many:,} rows, {MISSING:.0%} missing"
    network = alarm(peers)
    if isinstance(network, str):
        yield skipped("k", title, network)
        return
    codes = draw(network, many, MISSING)
    found = {}
    for rows in (few, many):
        path = peers.folder / "alarm-codes.npy"
        np.save(path, codes[:rows])
        found[rows] = _child(peers.folder / FILE, path)
    one, ten = found[few], found[many]
    yield within(
        "k",
        f"once: {ten['components']:,} distinct components of {ten['distinct_rows']:,} distinct"
        f" rows; {title}",
        ten["building"],
        None,
        **ten,
    )
    yield within("k", "  before that: distinct rows", ten["counting"], None)
    yield within("k", f"  E step, {ten['cells']:,} cells of joint tables", ten["e_step"], None)
    yield _memory(ten)
    for unit in ("components", "cells"):
        yield as_long(
            "k",
            f"  E step per {unit[:-1]}: {ten[unit]:,} against {one[unit]:,} ({few:,} rows)",
            ten["e_step"] / ten[unit],
            one["e_step"] / one[unit],
            LIMIT,
        )
    yield as_long(
        "k",
        f"  building, {many:,} rows against {few:,}",
        ten["building"],
        one["building"],
        None,
        few=one,
    )


def _memory(found: dict[str, Any]) -> Line:
    """Peak above what was resident before the data came, against the encoded table."""
    peak = found["peak"] - found["before"]
    return Line(
        "k",
        "  peak memory: codes, distinct rows, components, E step; the encoded table",
        megabytes(peak),
        megabytes(found["encoded"]),
        f"{peak / found['encoded']:.3g} × the table",
        raw=found,
    )


def _child(network: Path, codes: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "bench.networks.million_child", str(network), str(codes)],
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no message"])[-1])
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
