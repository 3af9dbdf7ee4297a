"""Random command lines on random small tables, and what must be true of every one.

`python -m fuzz.command_lines --first 0 --number 2000` (in tests/) tries many; one seed again:
`python -m fuzz.command_lines --first SEED --number 1 --keep FOLDER`.
"""

import argparse
import contextlib
import json
import math
import re
import shlex
import shutil
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner

from clocks import counted_time
from fuzz.drawn_lines import draw_scene, name_of, parameters_of
from lacunet.cli.app import COMMANDS, app

STEP = 0.002  # seconds between two readings of the clock, so that both runs stop at the same place
LIMIT = 300  # seconds that no command line on a small table needs, on a busy machine
# Numbers that the document and the text of a command both have.
KEYS = {
    "fit": ("log_likelihood",),
    "evidence": ("value",),
    "learn": ("log_evidence",),
    "lrt": ("statistic", "p_value"),
    "score": ("log_likelihood",),
    "simulate": (),
    "compare-missing": ("log_bayes_factor",),
}
NOT_A_NUMBER = re.compile(r"(?<![\w.])[-+−]?(?:nan|inf|infinity)(?![\w.])", re.IGNORECASE)
A_NUMBER = re.compile(r"(?<![\w.])[-−]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?(?![\w])")
PYTHON_WARNING = re.compile(r"\b\w*Warning\b: |Traceback|\.py:\d+")


class BrokenPromiseError(Exception):
    """A command line did what none may do."""


@dataclass(frozen=True)
class Ran:
    """How a command line ended."""

    code: int
    out: str
    err: str


def run_line(words: list[str], folder: Path) -> Ran:
    """Run a command line in this process; a warning is an error, and so is a defect."""
    with contextlib.chdir(folder), warnings.catch_warnings(), _limited(), counted_time(STEP):
        warnings.simplefilter("error")
        done = CliRunner().invoke(app, ["--debug", *words])
    if done.exit_code not in (0, 2):
        where = "".join(traceback.format_exception(done.exception)) if done.exception else ""
        raise BrokenPromiseError(f"exit code {done.exit_code}\n{done.output[-2000:]}\n{where}")
    return Ran(done.exit_code, done.stdout, done.stderr)


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    """Stop what never ends."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def stop(*_: object) -> None:
        raise TimeoutError(f"more than {LIMIT} seconds")

    usual = signal.signal(signal.SIGALRM, stop)
    signal.alarm(LIMIT)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, usual)


def contents(folder: Path) -> dict[str, bytes]:
    """Give what all files hold, links not followed."""
    files = [p for p in sorted(folder.rglob("*")) if p.is_file() and not p.is_symlink()]
    return {str(p.relative_to(folder)): p.read_bytes() for p in files}


def try_line(words: list[str], folder: Path, rng: np.random.Generator) -> int:
    """Run a line twice, as JSON and as a person reads it, and check all that must be true."""
    before = contents(folder)
    other = folder.with_name(f"{folder.name}-text")
    shutil.copytree(folder, other, symlinks=True)
    form = str(rng.choice(["text", "text", "text", "csv", "markdown", "latex"]))
    takes = parameters_of({name_of(c): c for c in COMMANDS}[words[0]])
    layout = ["--format", form] if "form" in takes else []
    json_run = run_line([words[0], "--json", *words[1:]], folder)
    text_run = run_line([words[0], *layout, *words[1:]], other)
    check_run(json_run, before, folder, words)
    check_run(text_run, before, other, words)
    if json_run.code != text_run.code:
        raise BrokenPromiseError(
            f"{json_run.code} with --json, else {text_run.code}\n{text_run.err}"
        )
    if json_run.code == 0:
        document = json.loads(json_run.out, parse_constant=_no_constant)
        _check_numbers(document)
        if form == "text":
            check_agreement(words, document, text_run.out)
    shutil.rmtree(other)
    return json_run.code


def check_run(ran: Ran, before: dict[str, bytes], folder: Path, words: list[str]) -> None:
    """Check what one run printed and wrote."""
    after = contents(folder)
    changed = {name for name, text in before.items() if after.get(name) != text}
    if changed and not (ran.code == 0 and "--overwrite" in words):
        raise BrokenPromiseError(f"inputs were changed: {', '.join(changed)}")
    if learned := PYTHON_WARNING.search(ran.err):
        raise BrokenPromiseError(f"stderr has {learned[0]!r}:\n{ran.err}")
    if ran.code == 2:
        _check_refusal(ran, set(after) - set(before) - {"new-resume.jsonl"})
        return
    for what, text in [("stdout", ran.out), ("stderr", ran.err), *_texts(after, before)]:
        if learned := NOT_A_NUMBER.search(text):
            around = text[max(learned.start() - 200, 0) : learned.end() + 100]
            raise BrokenPromiseError(f"{what} has {learned[0]!r}:\n{around}")


def _check_refusal(ran: Ran, new: set[str]) -> None:
    if ran.out:
        raise BrokenPromiseError(f"exit code 2, and on stdout:\n{ran.out}")
    if not re.search(r"error: |Error", ran.err):
        raise BrokenPromiseError(f"exit code 2 without a sentence:\n{ran.err}")
    if new:
        raise BrokenPromiseError(f"exit code 2, and {', '.join(new)} written:\n{ran.err}")


def _texts(after: dict[str, bytes], before: dict[str, bytes]) -> Iterator[tuple[str, str]]:
    """Give new files of text; a page has style and script of its own."""
    for name, content in after.items():
        if name not in before and name.endswith((".csv", ".tsv", ".md", ".tex", ".json")):
            text = content.decode("utf-8")
            if name.endswith(".json"):
                json.loads(text, parse_constant=_no_constant)
            yield name, text


def _no_constant(word: str) -> None:
    raise BrokenPromiseError(f"JSON has {word}")


def _check_numbers(value: Any) -> None:
    """Look for numbers that are none, as texts too."""
    match value:
        case dict():
            for inner in value.values():
                _check_numbers(inner)
        case list():
            for inner in value:
                _check_numbers(inner)
        case float() if not math.isfinite(value):
            raise BrokenPromiseError("a number of the JSON document is not finite")


def check_agreement(words: list[str], document: dict[str, Any], text: str) -> None:
    """Check that a person reads the numbers that a program gets."""
    if words[0] in ("select", "compare") and "--dry-run" not in words:
        posterior = document["posterior"][document["headline"]]
        best = max(posterior, key=lambda k: posterior[k])
        if best not in text.partition("\n")[0]:
            raise BrokenPromiseError(f"JSON has {best} for the most probable:\n{text}")
    tokens = [token.replace("−", "-").replace(",", "") for token in A_NUMBER.findall(text)]
    for number in _both(words[0], document):
        near = number != 0 and (abs(number) < 0.001 or 0.999 < number < 1.001)  # <0.001, >0.999
        if not near and not any(_shows(token, number) for token in tokens):
            raise BrokenPromiseError(f"JSON has {number}, and the text does not:\n{text}")


def _both(command: str, document: dict[str, Any]) -> list[float]:
    """Give numbers that a document and its text have both; those of a forecast are not here."""
    result: list[Any] = [document.get(name) for name in KEYS.get(command, ())]
    match command:
        case "score":
            result += [score["value"] for score in document["scores"].values()]
        case "select" | "compare":
            result += [c["log_likelihood"] for c in document.get("candidates", ())]
        case "assign":
            result += (document.get("classes") or {}).values()
        case "query":
            result += document.get("probabilities") or ()
    return [number for number in result if isinstance(number, int | float)]


def _shows(token: str, number: float) -> bool:
    """Whether a text is a number, rounded."""
    digits = token.partition("e")[0].partition(".")[2]
    return abs(float(token) - number) <= 0.501 * 10.0 ** -len(digits)


def try_seed(seed: int, keep: Path | None = None) -> int:
    """Try what a seed gives; a failure names it, and its command lines."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = (keep or Path(temporary)) / f"seed-{seed}"
        folder.mkdir(parents=True)
        scene = draw_scene(seed, folder)
        *first, last = scene.lines
        try:
            for line in first:
                run_line(line, folder)
            return try_line(last, folder, scene.rng)
        except Exception as error:
            lines = "\n".join(shlex.join(["lacunet", *line]) for line in scene.lines)
            raise BrokenPromiseError(f"seed {seed}:\n{lines}\n{error!r}\n{error}") from error


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m fuzz.command_lines")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--number", type=int, default=2000, help="of seeds")
    parser.add_argument("--keep", type=Path, help="folder to leave the files in")
    arguments = parser.parse_args()
    codes, failed = {0: 0, 2: 0}, 0
    for seed in range(arguments.first, arguments.first + arguments.number):
        try:
            codes[try_seed(seed, arguments.keep)] += 1
        except BrokenPromiseError as error:
            failed += 1
            sys.stderr.write(f"{error}\n{'-' * 80}\n")
    answers, refusals = codes.values()
    sys.stderr.write(f"{answers:,} answers, {refusals:,} refusals, {failed:,} broken promises\n")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
