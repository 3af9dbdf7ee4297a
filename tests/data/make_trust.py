"""A simulated survey on whom people trust, the bundled data set `trust`: its truth is known.

Invented answers: 1,200 people in 60 towns of 6 regions are simulated. `python make_trust.py FILE`
writes the file.
"""

import sys
from pathlib import Path

import numpy as np
import polars as pl

from lacunet.runtime.arrays import IntArray

ITEMS = ("courts", "parliament", "police", "press", "schools", "neighbours", "friends", "strangers")
ANSWERS = np.array(["low", "some", "high"])
# Of each class and item, p(low) and p(high).
LOW = np.array(
    [
        [0.05, 0.10, 0.05, 0.15, 0.05, 0.05, 0.03, 0.10],
        [0.60, 0.75, 0.40, 0.75, 0.40, 0.05, 0.03, 0.15],
        [0.80, 0.90, 0.75, 0.80, 0.70, 0.70, 0.50, 0.85],
    ]
)
HIGH = np.array(
    [
        [0.75, 0.60, 0.80, 0.50, 0.75, 0.70, 0.80, 0.50],
        [0.05, 0.03, 0.20, 0.03, 0.15, 0.75, 0.85, 0.40],
        [0.03, 0.02, 0.05, 0.03, 0.05, 0.05, 0.15, 0.02],
    ]
)
POLICE, MEN, DOUBTING = 2, 0, 1
SATISFACTION = np.array([7.2, 6.0, 4.3])  # means of the classes, of 0 to 10
VOTES = np.array([0.85, 0.70, 0.45])


def draw(seed: int = 5) -> tuple[pl.DataFrame, IntArray]:
    """Draw the people, and their classes."""
    rng = np.random.default_rng(seed)
    region, town = np.repeat(np.arange(6), 200), np.repeat(np.arange(60), 20)
    n = len(town)
    sex, age = rng.integers(0, 2, n), rng.integers(18, 86, n)
    education = rng.choice(3, n, p=[0.3, 0.45, 0.25])
    mood = rng.normal(0.0, 0.5, 60)[town]  # people of one town are alike
    doubting = 0.2 - 0.015 * (age - 50) + mood
    withdrawn = -0.3 - 0.9 * education + 0.7 + mood
    odds = np.exp(np.column_stack([np.zeros(n), doubting, withdrawn]))
    shares = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)
    group = (rng.random((n, 1)) > shares[:, :2]).sum(axis=1)
    low, high = LOW[group].copy(), HIGH[group].copy()
    apart = (sex == MEN) & (group == DOUBTING)  # what the police means to them is something else
    low[apart, POLICE], high[apart, POLICE] = 0.1, 0.6
    u = rng.random((n, len(ITEMS)))
    code = np.where(u < low, 0, np.where(u > 1.0 - high, 2, 1))
    columns: dict[str, object] = {
        "id": np.arange(1, n + 1),
        "region": np.array(["north", "east", "south", "west", "coast", "capital"])[region],
        "town": town + 1,
        "weight": np.round(
            np.array([0.6, 0.8, 1.0, 1.1, 0.5, 2.0])[region] * rng.gamma(9, 1 / 9, n), 3
        ),
        "sex": np.array(["men", "women"])[sex],
        "age": age,
        "education": np.array(["basic", "middle", "high"])[education],
    }
    silent, refused = rng.random(u.shape) < 0.05, rng.random(u.shape) < 0.02
    for j, item in enumerate(ITEMS):
        answers = ANSWERS[code[:, j]].astype(object)
        answers[refused[:, j]] = "refused"
        answers[silent[:, j]] = None
        columns[item] = pl.Series(answers.tolist(), dtype=pl.String)
    columns["satisfaction"] = np.clip(np.rint(rng.normal(SATISFACTION[group], 1.8)), 0, 10).astype(
        int
    )
    columns["votes"] = np.where(rng.random(n) < VOTES[group], "yes", "no")
    return pl.DataFrame(columns), group


if __name__ == "__main__":
    draw()[0].write_csv(Path(sys.argv[1]))
