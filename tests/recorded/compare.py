"""Run everything anew and hold it against what was recorded: `python tests/recorded/compare.py`.

Numbers must agree to a relative 1e-12 (absolute near 0), texts exactly, and nothing may be missing
or new. What is meant to differ is listed in `EXPECTED`, one by one. Exits with 1 if anything else
differs.
"""

import argparse
import json
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from record import FORMAT, record, versions

RECORDED = Path(__file__).with_name("recorded.json")
TOLERANCE = 1e-12
SHOWN = 5  # differences of one run that are printed

WITHIN_ERROR = "within its standard error"  # both have one: at most three of the difference's apart
SAMPLING = "how it was sampled"  # what only describes the sampling (its keys: SAMPLED)
NEW_TEXT = "new text"  # a text may be another one; numbers may not
HOW = (WITHIN_ERROR, SAMPLING, NEW_TEXT)
FAR = 3.0  # standard errors
SAMPLED = {"stderr", "lower_stderr", "upper_stderr", "ess", "details", "steps", "chains", "used"}
# (run, path or the beginning of one, keys joined by " > "): (how it may differ, reason).
# As narrow as can be, and never a whole run: an entry must not hide what nobody thought of.
EXPECTED: dict[tuple[str, str], tuple[str, str]] = {}


@dataclass(frozen=True)
class Difference:
    """One place where the two are not the same."""

    path: tuple[str, ...]
    old: object
    new: object
    what: str  # "number", "text", "kind", "missing" or "added"
    errors: float | None = None  # standard errors between two numbers that have one

    @property
    def relative(self) -> float:
        """Size of a change of a number; anything else counts as infinite."""
        if self.what != "number":
            return math.inf
        return abs(self.new - self.old) / max(abs(self.old), abs(self.new))

    @property
    def place(self) -> str:
        return " > ".join(self.path)

    def words(self, errors: bool) -> str:
        if self.what in ("missing", "added"):
            return f"{self.place}: {self.what}"
        size = f" (relative {self.relative:.2g})" if self.what == "number" else ""
        if errors and self.errors is not None:
            size += f" ({self.errors:.2g} standard errors)"
        return f"{self.place}: {_short(self.old)} -> {_short(self.new)}{size}"


def _short(value: object) -> str:
    found = repr(value)
    return found if len(found) <= 100 else f"{found[:97]}..."


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def differences(
    old: object, new: object, path: tuple[str, ...] = (), errors: float | None = None
) -> Iterator[Difference]:
    """Walk through both at once."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            here = (*path, key)
            if key not in new:
                yield Difference(here, old[key], None, "missing")
            elif key not in old:
                yield Difference(here, None, new[key], "added")
            else:
                yield from differences(old[key], new[key], here, standard_error(old, new, key))
    elif isinstance(old, list) and isinstance(new, list):
        for i in range(max(len(old), len(new))):
            here = (*path, str(i))
            if i >= len(new):
                yield Difference(here, old[i], None, "missing")
            elif i >= len(old):
                yield Difference(here, None, new[i], "added")
            else:
                yield from differences(old[i], new[i], here)
    elif is_number(old) and is_number(new):
        if not math.isclose(old, new, rel_tol=TOLERANCE, abs_tol=TOLERANCE):
            apart = abs(new - old) / errors if errors else None
            yield Difference(path, old, new, "number", apart)
    elif type(old) is not type(new):
        yield Difference(path, old, new, "kind")
    elif old != new:
        yield Difference(path, old, new, "text" if isinstance(old, str) else "kind")


def standard_error(old: dict, new: dict, key: str) -> float | None:
    """Of the difference of two estimates, whose own errors stand beside them."""
    for name in (f"{key}_stderr", "stderr"):
        pair = (old.get(name), new.get(name))
        if name != key and all(map(is_number, pair)):
            return math.hypot(*pair)
    return None


def expected(run: str, found: Difference) -> tuple[str, str] | None:
    """The entry of EXPECTED that excuses a difference."""
    for (where, path), (how, _) in EXPECTED.items():
        keys = tuple(path.split(" > "))
        if (where, keys) != (run, found.path[: len(keys)]):
            continue
        allowed = {
            WITHIN_ERROR: found.errors is not None and found.errors <= FAR,
            SAMPLING: found.what == "number" and not SAMPLED.isdisjoint(found.path),
            NEW_TEXT: found.what == "text",
        }
        if allowed[how]:
            return where, path
    return None


def check_expected(runs: dict) -> None:
    """Refuse entries that would hide more than one thing that somebody thought of."""
    for (run, path), (how, reason) in EXPECTED.items():
        if run not in runs or not path or how not in HOW or not reason:
            raise SystemExit(f"EXPECTED: {run!r}, {path!r}: {how!r} needs a run, a path, a reason.")


def compare(old: dict, new: dict, errors: bool) -> bool:
    """Print a line for each run, and the first differences; whether all is as it should be."""
    good, used = True, set()
    width = max(map(len, [*old, *new]))
    for name in dict.fromkeys([*old, *new]):
        if name not in new or name not in old:
            good = False
            say(f"{name:{width}}  {'not run' if name in old else 'not recorded'}")
            continue
        found = list(differences(old[name], new[name]))
        excuses = [expected(name, d) for d in found]
        used.update(e for e in excuses if e)
        left = [d for d, e in zip(found, excuses, strict=True) if not e]
        good &= not left
        say(f"{name:{width}}  {verdict(found, left)}")
        # What is missing or another text first, then the largest changes.
        for d in sorted(left, key=lambda d: -d.relative)[:SHOWN]:
            say(f"    {d.words(errors)}")
    for run, path in EXPECTED.keys() - used:
        say(f"EXPECTED has an entry that nothing needs any more: {run}, {path}")
    return good


def verdict(found: list[Difference], left: list[Difference]) -> str:
    excused = f", {len(found) - len(left)} as expected" if len(found) > len(left) else ""
    if not left:
        return f"equal{excused}"
    numbers = [d.relative for d in left if d.what == "number"]
    missing = sum(d.what in ("missing", "added") for d in left)
    words = [f"{len(left)} differ{excused}"]
    words += [f"largest relative difference {max(numbers):.2g}"] if numbers else []
    words += [f"{missing} missing or added"] if missing else []
    return "; ".join(words)


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def load(path: Path) -> dict:
    document = json.loads(path.read_text(encoding="utf-8"))
    if document.get("format") != FORMAT:
        raise SystemExit(f"{path}: no recorded runs ({FORMAT}).")
    return document


def main() -> None:
    """Compare, and exit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recorded", type=Path, nargs="?", default=RECORDED, help="what it was")
    parser.add_argument("--with", dest="other", type=Path, help="a recorded file; nothing is run")
    parser.add_argument("--only", metavar="NAME", action="append", help="only this run; repeatable")
    parser.add_argument(
        "--within-errors",
        action="store_true",
        help="say how many standard errors a number moved that has one",
    )
    given = parser.parse_args()
    old = load(given.recorded)
    check_expected(old["runs"])
    was = {k: v for k, v in old["runs"].items() if not given.only or k in given.only}
    new = load(given.other) if given.other else record(given.only)
    for name, version in new.get("versions", versions()).items():
        if old["versions"].get(name) != version:
            say(f"note: {name} was {old['versions'].get(name)}, is {version}")
    now = {k: v for k, v in new["runs"].items() if not given.only or k in given.only}
    good = compare(was, now, given.within_errors)
    say("everything is as it was" if good else "not everything is as it was")
    raise SystemExit(0 if good else 1)


if __name__ == "__main__":
    main()
