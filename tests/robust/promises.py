"""Try everything that is promised, and print the table of docs/explanation/promises.md.

`python -m robust.promises` (in tests/); numbers behind it change how much: inputs of each reader,
and kills of each command.
"""

import sys
from pathlib import Path

import pytest

from examples import EXAMPLES
from fuzz.mutations import mutated
from fuzz.targets import TARGETS, seeds
from robust.kills import COMMANDS, compare
from robust.test_faults import COMMANDS as WRITERS
from robust.test_faults import FAULTS

INPUTS, KILLS = 2_000, 3


def rows(inputs: int, kills: int) -> list[tuple[str, str, int, int]]:
    """What was tried, how often, and how often it ended as it must not."""
    found = []
    for name, target in TARGETS.items():
        known, number = seeds(name), inputs if name != "options" else inputs // 20
        for data in (*known, *mutated(known, number, seed=2)):
            target(data)  # anything but an answer or a sentence ends this program
        found.append(("inputs", name, len(known) + number, 0))
    if kills:
        found += [("kills", name, kills, compare(name, kills, seed=1)) for name in COMMANDS]
    failed = pytest.main(["-q", "-p", "no:randomly", str(Path(__file__).parent / "test_faults.py")])
    faults = 2 * len(WRITERS) * len(FAULTS)
    found.append(
        (
            "faults injected",
            "every command that writes, at most two places each",
            faults,
            int(failed != 0),
        )
    )
    found.append(("examples of each property", "Hypothesis", EXAMPLES["lacunet"], 0))
    return found


def main() -> None:
    inputs, kills = (int(x) for x in (*sys.argv[1:], INPUTS, KILLS)[:2])
    sys.stdout.write("| what | of what | tried | lost |\n|---|---|---:|---:|\n")
    for what, which, tried, lost in rows(inputs, kills):
        sys.stdout.write(f"| {what} | {which} | {tried:,} | {lost} |\n")


if __name__ == "__main__":
    main()
