"""The search for a latent tree: islands, a tree over them, then changes as long as one helps.

A latent tree, forest or class model that was learned, and what it is worth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from lacunet.data.table import Table
from lacunet.errors import DataError
from lacunet.evidence.annealing import Goal
from lacunet.evidence.measure import measure
from lacunet.evidence.smc import prepare_sampling
from lacunet.fitting.prepare import PREPARING
from lacunet.flags import Flag
from lacunet.models.network import Model, Network
from lacunet.models.number_prior import NumberPrior
from lacunet.models.prior import describe_alpha
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.structure.hidden.fitting import (
    Filled,
    Fitted,
    Proposal,
    by_size,
    complete,
    fit,
    hidden_grid,
    hidden_variables,
)
from lacunet.structure.hidden.places import Explaining, find_islands
from lacunet.structure.hidden.sketch import empty_sketch
from lacunet.structure.hidden.tree_moves import MOVES, Moves, Situation, best_tree, cleared
from lacunet.structure.task import USUAL, check_seen, few_rows
from lacunet.tabular import Columns, Grid, Printable

RISE = 0.5  # nats that the bound of another tree must be above
LEFT = 0.9  # of what was to be done before a change, as it is shown: nobody knows how many follow


@dataclass(frozen=True, eq=False)
class Grown:
    """The best latent tree that was found, and how the bound rose."""

    best: Fitted
    values: tuple[float, ...]  # bounds, with all labellings, of the trees that were accepted
    fitted: int  # trees fitted to the data as they are


class TreeSearch:
    """A table, and the best tree so far."""

    def __init__(
        self,
        table: Table,
        alpha: float | str,
        *,
        apart: bool,
        seed: int,
        executor: Executor,
        prior: NumberPrior = USUAL,
    ) -> None:
        self.table, self.alpha, self.apart = table, alpha, apart
        self.rng, self.executor = np.random.default_rng([seed, 1]), executor
        self.columns = empty_sketch(table, prior=prior)
        self.best = self._first()
        self.values, self.fitted = [self.best.value], 1

    def _first(self) -> Fitted:
        """A tree over islands."""
        rows, sketch = Filled(self.table.codes, self.table.counts), self.columns
        explaining = Explaining(sketch, rows, self.alpha, self.rng)
        for island in find_islands(explaining, self.executor.part(0.0, 0.3)):
            sketch = sketch.with_hidden(island.classes.states, [], [])
            rows = rows.with_column(island.classes.draw(self.rng))
        tree = best_tree(rows, sketch, self.alpha, apart=self.apart)
        start = cleared(Proposal(tree, rows))
        return fit(self.table, self.alpha, start.sketch, start.start)

    def run(self) -> Grown:
        """Change the tree until no kind of change helps any more."""
        in_vain, k, left = 0, 0, 0.7
        while in_vain < len(MOVES):
            in_vain = 0 if self._better(MOVES[k % len(MOVES)]) else in_vain + 1
            k, left = k + 1, left * LEFT
            self.executor.say(f"tree {self.fitted}, bound {self.best.value:,.1f}", 1.0 - left)
        best = self.best.brought_close()
        return Grown(best, (*self.values, best.value), self.fitted)

    def _better(self, moves: Moves) -> bool:
        """Accept the first change of a kind that raises the bound."""
        filled = complete(self.table, self.best, self.rng)
        now = Situation(self.best.sketch, filled, self.alpha, self.apart, self.rng)
        for proposal in map(cleared, moves(now)):
            above = self.best.value + RISE
            other = fit(self.table, self.alpha, proposal.sketch, proposal.start, above)
            self.fitted += 1
            if other.value > above:
                self.best = other
                self.values.append(other.value)
                return True
        return False


FEWEST_COLUMNS = 3  # of fewer, nothing tells how a hidden variable joins them,
FEWEST_IN_TREE = 2  # but one does, where all hang together whatever the data tell


class Shape(StrEnum):
    """What the graph of columns and hidden variables looks like."""

    TREE = "tree"
    FOREST = "forest"
    NAIVE = "naive"


@dataclass(frozen=True, eq=False, repr=False)
class LatentTree(Printable):
    """The best one that was found."""

    shape: Shape
    model: Model  # its parameters are posterior means
    alpha: float | str  # the prior, as it was asked for
    log_evidence: float  # log p(D|S), all labellings of hidden states
    by: str  # how that is known, in words
    bounds: tuple[float, ...] = ()  # of each tree that was accepted
    fitted: int = 0  # trees that were fitted to see whether they are better
    flags: tuple[Flag, ...] = ()

    @property
    def network(self) -> Network:
        """The graph."""
        return self.model.network

    @property
    def hidden(self) -> dict[str, int]:
        """The hidden variables, and how many states each has."""
        return self.network.hidden_sizes

    def tidy(self) -> Columns:
        """Give a row for each variable: its states, and its parents."""
        return self.network.tidy()

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
        what = hidden_variables(len(self.hidden))
        title = f"log p(D|S) ≈ {self.log_evidence:.2f} ({self.by}); {what}"
        notes = (
            f"Prior: {describe_alpha(self.alpha)}.",
            *self._way(),
            *map("- {}".format, self.flags),
        )
        return [hidden_grid(self.model, title, notes)]

    def _way(self) -> Iterator[str]:
        """Say how it was found."""
        if self.bounds:
            times, nats = len(self.bounds) - 1, self.bounds[-1] - self.bounds[0]
            yield f"Trees fitted: {self.fitted}; bound raised {times} times, by {nats:.1f} nats."


def mean_model(model: Model) -> Model:
    """Give a fitted model its expected parameters in the place of its estimate."""
    return replace(model, theta=model.predictive.theta)


def check_columns(table: Table, fewest: int = FEWEST_COLUMNS) -> None:
    """Refuse a table whose columns no hidden variable can join."""
    if len(table.columns) < fewest:
        raise DataError(
            f"{table.source} has {len(table.columns)} columns: hidden variables behind them can be "
            f"told only from {fewest} or more. Learn a graph without hidden variables, or "
            "add columns."
        )
    check_seen(table)


def learn_tree(
    table: Table,
    alpha: float | str,
    *,
    apart: bool,
    seed: int = 0,
    goal: Goal | None = None,
    executor: Executor = SERIAL,
    prior: NumberPrior = USUAL,
) -> LatentTree:
    """Learn a latent tree over the columns of a table, or a forest, if it may fall apart.

    With a goal, its evidence is measured.
    """
    check_columns(table, FEWEST_COLUMNS if apart else FEWEST_IN_TREE)
    executor.say(PREPARING, 0.0)
    search = TreeSearch(table, alpha, apart=apart, seed=seed, executor=executor, prior=prior)
    grown = search.run()
    found = LatentTree(
        Shape.FOREST if apart else Shape.TREE,
        by_size(grown.best.model),
        alpha,
        grown.best.value,
        "variational bound, all labellings",
        grown.values,
        grown.fitted,
        tuple(few_rows(table)),
    )
    if goal is None:
        return found
    problem = grown.best.posterior.problem
    prepare_sampling(executor, problem.network)
    measured = measure(problem, goal=goal, seed=seed, executor=executor)
    by = f"measured by {measured.method}{measured.error}: {measured.verdict}"
    flags = (*found.flags, *measured.notes)
    return replace(found, log_evidence=measured.value, by=by, flags=flags)
