"""What a fit says of new rows: the posterior of the parameters, not the estimate alone.

Around a mode it is close to the Dirichlet posterior of complete data with the expected counts E[N]
in place of counts: exponents α + E[N], mean (E[N] + α)/Σ. The counts are taken where that mean is
the very θ that they are expected at, which is the mode of φ = log θ. Held-out rows and data drawn
from the prior tell it from the other candidates (docs/explanation/predictions.md).
"""

from dataclasses import replace

from lacunet.fitting.ascent import Climb, Outcome, em_while_fast
from lacunet.fitting.fit import Fit, Options, learn
from lacunet.fitting.maxima import ESTIMATE, HEAVIEST, Ranks, best_of, climb_from
from lacunet.fitting.objective import Estimate, Objective, Point, random_starts
from lacunet.fitting.schedules import merged_start
from lacunet.inference.problem import Problem
from lacunet.models.network import Model
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.executor import SERIAL, Executor


def softmax_climb(problem: Problem, theta: FloatArray, executor: Executor = SERIAL) -> Climb:
    """Climb to the mode of φ that is uphill from θ."""
    objective = Objective.build(problem, Estimate.SOFTMAX, executor)
    start = objective.at(theta)
    if problem.exact:  # one M step is the maximum
        return Climb(objective.em_step(start), 1, Outcome.CLOSED_FORM)
    return climb_from(objective, start)[0]


def learn_posterior(
    problem: Problem, options: Options, executor: Executor = SERIAL, ranks: Ranks = ESTIMATE
) -> Fit:
    """Look for the best parameters, and give them their posterior."""
    found = learn(problem, options, executor=executor, ranks=ranks)
    if found.estimate is Estimate.SOFTMAX:  # it is the mode of φ
        return with_posterior(found, found.point)
    return with_posterior(found, softmax_climb(problem, found.model.theta, executor.silent()).point)


def quick_posterior(problem: Problem, starts: int, seed: int) -> Model:
    """Give a network the posterior around the heaviest of a few modes, each nearly climbed.

    For whoever weighs many models: EM until it slows down, from merged rows and random starts.
    """
    objective = Objective.build(problem, Estimate.SOFTMAX)
    points = [merged_start(objective, seed, 0)]
    if not problem.exact:
        points += random_starts(objective, starts, seed)
    climbs = [em_while_fast(objective, point) for point in points]
    _, best = best_of(objective, climbs, HEAVIEST)
    alpha = problem.alpha
    return Model(problem.network, best.point.theta, alpha, alpha + best.point.N)


def with_posterior(fit: Fit, mode: Point) -> Fit:
    """Give the model of a fit its posterior, by the expected counts at the mode of φ near it."""
    posterior = fit.problem.alpha + mode.N
    return replace(fit, model=replace(fit.model, posterior=posterior))
