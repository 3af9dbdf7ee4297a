"""What is learned from a table, for a stack: graphs that believe it more and less, latent classes.

A graph that is learned from all cases draws every edge that they ask for, even if they all came
from one village. So graphs are also searched as if there were a quarter of the cases, a 16th, and
so on: what is left are the edges that hold everywhere. Each graph is learned with several sizes of
the prior of its tables.
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
from lacunet.graphs.knowledge import Knowledge
from lacunet.graphs.learning import find_graph
from lacunet.graphs.searching import GraphSearch
from lacunet.graphs.task import graph_task
from lacunet.inference.leaves import leaves_of, widest_block
from lacunet.inference.problem import Problem, build_problem
from lacunet.learn.fit import Options
from lacunet.learn.objective import Estimate
from lacunet.learn.predictive import learn_posterior, quick_posterior
from lacunet.learn.ranks import MASS
from lacunet.learn.variational import at_hyperparameters, vary
from lacunet.model.covariance import Covariance
from lacunet.model.latent_class import over_leaves
from lacunet.model.network import Model, Network
from lacunet.model.number_prior import OF_GRAPHS
from lacunet.model.prior import dirichlet

SIZES = (10, 1)  # equivalent sample sizes that graphs are searched with: many edges, and few
TABLES = (1, 10, 100)  # and those of the prior of their tables
THINNER = 4  # from one number of cases to the next
FEWEST = 20  # cases that a graph is searched with, at least
CLASSES = (2, 4, 8, 16, 32)
MEMBERS = 10  # cases for each class, at least
EXPONENTS = (1.0, 0.25)  # of classes: the uniform prior, and one for which classes differ more
SCALES = (1.0, 0.1, 0.01, 0.001)  # of numbers: variances of classes, in that of the whole column
COMMON_SCALE = 0.1  # of covariances that all classes share: all rows tell them, so one will do
STARTS = 4


class Kind(StrEnum):
    """Kinds of models that a stack may be made of."""

    GRAPHS = "graphs"
    CLASSES = "classes"


@dataclass(frozen=True)
class Recipe(ABC):
    """A way to learn models from a table. All tables give as many, with the same names."""

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """What each model is."""

    @abstractmethod
    def learn(self, table: Table, seed: int) -> tuple[Model, ...]:
        """Learn them; their parameters are posterior means."""

    def doubt(self, table: Table, seed: int) -> tuple[tuple[Model, ...], ...]:  # noqa: ARG002
        """Learn what else they might be if the rows were others: nothing, or some for each."""
        return ()


@dataclass(frozen=True)
class GraphRecipe(Recipe):
    """A graph over the columns."""

    size: int  # equivalent sample size of the search
    thinned: int = 1  # the search sees one in so many cases
    edges: bool = True  # without: the columns are independent
    doubts: int = 0  # searches with rows that are weighed anew

    @property
    def names(self) -> tuple[str, ...]:
        """What each model is."""
        told = f"graph, bdeu:{self.size}" if self.edges else "no edges"
        thinned = f", cases / {self.thinned}" if self.thinned > 1 else ""
        return tuple(f"{told}{thinned}; tables bdeu:{size}" for size in TABLES)

    def learn(self, table: Table, seed: int) -> tuple[Model, ...]:
        """Search for the graph once, and fill in its tables several times."""
        known = Knowledge(max_parents=None if self.edges else 0)
        return with_tables(table, quick_graph(self._seen(table), self.size, known, seed))

    def doubt(self, table: Table, seed: int) -> tuple[tuple[Model, ...], ...]:
        """Search again with rows that are weighed anew by chance; tables are those of all rows.

        Weights are around those that rows have (the Bayesian bootstrap, Rubin 1981): none is lost,
        and no column with it. The search gives edges alone: units and priors of numbers follow the
        weights, and are those of the table itself.
        """
        seen, each, variables = self._seen(table), [], leaves_of(table, OF_GRAPHS)
        for which in range(self.doubts):
            weights = np.random.default_rng([seed, which]).standard_gamma(seen.counts)
            again = replace(seen, counts=weights * (seen.weight / weights.sum()))
            edges = quick_graph(again, self.size, Knowledge(), seed, sweeps=0).parents
            each.append(with_tables(table, Network.build(variables, edges)))
        return tuple(zip(*each, strict=True))

    def _seen(self, table: Table) -> Table:
        """The table as a search sees it."""
        return replace(table, counts=table.counts / self.thinned)


@dataclass(frozen=True)
class ClassRecipe(Recipe):
    """A latent class model."""

    classes: int
    alpha: float
    scale: float | None = None  # of the variances of numbers; None: there are none
    together: bool = False  # whether numbers vary together within a class
    common: bool = False  # and alike in all classes

    @property
    def names(self) -> tuple[str, ...]:
        """What the model is."""
        many = "1 class" if self.classes == 1 else f"{self.classes} classes"
        scale = "" if self.scale is None else f", scale = {self.scale:g}"
        common = ", common" if self.common else ""
        together = ", covariances" if self.together else ""
        return (f"{many}, α = {self.alpha:g}{scale}{together}{common}",)

    def learn(self, table: Table, seed: int) -> tuple[Model, ...]:
        """Fit it from a few starts."""
        blocks = widest_block(table) if self.together else ()
        covariance = Covariance(named=blocks, common=self.common)
        prior = replace(OF_GRAPHS, scale=self.scale or 1.0, covariance=covariance)
        network = over_leaves(leaves_of(table, prior), self.classes)
        problem = build_problem(table, network, dirichlet(network, self.alpha))
        if self.scale is None:
            how = Options(starts=STARTS, seed=seed, estimate=Estimate.SOFTMAX)
            return (learn_posterior(problem, how, ranks=MASS).model.predictive,)
        # With numbers there are many such models, for every scale: each gets less of a search.
        return (quick_posterior(problem, STARTS // 2, seed).predictive,)


def quick_graph(table: Table, size: int, known: Knowledge, seed: int, sweeps: int = 1) -> Network:
    """Search for a graph once, and probe no moves; `size`: equivalent sample size of the prior."""
    how = GraphSearch(sweeps=sweeps, restarts=0, probes=0, seed=seed)
    return find_graph(graph_task(table, f"bdeu:{size}", how, known))


def with_tables(table: Table, network: Network) -> tuple[Model, ...]:
    """Fill in the tables of a graph, once for each size of their prior."""
    priors = [dirichlet(network, f"bdeu:{size}") for size in TABLES]
    problem = build_problem(table, network, priors[0])  # rows are taken apart once for all
    return tuple(expected(replace(problem, alpha=prior)) for prior in priors)


def expected(problem: Problem) -> Model:
    """Give a graph its expected parameters: exact where no cell is missing, else variational."""
    return vary(at_hyperparameters(problem, problem.prior)).model.predictive


def recipes_for(table: Table, only: Kind | None = None) -> tuple[Recipe, ...]:
    """Give all that is worth learning from a table; columns without edges are of either kind."""
    found: list[Recipe] = [GraphRecipe(SIZES[-1], edges=False)]
    numbers, categories = (
        any(c.kind.number is are for c in table.columns) for are in (True, False)
    )
    if only is not Kind.CLASSES and categories:
        found += [GraphRecipe(size, by) for size in SIZES for by in _thinned(table.weight)]
    if only is not Kind.GRAPHS:
        scales = SCALES if numbers else (None,)
        exponents = EXPONENTS if categories else EXPONENTS[:1]
        classes = [k for k in CLASSES if k == CLASSES[0] or k * MEMBERS <= table.weight]
        measured = sum(column.kind is ColumnKind.GAUSSIAN for column in table.columns)
        several = measured > 1
        every = itertools.product(
            (1, *classes) if numbers else classes,
            exponents,
            scales,
            (False, True) if several else (False,),
        )
        found += [ClassRecipe(*one) for one in every]
        if several:
            alike = itertools.product(classes, exponents)
            found += [ClassRecipe(*one, COMMON_SCALE, True, True) for one in alike]
    return tuple(found)


def _thinned(cases: float) -> Iterator[int]:
    by = 1
    yield by
    while cases / (by := by * THINNER) >= FEWEST:
        yield by
