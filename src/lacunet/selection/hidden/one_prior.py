"""The search for hidden variables under one prior: the best graphs so far, and their evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from lacunet.evidence.clock import Goal
from lacunet.fitting.fit import Options
from lacunet.fitting.variational import Variational
from lacunet.models import conjugacy
from lacunet.runtime.executor import Executor
from lacunet.scores import CSL_OCCUPIED
from lacunet.selection.candidates import Candidate, Selection
from lacunet.selection.certainty import How
from lacunet.selection.hidden.fitted_candidates import candidate_of
from lacunet.selection.hidden.found import WITHOUT
from lacunet.selection.measuring import approximated, measure_posterior
from lacunet.selection.one_by_one import by_measurements, measure_each
from lacunet.structure.hidden.fitting import Fitted
from lacunet.structure.hidden.growing import Growing
from lacunet.structure.hidden.hidden_grid import hidden_variables
from lacunet.structure.journal import Journal
from lacunet.structure.learned import Learned
from lacunet.structure.learning import learn_task
from lacunet.structure.task import GraphTask

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
    now: Fitted  # the best graph that was kept
    alone: Candidate  # `without`, with its scores
    kept: Candidate  # `now`, with its scores
    rival: Candidate | None = None  # the best graph with hidden variables, kept or not
    pair: Selection | None = None  # the comparison of `alone` and `rival`, where it was made
    tried: dict[str, Fitted] = field(default_factory=dict)  # graphs with one hidden variable more

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

    def take_over(self, number: int, others: Mapping[str, Fitted]) -> None:
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

    def _candidate(self, label: str, found: Fitted) -> Candidate:
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
