"""A simulated survey on how people live and travel to work.

Three kinds of people answer eight questions; the kind is not written down. About 12 % of the
answers are missing at random, and a few people answered nothing.
"""

import csv
from pathlib import Path

import numpy as np

SEED = 1996
PEOPLE = 1_500
MISSING = 0.12  # share of the answers that are missing
SILENT = 4  # people who answered nothing

KINDS = (0.45, 0.33, 0.22)  # shares of: commuters by car, city people, people who work at home

# Question: the answers, and the percentage of each answer for each kind of person.
QUESTIONS: dict[str, tuple[tuple[str, ...], tuple[tuple[int, ...], ...]]] = {
    "home": (
        ("flat", "terraced house", "detached house"),
        ((15, 30, 55), (80, 17, 3), (35, 35, 30)),
    ),
    "area": (
        ("city centre", "suburb", "small town", "countryside"),
        ((3, 40, 32, 25), (70, 25, 4, 1), (20, 30, 25, 25)),
    ),
    "cars": (("0 cars", "1 car", "2 or more cars"), ((2, 38, 60), (60, 37, 3), (15, 65, 20))),
    "commute": (
        ("walk", "bicycle", "public transport", "car", "no commute"),
        ((2, 3, 7, 86, 2), (18, 27, 50, 4, 1), (8, 8, 9, 10, 65)),
    ),
    "travel time": (
        ("0 to 15 min", "15 to 30 min", "30 to 60 min", "60 min or more"),
        ((18, 37, 33, 12), (30, 45, 20, 5), (78, 12, 6, 4)),
    ),
    "office days": (
        ("0 days", "1 to 2 days", "3 to 4 days", "5 days"),
        ((3, 9, 28, 60), (5, 25, 45, 25), (68, 26, 4, 2)),
    ),
    "would move": (("no", "perhaps", "yes"), ((68, 22, 10), (28, 32, 40), (50, 32, 18))),
    "satisfied": (("no", "yes"), ((38, 62), (25, 75), (10, 90))),
}


def write_survey(path: Path) -> None:
    rng = np.random.default_rng(SEED)
    kind = rng.choice(len(KINDS), size=PEOPLE, p=KINDS)
    answers = []
    for texts, percent in QUESTIONS.values():
        upper = np.cumsum(percent, axis=1)[kind] / 100  # (people, answers)
        answers.append(np.array(texts)[(rng.random((PEOPLE, 1)) > upper).sum(axis=1)])
    table = np.stack(answers, axis=1).astype(object)
    missing = rng.random(table.shape) < MISSING
    missing[rng.choice(PEOPLE, size=SILENT, replace=False)] = True
    table[missing] = ""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(QUESTIONS)
        writer.writerows(table.tolist())
