"""(j): latent class models through the general engine, against the engine that knew nothing else.

The old package is taken out of the repository's history into a temporary folder, and both sides run
in child processes that differ only in where `lacunet` comes from.
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.networks.before_child import CASES
from bench.peer import Peers
from bench.peers_env import ROOT
from bench.report import Line, as_long, skipped

COMMIT = "7eb6f97"  # the last one before networks of any shape
LIMIT = 1.3  # times as long
ROUNDS = 3


def run(peers: Peers, quick: bool) -> Iterator[Line]:
    old = peers.folder / "before"
    reason = _take_out(old)
    title = f"EM iteration, ours now and before (commit {COMMIT})"
    if reason:
        yield skipped("j", title, reason)
        return
    sides = {"now": ROOT / "src", "before": old / "src"}
    for source in sides.values():
        _child(source, "--warm")
    answers: dict[str, list[dict[str, Any]]] = {side: [] for side in sides}
    for _ in range(1 if quick else ROUNDS):
        for side, source in sides.items():
            answers[side].append(_child(source))
    for case in CASES:
        trials = {
            side: [seconds for answer in found for seconds in answer[case.name]["seconds"]]
            for side, found in answers.items()
        }
        yield as_long(
            "j",
            f"EM iteration, now and at commit {COMMIT}: {case.title} ({case.name})",
            min(trials["now"]),
            min(trials["before"]),
            LIMIT,
            ours_trials=trials["now"],
            their_trials=trials["before"],
            log_likelihoods={
                side: found[0][case.name]["log_lik"] for side, found in answers.items()
            },
        )


def _take_out(folder: Path) -> str | None:
    """Unpack the old package; say why that cannot be done, if so."""
    try:
        done = subprocess.run(
            ["git", "archive", "--format=zip", COMMIT, "src"],
            cwd=ROOT,
            check=False,
            capture_output=True,
        )
    except OSError:
        return "git, to take the old engine out of the history, is not here"
    if done.returncode:
        return f"the history here does not hold commit {COMMIT} (a shallow clone?)"
    with zipfile.ZipFile(io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder)
    return None


def _child(source: Path, *options: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "bench.networks.before_child", str(source), *options],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(source)},
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no message"])[-1])
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
