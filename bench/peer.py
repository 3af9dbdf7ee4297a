"""Their side: hand a case to run_peer.py in its own environment, and read what it measured."""

from __future__ import annotations

import json
import subprocess
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from bench.cases import Case
from bench.peers_env import ROOT, PeersEnv, peers_env

PEERS = ("stepmix", "polca")
NAMES = {"stepmix": "StepMix", "polca": "polca"}
CALL_AT_MOST = 120.0  # seconds


class Peers:
    """The peers that can be had here; every call is a process of its own."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    @cached_property
    def environment(self) -> PeersEnv | str:
        return peers_env()

    def why_not(self, peer: str) -> str | None:
        """Say why a peer cannot be run, if so."""
        if isinstance(self.environment, str):
            return self.environment
        return self.environment.missing.get(peer)

    def iterations(
        self, peer: str, case: Case, iterations: int, *, repeats: int, integer_codes: bool = False
    ) -> dict[str, Any]:
        """Run exactly so many EM iterations from the case's start."""
        options = ["--repeats", str(repeats), *(["--integer-codes"] if integer_codes else [])]
        return self._call(peer, self._input(case, "iterations", iterations), options, CALL_AT_MOST)

    def starts(self, peer: str, case: Case, starts: int, limit: float) -> dict[str, Any]:
        """Run the peer's own search; "skipped" in the answer where it takes longer than `limit`."""
        return self._call(peer, self._input(case, "starts", starts), [], limit)

    def _input(self, case: Case, mode: str, number: int) -> Path:
        path = self.folder / f"{case.name}-{case.rows}-{mode}-{number}.npz"
        if not path.exists():
            np.savez(
                path,
                codes=case.codes,
                states=np.full(case.leaves, case.states),
                weights=case.weights,
                mode=mode,
                iterations=number,
                starts=number,
                seed=0,
                **{f"theta_{j}": table.T for j, table in enumerate(case.tables)},
            )
        return path

    def _call(self, peer: str, path: Path, options: list[str], limit: float) -> dict[str, Any]:
        reason = self.why_not(peer)
        if reason or isinstance(self.environment, str):
            return {"peer": peer, "skipped": reason}
        script = ROOT / "bench" / "peers" / "run_peer.py"
        command = [str(self.environment.python), str(script), peer, str(path), *options]
        try:
            done = subprocess.run(
                command, check=False, capture_output=True, text=True, timeout=limit
            )
        except subprocess.TimeoutExpired:
            return {"peer": peer, "skipped": f"stopped after {limit:.0f} s", "limit": limit}
        if done.returncode:
            said = done.stderr.strip().splitlines() or ["no message"]
            return {"peer": peer, "skipped": f"it failed: {said[-1]}"}
        answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return answer


def best(answers: dict[str, list[dict[str, Any]]], key: str) -> dict[str, float]:
    """The smallest time of each peer that gave any."""
    times = {peer: [a[key] for a in given if "skipped" not in a] for peer, given in answers.items()}
    return {peer: min(found) for peer, found in times.items() if found}
