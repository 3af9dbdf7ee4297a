"""The search for a latent tree: islands, a tree over them, then changes as long as one helps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lacunet.data.table import Table
from lacunet.models.number_prior import NumberPrior
from lacunet.runtime.executor import Executor
from lacunet.structure.hidden.explaining import Explaining
from lacunet.structure.hidden.fitting import Filled, Fitted, complete, fit
from lacunet.structure.hidden.islands import find_islands
from lacunet.structure.hidden.proposal import Proposal
from lacunet.structure.hidden.sketch import empty_sketch
from lacunet.structure.hidden.tree_moves import MOVES, Moves, Situation, cleared
from lacunet.structure.hidden.trees import best_tree
from lacunet.structure.task import USUAL

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
