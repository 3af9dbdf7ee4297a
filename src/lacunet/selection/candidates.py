"""Candidates for one table: proposed networks, and networks with their fits and scores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, TypeAlias

from lacunet.evidence.estimate import Measurement
from lacunet.fitting.fit import Fit
from lacunet.flags import Flag
from lacunet.inference.problem import Problem
from lacunet.inference.symmetry import symmetries_of
from lacunet.models.latent_class import counted
from lacunet.models.network import Model, Network
from lacunet.models.prior import Alpha
from lacunet.scores import CS, HEADLINE, SCORES, Evidence, ScoreInput
from lacunet.selection.average import Label
from lacunet.selection.certainty import TRUTH
from lacunet.summaries.ratio_tests import LikelihoodRatio, likelihood_ratio
from lacunet.tabular import Columns, Framed, described, transposed

Sizes: TypeAlias = Mapping[str, int]  # states of hidden variables, by name


@dataclass(frozen=True)
class Proposal:
    """A candidate network before it is fitted."""

    label: Label  # a number of hidden states, or a name
    network: Network
    sizes: Sizes  # states of the hidden variables that candidates vary; empty if none
    alpha: Alpha | None = None  # its prior, unless all candidates share one

    @property
    def title(self) -> str:
        """The label in words."""
        k = self.label
        return k if isinstance(k, str) else counted(k, self.network)


@dataclass(frozen=True, eq=False, repr=False)
class Candidate(Framed):
    """One network: its fit and its scores."""

    proposal: Proposal
    fit: Fit
    dimension: int  # d, as the scores used it
    scores: Mapping[str, Evidence]  # by name
    log_labellings: float  # log of the number of equal modes that its labels make
    measured: Measurement | None = None  # the evidence itself, if requested
    walked: Mapping[int, float] | None = None  # `used`, from a walk over partitions
    likeliest: Fit | None = None  # the maximum-likelihood fit, for tests of nested networks

    @property
    def problem(self) -> Problem:
        """The network joined with the data."""
        return self.fit.problem

    @property
    def network(self) -> Network:
        """The structure."""
        return self.problem.network

    @property
    def sizes(self) -> Sizes:
        """States of the hidden variables that candidates vary."""
        return self.proposal.sizes

    @property
    def model(self) -> Model:
        """The network with its fitted parameters."""
        return self.fit.model

    @property
    def label(self) -> Label:
        """The number of hidden states, or a name."""
        return self.proposal.label

    states = label

    @property
    def title(self) -> str:
        """The label in words."""
        return self.proposal.title

    @property
    def log_lik(self) -> float:
        """The maximum log-likelihood if its fit is known, else that of the fit."""
        return (self.likeliest or self.fit).log_lik

    @cached_property
    def approximation(self) -> float:
        """Log evidence by the score that is defined everywhere, over all labellings; else NaN."""
        return approximate_log_evidence(self.fit)

    def ratio_to(self, narrow: Candidate) -> LikelihoodRatio | None:
        """Likelihood-ratio test against a special case; None if a likelihood has no maximum."""
        if self.likeliest is None or narrow.likeliest is None:
            return None
        return likelihood_ratio(narrow.likeliest, self.likeliest)

    @property
    def flags(self) -> tuple[Flag, ...]:
        """Flags of the fit, and of the mode at which its scores are taken."""
        return self.fit.all_flags

    @property
    def used(self) -> Mapping[int, float] | None:
        """Posterior of the number of occupied classes under this candidate; None if unknown."""
        if self.label == 1:
            return {1: 1.0}
        return self.walked or (self.measured and self.measured.used) or None

    @property
    def lower_bound(self) -> float:
        """The highest lower bound of the evidence among its scores."""
        whole = self.dimension == self.problem.network.dimension  # else cs is corrected upwards
        names = [s.name for s in SCORES if s.lower and (whole or s.name != CS.name)]
        bounds = (self.scores[name] for name in names if name in self.scores)
        return max((e.value for e in bounds if e.terms), default=-math.inf)

    def with_evidence(self, evidence: Evidence) -> Self:
        """Add the measured evidence as a score."""
        return replace(self, scores={**self.scores, TRUTH.name: evidence})

    def brief(self) -> str:
        return ", ".join([self.title, *(f"{n} {e.value:.2f}" for n, e in self.scores.items())])

    def tidy(self) -> Columns:
        """Return a row for each score."""
        rows = ((name, e.value, e.stderr) for name, e in self.scores.items())
        return transposed(("score", "value", "stderr"), rows)

    def to_dict(self) -> dict[str, Any]:
        """Give the document of `--json`: the size, the fit and the scores."""
        sizes = self.model.network.hidden_sizes
        return {
            "label": self.label,
            "states": self.label if isinstance(self.label, int) else sizes,
            "hidden": sizes,
            "dimension": self.dimension,
            **self.fit.to_dict(),
            **described(self, "scores measured seconds"),
        }

    @property
    def seconds(self) -> dict[str, float]:
        """Time of EM and of each score."""
        return {"em": self.fit.seconds} | {n: e.seconds for n, e in self.scores.items()}


def approximate_log_evidence(fit: Fit) -> float:
    """Log evidence by the score that is defined everywhere, over all labellings; NaN if none."""
    at = ScoreInput(fit.problem, fit.for_scores.model.theta, options=fit.options)
    return HEADLINE.evaluated(at).value + symmetries_of(fit.problem).log_count


@dataclass(frozen=True)
class Failed:
    """A candidate that could not be fitted, with the reason; it is left out of the answer."""

    label: Label
    title: str
    reason: str

    def __str__(self) -> str:
        return f"{self.title}: {self.reason}"
