"""Fit one network to one table, from starts to flags and the posterior.

The posterior predictive uses p(θ|D) around a mode. The approximation is the Dirichlet posterior of
complete data with expected counts E[N]: exponents α + E[N]. The counts are expected at the mode of
φ = log θ, because there the mean of that posterior equals θ (docs/explanation/predictions.md).
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from lacunet.deprecation import renamed
from lacunet.errors import OptionError
from lacunet.fitting.ascent import Climb, Convergence, climb_from, em_while_fast
from lacunet.fitting.diagnose import diagnose, state_sizes
from lacunet.fitting.maxima import (
    ESTIMATE,
    HIGHEST,
    LARGEST_MASS,
    SAME_OPTIMUM,
    Rank,
    Ranks,
    best_of,
)
from lacunet.fitting.newton import climb_by_newton, search_predicted
from lacunet.fitting.objective import Estimate, Objective, Point, attainable, random_starts
from lacunet.fitting.schedules import (
    SEARCHERS,
    TASK,
    Schedule,
    Search,
    merged_start,
    search_part_first,
)
from lacunet.flags import Flag, Kind
from lacunet.inference.devices.device import DeviceName, open_device
from lacunet.inference.predicted import PredictedClasses, predicted_classes
from lacunet.inference.problem import Problem
from lacunet.models.conjugacy import log_prior, mean
from lacunet.models.display import known_words, model_grids
from lacunet.models.known import Relabelling
from lacunet.models.network import Model
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.tabular import Columns, Grid, Printable

DEFAULT_STARTS = 64  # CH96 §3
FLAT = 1e-3  # relative curvature below which a direction is called flat


@dataclass(frozen=True)
class Options:
    """Options of estimation."""

    estimate: Estimate = Estimate.MAP
    schedule: Schedule = Schedule.DEFAULT
    starts: int = DEFAULT_STARTS
    seed: int = 0
    device: DeviceName = DeviceName.CPU

    def __post_init__(self) -> None:
        if self.starts < 1:
            raise OptionError(f"{self.starts} starts: there must be at least 1.")
        if self.seed < 0:
            raise OptionError(f"seed {self.seed} is not allowed: give a whole number from 0 up.")


@dataclass(frozen=True, eq=False, repr=False)
class Fit(Printable):
    """The best parameters found, with the diagnostics of the search."""

    KEYS = (
        "log_prior log_posterior estimate iterations log_likelihood=log_lik "
        "schedule=options.schedule scaled_gradient=gradient starts=options.starts "
        "final_starts=finalists reached_best=reached status flags=all_flags"
    )

    problem: Problem
    model: Model  # hidden states by size, largest first
    point: Point  # θ of the model with expected counts and log-likelihood
    log_prior: float  # log p(θ)
    options: Options
    status: Convergence
    iterations: int  # E steps of the winning start after the race
    finalists: int  # starts run to convergence, and recombinations of them
    reached: int  # number of them that reached the best optimum; 0: a neighbour started it
    margin: float  # nats from the best maximum to the next, if only one start reached it
    others: tuple[Point, ...]  # a few other maxima, the best first; states not sorted
    gradient: float  # largest component of the scaled gradient at the end, in cases
    flags: tuple[Flag, ...]
    seconds: float
    rank: Rank = HIGHEST  # the criterion
    largest_mass: "Fit | None" = None  # the mode of largest mass, if it was searched for

    heaviest = renamed("heaviest", "largest_mass")
    doubt = renamed("doubt", "margin")

    @property
    def estimate(self) -> Estimate:
        """The kind of estimate: that of the options, or its substitute."""
        return attainable(self.options.estimate, self.problem)

    @property
    def for_scores(self) -> "Fit":
        """The fit used for scores of the evidence: the mode of largest mass, if available."""
        return self.largest_mass or self

    @property
    def nats_above_mass(self) -> float:
        """The height of the maximum above the mode of largest mass; 0 if they are equal."""
        above = self.point.g - self.for_scores.point.g
        return above if above > SAME_OPTIMUM else 0.0

    @property
    def mass_flags(self) -> tuple[Flag, ...]:
        """A flag if scores use another maximum."""
        if not self.nats_above_mass:
            return ()
        detail = {"nats": self.nats_above_mass, "log_lik": self.for_scores.log_lik}
        return (Flag(Kind.MASS_ELSEWHERE, detail=detail),)

    @cached_property
    def objective(self) -> Objective:
        """The function that the estimate maximises."""
        return Objective.build(self.problem, self.estimate)

    @cached_property
    def predicted(self) -> PredictedClasses | None:
        """The parts of the problem, if covariates predict its classes."""
        return predicted_classes(self.problem)

    @property
    def all_flags(self) -> tuple[Flag, ...]:
        """Flags of the fit, and of the mode at which its scores are taken."""
        return (*self.flags, *self.mass_flags)

    @property
    def log_lik(self) -> float:
        """Log p(D | θ)."""
        return self.point.log_lik

    @property
    def stable(self) -> bool:
        """Whether more than one start reached the maximum, or it has a closed form."""
        return self.reached > 1 or self.status is Convergence.CLOSED_FORM

    @property
    def log_posterior(self) -> float:
        """Log p(D | θ) + log p(θ)."""
        return self.log_lik + self.log_prior

    def tidy(self) -> Columns:
        """Return a row for each parameter."""
        return self.model.tidy()

    def brief(self) -> str:
        """Summarise the fit in one line."""
        return f"log p(D|θ) = {self.log_lik:.3f}; {self.model.brief()}"

    def grids(self) -> Sequence[Grid]:
        """Return the tables that `print` and notebooks show."""
        title = f"log p(D|θ) = {self.log_lik:.6f}, log p(D|θ) + log p(θ) = {self.log_posterior:.6f}"
        notes = (
            f"{self.status}; {self.iterations} iterations",
            f"{self.reached} of {self.finalists} final starts reached the best optimum",
            f"probabilities: {self.estimate} estimate; queries use the posterior predictive",
            *known_words(self.model.network),
            *(f"- {flag}" for flag in self.flags),
        )
        return [Grid(title, (), (), notes=notes), *model_grids(self.model)]


def learn(
    problem: Problem,
    options: Options | None = None,
    *,
    executor: Executor = SERIAL,
    start: Model | None = None,
    ranks: Ranks = ESTIMATE,
    beside: Sequence[FloatArray] = (),
) -> Fit:
    """Find the best parameters by the first rank, by a schedule or from a given model.

    With `BOTH`, the mode of largest mass is found, too. If covariates predict classes, further
    starts are the maxima without covariates, and the parameters `beside` of such models.
    """
    options = options or Options()
    began = time.perf_counter()
    placed = problem.on(open_device(options.device))
    objective = Objective.build(placed, options.estimate, executor)
    if objective.estimate is Estimate.ML:  # ML has no posterior mass
        ranks = ESTIMATE
    searches = _search(objective, options, start, ranks, beside)
    executor.report(TASK, 1.0)
    # States of a given model keep their order.
    by_size = start is None
    fits = [
        fit_of(objective, one, options, began, rank, by_size=by_size)
        for one, rank in zip(searches, ranks, strict=True)
    ]
    return fits[0] if len(fits) == 1 else replace(fits[0], largest_mass=fits[1])


def fit_of(
    objective: Objective,
    search: Search,
    options: Options,
    began: float,
    rank: Rank = HIGHEST,
    *,
    by_size: bool = True,
) -> Fit:
    """Make the fit of the result of a search that began at a given time."""
    problem, climb = objective.problem, search.climb
    point = _by_size(objective, climb.point) if by_size else climb.point
    model, diagnosis = describe(problem, point)
    return Fit(
        problem=problem,
        model=model,
        point=point,
        log_prior=log_prior(point.theta, problem.alpha, problem.layout),
        options=options,
        status=climb.outcome,
        iterations=climb.steps,
        finalists=search.finalists,
        reached=search.reached,
        margin=search.margin,
        others=search.others,
        gradient=objective.steepest(point),
        flags=(*_flags(objective, search, options), *diagnosis),
        seconds=time.perf_counter() - began,
        rank=rank,
    )


def describe(problem: Problem, point: Point) -> tuple[Model, Iterator[Flag]]:
    """Return the model at a point, and the flags of its hidden states."""
    predicted = predicted_classes(problem)
    if predicted is None:
        model = Model(problem.network, point.theta, problem.alpha)
        return model, diagnose(problem, point.theta, point.N)
    model = predicted.model(point.theta)
    return model, diagnose(predicted.plain, model.theta, predicted.counts(point.N))


def _search(
    objective: Objective,
    options: Options,
    start: Model | None,
    ranks: Ranks,
    beside: Sequence[FloatArray],
) -> tuple[Search, ...]:
    if objective.problem.exact:  # one M step from any θ gives the maximum
        problem = objective.problem
        point = objective.em_step(objective.at(mean(problem.alpha, problem.layout)))
        return (Search(Climb(point, 1, Convergence.CLOSED_FORM), 1, 1, None),) * len(ranks)
    predicted = predicted_classes(objective.problem)
    if start is not None:
        theta = start.theta if predicted is None else predicted.parameters_of(start)
        return (_climbed(objective, theta),) * len(ranks)
    if predicted is not None:
        plain = learn(predicted.plain, options, executor=objective.executor)
        known = [plain.model.theta, *(p.theta for p in plain.others), *beside]
        one = search_predicted(objective, predicted, known, options.starts, options.seed)
        return (one,) * len(ranks)
    search = SEARCHERS[options.schedule]
    part = objective.problem.part
    if part is None or options.schedule is Schedule.PAPER:
        return search(objective, options.starts, options.seed, ranks)
    return search_part_first(
        objective,
        Objective.build(part, options.estimate, objective.executor),
        lambda on_part: search(on_part, options.starts, options.seed, ranks),
        ranks,
    )


def _climbed(objective: Objective, theta: FloatArray) -> Search:
    """Climb from θ, by Newton's method if covariates predict classes."""
    if predicted_classes(objective.problem) is not None:
        return Search(climb_by_newton(objective, objective.at(theta)), 1, 1, None)
    climb, curvature = climb_from(objective, objective.at(theta))
    return Search(climb, 1, 1, curvature)


def _by_size(objective: Objective, point: Point) -> Point:
    """Sort hidden states by size, so that equal optima have equal output."""
    layout, alpha, theta = objective.problem.layout, objective.problem.alpha, point.theta
    for h in objective.problem.network.hidden:
        order = np.argsort(-state_sizes(layout, point.N, h), kind="stable")
        by_size = Relabelling(layout, orders={h: order.tolist()})
        if by_size.keeps(alpha):  # not if a prior or a known table distinguishes the states
            theta = by_size.apply(theta)
    return point if (theta == point.theta).all() else objective.at(theta)


def _flags(objective: Objective, search: Search, options: Options) -> Iterator[Flag]:
    if objective.estimate is not options.estimate:
        yield Flag(Kind.NO_MAP, detail={"alpha": objective.problem.lowest_alpha})
    if search.climb.outcome in (Convergence.MAX_STEPS, Convergence.PAPER_STOPPED):
        yield Flag(Kind.NOT_CONVERGED, detail={"outcome": search.climb.outcome})
    if search.finalists > 1 and search.reached <= 1:
        quick = options.schedule is Schedule.DEFAULT
        by_schedule = "--schedule thorough" if quick else f"--starts {4 * options.starts}"
        detail: dict[str, str | float] = {
            "finalists": search.finalists,
            "reached": "only 1" if search.reached else "none",
            "margin": search.margin,
            "further": search.further or by_schedule,
        }
        yield Flag(Kind.UNSTABLE, detail=detail)
    if search.curvature is None:
        return
    if search.finalists == 1:
        yield Flag(Kind.SINGLE_START)
    if search.curvature.least < FLAT:
        yield Flag(Kind.FLAT_DIRECTION, detail={"share": max(search.curvature.least, 0)})


@dataclass(frozen=True, eq=False)
class PackedFit:
    """A fit without its problem, for checkpoint files."""

    values: dict[str, Any]  # fields of a fit, by name
    posterior: FloatArray | None  # of the model
    largest_mass: "PackedFit | None" = None

    @classmethod
    def of(cls, fit: Fit) -> Self:
        """Pack a fit without the parts that can be rebuilt from the problem."""
        left_out = "problem", "model", "largest_mass"
        values = {f.name: getattr(fit, f.name) for f in fields(fit) if f.name not in left_out}
        largest_mass = None if fit.largest_mass is None else cls.of(fit.largest_mass)
        return cls(values, fit.model.posterior, largest_mass)

    def unpack(self, problem: Problem) -> Fit:
        """Rebuild the fit with an equal problem."""
        model = Model(problem.network, self.values["point"].theta, problem.alpha, self.posterior)
        largest_mass = None if self.largest_mass is None else self.largest_mass.unpack(problem)
        return Fit(problem=problem, model=model, largest_mass=largest_mass, **self.values)


def softmax_climb(problem: Problem, theta: FloatArray, executor: Executor = SERIAL) -> Climb:
    """Climb from θ to a mode of φ."""
    objective = Objective.build(problem, Estimate.SOFTMAX, executor)
    if problem.exact:  # one M step gives the maximum
        return Climb(objective.em_step(objective.at(theta)), 1, Convergence.CLOSED_FORM)
    return _climbed(objective, theta).climb


def learn_posterior(
    problem: Problem, options: Options, executor: Executor = SERIAL, ranks: Ranks = ESTIMATE
) -> Fit:
    """Find the best parameters, and add their posterior."""
    fit = learn(problem, options, executor=executor, ranks=ranks)
    mode = fit.point  # of φ, if that is the estimate
    if fit.estimate is not Estimate.SOFTMAX:
        mode = softmax_climb(problem, fit.point.theta, executor.silent()).point
    return with_posterior(fit, mode)


def with_posterior(fit: Fit, mode: Point) -> Fit:
    """Add the posterior to the model of a fit, by expected counts at the nearby mode of φ."""
    if fit.predicted is not None:
        return replace(fit, model=fit.predicted.with_posterior(fit.model, mode.theta, mode.N))
    posterior = fit.problem.alpha + mode.N
    return replace(fit, model=replace(fit.model, posterior=posterior))


def quick_posterior(problem: Problem, starts: int, seed: int) -> Model:
    """Approximate the posterior at the mode of largest mass among a few EM runs.

    EM runs until it slows down, from merged rows and random starts. Comparisons of many models use
    this.
    """
    objective = Objective.build(problem, Estimate.SOFTMAX)
    points = [merged_start(objective, seed, 0)]
    if not problem.exact:
        points += random_starts(objective, starts, seed)
    climbs = [em_while_fast(objective, point) for point in points]
    _, best = best_of(objective, climbs, LARGEST_MASS)
    alpha = problem.alpha
    return Model(problem.network, best.point.theta, alpha, alpha + best.point.N)
