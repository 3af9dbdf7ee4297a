"""Random small problems, as the package sees them and as the oracle does."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from lacunet.data.table import Column, Table
from lacunet.inference.problem import Problem, build_problem
from lacunet.model.conjugacy import random_theta
from lacunet.model.latent_class import latent_class
from lacunet.model.network import Model
from lacunet.model.prior import uniform_alpha
from lacunet.model.sampling import sample_codes


@dataclass(frozen=True)
class Case:
    """One latent class problem and random parameters for it."""

    problem: Problem
    theta: np.ndarray
    table: Table

    @property
    def layout(self):
        return self.problem.layout

    @property
    def cards(self):
        return list(self.layout.cards[1:])

    @property
    def classes(self):
        return self.layout.cards[0]

    @property
    def rows(self):
        return [tuple(int(x) for x in r) for r in self.table.codes]

    @property
    def counts(self):
        return self.table.counts

    def tables(self, theta=None):
        """(weights, tables) as the oracle wants them."""
        theta = self.theta if theta is None else theta
        n = len(self.layout.cards)
        return self.layout.table(theta, 0), [self.layout.table(theta, i) for i in range(1, n)]


def make_case(cards, classes, rows, *, missing=0.0, seed=0, alpha=1.01, true_classes=None):
    """Sample data from a random model; give a problem with (maybe other) classes, random θ."""
    rng = np.random.default_rng(seed)
    columns = [Column(f"x{i}", tuple(range(r))) for i, r in enumerate(cards)]
    named = [(c.name, c.states) for c in columns]
    source = latent_class(named, true_classes or classes)
    truth = Model(source, random_theta(source.layout, rng), np.ones(source.layout.size))
    codes = sample_codes(truth, rows, rng, missing)
    table = Table.from_codes(codes, columns)
    return problem_for(table, classes, alpha=alpha, seed=seed)


def problem_for(table, classes, *, alpha=1.01, seed=0):
    network = latent_class([(c.name, c.states) for c in table.columns], classes)
    problem = build_problem(table, network, uniform_alpha(network.layout, alpha))
    theta = random_theta(network.layout, np.random.default_rng([seed, 1]))
    return Case(problem, theta, table)


@st.composite
def cases(draw, *, max_rows=12, max_classes=5, max_leaves=5, complete=False):
    """A strategy of small cases; every shape, holes anywhere."""
    cards = draw(st.lists(st.integers(2, 4), min_size=1, max_size=max_leaves))
    return make_case(
        cards,
        draw(st.integers(1, max_classes)),
        draw(st.integers(1, max_rows)),
        missing=0.0 if complete else draw(st.sampled_from([0.0, 0.2, 0.6])),
        seed=draw(st.integers(0, 10_000)),
        alpha=draw(st.sampled_from([1.0, 1.01, 1.5, 3.0])),
    )
