"""What is too large for 2 GB of memory ends in an answer or a sentence, within a stated time.

`python -m robust.limits` (in tests/), or `make limits`, prints a table of the page of promises.
"""

import contextlib
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

MEMORY = 2 << 30  # bytes of address space, as `ulimit -v` counts them
QUICK = ("--starts", "1", "--threads", "1")


@dataclass(frozen=True)
class Case:
    """Something large."""

    title: str
    make: Callable[[], None]  # writes its files here
    words: tuple[str, ...]  # of the command
    seconds: float  # of processor time that it may take


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    code: int  # 0: an answer; 2: a sentence; all else is lost
    seconds: float  # of processor time
    said: str  # the last line

    @property
    def kept(self) -> bool:
        return self.code in (0, 2)


def _many_rows() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({name: rng.integers(0, 3, 10_000_000, np.int8) for name in "abc"})
    frame.write_csv("data.csv")


def _many_states() -> None:
    rng = np.random.default_rng(0)
    codes = rng.permutation(np.repeat(np.arange(60_000), 3))
    frame = pl.DataFrame({"a": codes, "b": codes % 2, "c": rng.integers(0, 2, len(codes))})
    frame.with_columns(pl.format("s{}", "a").alias("a")).write_csv("data.csv")


def _few_rows() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({f"x{i}": rng.integers(0, 3, 2_000, np.int8) for i in range(10)})
    frame.write_csv("data.csv")


def _a_large_clique() -> None:
    """Forty hidden variables, each pair of which has a child: all of them in one clique."""
    hidden = [f"h{i}" for i in range(40)]
    pairs = [(i, j) for i in range(40) for j in range(i)]
    lines = ["network large {\n}"]
    seen = [f"x{i}_{j}" for i, j in pairs]
    for name in (*hidden, *seen):
        mark = "  property hidden = true ;\n" if name in hidden else ""
        lines.append(f"variable {name} {{\n  type discrete [ 2 ] {{ 0, 1 }};\n{mark}}}")
    lines += [f"probability ( {h} ) {{\n  table 0.5, 0.5;\n}}" for h in hidden]
    lines += [
        f"probability ( {name} | h{i}, h{j} ) {{\n  default 0.5, 0.5;\n}}"
        for name, (i, j) in zip(seen, pairs, strict=True)
    ]
    Path("large.bif").write_text("\n".join(lines))
    rng = np.random.default_rng(0)
    pl.DataFrame({name: rng.integers(0, 2, 50, np.int8) for name in seen}).write_csv("data.csv")


FIT = ("fit", "data.csv")
CASES = (
    Case("10⁷ rows", _many_rows, (*FIT, "--states", "2", *QUICK), 120),
    Case("a column of 60,000 states", _many_states, (*FIT, "--states", "2", *QUICK), 120),
    Case("500 hidden states", _few_rows, (*FIT, "--states", "500", *QUICK), 300),
    Case(
        "`--states 1:200`",
        _few_rows,
        ("select", "data.csv", "--states", "1:200", "--quick", "--scores", "bic", *QUICK),
        900,
    ),
    Case(
        "a clique of 40 hidden variables",
        _a_large_clique,
        (*FIT, "--network", "large.bif", *QUICK),
        120,
    ),
)


def run(case: Case) -> Outcome:
    """Run a case in a folder of its own, with little memory."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (int(case.seconds), int(case.seconds) + 5))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        case.make()
        began = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, "-m", "lacunet", *case.words],
            capture_output=True,
            text=True,
            preexec_fn=limit,
            check=False,
        )
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = ended.ru_utime + ended.ru_stime - began.ru_utime - began.ru_stime
    lines = [line for line in done.stderr.splitlines() if line.startswith("error:")]
    message = lines[-1].removeprefix("error: ") if lines else done.stderr.strip()[-200:]
    return Outcome(done.returncode, seconds, "an answer" if done.returncode == 0 else message)


def main() -> None:
    sys.stdout.write(
        "| what | processor time, at most | measured | result |\n|---|---:|---:|---|\n"
    )
    lost = 0
    for case in CASES:
        ran = run(case)
        lost += not ran.kept
        what = ran.said if ran.kept else f"**exit code {ran.code}**: {ran.said}"
        sys.stdout.write(
            f"| {case.title} | {case.seconds:.0f} s | {ran.seconds:.0f} s | {what} |\n"
        )
        sys.stdout.flush()
    sys.exit(lost > 0)


if __name__ == "__main__":
    main()
