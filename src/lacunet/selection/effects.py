"""Edges beside those of a latent class model: tried one by one, and kept where they pay.

Networks over one table that differ in a few edges: fitted from each other, and weighed.
Add one edge after the other, as long as the evidence grows by more than chance would let it.
Direct effects between answers: the pairs that residuals point to, tried and kept if they pay.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TypeAlias

from lacunet.data.design import flags_of
from lacunet.data.table import Table
from lacunet.errors import OptionError
from lacunet.fitting.fit import Fit, Options, learn, softmax_climb, with_posterior
from lacunet.fitting.maxima import BOTH
from lacunet.fitting.neighbours import better_from, climbed_from
from lacunet.fitting.objective import Estimate, unbounded
from lacunet.inference.problem import Problem, build_problem
from lacunet.inference.symmetry import symmetries_of
from lacunet.models.conjugacy import mean
from lacunet.models.latent_class import with_edges
from lacunet.models.layout import with_more_parents
from lacunet.models.network import Model, Network
from lacunet.models.prior import Alpha, dirichlet
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.scores import HEADLINE, ScoreInput
from lacunet.summaries.ratio_tests import TIED, LikelihoodRatio, likelihood_ratio
from lacunet.summaries.residuals import PairResidual, bivariate_residuals
from lacunet.summaries.statistics import criteria, few_pairs
from lacunet.tabular import Columns, Grid, Printable, number, share, transposed

Look: TypeAlias = Callable[[Problem, Options, Executor], Fit]  # how a maximum is searched for

OFF_EDGE = 1e-3  # share of the prior's mean in a start, so that no probability is stuck at 0


@dataclass(frozen=True, eq=False)
class Fitted:
    """A network, its parameters as they were asked for, and those of greatest likelihood."""

    fit: Fit
    likeliest: Fit | None  # None where the likelihood has no maximum

    @property
    def network(self) -> Network:
        """The structure."""
        return self.fit.problem.network

    @property
    def log_lik(self) -> float:
        """The greatest log-likelihood; at the estimate, where there is no greatest."""
        return (self.likeliest or self.fit).log_lik

    @cached_property
    def log_evidence(self) -> float:
        """The evidence, approximated; NaN where there is none."""
        theta = self.fit.for_scores.model.theta
        at = ScoreInput(self.fit.problem, theta, options=self.fit.options)
        return HEADLINE.here(at).value + symmetries_of(self.fit.problem).log_count

    def ratio_to(self, narrow: Fitted) -> LikelihoodRatio | None:
        """Test a special case of it; None where likelihoods have no maximum."""
        if self.likeliest is None or narrow.likeliest is None:
            return None
        return likelihood_ratio(narrow.likeliest, self.likeliest)


@dataclass(frozen=True, eq=False)
class Workshop:
    """How networks over one table are fitted, whatever their edges."""

    table: Table
    alpha: Alpha
    options: Options
    executor: Executor = SERIAL

    def problem(self, network: Network) -> Problem:
        """Join a network with the table."""
        return build_problem(self.table, network, dirichlet(network, self.alpha))

    def searched(
        self, network: Network, near: Sequence[Fitted] = (), look: Look | None = None
    ) -> Fitted:
        """Search for the best parameters, also from those of networks with fewer edges."""
        problem, how, look = self.problem(network), self.options, look or _by_schedule
        fit = look(problem, how, self.executor)
        fit = better_from(
            fit, [start_with_edges(n.fit, problem) for n in near], self.executor.silent()
        )
        if fit.heaviest is not None:
            starts = [start_with_edges(n.fit.for_scores, problem) for n in near]
            mode = better_from(fit.heaviest, starts, self.executor.silent())
            fit = replace(fit, heaviest=mode)
        return self._completed(fit, near, look)

    def tried(self, network: Network, near: Fitted) -> Fitted:
        """Climb from the parameters of a network with fewer edges alone."""
        problem, silent = self.problem(network), self.executor.silent()
        fit = climbed_from(
            problem, self.options, start_with_edges(near.fit, problem), [near.fit], silent
        )
        if near.fit.nats_above_mass:
            mode = near.fit.for_scores
            climbed = climbed_from(
                problem, self.options, start_with_edges(mode, problem), [mode], silent
            )
            fit = replace(fit, heaviest=climbed)
        return self._completed(fit, [near])

    def _completed(self, fit: Fit, near: Sequence[Fitted], look: Look | None = None) -> Fitted:
        """Add the fit of greatest likelihood, which is never below that of fewer edges."""
        if self.options.estimate is Estimate.ML:
            return Fitted(fit, fit)
        if any(unbounded(fit.problem)):
            return Fitted(fit, None)
        silent, options = self.executor.silent(), replace(self.options, estimate=Estimate.ML)
        if look is None:
            likeliest = climbed_from(fit.problem, options, fit.model.theta, [fit], silent)
        else:
            likeliest = look(fit.problem, options, silent)
            likeliest = better_from(likeliest, [fit.model.theta], silent)
        known = [n.likeliest for n in near if n.likeliest is not None]
        better = [n for n in known if n.log_lik > likeliest.log_lik - TIED]
        likeliest = better_from(
            likeliest, [start_with_edges(n, fit.problem) for n in better], silent
        )
        return Fitted(fit, likeliest)


def _by_schedule(problem: Problem, options: Options, executor: Executor) -> Fit:
    return learn(problem, options, executor=executor, ranks=BOTH)


def start_with_edges(fit: Fit, problem: Problem) -> FloatArray:
    """Parameters of a fit with fewer edges, a little off the edge of what can be."""
    theta = with_more_parents(fit.model.theta, fit.problem.layout, problem.layout)
    if not problem.layout.tabular:
        return theta
    return (1.0 - OFF_EDGE) * theta + OFF_EDGE * mean(problem.alpha, problem.layout)


Edge: TypeAlias = tuple[str, str]  # names of parent and child
MOST_STEPS = 30  # edges that are added at most
SLOWER = 0.7  # of what progress has left, a step leaves so much: nobody knows how many there are


@dataclass(frozen=True, eq=False)
class Trial:
    """One edge more than a network has, or one less, and what that is worth."""

    edge: Edge
    step: int  # steps before; the first is 0
    before: Fitted
    after: Fitted
    price: float  # what the gain must be above
    kept: bool = False  # whether the network of the next step has this change
    adds: bool = True  # whether the edge is one more; if not, it is left out again

    @cached_property
    def gain(self) -> float:
        """Log Bayes factor of the change, approximated; NaN where that is not known."""
        return self.after.log_evidence - self.before.log_evidence

    @cached_property
    def ratio(self) -> LikelihoodRatio | None:
        """The likelihood-ratio test of the edge; None where likelihoods have no maximum."""
        narrow, wide = (self.before, self.after) if self.adds else (self.after, self.before)
        return wide.ratio_to(narrow)

    @property
    def change_of_bic(self) -> float:
        """BIC after the change less BIC before: below 0, it is better."""
        one, other = (
            criteria(f.log_lik, f.network.dimension, f.fit.problem.cases)["BIC"]
            for f in (self.after, self.before)
        )
        return one - other


def trials_of(
    workshop: Workshop, now: Fitted, edges: Sequence[Edge], possible: int, step: int = 0
) -> list[Trial]:
    """Try edges, each by itself; so many there are to choose from."""
    cost = price(step, possible)
    return workshop.executor.map(partial(_tried, workshop, now, step, cost), edges)


def _tried(workshop: Workshop, now: Fitted, step: int, cost: float, edge: Edge) -> Trial:
    trial = Trial(edge, step, now, workshop.tried(with_edges(now.network, [edge]), now), cost)
    _ = trial.gain  # worked out here, where others are worked out beside it
    return trial


def price(there: int, possible: int) -> float:
    """Nats that one edge more must gain: how much less probable it is before the data.

    >>> [round(price(there, possible=28), 2) for there in (0, 1, 27)]
    [4.03, 3.3, 0.0]
    """
    return max(0.0, math.log(2 * (possible - there) / (there + 1)))


def log_weight(there: int, possible: int) -> float:
    """Log probability of one set of so many edges before the data, against that of no edge.

    >>> round(log_weight(1, possible=28), 2), log_weight(0, possible=28)
    (-4.03, 0.0)
    """
    return -there * math.log(2.0) - math.log(math.comb(possible, there))


def kept_edges(trials: Sequence[Trial]) -> list[Edge]:
    """The edges that are there in the end, in the order in which they were added."""
    found: list[Edge] = []
    for trial in trials:
        if trial.kept and trial.adds:
            found.append(trial.edge)
        elif trial.kept:
            found.remove(trial.edge)
    return found


def add_while_it_pays(
    workshop: Workshop,
    base: Fitted,
    candidates: Callable[[Fitted], Sequence[Edge]],
    possible: int,
) -> tuple[Fitted, list[Trial]]:
    """Add the edge that the evidence gains most by, and go on until none is worth its price.

    Then leave out again, in the same way, what is not worth it any more.
    """
    now, every = base, list[Trial]()
    for step in range(min(MOST_STEPS, possible)):
        workshop.executor.say(f"step {step + 1}", 1.0 - SLOWER**step)
        taken, trials = _chosen(trials_of(workshop, now, candidates(now), possible, step))
        every += trials
        if taken is None:
            break
        now = taken.after
    while len(kept := kept_edges(every)) > 1:  # one alone was worth it when it was added
        leave = partial(_left_out, workshop, base, now, kept, every[-1].step + 1, possible)
        taken, trials = _chosen(workshop.executor.map(leave, kept))
        every += trials
        if taken is None:
            break
        now = taken.after
    return now, every


def _chosen(trials: Sequence[Trial]) -> tuple[Trial | None, list[Trial]]:
    """Find the trial that gains most, if it is worth its price, and mark it."""
    gains = [t.gain - t.price if math.isfinite(t.gain) else -math.inf for t in trials]
    best = max(range(len(gains)), key=gains.__getitem__, default=None)
    if best is None or gains[best] <= 0.0:
        return None, list(trials)
    taken = replace(trials[best], kept=True)
    return taken, [taken if i == best else trial for i, trial in enumerate(trials)]


def _left_out(
    workshop: Workshop,
    base: Fitted,
    now: Fitted,
    kept: Sequence[Edge],
    step: int,
    possible: int,
    edge: Edge,
) -> Trial:
    """Try the network without one of the edges that were added; it may lose what that costs."""
    rest = with_edges(base.network, [other for other in kept if other != edge])
    cost = -price(len(kept) - 1, possible)
    trial = Trial(edge, step, now, workshop.tried(rest, base), cost, adds=False)
    _ = trial.gain
    return trial


SUSPECT = 2.0  # X²/df from which two columns are tried
TRIED = 5  # pairs that are tried in a step, the worst first


@dataclass(frozen=True, eq=False, repr=False)
class DirectEffects(Printable):
    """A latent class model, and the direct effects that were tried and kept beside its classes."""

    base: Fitted  # without them
    fit: Fit  # with those that pay
    trials: tuple[Trial, ...]  # one step after the other
    pairs: int  # pairs of columns between which there may be an effect

    @property
    def model(self) -> Model:
        """The model with the effects that pay."""
        return self.fit.model

    @property
    def edges(self) -> tuple[str, ...]:
        """The effects that pay, as `edges` of `fit` takes them."""
        return tuple(":".join(edge) for edge in kept_edges(self.trials))

    def brief(self) -> str:
        """Say which were kept."""
        kept = f"kept: {', '.join(self.edges)}" if self.edges else "none pays"
        return f"Direct effects beside the classes: {len(self.trials)} tried, {kept}"

    def tidy(self) -> Columns:
        """Give a row for each trial."""
        names = ("step", "adds", "parent", "child", "log_bayes_factor", "change_of_bic", "kept")
        rows = (
            (t.step + 1, t.adds, *t.edge, float(t.gain), float(t.change_of_bic), t.kept)
            for t in self.trials
        )
        return transposed(names, rows)

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
        return [self.tried, *self.fit.grids()]

    @property
    def tried(self) -> Grid:
        """What was tried, one step after the other."""
        if not self.trials:
            note = f"No two columns have a residual X²/df above {SUSPECT:g}: nothing to try."
            return Grid(self.brief(), notes=(note,))
        header = ("step", "effect", "2 log ratio", "df", "p(χ²)", "BIC", "log BF", "needs", "taken")
        chance = f"one of {self.pairs:,} pairs may look good by chance"
        notes = (
            "Each against the model of its step; what is taken is in the next one.",
            "BIC: its change, below 0 is better. log BF: in nats, approximated (csl).",
            f"needs: what log BF must be above, for {chance}; p(χ²) knows nothing of that.",
            "Effects may stand in for a class that is missing: compare with one class more.",
            *map(str, flags_of(self.fit.problem.design)),
        )
        rows = tuple(map(_row, self.trials))
        return Grid(self.brief(), header, rows, frozenset({1, 8}), notes)


def _row(trial: Trial) -> tuple[str, ...]:
    ratio = trial.ratio
    test: tuple[str, ...] = ("–", "–", "–")
    if ratio is not None:
        test = (number(ratio.statistic), str(ratio.df), share(ratio.p_value))
    worth = number(trial.change_of_bic), number(trial.gain), number(trial.price)
    effect = f"{'' if trial.adds else 'without '}{':'.join(trial.edge)}"
    return str(trial.step + 1), effect, *test, *worth, "yes" if trial.kept else ""


def direct_effects(workshop: Workshop, network: Network) -> DirectEffects:
    """Fit a latent class model, and add the direct effects by which the evidence grows."""
    executor = workshop.executor
    if not few_pairs(workshop.problem(network), latent_class=False):
        raise OptionError(
            "there are too many pairs of columns to look at all of them, step by step. Name the "
            "effects to add: --edge A:B."
        )
    base = replace(workshop, executor=executor.part(0.0, 0.5)).searched(network)
    columns = sum(network.variables[i].family.tabular for i in network.observed)
    pairs = columns * (columns - 1) // 2
    one_by_one = replace(workshop, executor=executor.part(0.5, 0.9, "direct effects"))
    last, trials = add_while_it_pays(one_by_one, base, suspects, pairs)
    best = workshop.searched(last.network, [last]) if last is not base else base
    mode = softmax_climb(best.fit.problem, best.fit.model.theta, executor.silent())
    return DirectEffects(base, with_posterior(best.fit, mode.point), tuple(trials), pairs)


def suspects(now: Fitted) -> list[Edge]:
    """Pairs of columns that a model does not explain, the worst first; as they stand in the data.

    So edges go from columns that stand before to those behind, and never in a circle.
    """
    problem, network = now.fit.problem, now.network
    pairs = bivariate_residuals(now.fit.model, problem.codes, problem.counts)
    edges = map(partial(_edge, network), (pair for pair in pairs if pair.value > SUSPECT))
    new = (e for e in edges if network.index(e[0]) not in network.parents[network.index(e[1])])
    return [edge for edge, _ in zip(new, range(TRIED), strict=False)]


def _edge(network: Network, pair: PairResidual) -> Edge:
    names = [network.variables[i].name for i in network.shown]
    one, other = sorted((pair.first, pair.second), key=names.index)
    return one, other
