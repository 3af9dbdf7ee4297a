"""A path of two classes that is short enough to be added up: four rows, all their completions."""

import itertools

import numpy as np

from lacunet.evidence.annealing import AnnealingPath, Reference
from problems import build, make

NETWORK = build("H>a H>b", {"H": 2, "a": 2, "b": 3}, "H")
PROBLEM = make(NETWORK, 4, seed=2, alpha=1.3, counts=[1, 2, 1, 1]).problem
SOMEWHERE = np.random.default_rng(0).gamma(2.0, 1.0, PROBLEM.layout.size)
PATH = AnnealingPath(PROBLEM, Reference.around(PROBLEM, SOMEWHERE))


def hidden_counts(problem):
    """The count vector of every completion of every case (one hidden class, no missing values)."""
    layout, worlds = problem.layout, []
    rows = [
        row for row, n in zip(problem.codes, problem.counts, strict=True) for _ in range(int(n))
    ]
    for classes in itertools.product(range(layout.cards[0]), repeat=len(rows)):
        tables = [np.zeros([layout.cards[v] for v in f]) for f in layout.families]
        for row, c in zip(rows, classes, strict=True):
            tables[0][c] += 1
            for leaf, x in enumerate(row, start=1):
                tables[leaf][c, x] += 1
        worlds.append(layout.flat(tables))
    return np.array(worlds)


def prior_as_reference(problem):
    """The prior, given what was seen whole; hidden values are all as likely."""
    return Reference(problem.prior, np.zeros(problem.layout.size), problem.seen)
