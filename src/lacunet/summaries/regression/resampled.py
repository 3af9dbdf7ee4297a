"""The bootstrap of classes that covariates predict: what refits to drawn data vary by.

Covariates are given: data drawn from a fit keep those of every row, and its holes. Of a survey,
units are drawn anew within strata, with all that their rows show.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from lacunet.fitting.ascent import Outcome
from lacunet.fitting.fit import Options
from lacunet.fitting.regression.fit import ClassFit, climb_on
from lacunet.fitting.regression.logit import whole
from lacunet.fitting.regression.objective import ClassParameters
from lacunet.fitting.regression.predicting import model_of
from lacunet.inference.problem import Problem, problem_of_codes
from lacunet.inference.regression.classes import ClassProblem, build_class_problem
from lacunet.models.latent_class import classes_of
from lacunet.models.surgery import with_shown
from lacunet.runtime.arrays import CodeArray, FloatArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.summaries.bootstrap import (
    check_number,
    check_replicates,
    draw_units,
    simulate_rows,
)
from lacunet.summaries.identification import TOUCHED, Why
from lacunet.summaries.intervals import Intervals
from lacunet.summaries.matching import cheapest_order, profile_distances
from lacunet.summaries.regression.coefficients import Coefficients
from lacunet.summaries.regression.precision import end_of_coefficients, free_directions, held_of
from lacunet.summaries.replicates import FEWEST, replicated


@dataclass(frozen=True, eq=False)
class ClassReplicates:
    """Refits to drawn data, their classes numbered as in the fit."""

    fit: ClassParameters
    thetas: FloatArray  # (B, size of plain) class sizes over all rows, and items
    coefficients: FloatArray  # (B, K, p) in the units of the covariates
    stopped: int  # refits that did not reach a maximum
    seed: int

    def intervals(self, level: float) -> Intervals:
        """Give class sizes over all rows, and items, with percentile intervals."""
        given, plain = self.fit.given, self.fit.given.plain
        held = given.to_plain_layout(held_of(self.fit).astype(np.float64)) > 0
        return replicated(
            plain,
            model_of(self.fit),
            self.fit.objective.estimate,
            level,
            self.thetas,
            held,
            stopped=self.stopped,
            seed=self.seed,
        )

    def told(self, found: Coefficients) -> Coefficients:
        """Give coefficients their errors and intervals by these refits."""
        intervals = self.intervals(found.level)
        how = f"{intervals.method} Coefficients: p-values by their standard deviations."
        return replace(found, method=how, draws=self.coefficients)


def check_replicates_of(plain: Problem, replicates: int) -> None:
    """Refuse too few replicates, and weights of which nothing tells how rows were drawn."""
    if plain.design is None:
        check_replicates(plain.counts, replicates, FEWEST)
    check_number(replicates, FEWEST)


def class_replicates(
    fit: ClassParameters, options: Options, replicates: int, *, executor: Executor = SERIAL
) -> ClassReplicates:
    """Refit drawn data, each time from the fit; the seed is that of the options."""
    check_replicates_of(fit.given.plain, replicates)
    executor = executor.if_worth(fit.given.problem.components.nanoseconds)
    refits = executor.count(
        partial(_refit, fit, options.seed), range(replicates), "bootstrap", 0, replicates
    )
    return ClassReplicates(
        fit,
        np.array([one.given.to_plain(one.point.theta) for one in refits]),
        np.array([_coefficients(one) for one in refits]),
        sum(one.outcome is not Outcome.CONVERGED for one in refits),
        options.seed,
    )


def _coefficients(refit: ClassFit) -> FloatArray:
    """(K, p) in the units of covariates; infinite where the likelihood has no end."""
    design, (_, separated) = refit.given.design, end_of_coefficients(refit)
    found: FloatArray = whole(refit.point.beta, len(design.to_units)) @ design.to_units.T
    for free in free_directions(separated, design, len(found), Why.SEPARATED):
        found = np.where(np.abs(free.along) > TOUCHED, np.inf, found)
    return found


def _refit(fit: ClassParameters, seed: int, replicate: int) -> ClassFit:
    """Climb from the fit to the maximum of a replicate, and number its classes as in the fit."""
    given = fit.given
    drawn = _drawn(given, fit.point.theta, seed, replicate)
    found = climb_on(drawn, fit.point, fit.objective.estimate)
    root = classes_of(given.plain.network).root
    apart = profile_distances(model_of(found), model_of(fit), root)
    return found.renumbered(cheapest_order(apart))


def _drawn(given: ClassProblem, theta: FloatArray, seed: int, replicate: int) -> ClassProblem:
    """Draw data: units of a survey, or rows of the fit with the covariates and holes they had."""
    plain, design = given.plain, given.design
    if plain.design is not None:
        counts = draw_units(plain.design, len(plain.codes), seed, replicate)
        there = counts > 0
        rows = plain.codes[there], counts[there], plain.network, plain.alpha
        pattern = design.pattern[there]
    else:
        above = len(given.problem.network.variables) - 1
        drawn, counts = simulate_rows(given.problem, theta, seed, replicate, above)
        network = with_shown(plain.network, drawn.variables[:-1])
        items: CodeArray = np.ascontiguousarray(drawn.codes[:, :-1])
        rows = items, counts, network, plain.alpha
        pattern = drawn.codes[:, -1].astype(np.int64)
    kept = replace(design, pattern=pattern)
    return build_class_problem(problem_of_codes(*rows), kept, given.exponent, given.coefficient_sd)
