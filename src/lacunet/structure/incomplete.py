"""Graph search with missing values: surrogate scores propose, a variational bound decides.

Expected counts under a graph favour that graph: an absent edge gains only from rows that show both
ends. So a search starts with a climb on available cases. Each round fits the graph, draws the
missing values, and proposes graphs from the completed rows: the best graph of these rows, and one
that scores each edge by rows with both ends observed. A proposal is fitted to the incomplete data,
and accepted if the variational bound of log p(D|S) rises. The search ends when no proposal is.

Several searches start from different graphs, because one may end at a local maximum. The last one
starts from the best graph. It also proposes graphs of rows completed by two graphs, single moves,
and perturbed graphs. For comparison, each surrogate can also decide alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from lacunet.data.table import Table
from lacunet.evidence.estimate import Measurement
from lacunet.fitting.diagnose import Variational, at_hyperparameters, at_theta, vary
from lacunet.inference.problem import build_problem
from lacunet.models import conjugacy
from lacunet.models.equivalence import find_compelled
from lacunet.models.network import Model
from lacunet.runtime.arrays import BoolArray, CodeArray
from lacunet.runtime.checkpoint import NULL_CHECKPOINT, Checkpoint
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.structure.completing import Completer, as_table, draw_by_classes
from lacunet.structure.families import (
    FamilyScores,
    PerturbedScores,
    averaging_gains,
    is_averaged,
    likeliest_exponents,
    middle_exponents,
)
from lacunet.structure.moves import (
    ADD,
    DELETE,
    REVERSE,
    edges_of_graph,
    every_move,
    graph_of_edges,
    moved,
    scatter,
    turn_covered,
)
from lacunet.structure.scoring import (
    available_scores,
    complete_scores,
    paired_scores,
    search_complete,
)
from lacunet.structure.searching import GraphScore, climb, score_graph, search_by_gains
from lacunet.structure.task import GraphTask

TOLERANCE = 1e-2  # nats: a fit for a comparison stops if a step gains less
MORE_CASES = (0.0, 0.5)  # added to each cell at the starts of a final fit
RISE = 0.1  # nats that an accepted graph gains; fits are less exact than this
LEFT = 0.8  # of the remaining progress after each round; the number of rounds is unknown
CLOSE = 5.0  # nats below the best bound, within which bounds do not decide
FINALISTS = 2  # most graphs to measure; one takes as long as a round
CLASSES = (16, 4)  # of latent class models that complete rows for a further search
SPREAD = 0.3  # of the random factors of gains at the start of a further search
MANY_MISSING = 0.15  # of the cells; above, there are twice as many searches, and perturbations
PERTURBED = 100  # graphs that the last search perturbs around one variable
FEW_VARIABLES = 30  # with fewer, the number of searches is larger in proportion
MOST_ROUNDS = 20  # if completed rows decide: their draws differ, so a search may cycle
PIECE = "rounds"  # of the checkpoint


def independences_of(parents: BoolArray) -> bytes:
    """Give a key of the equivalence class: the edges, and which are compelled."""
    return find_compelled(parents.T).tobytes() + (parents | parents.T).tobytes()


@dataclass(frozen=True, eq=False)
class GraphFit:
    """A graph, fitted to the data as they are."""

    parents: BoolArray  # (n, n) whether u is a parent of v, at [v, u]
    posterior: Variational  # of parameters and missing values, with the bound
    log_prior: float  # of the graph, up to a constant
    alpha: float | str  # the prior as the user gave it
    csl: float | None = None  # log p(D|S) by CSL; None if it does not exist or was not computed
    measured: Measurement | None = None  # log p(D|S) by sampling, if requested

    @property
    def value(self) -> float:
        """The criterion: the bound of log p(D|S) plus log p(S)."""
        return self.bound + self.log_prior

    @property
    def bound(self) -> float:
        """A lower bound of log p(D|S)."""
        return self.posterior.bound + self.averaging

    @cached_property
    def averaging(self) -> float:
        """The gain of the bound by averaging over sizes, with the same q(hidden)."""
        q = self.posterior
        problem = q.problem
        return float(averaging_gains(problem.network, self.alpha, problem.alpha, q.N).sum())

    @property
    def model(self) -> Model:
        """The graph with its expected parameters."""
        return self.posterior.model

    @cached_property
    def independences(self) -> bytes:
        """A key that graphs of one equivalence class share."""
        return independences_of(self.parents)

    def log_joint(self, *, without_csl: bool) -> float:
        """Log p(S) plus the measured evidence, else CSL, else the bound."""
        evidence = self.posterior.bound if without_csl or self.csl is None else self.csl
        if self.measured is not None:
            evidence = self.measured.value
        return evidence + self.averaging + self.log_prior

    def to_the_end(self) -> GraphFit:
        """Fit to convergence from several starts, because the bound has several maxima."""
        problem = self.posterior.problem
        starts = [at_hyperparameters(problem, problem.prior + more) for more in MORE_CASES]
        near = [vary(start, tolerance=TOLERANCE) for start in starts]
        best = max([self.posterior, *near], key=lambda q: q.bound)
        return replace(self, posterior=vary(best))


def fit(task: GraphTask, parents: BoolArray) -> GraphFit:
    """Fit a graph by variational Bayes, from the counts of complete families.

    The first step uses expected parameters: variational weights nearly vanish for a configuration
    without observed cases, which would then stay empty. Tables averaged over sizes use the most
    probable sizes of a first fit.
    """
    network = task.network(parents)
    problem = build_problem(task.table, network, middle_exponents(network, task.alpha))
    start = at_theta(problem, conjugacy.mean(problem.prior, problem.layout))
    q = vary(start, tolerance=TOLERANCE)
    if is_averaged(task.alpha):
        independences = replace(problem, alpha=likeliest_exponents(network, task.alpha, q.N))
        q = vary(at_hyperparameters(independences, independences.alpha + q.N), tolerance=TOLERANCE)
    return GraphFit(parents, q, float(task.log_priors(parents).sum()), task.alpha)


@dataclass(frozen=True, eq=False)
class IncompleteSearch:
    """The state of the search: the best graph, and what was tried."""

    best: GraphFit
    bounds: tuple[float, ...]  # bound + log p(S) of each graph that improved on all before
    scored: int  # families scored, by surrogates
    fitted: int  # graphs fitted
    close: tuple[GraphFit, ...] = ()  # other graphs within CLOSE of the best bound
    ends: tuple[GraphFit, ...] = ()  # the result of each finished search
    point: GraphFit | None = None  # the graph of the current search; None: the best
    rounds: int = 0
    ended: bool = False

    @property
    def now(self) -> GraphFit:
        """The graph of the current search."""
        return self.point or self.best

    def met(self, other: GraphFit) -> IncompleteSearch:
        """Return the state after a graph was fitted and not accepted."""
        close = _finalists(self.best, (*self.close, other))
        return replace(self, fitted=self.fitted + 1, close=close)

    def accepted(self, other: GraphFit) -> IncompleteSearch:
        """Return the state after the current search accepted a graph."""
        after = replace(self.met(other), point=other, rounds=self.rounds + 1)
        if other.value <= self.best.value:
            return after
        close, bounds = _finalists(other, (*self.close, self.best)), (*self.bounds, other.value)
        return replace(after, best=other, point=None, bounds=bounds, close=close)

    def is_last(self, task: GraphTask) -> bool:
        """Whether the current search is the last; few variables allow more searches."""
        times = max(1, FEW_VARIABLES // len(task.start)) * (2 if _many_missing(task) else 1)
        return len(self.ends) > task.options.restarts * times

    def draw(self, task: GraphTask, one: GraphFit) -> CodeArray:
        """Draw the missing values; each round has its seed, so a search can be resumed."""
        rng = np.random.default_rng([task.options.seed, len(self.ends), self.rounds])
        return Completer(task.table, rng).draw(one.model)


def _finalists(best: GraphFit, others: tuple[GraphFit, ...]) -> tuple[GraphFit, ...]:
    """The other graphs within CLOSE, one of each equivalence class."""
    near = sorted((one for one in others if one.value > best.value - CLOSE), key=lambda g: -g.value)
    distinct = {one.independences: one for one in [best, *near][::-1]}  # the first counts
    return tuple(one for one in near if distinct[one.independences] is one)[: FINALISTS - 1]


def search_incomplete(
    task: GraphTask, executor: Executor = SERIAL, checkpoint: Checkpoint = NULL_CHECKPOINT
) -> IncompleteSearch:
    """Search in rounds until no proposal is better."""
    available = available_scores(task)
    state = checkpoint.get(PIECE)
    search = _resumed(task, state) if state else _first(task, available, executor)
    left = 1.0
    while not search.ended:
        _store(search, checkpoint)
        bound = f"bound {search.best.bound:,.1f}"
        executor.report(
            f"search {len(search.ends) + 1}, round {search.rounds + 1}, {bound}", 1.0 - left
        )
        if task.options.score is GraphScore.BOUND:
            search = _by_bound(task, search, available, executor.silent())
        elif task.options.score is GraphScore.EXPECTED:
            search = _by_expected(task, search, executor.silent())
        else:  # available cases: one climb
            search = replace(search, ended=True)
        left *= LEFT
    _store(search, checkpoint)
    best, *close = (one.to_the_end() for one in (search.best, *search.close))
    bounds = (*search.bounds[:-1], best.value)
    scored = search.scored + available.scored
    return replace(search, best=best, close=tuple(close), bounds=bounds, scored=scored)


def _first(task: GraphTask, available: FamilyScores, executor: Executor) -> IncompleteSearch:
    """Climb on available cases; if the bound decides, compare with the start graph."""
    executor.report("available cases", 0.0)
    rng = np.random.default_rng([task.options.seed, 0])
    best = fit(task, climb(task.start, available, task.limits, rng).parents)
    search = IncompleteSearch(best, (best.value,), scored=0, fitted=1)
    if task.options.score is not GraphScore.BOUND:
        return search
    start = fit(task, task.start)
    if start.value > best.value:
        return IncompleteSearch(start, (start.value,), scored=0, fitted=2)
    return search.met(start)


def _store(search: IncompleteSearch, checkpoint: Checkpoint) -> None:
    """Store the state of the search."""
    checkpoint.put(
        PIECE,
        edges=edges_of_graph(search.best.parents),
        close=[edges_of_graph(one.parents) for one in search.close],
        ends=[edges_of_graph(one.parents) for one in search.ends],
        point=search.point and edges_of_graph(search.point.parents),
        rounds=search.rounds,
        bounds=search.bounds,
        fitted=search.fitted,
        ended=search.ended,
    )


def _resumed(task: GraphTask, state: dict[str, Any]) -> IncompleteSearch:
    """Restore an interrupted search, with its graphs fitted again."""

    def fitted(edges: Any) -> GraphFit:
        return fit(task, graph_of_edges(edges, len(task.start)))

    return IncompleteSearch(
        fitted(state["edges"]),
        tuple(state["bounds"]),
        0,
        state["fitted"],
        tuple(map(fitted, state["close"])),
        tuple(map(fitted, state["ends"])),
        None if state["point"] is None else fitted(state["point"]),
        state["rounds"],
        state["ended"],
    )


def _by_bound(
    task: GraphTask, search: IncompleteSearch, available: FamilyScores, executor: Executor
) -> IncompleteSearch:
    """Accept the first proposal with a higher bound; without any, begin another search.

    It starts from a climb with perturbed gains; the last search starts from the best graph.
    """
    met = {search.now.independences}
    for parents in _proposals(task, search, executor):
        if (independences := independences_of(parents)) not in met:
            met.add(independences)
            other = fit(task, parents)
            if other.value > search.now.value + RISE:
                return search.accepted(other)
            search = search.met(other)
    if search.is_last(task):
        return replace(search, ended=True)
    after = replace(search, ends=(*search.ends, search.now), point=None, rounds=search.rounds + 1)
    if after.is_last(task):
        return after
    return after.accepted(fit(task, _other_start(task, len(after.ends), available)))


def _many_missing(task: GraphTask) -> bool:
    """Whether so many cells are missing that searches often stop at a local maximum."""
    return float(task.table.missing[~task.numbers].mean()) > MANY_MISSING


def _other_start(task: GraphTask, number: int, available: FamilyScores) -> BoolArray:
    """Give the start of a further search: a climb by available cases with perturbed gains.

    With many missing cells, two of three start from the best graph of rows completed by latent
    class models, which favour no graph.
    """
    rng = np.random.default_rng([task.options.seed, number])
    classes = [*CLASSES, 0][(number - 1) % (len(CLASSES) + 1)]
    if _many_missing(task) and 0 < classes < task.table.rows:
        drawn = draw_by_classes(task.table, task.variables, classes, task.options.seed + number)
        return _search_completed(task, [], as_table(task.table, drawn), SERIAL)
    scores = PerturbedScores(available, SPREAD, rng)
    return climb(task.start, scores, task.limits, rng).parents


def _by_expected(task: GraphTask, search: IncompleteSearch, executor: Executor) -> IncompleteSearch:
    """Accept a graph that is better on rows completed under the previous graph."""
    completed = as_table(task.table, search.draw(task, search.best))
    graph = _search_completed(task, [search.best.parents], completed, executor)
    scores = complete_scores(task, completed)
    after, before = (score_graph(g, scores).score for g in (graph, search.best.parents))
    if after > before + 0.5 and len(search.bounds) < MOST_ROUNDS:
        other = fit(task, graph)
        done = search.fitted + 1, search.rounds + 1
        bounds = (*search.bounds, other.value)
        return replace(search, best=other, bounds=bounds, fitted=done[0], rounds=done[1])
    return replace(search, ended=True)


def _search_completed(
    task: GraphTask, starts: Sequence[BoolArray], completed: Table, executor: Executor
) -> BoolArray:
    """Give the best graph of completed rows."""
    once = replace(task, table=completed, options=replace(task.options, restarts=0))
    return search_complete(once, [*starts, task.start], executor).parents


def _proposals(
    task: GraphTask, search: IncompleteSearch, executor: Executor
) -> Iterator[BoolArray]:
    """Yield proposals: the best graph of completed rows, and that of paired cases.

    The last search adds graphs of rows completed by two graphs, half by each. It also adds the
    moves of each kind with the largest gains that change an independence. With many missing cells,
    it adds climbs on paired cases from the first graph, and from perturbed graphs.
    """
    parents, drawn = search.now.parents, search.draw(task, search.now)
    yield _search_completed(task, [parents], as_table(task.table, drawn), executor)
    if not task.options.probes:
        return
    pairs = paired_scores(task, drawn)
    rng = np.random.default_rng([task.options.seed, len(search.ends), search.rounds, 1])
    yield search_by_gains(parents, pairs, task.limits, rng)
    if _many_missing(task):
        yield search_by_gains(task.start, pairs, task.limits, rng)
    if not search.is_last(task):
        return
    same = search.now.independences
    met = {same}
    for other in sorted(search.ends, key=lambda one: -one.value):
        if other.independences not in met:
            met.add(other.independences)
            both = as_table(task.table, np.concatenate([drawn, search.draw(task, other)]))
            yield _search_completed(task, [parents, other.parents], both, executor)
    for scores in (pairs, available_scores(task, as_pairs=True)):
        gains = np.array([scores(v, pa).gains for v, pa in enumerate(parents)])
        moves = every_move(parents, task.limits, gains)
        for kind in (ADD, DELETE, REVERSE):
            graphs = (moved(parents, move) for move in moves[moves[:, 0] == kind])
            others = (graph for graph in graphs if independences_of(graph) != same)
            yield from islice(others, task.options.probes)
    if not _many_missing(task):
        return
    for k in range(PERTURBED):
        graph = parents.copy()
        turn_covered(graph, task.limits, rng)
        scatter(graph, k % len(parents), task.limits, rng)
        yield climb(graph, pairs, task.limits, rng).parents
