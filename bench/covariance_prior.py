"""Which prior of covariances says most about rows held out, and finds known classes.

    python -m bench.covariance_prior priors.jsonl         try priors on all tables; can be resumed
    python -m bench.covariance_prior priors.jsonl --show  summarise what is there

Each table is split into three quarters to learn and one to predict. For each prior, Lacunet fits
1 to 4 classes and chooses a number by its score; the result is the log density of the rows held
out, at that number, and the adjusted Rand index where classes are known. A prior is SHAPE:SCALE.
Shapes of what is expected within classes: own (the identity, in standard deviations of columns),
total (0.9 of the correlations of all rows, 0.1 of the identity), unexplained (the share of each
variance that the other columns leave), before (the identity whatever the number of columns: the
default up to version 0.2). Scales are those of --number-prior. CSV files of numbers: --folder.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.metrics import adjusted_rand_score

import lacunet
from lacunet.inference import leaves
from lacunet.inference.leaves import unexplained

FloatArray = np.ndarray[Any, np.dtype[np.float64]]
Shape = Callable[[FloatArray, FloatArray], FloatArray]

CLASSES = range(1, 5)
STARTS = 6
HELD_OUT = 4  # a row of so many
PRIORS = (
    "before:1",
    "own:0.9",
    "total:0.9",
    "unexplained:0.3",
    "unexplained:1",
    "unexplained:3",
)


class Labelled(NamedTuple):
    """A table of numbers, and the classes of its rows where they are known."""

    name: str
    x: FloatArray  # (rows, columns)
    classes: FloatArray | None


def own(numbers: FloatArray, _counts: FloatArray) -> FloatArray:
    """As if columns had nothing to do with each other."""
    return np.eye(numbers.shape[1])


def before(numbers: FloatArray, _counts: FloatArray) -> FloatArray:
    """The same for any number of columns: what the degrees would make larger is taken back."""
    d = numbers.shape[1]
    return np.eye(d) * 3.0 / (d + 2.0)


def total(numbers: FloatArray, counts: FloatArray) -> FloatArray:
    """As all rows vary together."""
    return 0.9 * np.corrcoef(numbers.T, fweights=counts.astype(int)) + 0.1 * own(numbers, counts)


SHAPES: dict[str, Shape] = {
    "own": own,
    "before": before,
    "total": total,
    "unexplained": unexplained,
}


def real_tables(folder: Path | None) -> Iterator[Labelled]:
    """Give tables that come with scikit-learn, and those of a folder."""
    for path in sorted(folder.glob("*.csv")) if folder else ():
        frame = pd.read_csv(path).select_dtypes("number").drop(columns="fold", errors="ignore")
        yield Labelled(path.stem, frame.loc[:, frame.nunique() > 5].to_numpy(float), None)
    for name in ("iris", "wine"):
        found = getattr(datasets, f"load_{name}")()
        yield Labelled(name, found.data, found.target)
    digits = datasets.load_digits()
    few = digits.target < 4
    centred = digits.data[few] - digits.data[few].mean(axis=0)
    axes = np.linalg.svd(centred, full_matrices=False)[2]
    for d in (5, 12):
        yield Labelled(f"digits 0-3, {d} axes", centred @ axes[:d].T, digits.target[few])
    cancer = datasets.load_breast_cancer()
    for d in (10, 30):
        yield Labelled(f"breast cancer, {d} columns", cancer.data[:, :d], cancer.target)


def simulated_tables() -> Iterator[Labelled]:
    """Draw classes that overlap and that do not, with covariances of several sorts."""
    for d in (2, 5, 10, 20):
        for rows in (80, 300, 1000):
            for k, apart, alike in ((2, 1.5, False), (3, 3.0, False), (3, 1.5, True)):
                if rows >= 8 * d and not (rows == 1000 and d == 20):
                    yield drawn(d, rows, k, apart, alike=alike)


def drawn(d: int, rows: int, k: int, apart: float, *, alike: bool) -> Labelled:
    """Means are about `apart` standard deviations from each other, along a few directions."""
    rng = np.random.default_rng([d, rows, k, int(10 * apart), alike])
    z = rng.integers(0, k, rows)
    means = rng.standard_normal((k, d)) * apart / np.sqrt(2 * min(d, 4))
    roots = []
    for _ in range(1 if alike else k):
        a = rng.standard_normal((d, d + 2)) / np.sqrt(d + 2)
        sizes = np.exp(rng.normal(0.0, 0.5, d))
        root = np.linalg.cholesky(a @ a.T + 0.05 * np.eye(d))
        roots.append(sizes[:, None] * root)
    noise = rng.standard_normal((rows, d))
    x = means[z] + np.stack([roots[c % len(roots)] @ e for c, e in zip(z, noise, strict=True)])
    sort = "alike" if alike else "each its own"
    return Labelled(f"drawn: {d} columns, {rows} rows, {k} classes, {apart:g} apart, {sort}", x, z)


def tried(table: Labelled, covariance: str, prior: str) -> dict[str, Any]:
    """Learn, choose and predict under one prior."""
    order = np.random.default_rng(0).permutation(len(table.x))
    held, learned = order[: len(order) // HELD_OUT], order[len(order) // HELD_OUT :]
    frame = pd.DataFrame(table.x, columns=[f"x{j}" for j in range(table.x.shape[1])])
    shape, _, scale = prior.partition(":")
    began = time.perf_counter()
    with patch.object(leaves, "unexplained", SHAPES[shape]):
        found = lacunet.select(
            frame.iloc[learned],
            CLASSES,
            kinds=",".join(f"{name}=gaussian" for name in frame),
            covariance=covariance,
            number_prior=f"scale={scale}",
            quick=True,
            starts=STARTS,
            threads=1,
        )
    models = [c.model for c in found.candidates]
    agreed = []
    if table.classes is not None:
        rows = frame.iloc[learned]
        each = [lacunet.assign(rows, model).best for model in models]
        agreed = [float(adjusted_rand_score(table.classes[learned], own)) for own in each]
    return {
        "chosen": found.states,
        "held_out": [float(lacunet.log_likelihoods(frame.iloc[held], m).mean()) for m in models],
        "ari": agreed,
        "seconds": time.perf_counter() - began,
    }


def run(path: Path, priors: list[str], covariances: list[str], folder: Path | None) -> None:
    """Try what is not in the file yet."""
    done = {(r["table"], r["covariance"], r["prior"]) for r in read(path)}
    for table in (*simulated_tables(), *real_tables(folder)):
        true = None if table.classes is None else len(np.unique(table.classes))
        shape = {"rows": len(table.x), "columns": table.x.shape[1], "classes": true}
        for covariance in covariances:
            for prior in priors:
                if (table.name, covariance, prior) in done:
                    continue
                about = {"table": table.name, "covariance": covariance, "prior": prior, **shape}
                with path.open("a") as file:
                    file.write(json.dumps({**about, **tried(table, covariance, prior)}) + "\n")


def read(path: Path) -> list[dict[str, Any]]:
    """Read what was found."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def show(path: Path) -> None:
    """Print means over the tables that all priors were tried on, drawn and real."""
    frame = pd.DataFrame(read(path))
    frame["at_choice"] = [h[k - 1] for h, k in zip(frame.held_out, frame.chosen, strict=True)]
    for covariance, every in frame.groupby("covariance"):
        common = every.groupby("table").prior.transform("nunique") == every.prior.nunique()
        part = every[common].copy()
        best = part.groupby("table").at_choice.transform("max")
        part["behind"] = (best - part.at_choice) / part["columns"]  # nats a row and column
        part["right_k"] = np.where(part.classes.isna(), np.nan, part.chosen == part.classes)
        part["ari_true"] = [
            np.nan if not a or np.isnan(c) else a[min(int(c), len(a)) - 1]
            for a, c in zip(part.ari, part.classes, strict=True)
        ]
        part["sort"] = np.where(part.table.str.startswith("drawn"), "drawn", "real")
        print(f"\n{covariance}: {part.groupby('sort').table.nunique().to_dict()} tables")
        names = {"behind": ["mean", "max"], "right_k": "mean", "ari_true": "mean"}
        print(part.groupby(["sort", "prior"]).agg(names).round(3).to_string())


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("path", type=Path)
    asked.add_argument("--priors", nargs="+", default=PRIORS)
    asked.add_argument("--covariances", nargs="+", default=["full"])
    asked.add_argument("--folder", type=Path)
    asked.add_argument("--show", action="store_true")
    given = asked.parse_args()
    if not given.show:
        run(given.path, given.priors, given.covariances, given.folder)
    show(given.path)
