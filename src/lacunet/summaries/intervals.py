"""Standard errors and confidence intervals of every parameter of a fit."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri, stdtrit

from lacunet.data.design import SamplingDesign
from lacunet.deprecation import renamed
from lacunet.errors import ModelError, OptionError
from lacunet.fitting.diagnose import EMPTY
from lacunet.fitting.fit import Fit
from lacunet.fitting.objective import Estimate, Objective, Point
from lacunet.flags import Flag, Kind
from lacunet.inference.information import DesignEffect, precision
from lacunet.inference.problem import Problem
from lacunet.models import conjugacy
from lacunet.models.display import PARAMETER, parameter_rows, shown_families
from lacunet.models.latent_class import find_classes
from lacunet.models.layout import Layout
from lacunet.models.network import Model, Variable
from lacunet.models.surgery import table_of
from lacunet.runtime.arrays import BoolArray, FloatArray
from lacunet.tabular import (
    Columns,
    Grid,
    Printable,
    described,
    measured,
    number,
    probability,
    transposed,
)
from lacunet.tabular.export import SHOWN

LEVEL = 0.95
NOT_A_MAXIMUM = 1e-3  # largest scaled gradient at a maximum, in cases
# Expected cases below which a probability counts as on the boundary: the standard error of its
# logit would exceed 3, and its interval would be nearly [0, 1].
HELD = 0.1
LARGEST = 0.5  # largest standard deviation of a variable in [0, 1]
STEP = 1e-4  # of numerical derivatives, in standard errors
LEAST, MOST = SHOWN, 1.0 - SHOWN  # an interval that contains both is uninformative


class Interval(NamedTuple):
    """The table of one variable (parents in order, then states), or one of its summaries."""

    estimate: FloatArray
    stderr: FloatArray
    low: FloatArray
    high: FloatArray
    deff: FloatArray | None = None  # design effect, of a survey

    def to_dict(self) -> dict[str, Any]:
        """Give the arrays as lists."""
        return {name: x.tolist() for name, x in self._asdict().items() if x is not None}


@dataclass(frozen=True, eq=False, repr=False)
class Intervals(Printable):
    """Standard error and interval of each θ_ijk; NaN if there is none (flags have the reasons)."""

    model: Model
    estimate: Estimate
    level: float  # of confidence
    method: str  # in words
    stderr: FloatArray  # (size,)
    low: FloatArray  # (size,)
    high: FloatArray  # (size,)
    flags: tuple[Flag, ...]
    replicates: int = 0  # of the bootstrap
    design: DesignEffect | None = None  # of a survey

    def table(self, name: str) -> Interval:
        """Return p(variable | parents) with standard errors and intervals.

        For a number these are the parameters of its family; `summaries` has its mean and spread.
        """
        every = [self.model.theta, self.stderr, self.low, self.high]
        if self.design is not None:
            every.append(_ratio(self.stderr, self.design.simple))
        return Interval(*(self._of(name, x) for x in every))

    def _of(self, name: str, x: FloatArray) -> FloatArray:
        """Return the part of a parameter vector that belongs to a variable, as its table."""
        return table_of(self.model.network, x, self.model.network.index(name))

    def to_dict(self) -> dict[str, Any]:
        """Give the document of `--json`: the tables of each variable, or summaries of numbers."""
        network, parents = self.model.network, self.model.network.parent_names
        design = {} if self.design is None else {"design_effect": self.design.overall}
        variables = {}
        for v in (network.variables[i] for i in network.shown):
            if v.family.tabular:
                parts = {"states": list(v.labels), **self.table(v.name).to_dict()}
            else:
                parts = {title: part.to_dict() for title, part in self.summaries(v.name).items()}
            variables[v.name] = {"parents": parents[v.name], **parts}
        keys = "estimate level method flags bootstrap=replicates"
        return described(self, keys, **design, variables=variables)

    told = renamed("told", "summaries")

    def summaries(self, name: str) -> dict[str, Interval]:
        """Return the summaries of a number by title, such as mean and sd, in the unit of the data.

        Arrays have an axis for each parent.
        """
        v = self.model.network.variables[self.model.network.index(name)]
        theta, stderr, low, high, _ = self.table(name)
        shape, width = theta.shape[:-1], theta.shape[-1]

        def read(x: FloatArray) -> dict[str, FloatArray]:
            return {t: y.reshape(shape) for t, y in v.summary(x.reshape(-1, width)).items()}

        # Delta method by central differences; each summary depends on one parameter.
        def errors(stderr: FloatArray) -> dict[str, FloatArray]:
            up, down = (read(theta + sign * STEP * stderr) for sign in (1, -1))
            return {t: (up[t] - down[t]) / (2 * STEP) for t in up}

        error, first, last = errors(stderr), read(low), read(high)
        simple = {}
        if self.design is not None:
            each = errors(self._of(name, self.design.simple))
            simple = {t: _ratio(error[t], x) for t, x in each.items()}
        return {
            t: Interval(x, error[t], first[t], last[t], simple.get(t))
            for t, x in read(theta).items()
        }

    def tidy(self) -> Columns:
        """Return a row for each parameter."""
        names = ["estimate", "stderr", "low", "high"]
        if self.design is not None:
            names.append("design_effect")
        parameter_names = [row[:-1] for row in parameter_rows(self.model)]
        each = [
            _flat(interval)
            for v in self.model.network.variables
            for interval in (
                [self.table(v.name)] if v.family.tabular else self.summaries(v.name).values()
            )
        ]
        columns = {name: [x for one in each for x in one[k]] for k, name in enumerate(names)}
        return {**transposed(PARAMETER[:-1], parameter_names), **columns}

    def grids(self) -> Sequence[Grid]:
        """Return the printed tables, with a row for each probability."""
        notes = [self.method, *(f"- {flag}" for flag in self.flags)]
        left, rows = "", list[tuple[str, ...]]()
        if (classes := find_classes(self.model.network)) is not None:
            items = [i for i in self.model.network.shown if i in classes.leaves]
            given = [f"{classes.variable.name} {state}" for state in classes.variable.labels]
            sizes = zip(*_flat(self.table(classes.variable.name)), strict=True)
            rows = [(name, "size", *_cells(x)) for name, x in zip(given, sizes, strict=True)]
            rows += [row for i in items for row in self._rows(i, given, states_first=True)]
        else:
            shown, left = shown_families(self.model.network)
            rows = [row for i in shown for row in self._rows(i, self._configurations(i))]
        if left:
            notes.append(f"{left}: --json gives all.")
        every = self.model.network.layout.tabular
        title = f"with standard errors and {100 * self.level:g} % intervals"
        title = f"{'Probabilities' if every else 'Probabilities and numbers'} {title}"
        header = ["given", "probability of" if every else "of", "estimate", "s.e.", "low", "high"]
        if self.design is not None:
            header.append("deff")
            notes.insert(
                1,
                f"deff: design effect, against a simple random sample of as many rows; "
                f"{self.design.overall:.2f} overall (mean over all parameters).",
            )
        return [Grid(title, tuple(header), tuple(rows), frozenset({0, 1}), tuple(notes))]

    def _configurations(self, i: int) -> list[str]:
        """Name each configuration of the parents of a variable."""
        parents = [self.model.network.variables[p] for p in self.model.network.parents[i]]
        states = ([f"{p.name} = {label}" for label in p.labels] for p in parents)
        return [", ".join(words) for words in itertools.product(*states)]

    def _rows(
        self, i: int, given: Sequence[str], *, states_first: bool = False
    ) -> Iterator[tuple[str, ...]]:
        """Write the intervals of a variable, by the configurations of its parents."""
        v = self.model.network.variables[i]
        if not v.family.tabular:
            for title, interval in self.summaries(v.name).items():
                for words, row in zip(given, zip(*_flat(interval), strict=True), strict=True):
                    numbers = (*map(measured, row[:4]), *map(number, row[4:]))
                    yield (words, f"{v.name}: {title}", *numbers)
            return
        cells = list(zip(*_flat(self.table(v.name)), strict=True))
        pairs = [(g, k) for g in range(len(given)) for k in shown_states(v)]
        for g, k in sorted(pairs, key=lambda pair: pair[1]) if states_first else pairs:
            yield (given[g], f"{v.name} = {v.labels[k]}", *_cells(cells[g * len(v.states) + k]))


def _cells(interval: Sequence[float]) -> tuple[str, ...]:
    """Format a probability, its standard error, interval and design effect."""
    estimate, stderr, low, high, *deff = interval
    ends = probability(low), probability(high)
    return (probability(estimate), number(stderr, 4), *ends, *map(number, deff))


def _flat(interval: Interval) -> list[list[float]]:
    return [x.reshape(-1).tolist() for x in interval if x is not None]


def _ratio(stderr: FloatArray, simple: FloatArray) -> FloatArray:
    """Return design effects: ratios of squared standard errors; NaN if undefined."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(simple > 0, (stderr / simple) ** 2, np.nan)


def shown_states(v: Variable) -> range:
    """Return the states to show: all, or the second of two."""
    return range(1 if len(v.states) == 2 else 0, len(v.states))


def check_level(level: float) -> float:
    """Refuse a confidence level outside (0, 1)."""
    if not 0.0 < level < 1.0:
        raise OptionError(
            f"level {level:g} is not allowed: give a number between 0 and 1, as 0.95."
        )
    return level


def hessian_intervals(
    problem: Problem, model: Model, estimate: Estimate, level: float = LEVEL
) -> Intervals:
    """Compute intervals from the observed information, on an unconstrained scale.

    That is the logit of a probability, the logarithm of a variance or a rate, or the mean itself.
    `model` must maximise the objective of `estimate`.
    """
    objective = Objective.build(problem, estimate)
    point = check_maximum(objective, model)
    at_boundary = on_boundary(point.N, objective.pseudo, problem.layout)
    errors = precision(problem, point.theta, point.N + objective.pseudo, at_boundary)
    layout, design = problem.layout, problem.design
    tail = (1.0 + level) / 2.0
    reach = (ndtri(tail) if design is None else stdtrit(design.degrees, tail)) * errors.scaled
    ends = [conjugacy.from_interval_scale(point.theta, sign * reach, layout) for sign in (-1, 1)]
    vague = layout.in_simplex & (errors.theta > LARGEST)
    unbounded = uninformative(layout, *ends) & ~vague
    # Known probabilities are not parameters; with a single state they are 1.
    certain = (layout.in_tables & (_states(layout) == 1)) | ~layout.learned
    flags = [
        *counted(Kind.HELD_AT_BOUNDARY, at_boundary),
        *(() if errors.maximum else (Flag(Kind.SADDLE),)),
        *counted(Kind.NOT_IDENTIFIED, errors.unidentified),
        *counted(Kind.HARDLY_IDENTIFIED, vague, largest=LARGEST),
        *counted(Kind.ANYWHERE, unbounded, least=LEAST, most=MOST),
    ]
    exactly = np.zeros_like(model.theta), model.theta, model.theta
    stderr, low, high = (
        np.where(certain, exact, np.where(vague | unbounded, np.nan, x))
        for exact, x in zip(exactly, (errors.theta, *ends), strict=True)
    )
    at = objective.estimate.words
    method = f"From the observed information at the {at} parameters, on the logit scale."
    if design is not None:
        method = f"{linearised_words(design)} At the {at} parameters, on the logit scale."
    if not layout.tabular:
        method = f"{method[:-1]}; numbers on that of their mean, log variance or log rate."
    results = (level, method, stderr, low, high, tuple(flags))
    return Intervals(model, objective.estimate, *results, design=errors.design)


def linearised_words(design: SamplingDesign) -> str:
    """Describe the standard errors of a survey."""
    where = "around the means of strata" if design.strata is not None else "around their mean"
    what = "scores of units" if design.clusters else "scores of rows"
    degrees = f"t with {design.degrees:,} degrees of freedom"
    return f"Linearised (sandwich) standard errors: {what}, weighted, {where}; {degrees}."


def no_intervals(model: Model, estimate: Estimate, why: str) -> Intervals:
    """Return NaN for every standard error and interval, with the reason `why` as method."""
    none = np.full_like(model.theta, np.nan)
    return Intervals(model, estimate, LEVEL, why, none, none, none, ())


def check_maximum(objective: Objective, model: Model) -> Point:
    """Refuse parameters that are not at a maximum, because the theory does not apply."""
    point = objective.at(model.theta)
    check_flat(objective.steepest(point), objective.estimate)
    return point


def check_flat(steepest: float, estimate: Estimate) -> None:
    """Refuse parameters whose largest scaled gradient is not nearly 0."""
    if not steepest <= NOT_A_MAXIMUM:
        raise ModelError(
            f"these parameters are not at the {estimate.words} maximum for these data: "
            f"the scaled gradient is {steepest:.2g} cases. Fit the model to them first, with the "
            "default schedule."
        )


def on_boundary(N: FloatArray, pseudo: FloatArray, layout: Layout) -> BoolArray:
    """Find probabilities at 0 or 1: with few expected counts `N` and few prior counts `pseudo`."""
    at_boundary = (layout.pooled(N) < HELD) & (layout.pooled(pseudo) < EMPTY)
    tables = layout.in_tables & layout.in_simplex
    at_boundary &= layout.learned & tables
    # The remaining probability is 1 if all other states are at 0.
    alive = conjugacy.cases(np.where(at_boundary, 0.0, 1.0 * layout.learned), layout)
    boundary = (at_boundary | (alive == 1)) & layout.learned & (_states(layout) > 1)
    return np.asarray(boundary & tables)


def uninformative(layout: Layout, low: FloatArray, high: FloatArray) -> BoolArray:
    """Find probabilities whose interval is nearly [0, 1]."""
    return np.asarray(layout.in_simplex & (low < LEAST) & (high > MOST))


def _states(layout: Layout) -> FloatArray:
    """Return the number of learned states of its distribution, for every parameter."""
    return conjugacy.cases(layout.learned.astype(np.float64), layout)


def counted(kind: Kind, which: BoolArray, **detail: float) -> list[Flag]:
    """Return a flag with the number of selected probabilities, if there are any."""
    number = int(which.sum())
    return [Flag(kind, detail={"number": number, "total": which.size, **detail})] if number else []


def check_intervals(intervals: Intervals, model: Model) -> None:
    """Refuse intervals of another model."""
    if not np.array_equal(intervals.model.theta, model.theta):
        raise OptionError("these intervals are of other parameters. Give intervals(data, fit).")


def intervals_to_draw(fitted: Fit | Model, intervals: Intervals | bool) -> Intervals | None:
    """Return the intervals to draw: the given ones, computed ones, or None."""
    if isinstance(intervals, Intervals):
        check_intervals(intervals, fitted.model if isinstance(fitted, Fit) else fitted)
        return intervals
    if not intervals or not isinstance(fitted, Fit):
        return None
    try:
        return hessian_intervals(fitted.problem, fitted.model, fitted.estimate)
    except ModelError:  # not converged: draw lines without intervals
        return None


def drawn_answers(v: Variable) -> dict[int, str]:
    """Return the entries of an item's table to draw, and their labels.

    Items with two states have the second. Ordered answers have the mean, scaled from the lowest (0)
    to the highest (1). Other numbers have none.
    """
    if v.family.tabular:
        return {k: v.labels[k] for k in shown_states(v)}
    if v.family.on_a_scale:
        low, high = v.ends
        return {1: f"mean, {low:g} to {high:g}"}
    return {}


def drawn_name(v: Variable, place: int) -> str:
    """Return the label of an entry, with its item."""
    return f"{v.heading}{' = ' if v.family.tabular else ': '}{drawn_answers(v)[place]}"
