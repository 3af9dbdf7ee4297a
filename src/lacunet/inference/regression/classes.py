"""A latent class model whose class sizes depend on covariates, as a problem like any other.

Rows with the same covariates share a *pattern*, which is an observed parent of the class. So the
class has a table with a row for each pattern, items are its children as ever, and E steps, holes,
weights and families are those of any network. What is special is only where that table comes from:
its logits are the design times coefficients.

Rows that a model with predictors is held against, or asked about: its covariates read anew.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import log_softmax

from lacunet.data.kinds import ColumnKind, Kinds
from lacunet.data.table import Column, Table
from lacunet.errors import DataError
from lacunet.inference.problem import Problem, build_problem, problem_of_codes
from lacunet.inference.regression.design import Design, design_of, unknown_words, without_covariates
from lacunet.models.latent_class import classes_of
from lacunet.models.layout import Layout
from lacunet.models.network import Model, Network, Variable
from lacunet.models.predictors import Covariates
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


def kinds_of_covariates(known: Covariates) -> Kinds:
    """What the columns of covariates must be read as."""
    binned = {one.name: one.bins for one in known.covariates if one.bins is not None}
    kinds = {
        one.name: ColumnKind.GAUSSIAN if one.number else ColumnKind.CATEGORICAL
        for one in known.covariates
        if one.name not in binned
    }
    anything = dict.fromkeys(known.names, (-np.inf, np.inf))  # nothing, too: holes have their words
    return Kinds(kinds, bins=binned, ends=anything, wanted=frozenset(known.names))


def check_shown(known: Covariates, there: Sequence[str]) -> None:
    """Refuse data without a column for every covariate."""
    absent = [repr(name) for name in known.names if name not in there]
    if absent:
        several = len(absent) > 1
        raise DataError(
            f"the data have no column{'s' * several} {', '.join(absent)}, from which the model "
            f"predicts classes. Their columns are {', '.join(map(repr, there))}. Add "
            f"{'them' if several else 'it'}, or take a model without covariates."
        )


def design_of_rows(known: Covariates, columns: Sequence[Column], codes: CodeArray) -> Design:
    """Make the design of rows in their order, (rows, covariates); refuse holes by their place."""
    holes = codes < 0
    if holes.any():
        row, j = np.argwhere(holes)[0].tolist()
        lack = int(holes.any(axis=1).sum())
        more = f" ({lack:,} of {len(codes):,} rows lack a covariate)" if lack > 1 else ""
        raise DataError(
            f"column {known.names[j]!r}, row {row + 1}: the cell is missing{more}. Classes are "
            "predicted from covariates, which are not modelled themselves: fill it in, or leave "
            "such rows out."
        )
    for j, (one, column) in enumerate(zip(known.covariates, columns, strict=True)):
        unknown = np.isnan(one.columns(column.states)[codes[:, j]]).any(axis=1)
        if unknown.any():
            row = int(np.argmax(unknown))
            told = column.labels[codes[row, j]]
            raise DataError(f"row {row + 1}, {unknown_words(one, told)}")
    return design_of(known, columns, codes)


def class_problem_of(model: Model, table: Table) -> ClassProblem:
    """Join a model with predictors and a table that shows its items and all covariates."""
    known = model.predictors
    assert known is not None
    names = [column.name for column in table.columns]
    places = [names.index(name) for name in known.names]
    design = design_of(known, [table.columns[j] for j in places], table.codes[:, places])
    wanted = {model.network.variables[i].name for i in model.network.observed}
    others = [name for name in names if name not in wanted]
    plain = build_problem(without_covariates(table, others), model.network, model.alpha)
    root = model.network.index(known.variable)
    exponent = float(plain.layout.table(model.alpha, root)[0])
    return build_class_problem(plain, design, exponent, known.coefficient_sd)
