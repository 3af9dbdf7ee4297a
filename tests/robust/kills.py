"""Kill commands at random moments, run them again, and compare with an undisturbed run.

`python -m robust.kills 100` (in tests/) kills each of them a hundred times, `make kills`; the tests
do it once or twice.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

ROWS = "a,b,c,d\n" + "".join(
    f"{'xy'[i % 2]},{'uv'[i // 2 % 2]},{'pqr'[i % 3]},{'mn'[i * i % 5 % 2]}\n" for i in range(60)
)
TOGETHER = 10  # kills of one run, before it is left to end
LONGEST = 30.0  # seconds until a kill: several times what a start takes
QUICK = ("--starts", "2", "--threads", "1")
COMMANDS = {
    "select": (
        *("select", "data.csv", "--states", "1:3", *QUICK),
        *("--resume", "way.jsonl", "--save", "out"),
    ),
    "evidence": (
        *("evidence", "data.csv", "--states", "2", "--method", "smc", "--target", "0.05"),
        *("--threads", "1", "--resume", "way.jsonl", "--save", "out.json"),
    ),
    "stack": (
        *("stack", "data.csv", "--folds", "2", "--only", "classes", "--threads", "1"),
        *("--resume", "way.jsonl", "--save", "out.json"),
    ),
    "learn": ("learn", "data.csv", "--threads", "1", "--resume", "way.json", "--save", "out.json"),
    "paper": ("paper", "--out", "out", "--models", "1", "--datasets", "1"),
}


@dataclass(frozen=True)
class Ended:
    """What a command left: its files by name, without times; and what it printed."""

    code: int
    files: dict[str, object]


def start(command: str, folder: Path) -> "subprocess.Popen[bytes]":
    words = [sys.executable, "-m", "lacunet", *COMMANDS[command]]
    message = folder / ("said.json" if "--json" in words else "said.txt")
    with message.open("wb") as out:
        return subprocess.Popen(
            words, cwd=folder, env=dict(os.environ), stdout=out, stderr=subprocess.DEVNULL
        )


def left(folder: Path) -> dict[str, object]:
    """Everything in a folder, but for what says how long it took."""
    results: dict[str, object] = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and p.name != "data.csv"):
        name = str(path.relative_to(folder))
        if path.suffix == ".json":
            results[name] = _timeless(json.loads(path.read_text(encoding="utf-8")))
        elif path.suffix == ".jsonl":
            *lines, _cut_off = path.read_text(encoding="utf-8").split("\n")
            results[name] = sorted(json.dumps(_timeless(json.loads(x))) for x in lines)
        else:
            results[name] = path.stat().st_size > 0
    return results


def _timeless(document: object) -> object:
    if isinstance(document, dict):
        return {k: _timeless(v) for k, v in document.items() if k not in ("seconds", "cpu")}
    if isinstance(document, list):  # a mapping is kept as pairs
        return [_timeless(x) for x in document if not _is_time(x)]
    return document


def _is_time(x: object) -> bool:
    return isinstance(x, list) and len(x) == 2 and x[0] == "seconds"


def fresh(root: Path) -> Path:
    folder = Path(tempfile.mkdtemp(dir=root))
    (folder / "data.csv").write_text(ROWS)
    return folder


def undisturbed(command: str, root: Path) -> tuple[Ended, float]:
    """Run a command to its end; also say how long it takes."""
    folder, began = fresh(root), time.monotonic()
    code = start(command, folder).wait(timeout=600)
    return Ended(code, left(folder)), time.monotonic() - began


def killed(command: str, root: Path, moments: Sequence[float]) -> Ended:
    """Kill a command after so many seconds, again and again; then let it end in the same folder."""
    folder = fresh(root)
    for after in moments:
        process = start(command, folder)
        time.sleep(after)
        process.send_signal(signal.SIGKILL)
        process.wait()
        for message in folder.glob("said.*"):
            message.unlink()
        left(folder)  # whatever has its name is whole: it can be read
    code = start(command, folder).wait(timeout=1200)
    ended = Ended(code, left(folder))
    shutil.rmtree(folder)
    return ended


def compare(command: str, kills: int, seed: int = 0) -> int:
    """Kill a command so many times; give how many ends were not those of the undisturbed run."""
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as root:
        expected, seconds = undisturbed(command, Path(root))
        assert expected.code == 0, command
        # Where work goes on, kills that follow each other soon meet all of it.
        moments = rng.uniform(0.1, 1.0, kills) * min(seconds, LONGEST)
        lots = np.array_split(moments, -(-kills // TOGETHER))
        return sum(killed(command, Path(root), lot.tolist()) != expected for lot in lots)


if __name__ == "__main__":
    number = int(sys.argv[1])
    for name in sys.argv[2:] or COMMANDS:
        others = compare(name, number)
        sys.stdout.write(f"{name}: {number} kills, {others} ended otherwise\n")
        sys.stdout.flush()
        if others:
            sys.exit(1)
