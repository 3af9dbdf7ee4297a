"""Which strength of the prior: calibration over data that no Dirichlet prior made.

Class weights are even, or fall geometrically to 1/k² for the smallest. Profiles are logistic
normal: margins of an item that all classes share, N(0, 1), and what a class has besides, N(0, 2²)
where classes are separated and N(0, 0.7²) where they are vague. One walk over partitions measures
the evidence of 1 to 6 classes under every prior of a grid, so that any of them, and any average,
is judged on the same data sets. Each is a line of the file:

    python -m bench.priors run FILE --seed 1 --minutes 10
    python -m bench.priors table FILE
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import logsumexp, softmax

from lacunet.data.read import read_table
from lacunet.evidence.partitions.levels import WalkedPriors
from lacunet.evidence.partitions.walk import WalkGoal, walk_numbers
from lacunet.inference.problem import build_problem
from lacunet.models.latent_class import latent_class
from lacunet.models.prior import dirichlet

FloatArray = np.ndarray[Any, np.dtype[np.float64]]
ITEMS = 8
NUMBERS = (1, 2, 3, 4, 5, 6)
MOST = 5  # classes that there are
STRENGTHS = (0.25, 0.5, 1.0, 2.0, 4.0)
BOTH = (0.25, 0.5, 2.0)
SPREAD = {"separated": 2.0, "vague": 0.7}
# Exponents of profiles and of class weights.
PRIORS = [*((s, 1.0) for s in STRENGTHS), *((s, s) for s in BOTH)]
CHOICES = {
    "1": [(1.0, 1.0)],
    "½": [(0.5, 1.0)],
    "½, 1": [(0.5, 1.0), (1.0, 1.0)],
    "½, 1, 2": [(s, 1.0) for s in (0.5, 1.0, 2.0)],
    "¼, ½, 1, 2": [(s, 1.0) for s in (0.25, 0.5, 1.0, 2.0)],
    "the same, and of weights": [(s, s) for s in (0.25, 0.5, 1.0, 2.0)],
}


@dataclass(frozen=True)
class Cell:
    """What data sets have in common."""

    weights: str
    profiles: str
    levels: int
    rows: int
    missing: float

    def draw(self, k: int, rng: np.random.Generator) -> dict[str, list[str]]:
        """Draw a table of k classes."""
        sizes = np.ones(k) if self.weights == "even" else _falling(k)
        z = rng.choice(k, size=self.rows, p=sizes / sizes.sum())
        columns = {}
        for item in range(ITEMS):
            common = rng.normal(size=(1, self.levels))
            own = rng.normal(0.0, SPREAD[self.profiles], (k, self.levels))
            p = softmax(common + own, axis=1)
            x = (rng.random((self.rows, 1)) > p[z].cumsum(axis=1)).sum(axis=1)
            gone = rng.random(self.rows) < self.missing
            columns[f"item{item}"] = ["" if g else f"c{v}" for v, g in zip(x, gone, strict=True)]
        return columns


CELLS = [
    Cell(*cell)
    for cell in product(("even", "uneven"), tuple(SPREAD), (2, 5), (50, 500), (0.0, 0.15))
]


def _falling(k: int) -> FloatArray:
    """Weights that fall by a constant factor, the smallest 1/k² of all."""
    low, high = 1e-6, 1.0
    for _ in range(60):
        r = (low + high) / 2
        w = r ** np.arange(k)
        low, high = (r, high) if w[-1] / w.sum() < 1 / k**2 else (low, r)
    return np.asarray(w)


def measure(cell: Cell, k: int, seed: Sequence[int]) -> tuple[list[list[float]], bool]:
    """Log p(D|k, s) of each number of classes and prior, and whether chains agree."""
    table = read_table(cell.draw(k, np.random.default_rng(seed)))
    network = latent_class([(c.name, c.states) for c in table.columns], NUMBERS[-1])
    alphas = []
    for leaves, sizes in PRIORS:
        alpha = dirichlet(network, leaves)
        network.layout.table(alpha, network.hidden[0])[...] = sizes
        alphas.append(alpha)
    even = np.full(len(alphas), 1 / len(alphas))
    several = WalkedPriors(tuple(alphas), even, PRIORS.index((1.0, 1.0)))
    problem = build_problem(table, network, alphas[several.base])
    goal = WalkGoal(rounds=8, more_rounds=16)
    walk = walk_numbers(problem, NUMBERS, fits={}, guesses={}, goal=goal, several=several)
    assert walk.by_prior is not None
    return walk.by_prior.round(3).tolist(), not walk.notes


def run(file: Path, seed: int, minutes: float) -> None:
    """Draw and measure data sets, all cells in turn, until the time is over."""
    end, n = time.process_time() + 60 * minutes, 0
    with file.open("a", encoding="utf-8") as out:
        while time.process_time() < end:
            place, k = n % len(CELLS), 1 + (n // len(CELLS)) % MOST
            values, agreed = measure(CELLS[place], k, [seed, n])
            line = {"cell": place, "k": k, "values": values, "agreed": agreed}
            out.write(json.dumps(line) + "\n")
            out.flush()
            n += 1


def answers(row: Mapping[str, Any], priors: Sequence[tuple[float, float]]) -> FloatArray:
    """Probabilities of the numbers of classes, averaged over some priors."""
    places = [PRIORS.index(prior) for prior in priors]
    return np.asarray(softmax(logsumexp(np.array(row["values"])[:, places], axis=1)))


def table(file: Path) -> None:
    """Print, for each kind of data and each choice of priors, how calibrated the answers are."""
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    kinds = sorted({(c.profiles, c.rows, c.levels) for c in CELLS})
    print("| data | " + " | ".join(CHOICES) + " |\n|---|" + "---|" * len(CHOICES))
    for kind in [*kinds, None]:
        own = [r for r in rows if kind in (None, _kind(CELLS[r["cell"]]))]
        words = "all" if kind is None else f"{kind[0]}, {kind[1]} rows, {kind[2]} levels"
        judged = " | ".join(_judged(own, priors) for priors in CHOICES.values())
        print(f"| {words} ({len(own)}) | {judged} |")


def _kind(cell: Cell) -> tuple[str, int, int]:
    return cell.profiles, cell.rows, cell.levels


def _judged(rows: Sequence[Mapping[str, Any]], priors: Sequence[tuple[float, float]]) -> str:
    """Stated less right, and the mean log probability of the true number."""
    each = [(answers(row, priors), row["k"] - 1) for row in rows]
    stated = np.mean([p.max() for p, _ in each])
    right = np.mean([p.argmax() == k for p, k in each])
    log_p = np.mean([np.log(max(p[k], 1e-4)) for p, k in each])
    return f"{stated - right:+.2f}, {log_p:.2f}"


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("run", "table"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=10.0)
    args = parser.parse_args()
    if args.what == "run":
        run(args.file, args.seed, args.minutes)
    else:
        table(args.file)


if __name__ == "__main__":
    main()
