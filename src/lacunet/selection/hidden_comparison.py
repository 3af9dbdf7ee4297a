"""Evidence for a hidden variable, averaged over priors of the tables, and what follows from it.

What looking for hidden variables led to, and what speaks for it.
A latent class model of a table, with as many classes as its evidence asks for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lacunet.data.table import Table
from lacunet.evidence.annealing import Goal
from lacunet.fitting.fit import Options
from lacunet.fitting.prepare import prepare
from lacunet.inference.leaves import leaves_of
from lacunet.models.latent_class import over_leaves
from lacunet.models.network import Model, Network
from lacunet.models.number_prior import NumberPrior
from lacunet.models.prior import describe_alpha
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.scores import CSL_OCCUPIED, VB
from lacunet.selection.average import Label
from lacunet.selection.candidates import Selection
from lacunet.selection.certainty import Factor, How
from lacunet.selection.evaluating import evaluate, latent_classes
from lacunet.selection.grids import TITLES
from lacunet.selection.measuring import measure_posterior
from lacunet.structure.hidden.fitting import hidden_grid, hidden_variables
from lacunet.structure.hidden.growing import FEWEST_IN_CLIQUE
from lacunet.structure.hidden.latent_tree import LatentTree, TreeShape, check_columns, mean_model
from lacunet.structure.learned import Learned
from lacunet.structure.task import USUAL, few_rows
from lacunet.tabular import Columns, Grid, Printable

KEPT = 0.5  # probability from which on a hidden variable is kept
WORTH = 1e-3  # weight of a prior from which on it must be known how graphs compare under it
HALVED = math.log(2.0)  # of the prior probability, by each state beyond two


def log_prior(network: Network, columns: int) -> float:
    """Log prior probability of the hidden variables of a network, up to a constant.

    A hidden variable joins three columns at least. There are n (n − 1) / 6 groups of three if no
    two of them have two columns in common: with two states, so many places together are as
    probable as no hidden variable.
    """
    places = math.log(columns * (columns - 1) / (FEWEST_IN_CLIQUE * (FEWEST_IN_CLIQUE - 1)))
    return -sum(places + HALVED * (k - 2) for k in network.hidden_sizes.values())


@dataclass(frozen=True, eq=False)
class Averaged:
    """Two graphs compared under several priors, which are equally probable before the data."""

    pairs: tuple[Selection, ...]  # each with the graph with more hidden variables last

    @property
    def labels(self) -> list[tuple[Label, Label]]:
        """The graph with fewer hidden variables and that with more, under each prior."""
        return [(p.candidates[0].label, p.candidates[-1].label) for p in self.pairs]

    @cached_property
    def log_evidence(self) -> FloatArray:
        """Log p(D|S) of both graphs under each prior, (priors, 2)."""
        values = [p.certainty.values for p in self.pairs]
        each = [[v[a], v[b]] for v, (a, b) in zip(values, self.labels, strict=True)]
        return np.array(each, dtype=np.float64)

    @cached_property
    def weights(self) -> FloatArray:
        """Posterior weights of the priors given each graph, (priors, 2)."""
        w = np.exp(self.log_evidence - self.log_evidence.max(axis=0))
        found: FloatArray = w / w.sum(axis=0)
        return found

    @cached_property
    def factor(self) -> Factor:
        """The Bayes factor of the graph with more hidden variables, averaged over the priors."""
        fewer, more = (float(np.logaddexp.reduce(column)) for column in self.log_evidence.T)
        each = [
            p.bayes_factor(b, a).stderr for p, (a, b) in zip(self.pairs, self.labels, strict=True)
        ]
        matter = [(w, e) for w, e in zip(self.weights.max(axis=1), each, strict=True) if w >= WORTH]
        errors = [None if e is None else float(w * e) for w, e in matter]
        stderr = None if None in errors else math.hypot(*(e for e in errors if e is not None))
        return Factor(more - fewer, stderr)

    @cached_property
    def log_prior_odds(self) -> FloatArray:
        """Log odds of the graph with more hidden variables before the data, (priors,)."""
        n = len(self.pairs[0].table.columns)
        both = [[c.problem.network for c in p.candidates] for p in self.pairs]
        return np.array([log_prior(two[-1], n) - log_prior(two[0], n) for two in both])

    @property
    def prior_odds(self) -> float:
        """The same as odds, under the prior that was given."""
        return math.exp(self.log_prior_odds[0])

    @property
    def probability(self) -> float:
        """Probability of the graph with more hidden variables, against that with fewer."""
        joint = self.log_evidence.copy()
        joint[:, 1] += self.log_prior_odds
        fewer, more = np.logaddexp.reduce(joint)
        return float(np.exp(more - np.logaddexp(fewer, more)))

    @property
    def known(self) -> bool:
        """Whether more than an approximation tells, under each prior that matters.

        Graphs that are close and too large to be measured are not told apart by approximations.
        """
        weights = self.weights.max(axis=1)
        hows = [pair.certainty.how for pair in self.pairs]
        return all(
            w < WORTH or how is not How.APPROXIMATED for w, how in zip(weights, hows, strict=True)
        )

    @property
    def kept(self) -> bool:
        """Whether the graph with more hidden variables is the answer."""
        return self.known and self.probability > KEPT


WITHOUT = "no hidden variable"


@dataclass(frozen=True, eq=False, repr=False)
class HiddenFound(Printable):
    """The best graph that was found, with hidden variables or without."""

    without: Learned  # the best graph over the columns alone
    selection: Selection  # that, and the best with hidden variables
    label: Label  # which of the two is the answer
    model: Model  # the same, with posterior means for parameters
    others: tuple[Selection, ...] = ()  # the same under other priors that the data support more

    @property
    def network(self) -> Network:
        """The graph."""
        return self.model.network

    @property
    def hidden(self) -> dict[str, int]:
        """The hidden variables, and how many states each has; empty where none is kept."""
        return self.network.hidden_sizes

    @property
    def log_evidence(self) -> float:
        """Log p(D|S) of the answer, all labellings, as far as it is known."""
        return self.selection.certainty.values[self.label]

    @property
    def factor(self) -> Factor | None:
        """Bayes factor of the best graph with hidden variables and the best without.

        Under the prior that was given; `averaged.factor` is averaged over the priors. None where no
        graph with a hidden variable was worth a comparison.
        """
        with_some = [k for k in self.selection.certainty.ranking if k != WITHOUT]
        if not with_some:
            return None
        return self.selection.bayes_factor(with_some[0], WITHOUT)

    @cached_property
    def averaged(self) -> Averaged:
        """The comparison averaged over priors: what decides."""
        return Averaged((self.selection, *self.others))

    @property
    def probability(self) -> float | None:
        """Probability of the best graph with hidden variables against that without, given both."""
        return None if self.factor is None else self.averaged.probability

    @property
    def comparison(self) -> str:
        """The Bayes factor and the probability in sentences, or why there are none."""
        if self.factor is None or self.probability is None:
            return "No graph with a hidden variable came near the best one without."
        odds = f"prior odds {self.averaged.prior_odds:.2g}; kept above {KEPT:g}"
        return (
            f"Log Bayes factor of the best graph with hidden variables and without: "
            f"{self._factors()}. Probability with hidden variables, of these two: "
            f"{self.probability:.2g} ({odds})."
        )

    def _factors(self) -> str:
        """The Bayes factor under each prior, and averaged over them."""
        pairs, labels = self.averaged.pairs, self.averaged.labels
        each = [
            f"{pair.bayes_factor(more, fewer)} under {_prior_of(pair)}"
            for pair, (fewer, more) in zip(pairs, labels, strict=True)
        ]
        if len(each) == 1:
            return each[0]
        return f"{', '.join(each)}; averaged over both, {self.averaged.factor}"

    def tidy(self) -> Columns:
        """Give a row for each variable: its states, and its parents."""
        return self.network.tidy()

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
        number, how = len(self.hidden), self.selection.certainty.how
        what = hidden_variables(number) if number else WITHOUT
        title = f"{what[:1].upper()}{what[1:]}: log p(D|S) ≈ {self.log_evidence:.2f} ({how})"
        close = "It is not kept: they are too close for an approximation to tell."
        better = self.probability is not None and self.probability > KEPT
        notes = (
            self.comparison,
            *([close] if not number and better else []),
            *(f"- {note}" for note in self.selection.certainty.notes),
        )
        first = hidden_grid(self.model, title, notes) if number else Grid(title, notes=notes)
        return [first, graph_grid(self.network)]


def _prior_of(pair: Selection) -> str:
    """Say the prior of a comparison in words."""
    alpha = pair.alpha
    return describe_alpha(alpha) if isinstance(alpha, str | int | float) else "the prior given"


def graph_grid(network: Network) -> Grid:
    """Say which parents every variable has."""
    names = [v.name for v in network.variables]
    rows = [
        (names[v], ", ".join(names[p] for p in pa) or "–") for v, pa in enumerate(network.parents)
    ]
    return Grid("Graph", ("variable", "parents"), tuple(rows), frozenset({0, 1}))


FIRST, MOST = 8, 64  # classes that are tried; twice as many, where the most are the best


def learn_classes(
    table: Table,
    alpha: float | str,
    options: Options,
    goal: Goal,
    executor: Executor = SERIAL,
    *,
    prior: NumberPrior = USUAL,
) -> LatentTree:
    """Choose the number of classes as `select` does."""
    check_columns(table)
    prepare(executor, over_leaves(leaves_of(table, prior), 2))
    tried = _tried(table, alpha, options, executor, prior)
    found = measure_posterior(tried, goal=goal, executor=executor)
    certainty, best = found.certainty, found.best
    return LatentTree(
        TreeShape.NAIVE,
        mean_model(best.fit.model),
        alpha,
        certainty.values[best.label],
        f"{TITLES[certainty.by]}, {certainty.how}",
        flags=(*few_rows(table), *best.flags, *certainty.notes),
    )


def _tried(
    table: Table, alpha: float | str, options: Options, executor: Executor, prior: NumberPrior
) -> Selection:
    most = FIRST
    while True:
        found = evaluate(
            table,
            latent_classes(table, range(1, most + 1), prior),
            scores=(CSL_OCCUPIED, VB),
            options=options,
            alpha=alpha,
            executor=executor,
        )
        if found.label != most or most == MOST:
            return found
        most *= 2
