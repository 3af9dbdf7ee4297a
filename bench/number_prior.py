"""Which weight of class means: calibration over Gaussian classes that no conjugate prior made.

Class weights are even, or fall geometrically to 1/k² for the smallest. In each column class means
are N(0, τ²), with τ = 3 where classes are separated and τ = 1 where they are vague; standard
deviations within classes are log-uniform from 0.5 to 2; 3 to 8 columns. Mixed tables have two to
four columns of categories besides, and 15 % of their cells missing. Columns may be skewed (a
lognormal within a class) or heavy-tailed (t with 3 degrees of freedom). `select` answers each data
set with every weight. Each answer is a line of the file:

    python -m bench.number_prior run FILE --seed 1 --minutes 10
    python -m bench.number_prior table FILE
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import softmax

import lacunet

FloatArray = np.ndarray[Any, np.dtype[np.float64]]
NUMBERS = range(1, 7)
MOST = 5  # classes that there are
MEANS = {"separated": 3.0, "vague": 1.0}
WEIGHTS = (0.01, 0.1, 0.25)


@dataclass(frozen=True)
class Cell:
    """What data sets have in common."""

    weights: str
    profiles: str
    shape: str = "normal"
    rows: int = 50
    mixed: bool = False

    @property
    def title(self) -> str:
        """What the cell is called."""
        kind = "mixed, 15 % missing" if self.mixed else self.shape
        return f"{self.rows} {kind}, {self.profiles}, {self.weights}"

    def draw(self, k: int, rng: np.random.Generator) -> tuple[dict[str, list[str | None]], str]:
        """Draw a table of k classes, and the kinds of its columns."""
        sizes = np.ones(k) if self.weights == "even" else _falling(k)
        z = rng.choice(k, size=self.rows, p=sizes / sizes.sum())
        columns, d = {}, int(rng.integers(3, 9))
        for j in range(d):
            mean = rng.normal(0.0, MEANS[self.profiles], k)
            sd = np.exp(rng.uniform(np.log(0.5), np.log(2.0), k))
            e = rng.normal(size=self.rows)
            if self.shape == "skewed":
                e = (np.exp(0.5 * e) - np.exp(0.125)) / 0.604
            elif self.shape == "heavy":
                e = rng.standard_t(3, self.rows) / 3**0.5
            columns[f"x{j}"] = [f"{x:.6g}" for x in mean[z] + sd[z] * e]
        if self.mixed:
            for j in range(int(rng.integers(2, 5))):
                levels = int(rng.integers(2, 5))
                own = rng.normal(0.0, 2.0 if self.profiles == "separated" else 0.7, (k, levels))
                p = softmax(rng.normal(size=(1, levels)) + own, axis=1)
                x = (rng.random((self.rows, 1)) > p[z].cumsum(axis=1)).sum(axis=1)
                columns[f"c{j}"] = [f"s{v}" for v in x]
            for name, own in columns.items():
                missing = rng.random(self.rows) < 0.15
                columns[name] = [None if gone else x for x, gone in zip(own, missing, strict=True)]
        return columns, ",".join(f"x{j}=gaussian" for j in range(d))


CELLS = [
    Cell(weights, profiles, rows=rows, mixed=mixed)
    for rows, mixed, weights, profiles in product(
        (50, 500), (False, True), ("even", "uneven"), tuple(MEANS)
    )
]
CELLS += [
    Cell("even", profiles, shape, rows)
    for rows, shape, profiles in product((50, 500), ("skewed", "heavy"), tuple(MEANS))
]


def _falling(k: int) -> FloatArray:
    """Weights that fall by a constant factor, the smallest 1/k² of all."""
    low, high = 1e-6, 1.0
    for _ in range(60):
        r = (low + high) / 2
        w = r ** np.arange(k)
        low, high = (r, high) if w[-1] / w.sum() < 1 / k**2 else (low, r)
    return np.asarray(w)


def answers(cell: Cell, k: int, seed: Sequence[int], weights: Sequence[float]) -> list[list[float]]:
    """Posterior over the numbers of classes with each weight."""
    columns, kinds = cell.draw(k, np.random.default_rng(seed))
    found = []
    for weight in weights:
        answer = lacunet.select(
            columns, NUMBERS, kinds=kinds, number_prior={"weight": weight}, starts=4
        )
        found.append([answer.certainty.probabilities[number] for number in NUMBERS])
    return found


def run(
    file: Path, seed: int, minutes: float, cells: Sequence[int], weights: Sequence[float]
) -> None:
    """Draw and answer data sets, all cells in turn, until the time is over."""
    end, n = time.process_time() + 60 * minutes, 0
    with file.open("a", encoding="utf-8") as out:
        while time.process_time() < end:
            place, k = cells[n % len(cells)], 1 + 3 * (n // len(cells)) % MOST
            found = answers(CELLS[place], k, [seed, place, n], weights)
            line = {"cell": place, "k": k, "p": dict(zip(map(str, weights), found, strict=True))}
            out.write(json.dumps(line) + "\n")
            out.flush()
            n += 1


def table(file: Path) -> None:
    """Print, for each weight and cell, what was stated and how often it was right."""
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    print("weight  cell                                    sets  log p(true)  stated  right")
    for weight in lines[0]["p"]:
        for place in (None, *sorted({line["cell"] for line in lines})):
            own = [line for line in lines if place in (None, line["cell"])]
            p = np.array([line["p"][weight] for line in own])
            true = np.array([line["k"] for line in own]) - 1
            right = float((p.argmax(axis=1) == true).mean())
            told = np.log(np.maximum(p[np.arange(len(own)), true], 1e-12)).mean()
            name = "all" if place is None else CELLS[place].title
            told_of = f"{len(own):5d} {told:12.2f} {p.max(axis=1).mean():7.2f} {right:6.2f}"
            print(f"{weight:7s} {name:38s} {told_of}")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--cells", type=int, nargs="*", default=list(range(len(CELLS))))
    parser.add_argument("--weights", type=float, nargs="*", default=list(WEIGHTS))
    args = parser.parse_args()
    if args.what == "table":
        table(args.file)
    else:
        run(args.file, args.seed, args.minutes, args.cells, args.weights)


if __name__ == "__main__":
    main()
