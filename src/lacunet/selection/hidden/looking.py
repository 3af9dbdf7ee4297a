"""Look for hidden variables, one after the other, for as long as the evidence rises.

A prior that does not fit the tables of a graph speaks for hidden variables, which make tables
smaller. So graphs are searched under the prior that was given and under the one of some others that
the data support best; evidence averaged over both decides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from lacunet.data.table import Table
from lacunet.errors import OptionError
from lacunet.evidence.clock import Goal
from lacunet.fitting.fit import Options
from lacunet.models.number_prior import NumberPrior
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.runtime.files import StrPath
from lacunet.selection.certainty import How
from lacunet.selection.hidden.averaging import Averaged
from lacunet.selection.hidden.found import HiddenFound
from lacunet.selection.hidden.one_prior import Measuring, OnePrior, score_of
from lacunet.structure.complete import search_complete
from lacunet.structure.completing import Completer
from lacunet.structure.hidden.growing import hidden_piece
from lacunet.structure.hidden.hidden_grid import by_size
from lacunet.structure.hidden.latent_tree import check_columns, mean_model
from lacunet.structure.hidden.sketch import edge_matrix
from lacunet.structure.journal import Journal
from lacunet.structure.knowledge import Knowledge
from lacunet.structure.learned import Learned
from lacunet.structure.searching import GraphSearch
from lacunet.structure.task import USUAL, GraphTask, graph_task

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
