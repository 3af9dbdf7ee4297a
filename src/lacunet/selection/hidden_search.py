"""Greedy search for hidden variables, one at a time, while the evidence rises.

Every graph is searched under the given prior and, if the data clearly support another prior more,
under that one too.
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
from lacunet.fitting.diagnose import Variational
from lacunet.fitting.fit import learn
from lacunet.models import conjugacy
from lacunet.models.prior import one_alpha
from lacunet.runtime.checkpoint import Checkpoint
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.runtime.files import StrPath
from lacunet.scores import CSL_OCCUPIED, VB, Score
from lacunet.selection.candidates import Candidate, Proposal
from lacunet.selection.certainty import CertaintyBasis
from lacunet.selection.comparing import candidate_at, compare
from lacunet.selection.hidden_comparison import WITHOUT, HiddenStructure, PriorAverage
from lacunet.selection.measuring import approximated
from lacunet.selection.result import Selection
from lacunet.settings import Settings
from lacunet.structure.completing import Completer
from lacunet.structure.families import GraphPrior
from lacunet.structure.hidden.growing import Growing, hidden_piece
from lacunet.structure.hidden.latent_graph import (
    LatentGraphFit,
    by_size,
    edge_matrix,
    hidden_variables,
)
from lacunet.structure.hidden.latent_tree import check_columns, mean_model
from lacunet.structure.knowledge import Knowledge
from lacunet.structure.learned import Learned
from lacunet.structure.learning import learn_task
from lacunet.structure.scoring import search_complete
from lacunet.structure.task import GraphTask, graph_task

SCORES: tuple[Score, ...] = (CSL_OCCUPIED, VB)
STARTS = 8  # of fits with fewer states, which scores need
MOST = 3  # hidden variables by default
CLOSE = 10.0  # nats between two graphs, above which scores decide
FAR = 20.0  # nats behind the other prior, beyond which nothing is measured
FIRST = 0.3  # share of the work for the graph without hidden variables, about
EXPONENTS = (0.5, 1.0, 2.0)  # of Dirichlet priors that are compared with the given one
WORTH = 1.0  # nats of additional support from which one of them is searched too
OTHER, ELSEWHERE = ", graph {}", ", found under another prior"  # in labels


def score_of(candidate: Candidate) -> float:
    """Log p(D|S) of a candidate by the trusted score."""
    return candidate.scores[CSL_OCCUPIED.name].value


def _best(tried: dict[str, LatentGraphFit]) -> LatentGraphFit:
    return max(tried.values(), key=lambda one: one.value)


@dataclass(eq=False)
class PriorSearch:
    """The search under one prior, with its best graphs."""

    growing: Growing
    settings: Settings  # of fits, whose starts are few, and of measured evidence
    executor: Executor
    without: Learned  # the best graph without hidden variables
    now: LatentGraphFit  # the best graph that was kept
    alone: Candidate  # `without`, with its scores
    accepted: Candidate  # `now`, with its scores
    rival: Candidate | None = None  # the best graph with hidden variables, kept or not
    pair: Selection | None = None  # the comparison of `alone` and `rival`, if made
    # Graphs with one hidden variable more, by label.
    tried: dict[str, LatentGraphFit] = field(default_factory=dict)

    @classmethod
    def begin(
        cls,
        task: GraphTask,
        settings: Settings,
        first: Executor,
        rest: Executor,
        checkpoint: Checkpoint,
    ) -> PriorSearch:
        """Search without hidden variables."""
        learned = learn_task(task, first, checkpoint)
        growing = Growing(task, np.random.default_rng([settings.seed, 2]), checkpoint)
        now = growing.first(learned)
        settings = replace(settings, alpha=task.alpha)
        alone = _candidate(WITHOUT, now, settings, rest)
        return cls(growing, settings, rest, learned, now, alone, alone)

    def propose(self, number: int) -> None:
        """Search for graphs with one more hidden variable."""
        label, graphs = hidden_variables(number), self.growing.one_more(self.now)
        self.tried = {label + OTHER.format(k + 1) * (k > 0): one for k, one in enumerate(graphs)}

    def search_alone_again(self) -> None:
        """Search without hidden variables again, from the best graph that has one."""
        if not self.tried:
            return
        graph = self.growing.without_again(self.now, _best(self.tried))
        if graph is not self.now:
            self.now, self.without = graph, _improved(self.without, graph.posterior)
            self.alone = self.accepted = self._scored(WITHOUT, graph)

    def best_tried(self) -> Candidate:
        """Score the graphs that were tried, and return the best."""
        return max((self._scored(k, one) for k, one in self.tried.items()), key=score_of)

    def compare(self, one: Candidate, other: Candidate) -> Selection:
        """Compare two graphs; if they are close, or on demand, their evidence is measured."""
        always, pair = self.settings.evidence, self.unmeasured(one, other)
        apart = abs(score_of(one) - score_of(other)) > CLOSE
        if one is other or (apart and not always):
            # A search that ends with one climb is not a sign of doubt: each graph was searched for.
            certainty = replace(pair.by_score(CSL_OCCUPIED.name), basis=CertaintyBasis.CLEAR)
            return replace(pair, overall=certainty)
        executor = self.executor if always else self.executor.silent()
        return compare(pair.table, pair.candidates, self.settings, executor=executor)

    def unmeasured(self, one: Candidate, other: Candidate) -> Selection:
        """Join two graphs in a selection that is not measured."""
        task, both = self.growing.task, (one,) if one is other else (one, other)
        return Selection(task.table, both, self.settings.options, task.alpha, None)

    def decided(self, label: str, pair: Selection | None, *, better: bool) -> None:
        """Record the decision on a graph that was tried, and keep it if it is better."""
        first = self.accepted is self.alone
        if not (first or better):
            return
        known = [c for c in pair.candidates if c.label == label] if pair else []
        self.rival = known[0] if known else self._scored(label, self.tried[label])
        self.pair = pair if first else None
        if better:
            self.accepted, self.now = self.rival, self.tried[label]

    def against_none(self) -> Selection:
        """Compare the best graph with hidden variables, if any, with that without."""
        return self.pair or self.compare(self.alone, self.rival or self.alone)

    def _scored(self, label: str, graph: LatentGraphFit) -> Candidate:
        return _candidate(label, graph, self.settings, self.executor)


def _candidate(
    label: str, graph: LatentGraphFit, settings: Settings, executor: Executor
) -> Candidate:
    """Climb from the parameters of a search, and score the fit."""
    options, silent = settings.options, executor.silent()
    options = replace(options, starts=min(STARTS, options.starts))
    fit = learn(graph.posterior.problem, options, executor=silent, start=graph.model)
    network = graph.model.network
    return candidate_at(Proposal(label, network, network.hidden_sizes), fit, SCORES, silent)


def _improved(learned: Learned, q: Variational) -> Learned:
    """Replace a learned graph by one with a higher bound."""
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


def find_hidden(
    table: Table,
    settings: Settings,
    knowledge: Knowledge,
    executor: Executor = SERIAL,
    *,
    most: int = MOST,
    resume: StrPath | None = None,
) -> HiddenStructure:
    """Learn the best graph over the columns, then hidden variables, one after the other.

    `most` is the largest number of hidden variables. `resume` is the checkpoint file of a search
    that may be interrupted; it may resume with another `most`.
    """
    check_columns(table)
    if knowledge.max_parents == 0:
        raise OptionError(
            "max_parents 0 leaves no room for the children of a hidden variable. Give 1 or more."
        )
    graphs = replace(settings.graph_search, prior=GraphPrior.UNIFORM)
    task = graph_task(table, one_alpha(settings.alpha), graphs, knowledge, settings.numbers)
    about = _fingerprint(task, settings) if resume else None
    with closing(Checkpoint(resume, about)) as checkpoint:
        first, rest = executor.part(0.0, FIRST), executor.part(FIRST, 1.0)
        priors = [PriorSearch.begin(task, settings, first, rest, checkpoint)]
        other = supported_exponent(task, priors[0].without)
        if other is not None:
            wider, chapter = replace(task, alpha=other), checkpoint.chapter("supported prior")
            priors.append(PriorSearch.begin(wider, settings, first, rest, chapter))
        for number in range(1, most + 1):
            rest.report(hidden_piece(number), (number - 1) / most)
            _propose(priors, number)
            if not priors[0].tried or not _decide(priors, number, checkpoint):
                break
        pairs, given = [one.against_none() for one in priors], priors[0]
        model = by_size(mean_model(given.accepted.fit.model))
        return HiddenStructure(
            given.without, pairs[0], given.accepted.label, model, tuple(pairs[1:])
        )


def _fingerprint(task: GraphTask, settings: Settings) -> dict[str, Any]:
    """Return the settings that identify a search."""
    hidden = {"options": asdict(settings.options), "goal": asdict(settings.goal)}
    about = task.fingerprint()
    about["settings"] |= {"hidden": {**hidden, "always": settings.evidence}}
    return about


def supported_exponent(task: GraphTask, learned: Learned) -> float | None:
    """Return the exponent of the largest evidence of its best graph, if clearly the largest.

    Each prior has its own graph, because one that penalises large tables omits edges. Missing cells
    are imputed once.
    """
    rows, start = task.table, edge_matrix(learned.network)
    if not task.complete:
        rows = Completer(rows, np.random.default_rng([task.options.seed, 3]))(learned.model)
    options = replace(task.options, restarts=0)
    values = {}
    for alpha in (task.alpha, *EXPONENTS):
        completed = replace(task, table=rows, alpha=alpha, options=options)
        values[alpha] = math.fsum(search_complete(completed, [start]).families)
    best = max(EXPONENTS, key=lambda exponent: values[exponent])
    return best if values[best] > values[task.alpha] + WORTH else None


def _propose(priors: Sequence[PriorSearch], number: int) -> None:
    """Search for one more hidden variable under each prior; fit the graphs under the other too."""
    for one in priors:
        one.propose(number)
    tried = [dict(one.tried) for one in priors]
    for one in priors:
        for other, graphs in zip(priors, tried, strict=True):
            if other is not one and graphs:
                label = hidden_variables(number) + ELSEWHERE
                one.tried[label] = one.growing.taken_over(_best(graphs), number)
    if number == 1:
        for one in priors:
            one.search_alone_again()


def _decide(priors: Sequence[PriorSearch], number: int, checkpoint: Checkpoint) -> bool:
    """Decide whether one more hidden variable is better, unless the checkpoint has the decision."""
    piece = f"{hidden_piece(number)}, decision"
    if decided := checkpoint.get(piece):
        for one, label in zip(priors, decided["labels"], strict=True):
            one.decided(label, None, better=decided["better"])
        return bool(decided["better"])
    others = [one.best_tried() for one in priors]
    scores = np.array(
        [[score_of(one.accepted), score_of(o)] for one, o in zip(priors, others, strict=True)]
    )
    near = (scores > scores.max(axis=0) - FAR).any(axis=1).tolist()
    pairs = [  # by scores alone, if the decision does not depend on it
        one.compare(one.accepted, other)
        if close or one.settings.evidence
        else approximated(one.unmeasured(one.accepted, other))
        for one, other, close in zip(priors, others, near, strict=True)
    ]
    better = PriorAverage(tuple(pairs)).accepted
    for one, other, pair in zip(priors, others, pairs, strict=True):
        measured = pair.certainty.basis is not CertaintyBasis.APPROXIMATED
        one.decided(str(other.label), pair if measured or not better else None, better=better)
    checkpoint.put(piece, labels=[str(other.label) for other in others], better=better)
    return better
