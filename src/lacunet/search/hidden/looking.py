"""Look for hidden variables, one after the other, for as long as the evidence rises."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from lacunet.data.table import Table
from lacunet.errors import OptionError
from lacunet.evidence.clock import Goal
from lacunet.executor import SERIAL, Executor
from lacunet.files import StrPath
from lacunet.graphs.hidden.fitting import Fitted
from lacunet.graphs.hidden.growing import Growing, hidden_piece
from lacunet.graphs.hidden.hidden_grid import by_size, hidden_variables
from lacunet.graphs.hidden.latent_tree import check_columns, mean_model
from lacunet.graphs.journal import Journal
from lacunet.graphs.knowledge import Knowledge
from lacunet.graphs.learned import Learned
from lacunet.graphs.learning import learn_task
from lacunet.graphs.searching import GraphSearch
from lacunet.graphs.task import USUAL, GraphTask, graph_task
from lacunet.learn.fit import Options
from lacunet.model.number_prior import NumberPrior
from lacunet.scores import CSL_OCCUPIED
from lacunet.search.candidates import Candidate, Selection
from lacunet.search.certainty import How
from lacunet.search.hidden.fitted_candidates import candidate_of
from lacunet.search.hidden.found import WITHOUT, HiddenFound
from lacunet.search.measuring import measure_posterior
from lacunet.search.one_by_one import by_measurements, measure_each

MOST = 3  # hidden variables, if nothing else is asked for
CLOSE = 10.0  # nats between two graphs, from which on scores are trusted to tell which is better
FIRST = 0.3  # of the work, about, is the graph without hidden variables
EQUAL = 1e-6  # nats: nobody is better by less
STARTS = 8  # of fits with fewer states, which scores need


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
        without = learn_task(task, executor.part(0.0, FIRST), journal)
        growing = Growing(task, np.random.default_rng([how.graphs.seed, 2]), journal)
        looking = _Looking(growing, how, executor.part(FIRST, 1.0))
        return looking.found(without)


@dataclass(frozen=True, eq=False)
class _Step:
    other: Candidate  # the best graph with one hidden variable more
    better: bool  # than the best graph before
    pair: Selection | None = None  # both; None if it was decided before the search was stopped


@dataclass(frozen=True, eq=False)
class _Looking:
    growing: Growing
    how: HiddenSearch
    executor: Executor

    def found(self, without: Learned) -> HiddenFound:
        """Add hidden variables for as long as each makes the graph better."""
        now = self.growing.first(without)
        alone = best = rival = self._candidate(WITHOUT, now)
        last = None  # the comparison of these, where it was made on the way
        for number in range(1, self.how.most + 1):
            self.executor.say(hidden_piece(number), (number - 1) / self.how.most)
            tried = {number_of(number, k): one for k, one in enumerate(self.growing.one_more(now))}
            if not tried:
                break
            step = self._step(number, best, tried)
            if best is alone:
                rival, last = step.other, step.pair
            if not step.better:
                break
            if best is not alone:
                rival, last = step.other, None
            best, now = step.other, tried[str(step.other.label)]
        pair = last or self._pair(alone, rival)
        return HiddenFound(without, pair, best.label, by_size(mean_model(best.fit.model)))

    def _step(self, number: int, best: Candidate, tried: Mapping[str, Fitted]) -> _Step:
        """Decide whether a graph with one hidden variable more is better, if that is not known."""
        journal, piece = self.growing.journal, f"{hidden_piece(number)}, decision"
        if decided := journal.get(piece):
            label = decided["label"]
            return _Step(self._candidate(label, tried[label]), decided["better"])
        others = [self._candidate(label, one) for label, one in tried.items()]
        other = max(others, key=_score)
        pair = self._pair(best, other)
        # Graphs that are close and too large to be measured are not told apart by approximations.
        known = pair.certainty.how is not How.APPROXIMATED
        better = known and pair.bayes_factor(other.label, best.label).log > EQUAL
        journal.put(piece, label=other.label, better=better)
        return _Step(other, better, pair)

    def _candidate(self, label: str, found: Fitted) -> Candidate:
        options = replace(self.how.options, starts=min(STARTS, self.how.options.starts))
        return candidate_of(label, found, options, self.executor)

    def _pair(self, one: Candidate, other: Candidate) -> Selection:
        """Compare two graphs; where they are close their evidence is measured."""
        task, both = self.growing.task, (one,) if one is other else (one, other)
        found = Selection(task.table, both, self.how.options, task.alpha, None)
        if self.how.always and len(both) > 1:
            labels, goal = [c.label for c in both], self.how.goal
            return by_measurements(measure_each(found, labels, goal=goal, executor=self.executor))
        if len(both) == 1 or abs(_score(one) - _score(other)) > CLOSE:
            # Each graph was searched for: that one climb ended the search is no sign of doubt.
            certainty = replace(found.by_score(CSL_OCCUPIED.name), how=How.CLEAR)
            return replace(found, found=certainty)
        return measure_posterior(found, goal=self.how.goal, executor=self.executor.silent())


def number_of(number: int, variant: int) -> str:
    """Label a candidate."""
    return f"{hidden_variables(number)}{' as proposed' * (variant > 0)}"


def _score(candidate: Candidate) -> float:
    return candidate.scores[CSL_OCCUPIED.name].value


def _check_room(knowledge: Knowledge) -> None:
    if knowledge.max_parents == 0:
        raise OptionError(
            "max_parents 0 leaves no room for the children of a hidden variable. Give 1 or more."
        )
