"""Graphs with hidden variables as candidates, each at the maximum that its search led to.

The search for hidden variables under one prior: the best graphs so far, and their evidence.
Look for hidden variables, one after the other, for as long as the evidence rises.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from lacunet.data.table import Table
from lacunet.errors import OptionError
from lacunet.evidence.annealing import Goal
from lacunet.fitting.diagnose import Variational
from lacunet.fitting.fit import Options, learn, with_posterior
from lacunet.inference.symmetry import symmetries_of
from lacunet.models import conjugacy
from lacunet.models.number_prior import NumberPrior
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.runtime.files import StrPath
from lacunet.scores import CSL_OCCUPIED, VB, Score, ScoreInput
from lacunet.scores.evaluation import score_at
from lacunet.selection.average import Label
from lacunet.selection.candidates import Candidate, Proposal, Selection
from lacunet.selection.certainty import How
from lacunet.selection.hidden_comparison import WITHOUT, Averaged, HiddenFound
from lacunet.selection.measuring import (
    approximated,
    by_measurements,
    measure_each,
    measure_posterior,
)
from lacunet.structure.completing import Completer
from lacunet.structure.hidden.fitting import LatentGraphFit, by_size, hidden_variables
from lacunet.structure.hidden.growing import Growing, hidden_piece
from lacunet.structure.hidden.latent_graph import edge_matrix
from lacunet.structure.hidden.latent_tree import check_columns, mean_model
from lacunet.structure.journal import Journal
from lacunet.structure.knowledge import Knowledge
from lacunet.structure.learned import Learned
from lacunet.structure.learning import learn_task
from lacunet.structure.scoring import search_complete
from lacunet.structure.searching import GraphSearch
from lacunet.structure.task import USUAL, GraphTask, graph_task

SCORES: tuple[Score, ...] = (CSL_OCCUPIED, VB)


def candidate_of(
    label: Label, found: LatentGraphFit, options: Options, executor: Executor
) -> Candidate:
    """Climb from what was found, and take the scores there."""
    network, problem = found.model.network, found.posterior.problem
    fit = learn(problem, options, executor=executor.silent(), start=found.model)
    at = ScoreInput(problem, fit.model.theta, options=options, executor=executor.silent())
    scores = score_at(at, SCORES)
    return Candidate(
        Proposal(label, network, network.hidden_sizes),
        with_posterior(fit, at.softmax_climb.point),
        at.dimension,
        scores,
        symmetries_of(problem).log_count,
    )


STARTS = 8  # of fits with fewer states, which scores need


@dataclass(frozen=True, eq=False)
class Measuring:
    """How two graphs are compared."""

    options: Options  # of fits; their starts are few
    goal: Goal  # of evidence that is measured
    always: bool  # whether it is measured also where scores tell graphs clearly apart
    close: float  # nats between two graphs, from which on scores are trusted to tell the better
    executor: Executor


@dataclass(eq=False)
class OnePrior:
    """A task with its prior, and the best graphs that were found under it."""

    growing: Growing
    how: Measuring
    without: Learned  # the best graph without hidden variables
    now: LatentGraphFit  # the best graph that was kept
    alone: Candidate  # `without`, with its scores
    kept: Candidate  # `now`, with its scores
    rival: Candidate | None = None  # the best graph with hidden variables, kept or not
    pair: Selection | None = None  # the comparison of `alone` and `rival`, where it was made
    tried: dict[str, LatentGraphFit] = field(
        default_factory=dict
    )  # graphs with one hidden variable more

    @classmethod
    def begin(
        cls, task: GraphTask, seed: int, how: Measuring, executor: Executor, journal: Journal
    ) -> OnePrior:
        """Search without hidden variables."""
        learned = learn_task(task, executor, journal)
        growing = Growing(task, np.random.default_rng([seed, 2]), journal)
        now = growing.first(learned)
        alone = candidate_of(WITHOUT, now, _few_starts(how.options), how.executor)
        return cls(growing, how, learned, now, alone, alone)

    def propose(self, number: int) -> None:
        """Look for graphs with one hidden variable more."""
        found = enumerate(self.growing.one_more(self.now))
        self.tried = {number_of(number, OTHER.format(k + 1) * (k > 0)): one for k, one in found}

    def take_over(self, number: int, others: Mapping[str, LatentGraphFit]) -> None:
        """Fit the best of graphs that were found under another prior, too."""
        if others:
            best = max(others.values(), key=lambda one: one.value)
            self.tried[number_of(number, ELSEWHERE)] = self.growing.taken_over(best, number)

    def search_alone_again(self) -> None:
        """Search without hidden variables again, from the best graph that has one."""
        if not self.tried:
            return
        best = max(self.tried.values(), key=lambda one: one.value)
        found = self.growing.without_again(self.now, best)
        if found is not self.now:
            self.now, self.without = found, _improved(self.without, found.posterior)
            self.alone = self.kept = self._candidate(WITHOUT, found)

    def best_tried(self) -> Candidate:
        """Score the graphs that were tried, and give the best."""
        return max((self._candidate(k, one) for k, one in self.tried.items()), key=score_of)

    def compare(self, other: Candidate, *, close: bool) -> Selection:
        """Compare the graph that was kept with another; by scores, if nothing depends on it."""
        if close or self.how.always:
            return self._compared(self.kept, other)
        task, both = self.growing.task, (self.kept, other)
        return approximated(Selection(task.table, both, self.how.options, task.alpha, None))

    def decided(self, label: str, pair: Selection | None, *, better: bool) -> None:
        """Keep a graph that was tried, if it is better."""
        first = self.kept is self.alone
        if not (first or better):
            return
        known = [c for c in pair.candidates if c.label == label] if pair else []
        self.rival = known[0] if known else self._candidate(label, self.tried[label])
        self.pair = pair if first else None
        if better:
            self.kept, self.now = self.rival, self.tried[label]

    def against_none(self) -> Selection:
        """Compare the best graph with hidden variables, if there is one, and that without."""
        return self.pair or self._compared(self.alone, self.rival or self.alone)

    def _candidate(self, label: str, found: LatentGraphFit) -> Candidate:
        return candidate_of(label, found, _few_starts(self.how.options), self.how.executor)

    def _compared(self, one: Candidate, other: Candidate) -> Selection:
        """Compare two graphs; where they are close their evidence is measured."""
        task, how, both = self.growing.task, self.how, (one,) if one is other else (one, other)
        found = Selection(task.table, both, how.options, task.alpha, None)
        if how.always and len(both) > 1:
            labels = [c.label for c in both]
            return by_measurements(
                measure_each(found, labels, goal=how.goal, executor=how.executor)
            )
        if len(both) == 1 or abs(score_of(one) - score_of(other)) > how.close:
            # Each graph was searched for: that one climb ended the search is no sign of doubt.
            certainty = replace(found.by_score(CSL_OCCUPIED.name), how=How.CLEAR)
            return replace(found, found=certainty)
        return measure_posterior(found, goal=how.goal, executor=how.executor.silent())


OTHER, ELSEWHERE = ", graph {}", ", found under another prior"  # in labels


def _improved(learned: Learned, q: Variational) -> Learned:
    """Put a graph with a higher bound in the place of one that was learned."""
    problem = q.problem
    families = conjugacy.log_marginal(q.N, problem.alpha, problem.layout) + problem.log_bases
    return replace(
        learned,
        posterior=q,
        families=tuple(families.tolist()),
        csl=None,
        measured=None,
        bounds=(*learned.bounds, q.bound),
    )


def number_of(number: int, variant: str) -> str:
    """Label a candidate."""
    return f"{hidden_variables(number)}{variant}"


def _few_starts(options: Options) -> Options:
    return replace(options, starts=min(STARTS, options.starts))


def score_of(candidate: Candidate) -> float:
    """Log p(D|S) of a candidate by the score to trust."""
    return candidate.scores[CSL_OCCUPIED.name].value


MOST = 3  # hidden variables, if nothing else is asked for
CLOSE = 10.0  # nats between two graphs, from which on scores are trusted to tell which is better
FAR = 20.0  # nats behind the other prior, from which on nothing is measured for the decision
FIRST = 0.3  # of the work, about, is the graph without hidden variables
EXPONENTS = (0.5, 1.0, 2.0)  # of Dirichlet priors that are held against the one that was given
WORTH = 1.0  # nats by which data must support one of them more, to search under it too


@dataclass(frozen=True, eq=False)
class HiddenSearch:
    """How to look for hidden variables, and by what to keep them."""

    most: int = MOST
    graphs: GraphSearch = field(default_factory=GraphSearch)
    options: Options = field(default_factory=Options)  # of fits; their starts are few
    goal: Goal = field(default_factory=Goal)  # of evidence that is measured
    always: bool = False  # whether it is measured also where scores tell graphs clearly apart

    def __post_init__(self) -> None:
        if self.most < 1:
            raise OptionError(
                f"most {self.most}: give 1 or more hidden variables to look for, or learn a graph "
                "without any."
            )

    def fingerprint(self, task: GraphTask) -> dict[str, Any]:
        """Say which search it is, but not how long: one that ended may go on with a larger most."""
        about = task.fingerprint()
        own = {"options": asdict(self.options), "goal": asdict(self.goal), "always": self.always}
        return {**about, "settings": {**about["settings"], "hidden": own}}


def find_hidden(
    table: Table,
    alpha: float | str,
    how: HiddenSearch,
    knowledge: Knowledge,
    executor: Executor = SERIAL,
    *,
    resume: StrPath | None = None,
    prior: NumberPrior = USUAL,
) -> HiddenFound:
    """Learn the best graph over the columns, then hidden variables, one after the other.

    `resume` is the file of a search that may be stopped.
    """
    check_columns(table)
    _check_room(knowledge)
    task = graph_task(table, alpha, how.graphs, knowledge, prior)
    with closing(Journal(resume, how.fingerprint(task) if resume else None)) as journal:
        half, rest = executor.part(0.0, FIRST), executor.part(FIRST, 1.0)
        measuring = Measuring(how.options, how.goal, how.always, CLOSE, rest)
        seed = how.graphs.seed
        priors = [OnePrior.begin(task, seed, measuring, half, journal)]
        other = supported_exponent(task, priors[0].without)
        if other is not None:
            wider, chapter = replace(task, alpha=other), journal.chapter("supported prior")
            priors.append(OnePrior.begin(wider, seed, measuring, half, chapter))
        return _look(priors, how.most, rest, journal)


def supported_exponent(task: GraphTask, learned: Learned) -> float | None:
    """Find the exponent under which the best graph has most evidence, if that is clearly more.

    Each prior has a graph of its own: one that makes large tables dear leaves edges out. Where
    cells are missing, rows that were completed once tell.
    """
    rows, start = task.table, edge_matrix(learned.network)
    if not task.complete:
        rows = Completer(rows, np.random.default_rng([task.how.seed, 3]))(learned.model)
    how = replace(task.how, restarts=0)
    values = {}
    for alpha in (task.alpha, *EXPONENTS):
        completed = replace(task, table=rows, alpha=alpha, how=how)
        values[alpha] = math.fsum(search_complete(completed, [start]).families)
    best = max(EXPONENTS, key=lambda exponent: values[exponent])
    return best if values[best] > values[task.alpha] + WORTH else None


def _look(
    priors: Sequence[OnePrior], most: int, executor: Executor, journal: Journal
) -> HiddenFound:
    """Add hidden variables for as long as each makes the graph better."""
    for number in range(1, most + 1):
        executor.say(hidden_piece(number), (number - 1) / most)
        _propose(priors, number)
        if not priors[0].tried or not _decide(priors, number, journal):
            break
    pairs, first = [one.against_none() for one in priors], priors[0]
    model = by_size(mean_model(first.kept.fit.model))
    return HiddenFound(first.without, pairs[0], first.kept.label, model, tuple(pairs[1:]))


def _propose(priors: Sequence[OnePrior], number: int) -> None:
    """Find graphs with one hidden variable more under each prior, and fit them under the other."""
    for one in priors:
        one.propose(number)
    own = [dict(one.tried) for one in priors]
    for one in priors:
        for other, found in zip(priors, own, strict=True):
            if other is not one:
                one.take_over(number, found)
    if number == 1:
        for one in priors:
            one.search_alone_again()


def _decide(priors: Sequence[OnePrior], number: int, journal: Journal) -> bool:
    """Decide whether a graph with one hidden variable more is better, if that is not known."""
    piece = f"{hidden_piece(number)}, decision"
    if decided := journal.get(piece):
        for one, label in zip(priors, decided["labels"], strict=True):
            one.decided(label, None, better=decided["better"])
        return bool(decided["better"])
    others = [one.best_tried() for one in priors]
    scores = np.array(
        [[score_of(one.kept), score_of(o)] for one, o in zip(priors, others, strict=True)]
    )
    near = (scores > scores.max(axis=0) - FAR).any(axis=1).tolist()
    compared = zip(priors, others, near, strict=True)
    pairs = [one.compare(other, close=close) for one, other, close in compared]
    better = Averaged(tuple(pairs)).kept
    for one, other, pair in zip(priors, others, pairs, strict=True):
        measured = pair.certainty.how is not How.APPROXIMATED
        one.decided(str(other.label), pair if measured or not better else None, better=better)
    journal.put(piece, labels=[str(other.label) for other in others], better=better)
    return better


def _check_room(knowledge: Knowledge) -> None:
    if knowledge.max_parents == 0:
        raise OptionError(
            "max_parents 0 leaves no room for the children of a hidden variable. Give 1 or more."
        )
