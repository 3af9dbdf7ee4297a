"""Their side: hand a case to a script in the peers' environment, and read what it measured."""

from __future__ import annotations

import json
import os
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
        path = self._input(case, "iterations", iterations)
        return self._call(peer, [peer, str(path), *options], CALL_AT_MOST)

    def starts(self, peer: str, case: Case, starts: int, limit: float) -> dict[str, Any]:
        """Run the peer's own search; "skipped" in the answer where it takes longer than `limit`."""
        return self._call(peer, [peer, str(self._input(case, "starts", starts))], limit)

    def shipped(self, name: str) -> dict[str, Any]:
        """Give a network that pgmpy ships, such as alarm, as BIF text, key "bif"."""
        return self._call("pyagrum", ["shipped", name], CALL_AT_MOST, "run_pyagrum.py")

    def pyagrum(self, task: str, path: Path, *options: str, limit: float) -> dict[str, Any]:
        """Let run_pyagrum.py do a task on its input."""
        return self._call("pyagrum", [task, str(path), *options], limit, "run_pyagrum.py")

    def pgmpy(self, path: Path, limit: float) -> dict[str, Any]:
        """Let run_pgmpy.py climb on its input."""
        return self._call("pgmpy", [str(path)], limit, "run_pgmpy.py")

    def numbers(self, path: Path, limit: float) -> dict[str, Any]:
        """Let StepMix run EM iterations on numbers."""
        return self._call("stepmix", [str(path)], limit, "run_numbers.py")

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

    def _call(
        self, peer: str, arguments: list[str], limit: float, script: str = "run_peer.py"
    ) -> dict[str, Any]:
        reason = self.why_not(peer)
        if reason or isinstance(self.environment, str):
            return {"peer": peer, "skipped": reason}
        command = [self.environment.python, ROOT / "bench" / "peers" / script, *arguments]
        # Where warnings are errors, pyAgrum ends its process while it loads.
        calm = {k: v for k, v in os.environ.items() if k != "PYTHONWARNINGS"}
        try:
            done = subprocess.run(
                command, check=False, capture_output=True, text=True, timeout=limit, env=calm
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
