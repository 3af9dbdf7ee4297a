"""Recipes of the members of an ensemble: graphs, latent classes, latent trees.

A graph that is learned from all cases keeps edges that hold in one group of them only, such as a
village. So graphs are also searched as if there were a quarter of the cases, a 16th, and so on,
which keeps the edges that hold everywhere. Each graph gets several prior strengths of its tables.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from lacunet.data.kinds import ColumnKind
from lacunet.data.table import Table
from lacunet.fitting.diagnose import at_hyperparameters, vary
from lacunet.fitting.fit import Options, learn_posterior, quick_posterior
from lacunet.fitting.maxima import MASS
from lacunet.fitting.objective import Estimate
from lacunet.inference.leaves import leaves_of, widest_block
from lacunet.inference.problem import Problem, build_problem
from lacunet.models.latent_class import over_leaves
from lacunet.models.network import Model, Network
from lacunet.models.number_prior import OF_GRAPHS, Covariance
from lacunet.models.prior import dirichlet
from lacunet.structure.hidden.latent_tree import FEWEST_COLUMNS, learn_tree
from lacunet.structure.knowledge import Knowledge
from lacunet.structure.learning import find_graph
from lacunet.structure.searching import GraphSearch
from lacunet.structure.task import graph_task


@dataclass(frozen=True)
class RecipeGrid:
    """Settings of the members. Weights choose, so values are far apart rather than many."""

    sizes: tuple[int, ...] = (10, 1)  # equivalent sample sizes of graph searches: many edges, few
    tables: tuple[int, ...] = (1, 10, 100)  # and those of the prior of their tables
    thinner: int = 4  # ratio of the numbers of cases of successive graph searches
    fewest: int = 20  # cases of a graph search: fewer show no edge
    classes: tuple[int, ...] = (2, 4, 8, 16, 32)
    members: int = 10  # cases for each class: fewer do not determine it
    exponents: tuple[float, ...] = (1.0, 0.25)  # of classes: uniform, and more distinct ones
    scales: tuple[float, ...] = (1.0, 0.1, 0.01, 0.001)  # class variances, in that of the column
    common_scale: float = 0.1  # of covariances that classes share: all rows inform them
    starts: int = 4  # of a fit: there are many members
    imputing_scales: tuple[float, ...] = (1.0, 0.1, 0.01)  # fewer: cells are scored, not tails
    for_each_number: int = 3  # cases of a class for each column of its covariance matrix
    bootstraps: int = 3  # graphs of reweighted rows for each graph that imputes
    tree_alpha: float = 1.0
    tree_cells: int = 10_000  # distinct rows × columns: larger tables have a tree only on request
    tree_cases: int = 50  # smaller tables too: fewer cases hardly show how columns are joined


GRID = RecipeGrid()


class StackKind(StrEnum):
    """Kinds of models in a stack."""

    GRAPHS = "graphs"
    CLASSES = "classes"


class ImputerKind(StrEnum):
    """Kinds of models that impute missing values."""

    CLASSES = "classes"
    NETWORK = "network"
    TREE = "tree"


@dataclass(frozen=True)
class Recipe(ABC):
    """A way to learn models from a table; their number and names do not depend on the table."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The name of each model."""

    @abstractmethod
    def learn(self, table: Table, seed: int) -> tuple[Model, ...]:
        """Learn the models; their parameters are posterior means."""

    def resampled(self, table: Table, seed: int) -> tuple[tuple[Model, ...], ...]:  # noqa: ARG002
        """Learn each model from reweighted rows (a Bayesian bootstrap), if the recipe does."""
        return ()


@dataclass(frozen=True)
class GraphRecipe(Recipe):
    """A graph over the columns."""

    size: int  # equivalent sample size of the search
    thinned: int = 1  # the search sees one in so many cases
    edges: bool = True  # False: the columns are independent
    bootstraps: int = 0  # searches with reweighted rows

    @property
    def names(self) -> tuple[str, ...]:
        what = f"graph, bdeu:{self.size}" if self.edges else "no edges"
        thinned = f", cases / {self.thinned}" if self.thinned > 1 else ""
        return tuple(f"{what}{thinned}; tables bdeu:{size}" for size in GRID.tables)

    def learn(self, table: Table, seed: int) -> tuple[Model, ...]:
        known = Knowledge(max_parents=None if self.edges else 0)
        return with_tables(table, quick_graph(self._seen(table), self.size, known, seed))

    def resampled(self, table: Table, seed: int) -> tuple[tuple[Model, ...], ...]:
        """Search again with Gamma(n) weights of rows; tables use the weights of the data.

        This is the Bayesian bootstrap (Rubin 1981), which loses no row and therefore no column. The
        search gives only edges: units and priors of numeric columns are those of the table itself.
        """
        seen, each, variables = self._seen(table), [], leaves_of(table, OF_GRAPHS)
        for which in range(self.bootstraps):
            weights = np.random.default_rng([seed, which]).standard_gamma(seen.counts)
            again = replace(seen, counts=weights * (seen.weight / weights.sum()))
            edges = quick_graph(again, self.size, Knowledge(), seed, sweeps=0).parents
            each.append(with_tables(table, Network.build(variables, edges)))
        return tuple(zip(*each, strict=True))

    def _seen(self, table: Table) -> Table:
        return replace(table, counts=table.counts / self.thinned)


@dataclass(frozen=True)
class ClassRecipe(Recipe):
    """A latent class model."""

    classes: int
    alpha: float
    scale: float | None = None  # of the variances of numeric columns; None: there are none
    together: bool = False  # whether numeric columns covary within a class
    common: bool = False  # with the same covariances in all classes

    @property
    def names(self) -> tuple[str, ...]:
        many = "1 class" if self.classes == 1 else f"{self.classes} classes"
        scale = "" if self.scale is None else f", scale = {self.scale:g}"
        shared = f"{', covariances' * self.together}{', common' * self.common}"
        return (f"{many}, α = {self.alpha:g}{scale}{shared}",)

    def learn(self, table: Table, seed: int) -> tuple[Model, ...]:
        blocks = widest_block(table) if self.together else ()
        covariance = Covariance(named=blocks, common=self.common)
        prior = replace(OF_GRAPHS, scale=self.scale or 1.0, covariance=covariance)
        network = over_leaves(leaves_of(table, prior), self.classes)
        problem = build_problem(table, network, dirichlet(network, self.alpha))
        if self.scale is None:
            options = Options(starts=GRID.starts, seed=seed, estimate=Estimate.SOFTMAX)
            return (learn_posterior(problem, options, ranks=MASS).model.predictive,)
        # Numeric columns need one model for every scale, so each search is shorter.
        return (quick_posterior(problem, GRID.starts // 2, seed).predictive,)


@dataclass(frozen=True)
class TreeRecipe(Recipe):
    """A latent tree, or forest, over the columns."""

    @property
    def names(self) -> tuple[str, ...]:
        return ("latent tree",)

    def learn(self, table: Table, seed: int) -> tuple[Model, ...]:
        return (learn_tree(table, GRID.tree_alpha, apart=True, seed=seed).model.predictive,)


@dataclass(frozen=True)
class ParentRecipe(Recipe):
    """A network in which one column is a parent of every other: naive Bayes, or augmented."""

    target: str
    augmented: bool = False  # whether columns may have one more parent, as in TAN

    @property
    def names(self) -> tuple[str, ...]:
        what = "augmented naive Bayes" if self.augmented else "naive Bayes"
        return tuple(f"{what}; tables bdeu:{size}" for size in GRID.tables)

    def learn(self, table: Table, seed: int) -> tuple[Model, ...]:
        if self.augmented:
            others = [c.name for c in table.columns if c.name != self.target]
            known = Knowledge(require=[(self.target, name) for name in others], max_parents=2)
            return with_tables(table, quick_graph(table, GRID.sizes[0], known, seed))
        leaves = leaves_of(table, OF_GRAPHS)
        root = [v.name for v in leaves].index(self.target)
        parents = [() if j == root else (root,) for j in range(len(leaves))]
        return with_tables(table, Network.build(leaves, parents))


def quick_graph(table: Table, size: int, known: Knowledge, seed: int, sweeps: int = 1) -> Network:
    """Search for a graph once, without probes; `size`: equivalent sample size of the prior."""
    options = GraphSearch(sweeps=sweeps, restarts=0, probes=0, seed=seed)
    return find_graph(graph_task(table, f"bdeu:{size}", options, known))


def with_tables(table: Table, network: Network) -> tuple[Model, ...]:
    """Fit the tables of a graph, once for each strength of their prior."""
    priors = [dirichlet(network, f"bdeu:{size}") for size in GRID.tables]
    problem = build_problem(table, network, priors[0])  # components are built once
    return tuple(expected(replace(problem, alpha=prior)) for prior in priors)


def expected(problem: Problem) -> Model:
    """Posterior means of the parameters of a graph: exact without missing cells, or variational."""
    return vary(at_hyperparameters(problem, problem.prior)).model.predictive


NO_EDGES = GraphRecipe(GRID.sizes[-1], edges=False)


def stacked(table: Table, only: StackKind | None = None) -> tuple[Recipe, ...]:
    """Return the recipes of a stack; independent columns belong to both kinds."""
    recipes: list[Recipe] = [NO_EDGES]
    numbers, categories = (
        any(c.kind.number is are for c in table.columns) for are in (True, False)
    )
    if only is not StackKind.CLASSES and categories:
        recipes += [GraphRecipe(size, by) for size in GRID.sizes for by in _thinned(table.weight)]
    if only is not StackKind.GRAPHS:
        scales = GRID.scales if numbers else (None,)
        exponents = GRID.exponents if categories else GRID.exponents[:1]
        classes = _worthwhile(table, always=GRID.classes[0])
        several = _measured(table) > 1
        each = ((1, *classes) if numbers else classes, exponents, scales)
        vary_together = (False, True) if several else (False,)
        recipes += [ClassRecipe(*one) for one in itertools.product(*each, vary_together)]
        if several:
            alike = itertools.product(classes, exponents)
            recipes += [ClassRecipe(*one, GRID.common_scale, True, True) for one in alike]
    return tuple(recipes)


def _thinned(cases: float) -> Iterator[int]:
    by = 1
    yield by
    while cases / (by := by * GRID.thinner) >= GRID.fewest:
        yield by


def _worthwhile(table: Table, always: int) -> list[int]:
    """Numbers of classes with enough rows, and one that is always tried."""
    return [k for k in GRID.classes if k == always or k * GRID.members <= table.weight]


def _measured(table: Table) -> int:
    return sum(column.kind is ColumnKind.GAUSSIAN for column in table.columns)


def imputers(
    table: Table, only: ImputerKind | None = None, *, bootstraps: int | None = None
) -> dict[ImputerKind, tuple[Recipe, ...]]:
    """Return the recipes that impute missing values, by kind; only one kind on request."""
    recipes: dict[ImputerKind, tuple[Recipe, ...]] = {}
    if only in (None, ImputerKind.CLASSES):
        recipes[ImputerKind.CLASSES] = _imputing_classes(table)
    if only in (None, ImputerKind.NETWORK):
        # Graphs of many and few edges; only categorical columns have edges.
        again = GRID.bootstraps if bootstraps is None else bootstraps
        categories = any(not column.kind.number for column in table.columns)
        thinned = list(itertools.islice(_thinned(table.weight), 2)) if categories else []
        searched = itertools.product(GRID.sizes, thinned)
        graphs = (GraphRecipe(size, by, bootstraps=again) for size, by in searched)
        recipes[ImputerKind.NETWORK] = (NO_EDGES, *graphs)
    worth = table.weight >= GRID.tree_cases and table.codes.size <= GRID.tree_cells
    wanted = only is ImputerKind.TREE or (only is None and worth)
    if wanted and len(table.columns) >= FEWEST_COLUMNS:
        recipes[ImputerKind.TREE] = (TreeRecipe(),)
    return recipes


def _imputing_classes(table: Table) -> tuple[Recipe, ...]:
    """Recipes of few and many classes; numeric columns with and without covariances."""
    classes = (1, *_worthwhile(table, always=0))
    if not any(column.kind.number for column in table.columns):
        return tuple(itertools.starmap(ClassRecipe, itertools.product(classes, GRID.exponents)))
    plain, scales = GRID.exponents[0], GRID.imputing_scales
    recipes = [ClassRecipe(k, plain, scale) for k in classes for scale in scales]
    measured = _measured(table)
    if measured > 1:
        few = [k for k in classes if k == 1 or k * measured * GRID.for_each_number <= table.weight]
        recipes += [ClassRecipe(k, plain, scales[0], True) for k in few]
        recipes += [ClassRecipe(k, plain, GRID.common_scale, True, True) for k in few]
    return tuple(recipes)


def classifiers(
    table: Table, target: str, only: ImputerKind | None = None
) -> dict[ImputerKind, tuple[Recipe, ...]]:
    """Return the recipes that predict one column, by kind.

    Latent trees are included only on request, because every fold has to learn one.
    """
    kinds = [ImputerKind.CLASSES, ImputerKind.NETWORK] if only is None else [only]
    recipes: dict[ImputerKind, tuple[Recipe, ...]] = {}
    for kind in kinds:
        recipes |= imputers(table, kind, bootstraps=0)
    if ImputerKind.NETWORK in recipes:
        # Augmented naive Bayes needs two more columns that could depend on each other.
        others = [c for c in table.columns if c.name != target]
        varied = any(len(c.states) > 1 and not c.kind.number for c in others)
        constant = any(len(c.states) < 2 for c in table.columns)
        parents = [ParentRecipe(target)]
        if varied and len(others) >= 2 and not constant:
            parents.append(ParentRecipe(target, augmented=True))
        recipes[ImputerKind.NETWORK] = (*recipes[ImputerKind.NETWORK], *parents)
    return recipes
