"""Candidates for one table: fit and score each, then choose and average."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from lacunet.data.table import Table
from lacunet.evidence.estimate import Verdict
from lacunet.evidence.measure import Measurement
from lacunet.executor import SERIAL, Executor
from lacunet.flags import Flag
from lacunet.inference.problem import build_problem
from lacunet.inference.symmetry import symmetries_of
from lacunet.learn.fit import Fit, Options
from lacunet.model.network import Network
from lacunet.model.prior import PAPER_ALPHA, Alpha, dirichlet
from lacunet.scores import GROUPS, RECOMMENDED, SCORES, Evidence, Score, applicable
from lacunet.scoring.once import Once
from lacunet.scoring.score_input import fitted
from lacunet.search.average import Label, Labellings, check_prior, choose, posterior
from lacunet.search.truth import TRUTH
from lacunet.tabular import Grid, Printable

Sizes: TypeAlias = Mapping[str, int]  # states of hidden variables, by name


@dataclass(frozen=True)
class Proposal:
    """A network to try."""

    label: Label  # a number of hidden states, or a name
    network: Network
    sizes: Sizes  # states of the hidden variables that the search varies; empty if it varies none

    @property
    def title(self) -> str:
        """The label in words."""
        k = self.label
        return k if isinstance(k, str) else f"{k} state{'s' * (k > 1)}"


@dataclass(frozen=True, eq=False)
class Candidate:
    """One network: its fit and its scores."""

    proposal: Proposal
    fit: Fit
    dimension: int  # d, as the scores used it
    scores: Mapping[str, Evidence]  # by name
    log_labellings: float  # log of the number of equal modes that its labels make
    measured: Measurement | None = None  # the evidence itself, where it was asked for

    @property
    def label(self) -> Label:
        """What tells it from the others: a number of hidden states, or a name."""
        return self.proposal.label

    @property
    def states(self) -> Label:
        """The label, where that is a number of states."""
        return self.proposal.label

    @property
    def title(self) -> str:
        """The label in words."""
        return self.proposal.title

    @property
    def flags(self) -> tuple[Flag, ...]:
        """What to know of the fit."""
        return self.fit.flags

    @property
    def seconds(self) -> dict[str, float]:
        """Time of EM and of each score."""
        return {"em": self.fit.seconds} | {n: e.seconds for n, e in self.scores.items()}


@dataclass(frozen=True, eq=False)
class Selection(Printable):
    """Every candidate, what each score chooses, and how sure that is."""

    table: Table
    candidates: tuple[Candidate, ...]  # in the order given; numbers of states ascend
    options: Options
    alpha: Alpha
    prior: Mapping[Label, float] | None  # over the candidates; None = uniform

    @cached_property
    def scores(self) -> tuple[Score, ...]:
        """The scores that every candidate has, so that they can be compared."""
        known = (TRUTH, *SCORES)
        return tuple(s for s in known if all(s.name in c.scores for c in self.candidates))

    def score(self, name: str) -> Score:
        """Give a score by its name."""
        return next(s for s in self.scores if s.name == name)

    def values(self, score: str) -> dict[Label, float]:
        """Give a score of each candidate, by label."""
        return {c.label: c.scores[score].value for c in self.candidates}

    @cached_property
    def chosen(self) -> dict[str, Label | None]:
        """The candidate that each score, with the prior, makes most probable; None if none."""
        return {s.name: choose(self.values(s.name), self.prior) for s in self.scores}

    def posterior(
        self, score: str | None = None, labellings: Labellings = Labellings.PLAIN
    ) -> dict[Label, float]:
        """Give the posterior over the candidates by a score (default: the headline's)."""
        name = score or self.headline
        values = self.values(name)
        if labellings is Labellings.ALL and not self.score(name).every_labelling:
            values = {c.label: values[c.label] + c.log_labellings for c in self.candidates}
        return posterior(values, self.prior)

    @property
    def headline(self) -> str:
        """The score that the answer goes by: the evidence itself, if all candidates have it."""
        return min(self.scores, key=self._distrust).name

    def _distrust(self, score: Score) -> int:
        """Exact scores first, then evidence that was measured well, then what is recommended."""
        if score is TRUTH:
            measured = [c.measured for c in self.candidates]
            well = all(m is not None and m.verdict is not Verdict.LOWER_BOUND for m in measured)
            return 1 if well else 8
        if score in RECOMMENDED:
            return 4 + RECOMMENDED.index(score)
        return 0 if score.only_exact else 9

    @property
    def label(self) -> Label | None:
        """The answer: the label of the chosen candidate."""
        return self.chosen[self.headline]

    @property
    def states(self) -> Label | None:
        """The same, where candidates are numbers of hidden states."""
        return self.label

    @property
    def best(self) -> Candidate:
        """The candidate that the answer names."""
        return next(c for c in self.candidates if c.label == self.label)

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
        from lacunet.search.grids import selection_grids

        return selection_grids(self)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write one self-contained HTML page: charts, class profiles, warnings, holes."""
        # For whoever holds a selection; nothing below the page depends on it.
        from lacunet.report.page import write_report

        return write_report(self, path)


def candidate(
    table: Table,
    proposal: Proposal,
    *,
    scores: Sequence[Score],
    options: Options,
    alpha: Alpha = PAPER_ALPHA,
    rank: bool = False,
    shared: Once | None = None,
    executor: Executor = SERIAL,
) -> Candidate:
    """Fit and score one network; `shared` is what candidates for the same table have in common."""
    network = proposal.network
    problem = build_problem(table, network, dirichlet(network, alpha))
    usable = applicable(scores, problem)
    shared = Once() if shared is None else shared
    done = fitted(problem, options, rank=rank, shared=shared, executor=executor)
    found = {s.name: done.at.evidence(s) for s in usable}
    return Candidate(proposal, done.fit, done.at.dimension, found, symmetries_of(problem).log_count)


def evaluate(
    table: Table,
    proposals: Sequence[Proposal],
    *,
    scores: Sequence[Score] = GROUPS["usual"],
    options: Options | None = None,
    alpha: Alpha = PAPER_ALPHA,
    prior: Mapping[Label, float] | None = None,
    rank: bool = False,
    executor: Executor = SERIAL,
) -> Selection:
    """Fit and score every proposal."""
    options = options or Options()
    check_prior(prior, [p.label for p in proposals])
    # What is shared stays in memory until the last candidate is done.
    shared = Once() if any(s.fits_fewer for s in scores) else None

    def one(given: tuple[Proposal, Executor]) -> Candidate:
        return candidate(
            table,
            given[0],
            scores=scores,
            options=options,
            alpha=alpha,
            rank=rank,
            shared=shared,
            executor=given[1].part(0.0, 0.9),
        )

    # The largest first: what takes longest must not be what is left over at the end.
    largest_first = sorted(proposals, key=lambda p: -p.network.dimension)
    times = [(1.0 + p.network.dimension) ** 1.5 for p in largest_first]
    shown = executor.beside([p.title for p in largest_first], times)
    found: dict[Label, Candidate] = {}
    for place, done in executor.results(one, list(zip(largest_first, shown, strict=True))):
        found[done.label] = done
        shown[place].say("", 1.0)
    return Selection(table, tuple(found[p.label] for p in proposals), options, alpha, prior)
