"""Random small problems for the package and for the oracle: networks with missing values."""

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from math import prod
from unittest.mock import patch

import numpy as np
from hypothesis import strategies as st

import oracle
from lacunet.data.table import Column, Table
from lacunet.inference.plans import builder as components
from lacunet.inference.plans import clique_trees
from lacunet.inference.problem import Problem, problem_of_codes
from lacunet.models.conjugacy import random_theta
from lacunet.models.latent_class import latent_class
from lacunet.models.network import Model, Network, Variable
from lacunet.models.prior import dirichlet
from lacunet.models.surgery import sample_codes

MODES = ("usual", "cut", "trees only")


@contextmanager
def engine(mode):
    """Work with small components whole; with every component cut into cliques; or, besides, with
    no component treated as a pattern."""
    with ExitStack() as stack:
        if mode != "usual":
            stack.enter_context(patch.object(clique_trees, "ENUMERATED", 1))
        if mode == "trees only":
            never = property(lambda builder: np.zeros(len(builder.parts.size), dtype=bool))
            stack.enter_context(patch.object(components.Builder, "_single", never))
        yield


@dataclass(frozen=True)
class Case:
    """A network, parameters, a prior, and rows with missing values."""

    network: Network
    theta: np.ndarray
    alpha: np.ndarray
    codes: np.ndarray
    counts: np.ndarray

    @cached_property
    def problem(self) -> Problem:
        return problem_of_codes(self.codes, self.counts, self.network, self.alpha)

    @property
    def layout(self):
        return self.network.layout

    @property
    def classes(self):
        """Of latent classes: how many."""
        return self.layout.cards[0]

    @property
    def model(self) -> Model:
        return Model(self.network, self.theta, self.alpha)

    @cached_property
    def table(self) -> Table:
        columns = [self.network.variables[i] for i in self.network.observed]
        return Table.from_codes(
            self.codes, [Column(v.name, v.states) for v in columns], counts=self.counts
        )

    @property
    def rows(self):
        """Rows of the oracle: one state for each variable."""
        full = np.full((len(self.codes), len(self.network.variables)), -1)
        full[:, list(self.network.observed)] = self.codes
        return [tuple(row) for row in full.tolist()]

    @property
    def cases(self):
        """The rows, each as often as it counts."""
        return [r for r, n in zip(self.rows, self.counts, strict=True) for _ in range(int(n))]

    def tables(self, x=None):
        """One table per family, parents in their order, then the child: of θ, or another vector."""
        x = self.theta if x is None else x
        return [self.layout.table(x, i) for i in range(len(self.layout.cards))]

    def oracle(self, theta=None):
        """(cards, parents, tables) as the oracle wants them."""
        return self.layout.cards, self.network.parents, self.tables(theta)

    @property
    def worlds(self):
        """In how many ways all cases can be completed."""
        return prod(len(oracle.completions(row, self.layout.cards)) for row in self.cases)

    def log_evidence(self):
        """Exact log p(D|S): BD summed over all of them."""
        alphas = self.tables(self.alpha)
        return oracle.log_evidence(self.layout.cards, self.network.parents, alphas, self.cases)


def build(edges, cards, hidden=()):
    """A network by the letters of its variables: build("H>a H>b", {"H": 3, ...}, "H")."""
    names = list(cards)
    parents = [[names.index(e[0]) for e in edges.split() if e[-1] == name] for name in names]
    variables = [Variable(name, tuple(range(cards[name])), hidden=name in hidden) for name in names]
    return Network.build(variables, parents)


def make(network, rows, *, missing=0.0, seed=0, alpha=1.01, counts=None):
    """Rows drawn from random parameters, which are the case's θ."""
    rng = np.random.default_rng(seed)
    theta = random_theta(network.layout, rng)
    exponents = dirichlet(network, alpha)
    codes = sample_codes(Model(network, theta, exponents), rows, rng, missing)
    counts = np.ones(rows) if counts is None else np.asarray(counts, dtype=float)
    return Case(network, theta, exponents, codes.astype(np.int8), counts)


def make_case(cards, classes, rows, *, missing=0.0, seed=0, alpha=1.01, true_classes=None):
    """Latent classes: data from a random model, for (maybe other) classes and random θ."""
    rng = np.random.default_rng(seed)
    columns = [Column(f"x{i}", tuple(range(r))) for i, r in enumerate(cards)]
    source = latent_class([(c.name, c.states) for c in columns], true_classes or classes)
    truth = Model(source, random_theta(source.layout, rng), np.ones(source.layout.size))
    table = Table.from_codes(sample_codes(truth, rows, rng, missing), columns)
    return problem_for(table, classes, alpha=alpha, seed=seed)


def problem_for(table, classes, *, alpha=1.01, seed=0):
    """Latent classes for a table, and random θ."""
    network = latent_class([(c.name, c.states) for c in table.columns], classes)
    theta = random_theta(network.layout, np.random.default_rng([seed, 1]))
    return Case(network, theta, dirichlet(network, alpha), table.codes, table.counts)


@st.composite
def cases(draw, *, max_rows=12, max_classes=5, max_leaves=5, complete=False):
    """Latent classes of every shape, missing values anywhere."""
    cards = draw(st.lists(st.integers(2, 4), min_size=1, max_size=max_leaves))
    return make_case(
        cards,
        draw(st.integers(1, max_classes)),
        draw(st.integers(1, max_rows)),
        missing=0.0 if complete else draw(st.sampled_from([0.0, 0.2, 0.6])),
        seed=draw(st.integers(0, 10_000)),
        alpha=draw(st.sampled_from([1.0, 1.01, 1.5, 3.0])),
    )


@st.composite
def structures(draw, *, max_variables=6, max_states=3, hidden=True):
    """Any DAG, in any order of its variables and parents; any of them hidden, but not all.

    The shape is drawn from a seed, not by Hypothesis: its own draws are mostly tiny or empty.
    """
    n = draw(st.sampled_from([*range(max_variables, 0, -1), max_variables, max_variables]))
    rng = np.random.default_rng(draw(st.integers(0, 100_000)))
    density = draw(st.sampled_from([0.35, 0.6, 0.9]))
    rank = rng.permutation(n)
    parents = []
    for i in range(n):
        before = [j for j in rng.permutation(n).tolist() if rank[j] < rank[i]]
        parents.append([j for j in before if rng.random() < density][:3])
    sizes = rng.choice([1, *([2] * 4), *range(2, max_states + 1)], n)
    share = draw(st.sampled_from([0.4, 0.8])) if hidden else 0.0
    secret = rng.random(n) < share
    secret[rng.integers(n)] = False
    # A variable without children is barren when hidden: now and then, not most of the time.
    leaf = [all(i not in pa for pa in parents) for i in range(n)]
    secret &= ~np.array(leaf) | (rng.random(n) < 0.3)
    variables = [
        Variable(f"v{i}", tuple(range(int(sizes[i]))), hidden=bool(secret[i])) for i in range(n)
    ]
    return Network.build(variables, parents)


@st.composite
def network_cases(draw, *, max_rows=8, zeros=False, whole=False, complete=False, **structure):
    """Random structure and parameters, missing values anywhere, empty rows, and weights.

    `zeros` lets probabilities be 0, `whole` keeps the weights whole numbers above 0.
    """
    network = draw(structures(**{"hidden": not complete} | structure))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    theta = random_theta(network.layout, rng)
    if zeros:
        theta = theta * (rng.random(len(theta)) < 0.7)
        total = network.layout.spread(network.layout.sum_k(theta))
        uniform = 1.0 / network.layout.spread(network.layout.sum_k(np.ones(len(theta))))
        theta = np.where(total > 0, theta / np.where(total > 0, total, 1.0), uniform)
    alpha = dirichlet(network, draw(st.sampled_from([1.0, 1.01, 1.5, "bdeu:7", 3.0])))
    rows = draw(st.integers(1, max_rows))
    missing = 0.0 if complete else draw(st.sampled_from([0.0, 0.2, 0.5, 0.9]))
    codes = sample_codes(Model(network, theta, alpha), rows, rng, missing).astype(np.int8)
    if not complete and draw(st.booleans()):
        codes[-1] = -1
    weights = [1.0, 2.0, 3.0] if whole else [1.0, 2.0, 0.5, 0.0]
    counts = np.array(draw(st.lists(st.sampled_from(weights), min_size=rows, max_size=rows)))
    return Case(network, theta, alpha, codes, counts)


def groups_of_rows(groups, columns, each, seed, missing=0.0):
    """Rows of well separated groups: as many classes, of nearly sure answers of three kinds."""
    rng = np.random.default_rng(seed)
    centres = rng.integers(0, 3, (groups, columns))
    codes = np.repeat(centres, each, axis=0)
    codes = np.where(rng.random(codes.shape) < 0.1, rng.integers(0, 3, codes.shape), codes)
    codes = np.where(rng.random(codes.shape) < missing, -1, codes)
    return codes.astype(np.int8), np.repeat(np.arange(groups), each)
