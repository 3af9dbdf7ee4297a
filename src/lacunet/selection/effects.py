"""Nested networks over one table: their fits and comparison, and a search for direct effects.

Direct effects between items of a latent class model are edges between pairs with large residuals.
Edges are added one at a time, while the evidence grows by more than chance allows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice
from typing import TypeAlias

from lacunet.data.design import flags_of
from lacunet.data.table import Table
from lacunet.deprecation import renamed
from lacunet.errors import OptionError
from lacunet.fitting.fit import Fit, Options, learn, softmax_climb, with_posterior
from lacunet.fitting.maxima import BOTH
from lacunet.fitting.neighbours import better_from, climbed_from, start_with_edges
from lacunet.fitting.objective import Estimate, unbounded
from lacunet.flags import Flag
from lacunet.inference.problem import Problem, build_problem
from lacunet.inference.symmetry import symmetries_of
from lacunet.models.latent_class import with_edges
from lacunet.models.network import Model, Network
from lacunet.models.prior import Alpha, dirichlet
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.selection.average import price
from lacunet.selection.candidates import Candidate, Proposal
from lacunet.summaries.ratio_tests import TIED, LikelihoodRatio
from lacunet.summaries.residuals import bivariate_residuals, few_pairs, ordered_edge, possible_pairs
from lacunet.summaries.statistics import criteria
from lacunet.tabular import Columns, Documented, Grid, Printable, number, share, transposed

Search: TypeAlias = Callable[[Problem, Options, Executor], Fit]  # finds a maximum
Edge: TypeAlias = tuple[str, str]  # names of parent and child

MOST_STEPS = 30  # edges that are added at most
SLOWER = 0.7  # share of the remaining progress that a step leaves, because their number is unknown
SUSPECT = 2.0  # X²/df from which two columns are tried
TRIED = 5  # pairs that are tried in a step, the worst first


def _by_schedule(problem: Problem, options: Options, executor: Executor) -> Fit:
    return learn(problem, options, executor=executor, ranks=BOTH)


@dataclass(frozen=True, eq=False)
class NestedFitter:
    """Fits networks over one table that differ in their edges."""

    table: Table
    alpha: Alpha
    options: Options
    executor: Executor = SERIAL

    def problem(self, network: Network) -> Problem:
        """Join a network with the table."""
        return build_problem(self.table, network, dirichlet(network, self.alpha))

    def searched(
        self, network: Network, near: Sequence[Candidate] = (), search: Search = _by_schedule
    ) -> Candidate:
        """Search for the best parameters, with further starts from networks with fewer edges."""
        problem, silent = self.problem(network), self.executor.silent()
        fit = search(problem, self.options, self.executor)
        fit = better_from(fit, [start_with_edges(n.fit, problem) for n in near], silent)
        if fit.largest_mass is not None:
            starts = [start_with_edges(n.fit.for_scores, problem) for n in near]
            fit = replace(fit, largest_mass=better_from(fit.largest_mass, starts, silent))

        return self._with_ml_fit(
            fit,
            near,
            lambda ml: better_from(search(fit.problem, ml, silent), [fit.model.theta], silent),
        )

    def tried(self, network: Network, near: Candidate) -> Candidate:
        """Climb only from the parameters of a network with fewer edges."""
        problem, silent = self.problem(network), self.executor.silent()

        def climbed(source: Fit) -> Fit:
            start = start_with_edges(source, problem)
            return climbed_from(problem, self.options, start, [source], silent)

        fit = climbed(near.fit)
        if near.fit.nats_above_mass:
            fit = replace(fit, largest_mass=climbed(near.fit.for_scores))

        return self._with_ml_fit(
            fit, [near], lambda ml: climbed_from(fit.problem, ml, fit.model.theta, [fit], silent)
        )

    def _with_ml_fit(
        self, fit: Fit, near: Sequence[Candidate], search: Callable[[Options], Fit]
    ) -> Candidate:
        """Add the maximum-likelihood fit, which is never below that of fewer edges."""
        network = fit.problem.network
        labellings = symmetries_of(fit.problem).log_count
        candidate = Candidate(Proposal("", network, {}), fit, network.dimension, {}, labellings)
        if self.options.estimate is Estimate.ML:
            return replace(candidate, likeliest=fit)
        if any(unbounded(fit.problem)):
            return candidate
        likeliest = search(replace(self.options, estimate=Estimate.ML))
        known = [n.likeliest for n in near if n.likeliest is not None]
        better = [n for n in known if n.log_lik > likeliest.log_lik - TIED]
        starts = [start_with_edges(n, fit.problem) for n in better]
        likeliest = better_from(likeliest, starts, self.executor.silent())
        return replace(candidate, likeliest=likeliest)


@dataclass(frozen=True, eq=False)
class Trial(Documented):
    """The addition or the removal of one edge, and its gain."""

    KEYS = "edge step adds accepted change_of_bic needs=price log_bayes_factor=gain test=ratio"

    edge: Edge
    step: int  # steps before; the first is 0
    before: Candidate
    after: Candidate
    price: float  # a lower bound of the gain of a change that pays
    accepted: bool = False  # whether the network of the next step has this change
    adds: bool = True  # whether the edge is added; else it is removed

    kept = renamed("kept", "accepted")

    @cached_property
    def gain(self) -> float:
        """Approximate log Bayes factor of the change; NaN if unknown."""
        return self.after.approximation - self.before.approximation

    @cached_property
    def ratio(self) -> LikelihoodRatio | None:
        """The likelihood-ratio test of the edge; None if a likelihood has no maximum."""
        narrow, wide = (self.before, self.after) if self.adds else (self.after, self.before)
        return wide.ratio_to(narrow)

    @property
    def change_of_bic(self) -> float:
        """BIC after the change minus BIC before; below 0 is better."""
        one, other = (
            criteria(f.log_lik, f.network.dimension, f.fit.problem.cases)["BIC"]
            for f in (self.after, self.before)
        )
        return one - other


def accepted_edges(trials: Sequence[Trial]) -> list[Edge]:
    """The edges that remain, in the order in which they were added."""
    edges: list[Edge] = []
    for trial in trials:
        if trial.accepted and trial.adds:
            edges.append(trial.edge)
        elif trial.accepted:
            edges.remove(trial.edge)
    return edges


def trials_of(
    fitter: NestedFitter, now: Candidate, edges: Sequence[Edge], possible: int, step: int = 0
) -> list[Trial]:
    """Try each edge by itself; `possible` is the number of possible edges."""
    networks = [(edge, with_edges(now.network, [edge])) for edge in edges]
    attempt = partial(_try, fitter, now, now, step, price(step, possible), True)
    return fitter.executor.map(attempt, networks)


def _try(
    fitter: NestedFitter,
    now: Candidate,
    start: Candidate,
    step: int,
    cost: float,
    adds: bool,
    change: tuple[Edge, Network],
) -> Trial:
    """Fit a network with one edge added or removed, starting from one with fewer edges."""
    edge, network = change
    trial = Trial(edge, step, now, fitter.tried(network, start), cost, adds=adds)
    _ = trial.gain  # computed here, in parallel with that of other trials
    return trial


def stepwise_edges(
    fitter: NestedFitter,
    base: Candidate,
    candidates: Callable[[Candidate], Sequence[Edge]],
    possible: int,
) -> tuple[Candidate, list[Trial]]:
    """Add edges by forward selection on the evidence, then remove edges by backward elimination."""
    every: list[Trial] = []

    def best_of(trials: Sequence[Trial]) -> Candidate | None:
        """Mark the trial that gains most, if above its price, and return its network."""
        gains = [t.gain - t.price if math.isfinite(t.gain) else -math.inf for t in trials]
        best = max(range(len(gains)), key=gains.__getitem__, default=None)
        taken = best if best is not None and gains[best] > 0.0 else None
        every.extend(replace(t, accepted=True) if i == taken else t for i, t in enumerate(trials))
        return None if taken is None else trials[taken].after

    now = base
    for step in range(min(MOST_STEPS, possible)):
        fitter.executor.report(f"step {step + 1}", 1.0 - SLOWER**step)
        after = best_of(trials_of(fitter, now, candidates(now), possible, step))
        if after is None:
            break
        now = after
    while len(accepted := accepted_edges(every)) > 1:  # a single edge paid when it was added
        rest = [(e, with_edges(base.network, [o for o in accepted if o != e])) for e in accepted]
        cost = -price(len(accepted) - 1, possible)  # a removal may lose the price of an edge
        attempt = partial(_try, fitter, now, base, every[-1].step + 1, cost, False)
        after = best_of(fitter.executor.map(attempt, rest))
        if after is None:
            break
        now = after
    return now, every


@dataclass(frozen=True, eq=False, repr=False)
class DirectEffects(Printable):
    """A latent class model, and the direct effects that were tried and kept."""

    KEYS = "pairs accepted=edges log_likelihood_without=base.fit.log_lik trials notes=flags"

    base: Candidate  # without them
    fit: Fit  # with those that pay
    trials: tuple[Trial, ...]  # one step after the other
    pairs: int  # pairs of columns between which there may be an effect

    @property
    def model(self) -> Model:
        """The model with the kept effects."""
        return self.fit.model

    @property
    def edges(self) -> tuple[str, ...]:
        """The kept effects, in the form of the option `edges` of `fit`."""
        return tuple(":".join(edge) for edge in accepted_edges(self.trials))

    @property
    def flags(self) -> tuple[Flag, ...]:
        """A flag if the rows of a survey are not independent."""
        return flags_of(self.fit.problem.design)

    def brief(self) -> str:
        accepted = f"kept: {', '.join(self.edges)}" if self.edges else "none pays"
        return f"Direct effects beside the classes: {len(self.trials)} tried, {accepted}"

    def tidy(self) -> Columns:
        """Return a row for each trial."""
        names = ("step", "adds", "parent", "child", "log_bayes_factor", "change_of_bic", "accepted")
        rows = (
            (t.step + 1, t.adds, *t.edge, float(t.gain), float(t.change_of_bic), t.accepted)
            for t in self.trials
        )
        return transposed(names, rows)

    def grids(self) -> Sequence[Grid]:
        return [self.tried, *self.fit.grids()]

    @property
    def tried(self) -> Grid:
        """The trials of each step."""
        if not self.trials:
            note = f"No two columns have a residual X²/df above {SUSPECT:g}: nothing to try."
            return Grid(self.brief(), notes=(note,))
        header = ("step", "effect", *RATIO, "BIC", "log BF", "needs", "taken")
        chance = f"one of {self.pairs:,} pairs may look good by chance"
        notes = (
            "Each effect is compared with the model of its step.",
            "BIC: its change, below 0 is better. log BF: in nats, approximated (csl).",
            f"needs: the log BF must exceed this, because {chance}; p(χ²) does not account for it.",
            "Effects may substitute for a missing class: compare with one class more.",
            *map(str, self.flags),
        )
        rows = tuple(
            (
                str(t.step + 1),
                f"{'' if t.adds else 'without '}{':'.join(t.edge)}",
                *ratio_cells(t.ratio),
                *map(number, (t.change_of_bic, t.gain, t.price)),
                "yes" if t.accepted else "",
            )
            for t in self.trials
        )
        return Grid(self.brief(), header, rows, frozenset({1, 8}), notes)


RATIO = ("2 log ratio", "df", "p(χ²)")


def ratio_cells(ratio: LikelihoodRatio | None) -> tuple[str, ...]:
    """Format a likelihood-ratio test; dashes if there is none."""
    if ratio is None:
        return ("–", "–", "–")
    return number(ratio.statistic), str(ratio.df), share(ratio.p_value)


def direct_effects(fitter: NestedFitter, network: Network) -> DirectEffects:
    """Fit a latent class model, and add the direct effects that raise the evidence."""
    executor = fitter.executor
    if not few_pairs(fitter.problem(network), latent_class=False):
        raise OptionError(
            "there are too many pairs of columns to look at all of them, step by step. Name the "
            "effects to add: --edge A:B."
        )
    base = replace(fitter, executor=executor.part(0.0, 0.5)).searched(network)
    pairs = possible_pairs(network)
    stepwise = replace(fitter, executor=executor.part(0.5, 0.9, "direct effects"))
    last, trials = stepwise_edges(stepwise, base, suspects, pairs)
    best = fitter.searched(last.network, [last]) if last is not base else base
    mode = softmax_climb(best.fit.problem, best.fit.model.theta, executor.silent())
    return DirectEffects(base, with_posterior(best.fit, mode.point), tuple(trials), pairs)


def suspects(now: Candidate) -> list[Edge]:
    """Missing edges between pairs with large residuals, the worst first."""
    problem, network = now.fit.problem, now.network
    pairs = bivariate_residuals(now.fit.model, problem.codes, problem.counts)
    edges = (ordered_edge(network, pair) for pair in pairs if pair.value > SUSPECT)
    new = (e for e in edges if network.index(e[0]) not in network.parents[network.index(e[1])])
    return list(islice(new, TRIED))
