"""Try everything that is promised, and print the table of docs/explanation/promises.md.

`python -m robust.promises` (in tests/); numbers behind it change how much: inputs of each reader,
and kills of each command.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from examples import EXAMPLES
from fuzz.mutations import mutated
from fuzz.targets import TARGETS, seeds
from robust.kills import COMMANDS, compare
from robust.test_faults import COMMANDS as WRITERS
from robust.test_faults import FAULTS

INPUTS, KILLS = 2_000, 3


def rows(inputs: int, kills: int) -> Iterator[tuple[str, str, int, int]]:
    """What was tried, how often, and how often it ended as it must not; each as it is known."""
    for name, target in TARGETS.items():
        known, number = seeds(name), inputs if name != "options" else inputs // 20
        for data in (*known, *mutated(known, number, seed=2)):
            target(data)  # anything but an answer or a sentence ends this program
        yield "inputs", name, len(known) + number, 0
    for name in COMMANDS if kills else ():
        yield "kills", name, kills, compare(name, kills, seed=1)
    tests = [sys.executable, "-m", "pytest", "-q", str(Path(__file__).parent / "test_faults.py")]
    failed = subprocess.run(tests, stdout=subprocess.DEVNULL, check=False).returncode
    faults = 2 * len(WRITERS) * len(FAULTS)
    where = "every command that writes, at most two places each"
    yield "faults injected", where, faults, int(failed != 0)
    yield "examples of each property", "Hypothesis", EXAMPLES["lacunet"], 0


def main() -> None:
    inputs, kills = (int(x) for x in (*sys.argv[1:], INPUTS, KILLS)[:2])
    sys.stdout.write("| what | of what | tried | failed |\n|---|---|---:|---:|\n")
    for what, which, tried, lost in rows(inputs, kills):
        sys.stdout.write(f"| {what} | {which} | {tried:,} | {lost} |\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
