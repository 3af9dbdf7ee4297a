"""Scores of families, each computed once, from whoever provides their statistics."""

from typing import NamedTuple, Protocol

import numpy as np

from lacunet.data.table import Table
from lacunet.errors import DataError
from lacunet.models.known_tables import NOTHING, KnownTables
from lacunet.models.table_sizes import LARGEST_TABLE
from lacunet.runtime.arrays import BoolArray, FloatArray
from lacunet.structure.counting import Columns, prior_of
from lacunet.structure.toggling import indicators_of, score_toggles
from lacunet.structure.zeros import numbered_zeros, possible_states

MOST_NUMBERS = LARGEST_TABLE >> 2  # of all tables of a graph: a fit has several vectors as long


def largest_family(states: float, variables: int, cases: float) -> float:
    """How many numbers the table of a variable may have: it must fit, and cases can fill it.

    Configurations of parents that are more than there are cases cannot occur once each. BDeu likes
    them all the same where values hardly repeat: what it expects of a new configuration is better
    than what few cases say.
    """
    return min(MOST_NUMBERS / variables, states * cases)


class Scored(NamedTuple):
    """A family, and what changes of it by one parent are worth."""

    score: float  # log p(its column | its parents' columns), and log p(its parents)
    gains: FloatArray  # (n,) what it adds to put each variable to the parents, or to take it away


class Statistics(Protocol):
    """Scores a family, and all that differ from it by one parent."""

    cards: FloatArray  # (n,) states of each variable
    cases: float  # N, the total weight of the rows

    def __call__(self, child: int, parents: BoolArray) -> FloatArray:
        """Give the scores with each variable put to the parents, or taken from them: (n,).

        At the child's own place stands the family as it is; only differences from it count.
        """


def columns_of(table: Table, tables: KnownTables = NOTHING) -> Columns:
    """Give a table column by column, as it is counted."""
    cards = np.array([len(c.states) for c in table.columns])
    codes = np.ascontiguousarray(table.codes.T)
    zeros = numbered_zeros(table.columns, tables.zeros)
    return Columns(codes, table.counts, cards, possible_states(codes, cards, zeros))


class CompleteCounts:
    """Log BD of families in a table without holes, CH96 eq. 5."""

    def __init__(self, table: Table, alpha: float | str, tables: KnownTables = NOTHING) -> None:
        if not table.complete:
            worst = int(table.missing.argmax())
            raise DataError(
                f"column '{table.columns[worst].name}' has missing cells "
                f"({table.missing[worst]:.1%}), and this search needs complete data. Fill them in "
                "with `lacunet assign --impute`, or leave such columns out with --exclude."
            )
        self.columns = columns_of(table, tables)
        self.prior = prior_of(alpha)
        self.cards, self.cases = self.columns.cards.astype(np.float64), table.weight
        self.indicators = indicators_of(self.columns)

    def __call__(self, child: int, parents: BoolArray) -> FloatArray:
        """Count the rows of each configuration and state."""
        chosen = parents.nonzero()[0]
        return score_toggles(self.columns, self.indicators, child, chosen, self.prior)


class FamilyScores:
    """Scores of families that were asked for once; a table that would not fit is never a choice."""

    def __init__(self, statistics: Statistics, log_prior: FloatArray | None = None) -> None:
        """`log_prior` is that of k parents of v, at [v, k]; None: the same for all graphs."""
        self.statistics, self.cards = statistics, statistics.cards
        n = len(self.cards)
        self.log_prior = np.zeros((n, n)) if log_prior is None else log_prior
        self.known: dict[tuple[int, bytes], Scored] = {}

    def __call__(self, child: int, parents: BoolArray) -> Scored:
        """Give the score of a family, and the gains of changing it; `parents` is a set, (n,)."""
        key = (child, parents.tobytes())
        if key not in self.known:
            scores = self.statistics(child, parents) + self._log_priors(child, parents)
            cells = self.cards[child] * self.cards[parents].prod()
            gains = scores - scores[child]
            most = largest_family(self.cards[child], len(self.cards), self.statistics.cases)
            gains[~parents & (cells * self.cards > most)] = -np.inf
            self.known[key] = Scored(float(scores[child]), gains)
        return self.known[key]

    def _log_priors(self, child: int, parents: BoolArray) -> FloatArray:
        """Log p of the sets that differ by one parent, (n,); of the set itself at the child."""
        size = int(parents.sum())
        sizes = size + np.where(parents, -1, 1)
        sizes[child] = size
        most = len(parents) - 1  # no set is as large as all variables
        own: FloatArray = self.log_prior[child, np.minimum(sizes, most)]
        return own

    @property
    def scored(self) -> int:
        """How many families were looked at."""
        return len(self.known) * len(self.cards)


class PerturbedScores(FamilyScores):
    """The same with gains that chance makes larger or smaller: climbs by them end elsewhere."""

    def __init__(self, scores: FamilyScores, spread: float, rng: np.random.Generator) -> None:
        super().__init__(scores.statistics, scores.log_prior)
        self.scores, self.spread, self.rng = scores, spread, rng

    def __call__(self, child: int, parents: BoolArray) -> Scored:
        """Give the score of a family, and what its changes seem to gain."""
        key = (child, parents.tobytes())
        if key not in self.known:
            score, gains = self.scores(child, parents)
            factors = np.exp(self.spread * self.rng.standard_normal(len(gains)))
            self.known[key] = Scored(score, gains * factors)
        return self.known[key]
