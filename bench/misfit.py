"""How often `select` warns that classes stand for something else, with a departure and without.

    python -m bench.misfit RESULTS [--sets 10] [--first 0] [--kinds pairs3,trait] [--quick] [--show]

Tables are drawn from seeds, sizes change from set to set, and a line is written for each, so that
a study that was stopped can be read. The table is in docs/explanation/misfit.md.
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import lacunet

Rng = np.random.Generator
Columns = dict[str, Any]
SIZES = (300, 600, 1000, 2000)


def _classes(rng: Rng, n: int, k: int) -> np.ndarray:
    return rng.choice(k, n, p=rng.dirichlet(np.full(k, 5.0)))


def _answers(rng: Rng, z: np.ndarray, k: int, levels: int, columns: int) -> np.ndarray:
    """Draw categories whose profiles are Dirichlet, sharper for few levels."""
    found = np.empty((len(z), columns), dtype=np.int64)
    for j in range(columns):
        p = rng.dirichlet(np.full(levels, 0.8), k)
        found[:, j] = (rng.random(len(z))[:, None] > np.cumsum(p, axis=1)[z]).sum(axis=1)
    return np.minimum(found, levels - 1)


def _holes(x: np.ndarray, gone: np.ndarray) -> list[str | None]:
    return [None if lost else str(value) for value, lost in zip(x, gone, strict=True)]


def pairs(rng: Rng, n: int, number: int) -> Columns:
    """Two classes; the second of each pair of columns copies the first in six cases of ten."""
    columns = 2 * number if number > 3 else 8
    z, levels = _classes(rng, n, 2), int(rng.integers(2, 4))
    x = _answers(rng, z, 2, levels, columns)
    for pair in range(number):
        copied = rng.random(n) < rng.uniform(0.5, 0.7)
        x[copied, 2 * pair + 1] = x[copied, 2 * pair]
    return {f"a{j}": x[:, j].astype(str) for j in range(columns)}


def numbers(rng: Rng, n: int, shape: str, columns: int | None = None) -> Columns:
    """Three classes of numbers: normal, with heavy tails, skewed, or correlated."""
    d = columns or int(rng.integers(3, 7))
    z, means = _classes(rng, n, 3), rng.normal(0.0, 2.0, (3, d))
    sd = rng.uniform(0.7, 1.3, (3, d))
    noise = rng.normal(size=(n, d))
    if shape == "heavy":
        noise = rng.standard_t(3, (n, d))
    elif shape == "skewed":
        noise = rng.gamma(1.5, size=(n, d)) - 1.5
    elif shape == "correlated":
        c = np.full((d, d), rng.uniform(0.5, 0.7)) + 0.0
        np.fill_diagonal(c, 1.0)
        noise = noise @ np.linalg.cholesky(c).T
    x = means[z] + sd[z] * noise
    return {f"x{j}": x[:, j] for j in range(d)}


def trait(rng: Rng, n: int) -> Columns:
    """Draw answers by one continuous trait: ten items of two levels, or eight graded ones."""
    t, graded = rng.normal(size=n), rng.random() < 0.3
    found: Columns = {}
    for j in range(8 if graded else 10):
        slope, levels = rng.lognormal(0.3, 0.3), 4 if graded else 2
        cuts = np.sort(rng.normal(0.0, 1.0, levels - 1))
        u = rng.logistic(size=n)
        found[f"i{j}"] = ((slope * t + u)[:, None] > slope * cuts).sum(axis=1).astype(str)
    return found


def categories(rng: Rng, n: int, missing: bool = False) -> Columns:
    """Two to four classes of answers with 2 to 5 levels, independent within them."""
    k, levels = int(rng.integers(2, 5)), int(rng.integers(2, 6))
    z = _classes(rng, n, k)
    x = _answers(rng, z, k, levels, 8)
    gone = rng.random(x.shape) < (0.15 if missing else 0.0)
    return {f"a{j}": _holes(x[:, j], gone[:, j]) for j in range(8)}


def mixed(rng: Rng, n: int) -> Columns:
    """Three classes of three numbers and four answers; 15 % of the cells missing."""
    z = _classes(rng, n, 3)
    x = _answers(rng, z, 3, 3, 4)
    y = rng.normal(0.0, 1.5, (3, 3))[z] + rng.normal(size=(n, 3))
    gone = rng.random((n, 7)) < 0.15
    found: Columns = {f"a{j}": _holes(x[:, j], gone[:, j]) for j in range(4)}
    return found | {f"x{j}": np.where(gone[:, 4 + j], np.nan, y[:, j]) for j in range(3)}


KINDS: dict[str, tuple[bool, Callable[[Rng, int], Columns]]] = {  # with a departure?
    "pairs3": (True, lambda rng, n: pairs(rng, n, 3)),
    "pairs6": (True, lambda rng, n: pairs(rng, n, 6)),
    "heavy": (True, lambda rng, n: numbers(rng, n, "heavy")),
    "skewed": (True, lambda rng, n: numbers(rng, n, "skewed")),
    "correlated": (True, lambda rng, n: numbers(rng, n, "correlated")),
    "trait": (True, trait),
    "categories": (False, categories),
    "numbers": (False, lambda rng, n: numbers(rng, n, "normal")),
    "mixed": (False, mixed),
    "missing": (False, lambda rng, n: categories(rng, n, missing=True)),
}


def tried(kind: str, seed: int, *, quick: bool) -> dict[str, Any]:
    """Select a number of classes, and give what it is warned of."""
    table, began = drawn(kind, seed), time.process_time()
    found = lacunet.select(table, range(1, 9), threads=1, quick=quick)
    misfit = found.misfit
    models = () if misfit is None else misfit.alternatives
    return {
        "kind": kind,
        "seed": seed,
        "rows": len(table),
        "classes": found.states,
        "warning": bool(misfit and misfit.warning(found.best.title)),
        "clear": bool(misfit and misfit.clear),
        "failed": [] if misfit is None else [check.name for check in misfit.failed],
        "models": [[a.departure.value, a.classes, round(a.log_bayes_factor, 1)] for a in models],
        "seconds": round(time.process_time() - began, 1),
    }


def main() -> None:
    """Run what is not there yet, or show what is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("--sets", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--quick", action="store_true", help="choose by scores, measure nothing")
    parser.add_argument("--show", action="store_true")
    asked = parser.parse_args()
    known = []
    if asked.results.exists():
        known = [json.loads(line) for line in asked.results.read_text().splitlines()]
    if asked.show:
        show(known)
        return
    there = {(r["kind"], r["seed"]) for r in known}
    for seed in range(asked.first, asked.first + asked.sets):
        for kind in asked.kinds.split(","):
            if (kind, seed) not in there:
                with asked.results.open("a") as file:
                    file.write(json.dumps(tried(kind, seed, quick=asked.quick)) + "\n")


def show(known: list[dict[str, Any]]) -> None:
    """Print a row for each kind."""
    print("| data | warned | by evidence | by checks | mostly as | classes chosen |")
    print("|---|---:|---:|---:|---|---|")
    for kind in KINDS:
        mine = [r for r in known if r["kind"] == kind]
        if not mine:
            continue
        warned = sum(r["warning"] for r in mine)
        models = [r["models"][0][0] for r in mine if r["clear"]]
        most = max(set(models), key=models.count) if models else "–"
        checks = sum(bool(r["failed"]) for r in mine)
        chosen = sorted(r["classes"] for r in mine)
        counted = f"{warned} of {len(mine)} | {len(models)} | {checks}"
        print(f"| {kind} | {counted} | {most} | {chosen[0]} to {chosen[-1]} |")


def drawn(kind: str, seed: int) -> pl.DataFrame:
    """Draw one table."""
    rng = np.random.default_rng([list(KINDS).index(kind), seed])
    found = pl.DataFrame(KINDS[kind][1](rng, SIZES[seed % len(SIZES)]), strict=False)
    return found.with_columns(pl.col(pl.Float64).fill_nan(None))


if __name__ == "__main__":
    main()
