"""Evidence for a hidden variable, averaged over priors of the tables, and what follows from it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lacunet.models.network import Network
from lacunet.runtime.arrays import FloatArray
from lacunet.selection.average import Label
from lacunet.selection.candidates import Selection
from lacunet.selection.certainty import Factor, How
from lacunet.structure.hidden.cliques import FEWEST

KEPT = 0.5  # probability from which on a hidden variable is kept
WORTH = 1e-3  # weight of a prior from which on it must be known how graphs compare under it
HALVED = math.log(2.0)  # of the prior probability, by each state beyond two


def log_prior(network: Network, columns: int) -> float:
    """Log prior probability of the hidden variables of a network, up to a constant.

    A hidden variable joins three columns at least. There are n (n − 1) / 6 groups of three if no
    two of them have two columns in common: with two states, so many places together are as
    probable as no hidden variable.
    """
    places = math.log(columns * (columns - 1) / (FEWEST * (FEWEST - 1)))
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
