"""The evidence for hidden variables, averaged over priors; and the number of latent classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from lacunet.data.table import Table
from lacunet.fitting.prepare import prepare
from lacunet.inference.leaves import leaves_of
from lacunet.models.latent_class import over_leaves
from lacunet.models.network import Model, Network
from lacunet.models.prior import describe_alpha, one_alpha
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.scores import CSL_OCCUPIED, VB
from lacunet.selection.average import Label
from lacunet.selection.certainty import CertaintyBasis, Factor
from lacunet.selection.comparing import evaluate, latent_classes
from lacunet.selection.grids import TITLES
from lacunet.selection.measuring import measured
from lacunet.selection.result import Selection
from lacunet.settings import Settings
from lacunet.structure.hidden.growing import FEWEST_IN_CLIQUE
from lacunet.structure.hidden.latent_graph import hidden_grid, hidden_variables
from lacunet.structure.hidden.latent_tree import LatentTree, TreeShape, check_columns, mean_model
from lacunet.structure.learned import Learned
from lacunet.structure.task import few_rows
from lacunet.tabular import Columns, Grid, Printable, described

ACCEPTED = 0.5  # probability above which a hidden variable is accepted
WORTH = 1e-3  # posterior weight of a prior from which its comparison must be reliable
HALVED = math.log(2.0)  # nats of prior probability that each state beyond two costs
WITHOUT = "no hidden variable"
FIRST, MOST = 8, 64  # classes that are tried: doubled while the most are the best


def log_prior(network: Network, columns: int) -> float:
    """Log prior probability of the hidden variables of a network, up to a constant.

    A hidden variable joins at least three columns. At most n (n − 1) / 6 triples have no pair of
    columns in common. All these places together, with two states, are as probable as no hidden
    variable.
    """
    places = math.log(columns * (columns - 1) / (FEWEST_IN_CLIQUE * (FEWEST_IN_CLIQUE - 1)))
    return -sum(places + HALVED * (k - 2) for k in network.hidden_sizes.values())


@dataclass(frozen=True, eq=False)
class PriorAverage:
    """Two graphs compared under several priors of equal weight."""

    pairs: tuple[Selection, ...]  # each with the graph with more hidden variables last

    @cached_property
    def factors(self) -> list[Factor]:
        """The Bayes factor of the graph with more hidden variables under each prior."""
        return [p.bayes_factor(p.candidates[-1].label, p.candidates[0].label) for p in self.pairs]

    @cached_property
    def log_evidence(self) -> FloatArray:
        """Log p(D|S) of the graph with fewer hidden variables and that with more, (priors, 2)."""
        return np.array(
            [[p.certainty.values[p.candidates[n].label] for n in (0, -1)] for p in self.pairs],
            dtype=np.float64,
        )

    @cached_property
    def _weights(self) -> list[float]:
        """Posterior weight of each prior, given the graph for which it is larger."""
        w = np.exp(self.log_evidence - self.log_evidence.max(axis=0))
        weights: list[float] = (w / w.sum(axis=0)).max(axis=1).tolist()
        return weights

    @cached_property
    def factor(self) -> Factor:
        """The Bayes factor of the graph with more hidden variables, averaged over the priors."""
        fewer, more = (float(np.logaddexp.reduce(column)) for column in self.log_evidence.T)
        each = zip(self._weights, self.factors, strict=True)
        errors = [None if f.stderr is None else w * f.stderr for w, f in each if w >= WORTH]
        stderr = None if None in errors else math.hypot(*(e for e in errors if e is not None))
        return Factor(more - fewer, stderr)

    @cached_property
    def log_prior_odds(self) -> FloatArray:
        """Log prior odds of the graph with more hidden variables, (priors,)."""
        n = len(self.pairs[0].table.columns)
        both = [[c.problem.network for c in p.candidates] for p in self.pairs]
        return np.array([log_prior(two[-1], n) - log_prior(two[0], n) for two in both])

    @property
    def prior_odds(self) -> float:
        """The same as odds, under the given prior."""
        return math.exp(self.log_prior_odds[0])

    @property
    def probability(self) -> float:
        """Probability of the graph with more hidden variables against that with fewer."""
        joint = self.log_evidence.copy()
        joint[:, 1] += self.log_prior_odds
        fewer, more = np.logaddexp.reduce(joint)
        return float(np.exp(more - np.logaddexp(fewer, more)))

    @property
    def accepted(self) -> bool:
        """Whether the graph with more hidden variables is the answer.

        Under each prior that matters, this needs more than an approximation, which cannot separate
        close graphs.
        """
        hows = [
            p.certainty.basis for p, w in zip(self.pairs, self._weights, strict=True) if w >= WORTH
        ]
        return CertaintyBasis.APPROXIMATED not in hows and self.probability > ACCEPTED


@dataclass(frozen=True, eq=False, repr=False)
class HiddenStructure(Printable):
    """The best graph of a search, with or without hidden variables."""

    without: Learned  # the best graph over the columns alone
    selection: Selection  # `without`, and the best with hidden variables
    label: Label  # which of the two is the answer
    model: Model  # the answer, with posterior means for parameters
    others: tuple[Selection, ...] = ()  # the same under other priors that the data support more

    @property
    def network(self) -> Network:
        """The graph."""
        return self.model.network

    @property
    def hidden(self) -> dict[str, int]:
        """The hidden variables with their numbers of states; empty if none is kept."""
        return self.network.hidden_sizes

    @property
    def log_evidence(self) -> float:
        """Log p(D|S) of the answer over all labellings, measured or approximated."""
        return self.selection.certainty.values[self.label]

    @property
    def factor(self) -> Factor | None:
        """Bayes factor of the best graph with hidden variables and the best without.

        It holds under the given prior; `averaged.factor` is averaged over the priors. None if no
        graph with a hidden variable was worth a comparison.
        """
        with_some = [k for k in self.selection.certainty.ranking if k != WITHOUT]
        return self.selection.bayes_factor(with_some[0], WITHOUT) if with_some else None

    @cached_property
    def averaged(self) -> PriorAverage:
        """The comparison averaged over priors, which decides."""
        return PriorAverage((self.selection, *self.others))

    @property
    def probability(self) -> float | None:
        """Probability of the best graph with hidden variables against that without."""
        return None if self.factor is None else self.averaged.probability

    @property
    def comparison(self) -> str:
        """The Bayes factor and the probability in sentences, or the reason for none."""
        if self.factor is None:
            return "No graph with a hidden variable came near the best one without."
        average = self.averaged
        each = [
            f"{factor} under {_prior_of(pair)}"
            for pair, factor in zip(average.pairs, average.factors, strict=True)
        ]
        over = f"; averaged over both, {average.factor}" if len(each) > 1 else ""
        return (
            f"Log Bayes factor of the best graph with hidden variables and without: "
            f"{', '.join(each)}{over}. Probability with hidden variables, of these two: "
            f"{average.probability:.2g} (prior odds {average.prior_odds:.2g}; accepted above "
            f"{ACCEPTED:g})."
        )

    def tidy(self) -> Columns:
        """Return a row for each variable: its states, and its parents."""
        return self.network.tidy()

    def to_dict(self) -> dict[str, Any]:
        """Give the document of `--json`; factors compare with the best graph without any."""
        averaged = None if self.factor is None else self.averaged
        by_prior = (
            []
            if averaged is None
            else zip(averaged.pairs, averaged.log_evidence.tolist(), strict=True)
        )
        return described(
            self,
            "hidden log_evidence probability log_bayes_factor=factor certainty=selection.certainty "
            "parents=network.parent_names without",
            averaged_log_bayes_factor=averaged and averaged.factor,
            prior_odds=averaged and averaged.prior_odds,
            by_prior=[
                {"alpha": pair.alpha, "without": without, "with": more}
                for pair, (without, more) in by_prior
            ],
        )

    def grids(self) -> Sequence[Grid]:
        number, certainty = len(self.hidden), self.selection.certainty
        what = hidden_variables(number) if number else WITHOUT
        title = f"{what[:1].upper()}{what[1:]}: log p(D|S) ≈ {self.log_evidence:.2f}"
        title = f"{title} ({certainty.basis})"
        notes = [self.comparison]
        if not number and self.probability is not None and self.probability > ACCEPTED:
            notes.append("It is not accepted: the approximation cannot separate them.")
        below = (*notes, *(f"- {note}" for note in certainty.notes))
        first = hidden_grid(self.model, title, below) if number else Grid(title, notes=below)
        names = [v.name for v in self.network.variables]
        parents = [", ".join(names[p] for p in pa) or "–" for pa in self.network.parents]
        graph = {"variable": names, "parents": parents}
        return [first, Grid.by_columns("Graph", graph, frozenset({0, 1}))]


def _prior_of(pair: Selection) -> str:
    """Describe the prior of a comparison."""
    alpha = pair.alpha
    return describe_alpha(alpha) if isinstance(alpha, str | int | float) else "the prior given"


def learn_classes(table: Table, settings: Settings, executor: Executor = SERIAL) -> LatentTree:
    """Choose the number of classes as `select` does; twice as many are tried if the most win."""
    check_columns(table)
    prepare(executor, over_leaves(leaves_of(table, settings.numbers), 2))
    most, scored = FIRST, replace(settings, scores=f"{CSL_OCCUPIED.name},{VB.name}")
    while True:
        candidates = latent_classes(table, range(1, most + 1), settings.numbers)
        tried = evaluate(table, candidates, scored, executor=executor)
        if tried.label != most or most == MOST:
            break
        most *= 2
    selection = measured(tried, settings, executor)
    certainty, best = selection.certainty, selection.best
    return LatentTree(
        TreeShape.NAIVE,
        mean_model(best.fit.model),
        one_alpha(settings.alpha),
        certainty.values[best.label],
        f"{TITLES[certainty.by]}, {certainty.basis}",
        flags=(*few_rows(table), *best.flags, *certainty.notes),
    )
