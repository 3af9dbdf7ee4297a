"""A latent class model whose class sizes depend on covariates, as a problem like any other.

Rows with the same covariates share a *pattern*, which is an observed parent of the class. So the
class has a table with a row for each pattern, items are its children as ever, and E steps, holes,
weights and families are those of any network. What is special is only where that table comes from:
its logits are the design times coefficients.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import log_softmax

from lacunet.inference.problem import Problem, problem_of_codes
from lacunet.inference.regression.design import Design
from lacunet.models.latent_class import classes_of
from lacunet.models.layout import Layout
from lacunet.models.network import Network, Variable
from lacunet.models.surgery import COVARIATES, fresh_names
from lacunet.runtime.arrays import BoolArray, CodeArray, FloatArray


@dataclass(frozen=True, eq=False)
class ClassProblem:
    """Rows, items below a class, and the design above it."""

    problem: Problem  # pattern → class → items
    plain: Problem  # class → items, without covariates: the same rows
    design: Design
    exponent: float  # of the Dirichlet prior of class sizes that the Gaussian stands in for
    coefficient_sd: float
    precision: FloatArray  # (free, free) prior of the free coefficients: see `build_class_problem`

    @property
    def layout(self) -> Layout:
        """The layout of flat vectors."""
        return self.problem.layout

    @property
    def root(self) -> int:
        """Index of the class, in both networks."""
        return classes_of(self.plain.network).root

    @property
    def states(self) -> int:
        """K, the number of classes."""
        return classes_of(self.plain.network).number

    @property
    def free(self) -> int:
        """Free coefficients: those of every class but the first, class by class."""
        return (self.states - 1) * len(self.design.titles)

    @cached_property
    def cases(self) -> FloatArray:
        """(patterns,) weight of the rows with each pattern."""
        counts, pattern = self.problem.counts, self.design.pattern
        return np.bincount(pattern, counts, len(self.design.matrix)).astype(np.float64)

    @cached_property
    def of_items(self) -> BoolArray:
        """(size,) positions of the tables and numbers of items."""
        leaves = classes_of(self.plain.network).leaves
        return np.isin(self.layout.owner, leaves)

    @cached_property
    def log_patterns(self) -> float:
        """Log p of the patterns as the problem has it, which says nothing: all are as likely."""
        return -self.problem.cases * float(np.log(len(self.design.matrix)))

    def log_sizes(self, coefficients: FloatArray) -> FloatArray:
        """(patterns, K) log probability of each class, given (K, p) coefficients."""
        found: FloatArray = log_softmax(self.design.matrix @ coefficients.T, axis=1)
        return found

    def in_place(self, theta: FloatArray, coefficients: FloatArray) -> FloatArray:
        """(size,) the same items, with class sizes that coefficients give."""
        whole = theta.copy()
        whole[self.layout.block(self.root)] = np.exp(self.log_sizes(coefficients)).reshape(-1)
        return whole

    def class_table(self, x: FloatArray) -> FloatArray:
        """(patterns, K) the class's table of a flat vector."""
        return self.layout.table(x, self.root)

    def from_plain(self, theta: FloatArray) -> FloatArray:
        """(size,) parameters without covariates, with the same sizes for every pattern."""
        tables = [self.plain.layout.table(theta, i) for i in range(len(self.plain.layout.cards))]
        patterns = len(self.design.matrix)
        tables[self.root] = np.tile(tables[self.root], (patterns, 1))
        return self.layout.flat([*tables, np.full(patterns, 1.0 / patterns)])

    def to_plain(self, theta: FloatArray) -> FloatArray:
        """(size of plain,) the same without covariates: class sizes are those over all rows."""
        return self.to_plain_layout(theta, self.cases @ self.class_table(theta) / self.cases.sum())

    def to_plain_counts(self, N: FloatArray) -> FloatArray:
        """(size of plain,) expected counts of all patterns together."""
        return self.to_plain_layout(N, self.class_table(N).sum(axis=0))

    def to_plain_layout(self, x: FloatArray, sizes: FloatArray | None = None) -> FloatArray:
        """(size of plain,) what a flat vector has for items; for classes `sizes`, (K,), or 0."""
        tables = [self.layout.table(x, i) for i in range(len(self.plain.layout.cards))]
        tables[self.root] = np.zeros(self.states) if sizes is None else sizes
        return self.plain.layout.flat(tables)


def build_class_problem(
    plain: Problem, design: Design, exponent: float, coefficient_sd: float
) -> ClassProblem:
    """Put covariates above the class of a latent class problem of the same rows.

    Scores of classes are independent before the data, with covariance C, so that differences from
    the first have (1 + 1[c = c′]) C: whichever class is the first, the prior is the same.
    """
    classes = classes_of(plain.network)
    C = design.covariance(exponent, coefficient_sd)
    across = np.eye(classes.number - 1) - 1.0 / classes.number  # inverse of 1 + 11ᵀ
    return ClassProblem(
        _below_patterns(plain, design),
        plain,
        design,
        exponent,
        coefficient_sd,
        np.kron(across, np.linalg.inv(C)),
    )


def _below_patterns(plain: Problem, design: Design) -> Problem:
    """Give the class of a problem its parent."""
    network, root = plain.network, classes_of(plain.network).root
    patterns = len(design.matrix)
    (name,) = fresh_names(network, COVARIATES, 1)
    parents = [(len(network.variables),) if i == root else p for i, p in enumerate(network.parents)]
    whole = Network.build(
        [*network.variables, Variable(name, tuple(range(patterns)))], [*parents, ()]
    )
    codes: CodeArray = np.column_stack([plain.codes.astype(np.int32), design.pattern])
    tables = [plain.layout.table(plain.alpha, i) for i in range(len(network.variables))]
    tables[root] = np.tile(tables[root], (patterns, 1))
    alpha = whole.layout.flat([*tables, np.ones(patterns)])
    found = problem_of_codes(codes, plain.counts, whole, alpha)
    return found if plain.design is None else replace(found, design=plain.design)
