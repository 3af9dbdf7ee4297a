"""Networks over one table that differ in a few edges: fitted from each other, and weighed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

from lacunet.data.table import Table
from lacunet.fitting.also_from import better_from, climbed_from
from lacunet.fitting.fit import Fit, Options, learn
from lacunet.fitting.objective import Estimate, unbounded
from lacunet.fitting.ranks import BOTH
from lacunet.inference.problem import Problem, build_problem
from lacunet.inference.symmetry import symmetries_of
from lacunet.models.conjugacy import mean
from lacunet.models.more_parents import with_more_parents
from lacunet.models.network import Network
from lacunet.models.prior import Alpha, dirichlet
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.scores import HEADLINE, ScoreInput
from lacunet.summaries.likelihood_ratio import TIE, LikelihoodRatio, likelihood_ratio

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
        better = [n for n in known if n.log_lik > likeliest.log_lik - TIE]
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
