"""`python -m studies truth`, `calibration` and `alternatives`."""

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lacunet.cli.console import Format, echo, progress, show
from lacunet.errors import LacunetError
from lacunet.paper.reproduce import FULL_MODELS
from lacunet.settings import Settings
from studies.alternatives.study import compare_alternatives
from studies.calibration.study import calibrate
from studies.truth.study import study

STUDIES: Mapping[str, Callable[..., Any]] = {
    "truth": study,
    "alternatives": compare_alternatives,
    "calibration": calibrate,
}
MEANINGS = {
    "truth": "Hold every score against the measured evidence, instead of against Laplace. Takes "
    "about an hour for each data set.",
    "alternatives": "Compare what the paper names beside what it uses: conjugate gradients with "
    "EM; supplemented EM, finite differences and likelihood-ratio tests with the exact Hessian.",
    "calibration": "Judge posteriors over the number of classes, and error bars of measured "
    "evidence, on data drawn from the prior and from others. Takes hours; --cells and --datasets "
    "make it shorter.",
}
CELLS = "Cell, as reference, or group: posteriors, verdicts or others. May be repeated."


def main(words: list[str] | None = None) -> int:
    """Run a study; it can be interrupted, and the same command goes on where it stopped."""
    given = vars(parser().parse_args(words))
    name, out, as_json = given.pop("study"), given.pop("out"), given.pop("json")
    if given.pop("full", False):
        given["models"] = max(given["models"], FULL_MODELS)
    if "cells" in given:
        given["cells"] = [c for text in given["cells"] for c in text.split(",")]
    try:
        settings = Settings(**{x: given.pop(x) for x in ("seed", "threads", "target", "budget")})
        line = _line(name, out, {**given, "seed": settings.seed}, settings)
        with progress() as listener:
            found = STUDIES[name](out, **given, settings=settings, command=line, listener=listener)
    except LacunetError as error:
        echo(f"error: {error}")
        return 2
    known = {"out": str(out), **given, "seed": settings.seed}
    show(found, {**known, **found.to_dict()}, Format.JSON if as_json else Format.TEXT)
    echo(f"written: {found.page}")
    return 0


def _line(name: str, out: Path, given: Mapping[str, Any], settings: Settings) -> str:
    """Write the command as the page shows it."""
    words = [f"python -m studies {name} --out {out}"]
    words += [f"--{x} {','.join(v) if isinstance(v, list) else v}" for x, v in given.items() if v]
    if name != "alternatives":
        words.append(f"--target {settings.target:g} --budget {settings.budget:g}s")
    return " ".join(words)


def parser() -> argparse.ArgumentParser:
    """Give the commands and their options."""
    parser = argparse.ArgumentParser("python -m studies", description=__doc__)
    studies = parser.add_subparsers(dest="study", required=True, metavar="STUDY")
    for name, meaning in MEANINGS.items():
        one = studies.add_parser(name, help=meaning, description=meaning)
        add = one.add_argument
        add("--out", type=Path, required=True, help="Folder for figures, tables and the page.")
        if name == "calibration":
            add("--datasets", type=int, help="Data sets of each cell (default: as it says).")
            add("--cells", action="append", default=[], help=CELLS, metavar="NAME")
        else:
            add("--models", type=int, default=1, help="Random models of each experiment.")
            add("--datasets", type=int, default=5, help="Data sets of each model.")
            add("--full", action="store_true", help=f"{FULL_MODELS} models.")
        add("--target", type=float, default=0.2, help="Standard error of an evidence, in nats.")
        add("--budget", default="20s", help="Time for an evidence: 60s, 5m, 1h, or seconds.")
        add("--seed", type=int, default=0, help="The same seed gives the same numbers.")
        add("--threads", type=int, help="Threads (default: one per core).")
        add("--json", action="store_true", help="Print JSON on stdout.")
    return parser


if __name__ == "__main__":
    sys.exit(main())
