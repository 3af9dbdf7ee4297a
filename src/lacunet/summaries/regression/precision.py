"""How sure coefficients and items are: the inverse of the observed information of both together.

The bootstrap of classes that covariates predict: what refits to drawn data vary by.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.linalg import block_diag
from scipy.stats import t as student

from lacunet.fitting.ascent import Outcome
from lacunet.fitting.fit import Options
from lacunet.fitting.logit import ClassParameters, whole
from lacunet.fitting.regression import ClassFit, climb_on, model_of
from lacunet.flags import Flag, Kind
from lacunet.inference.information import (
    NOTHING,
    root_of,
    root_of_inverse,
    row_scores,
    spread_of_scores,
)
from lacunet.inference.problem import Problem, problem_of_codes
from lacunet.inference.regression.classes import ClassProblem, build_class_problem
from lacunet.inference.regression.design import Design
from lacunet.models import conjugacy
from lacunet.models.latent_class import classes_of
from lacunet.models.surgery import with_shown
from lacunet.runtime.arrays import BoolArray, CodeArray, FloatArray, IntArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.summaries.bootstrap import (
    FEWEST,
    check_number,
    check_replicates,
    draw_units,
    replicated,
    simulate_rows,
)
from lacunet.summaries.identification import TOUCHED, Free, Why, without_end
from lacunet.summaries.intervals import (
    HELD,
    LARGEST,
    Intervals,
    check_flat,
    counted,
    linearised_words,
    on_boundary,
)
from lacunet.summaries.matching import cheapest_order, profile_distances
from lacunet.summaries.regression.coefficients import Coefficients

HOW = "From the observed information of coefficients and items together, at the {} parameters."

NO_ERROR = 1e-6  # standard error of a logit: 0, but for where the climb stopped


@dataclass(frozen=True, eq=False)
class ClassPrecision:
    """The covariance of coefficients and of φ of items, at a maximum."""

    fit: ClassParameters  # at a maximum
    free: IntArray  # positions of items that vary and are not held at the boundary
    held: BoolArray  # (size,) probabilities at 0 or 1
    root: FloatArray  # (d, m) F with F Fᵀ the covariance, along what is determined
    flat: FloatArray  # (d, f) directions that the data do not determine
    separated: FloatArray  # (coefficients, s) directions in which the likelihood has no end
    maximum: bool

    @property
    def _coefficients(self) -> int:
        return self.fit.given.free

    def coefficients(self, level: float) -> Coefficients:
        """Give coefficients in the units of the covariates, against the first class."""
        given, design = self.fit.given, self.fit.given.design
        K, p = given.states, design.matrix.shape[1]
        changes = _in_units(self.root[: self._coefficients], design, K)
        classes = classes_of(given.plain.network).variable
        return Coefficients(
            classes.name,
            classes.labels,
            design.titles,
            design.named_places,
            whole(self.fit.point.beta, p) @ design.to_units.T,
            np.einsum("apm,bqm->apbq", changes, changes),
            0,
            level,
            self._how,
            self._degrees,
            free=tuple(self._free_directions()),
        )

    def _free_directions(self) -> Iterator[Free]:
        """Where coefficients may go, and why nothing tells how far."""
        n, design, K = self._coefficients, self.fit.given.design, self.fit.given.states
        if not self.maximum:
            yield from free_directions(np.eye(n), design, K, Why.NO_MAXIMUM)
        cases, p = self.fit.given.class_table(self.fit.point.N).sum(axis=0), len(design.titles)
        likelihood = not self.fit.objective.precision.any()  # the MAP has a prior for all of them
        for c in np.flatnonzero(likelihood & (cases < HELD)).tolist():
            yield class_direction(c, K, p, Why.EMPTY_CLASS)
        yield from free_directions(self.separated, design, K, Why.SEPARATED)
        yield from free_directions(self.flat[:n], design, K, Why.NOT_IDENTIFIED)

    @property
    def _degrees(self) -> float:
        """Degrees of freedom of a survey; without bound elsewhere."""
        design = self.fit.given.plain.design
        return np.inf if design is None else float(design.degrees)

    @property
    def _how(self) -> str:
        """Say how errors were found."""
        words, design = self.fit.objective.estimate.words, self.fit.given.plain.design
        if design is None:
            return HOW.format(words)
        together = f"Coefficients and items together, at the {words} parameters."
        return f"{linearised_words(design)} {together}"

    def intervals(self, level: float) -> Intervals:
        """Give class sizes over all rows, and items, with their intervals."""
        given, model, layout = self.fit.given, model_of(self.fit), self.fit.given.plain.layout
        scaled = np.sqrt((self._changes(self.root) ** 2).sum(axis=1))
        unknown = np.abs(self._changes(self.flat)).max(axis=1, initial=0.0) > TOUCHED
        kept = given.to_plain_layout(self.held.astype(np.float64)) > 0
        # Where covariates tell the class of every row, nothing is left for its size to vary by.
        told = (scaled < NO_ERROR) & bool(self.separated.shape[1])
        scaled[kept | unknown | told] = np.nan
        if not self.maximum:
            scaled[:] = np.nan
        reach = float(student.ppf((1.0 + level) / 2.0, self._degrees)) * scaled
        ends = [conjugacy.off_scale(model.theta, sign * reach, layout) for sign in (-1.0, 1.0)]
        stderr = conjugacy.scale_slope(model.theta, layout) * scaled
        vague = layout.in_simplex & (stderr > LARGEST)
        stderr, low, high = (np.where(vague, np.nan, x) for x in (stderr, *ends))
        words = self.fit.objective.estimate
        how = self._how + " Class sizes are those of the rows at hand."
        flags = (
            *self.flags,
            *(self.coefficients(level).flags if told.any() else ()),
            *counted(Kind.NOT_IDENTIFIED, unknown & ~kept),
            *counted(Kind.HARDLY_IDENTIFIED, vague, largest=LARGEST),
        )
        return Intervals(model, words, level, how, stderr, low, high, flags)

    @property
    def flags(self) -> tuple[Flag, ...]:
        """What to know of them."""
        found = counted(Kind.HELD_AT_BOUNDARY, self.held)
        return (*found, *(() if self.maximum else (Flag(Kind.SADDLE),)))

    def _changes(self, along: FloatArray) -> FloatArray:
        """(size of plain, m) how class sizes and items move, on the scale of intervals."""
        given, theta, n = self.fit.given, self.fit.point.theta, self._coefficients
        K, p = given.states, given.design.matrix.shape[1]
        phi = np.zeros((given.layout.size, along.shape[1]))
        phi[self.free] = along[n:]
        each = conjugacy.on_scale(phi, theta, given.layout)
        table, share = given.class_table(theta), given.cases / given.cases.sum()
        slopes = np.zeros((K, p, along.shape[1]))
        slopes[1:] = along[:n].reshape(K - 1, p, -1)
        logits = np.einsum("xp,cpm->xcm", given.design.matrix, slopes)
        moved = table[:, :, None] * (logits - np.einsum("xc,xcm->xm", table, logits)[:, None])
        sizes = np.einsum("x,xcm->cm", share, moved)
        mean = share @ table
        of_sizes = sizes / np.maximum(mean * (1.0 - mean), 1e-300)[:, None]
        columns = [given.to_plain_layout(x, s) for x, s in zip(each.T, of_sizes.T, strict=True)]
        return np.array(columns).reshape(len(columns), given.plain.layout.size).T


def class_precision(fit: ClassParameters) -> ClassPrecision:
    """Invert the observed information at a fit."""
    objective, point = fit.objective, fit.point
    held, free = held_of(fit), inside_of(fit)
    A, C = objective.negative_hessian(point, free), objective.complete(point, free)
    inside, separated = end_of_coefficients(fit, C)
    T = block_diag(inside, np.eye(len(free)))
    A, C = T.T @ A @ T, T.T @ C @ T
    scale = np.sqrt(np.maximum(C.diagonal(), NOTHING))
    factor, flat, maximum = root_of_inverse(A / np.outer(scale, scale))
    root, design = T @ (factor / scale[:, None]), fit.given.plain.design
    if design is not None and maximum:  # a sandwich, as where there are no covariates
        G = spread_of_scores(design, class_row_scores(fit, free), len(root))
        root = root @ root_of(root.T @ G @ root)
    flat = T @ (flat / scale[:, None])
    flat = flat / np.maximum(np.abs(flat).max(axis=0, initial=0.0), 1e-300)
    return ClassPrecision(fit, free, held, root, flat, separated, maximum=maximum)


def end_of_coefficients(
    fit: ClassParameters, complete: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Split the space of coefficients: what something holds, and where the likelihood has no end.

    `complete` is the information of complete data, coefficients first.
    """
    given, n = fit.given, fit.given.free
    if complete is None:
        complete = fit.objective.complete(fit.point, np.zeros(0, dtype=np.int64))
    reach = np.abs(given.design.matrix).max(axis=0)
    return without_end(complete[:n, :n], np.tile(reach, given.states - 1))


def _in_units(along: FloatArray, design: Design, K: int) -> FloatArray:
    """(K, p, m) of directions of free coefficients, (free, m), in the units of covariates."""
    p = design.matrix.shape[1]
    found = np.zeros((K, p, along.shape[1]))
    found[1:] = np.einsum("pq,cqm->cpm", design.to_units, along.reshape(K - 1, p, along.shape[1]))
    return found


def class_direction(c: int, K: int, p: int, why: Why) -> Free:
    """Give the direction of all coefficients of a class."""
    return Free(why, np.outer(np.arange(K) == c, np.ones(p)))


def free_directions(along: FloatArray, design: Design, K: int, why: Why) -> Iterator[Free]:
    """Give directions of free coefficients, (free, m), that no data tell, one by one."""
    if along.shape[1]:
        scale = 1.0 / design.to_units.diagonal()
        each = np.moveaxis(_in_units(along, design, K) * scale[:, None], 2, 0)
        yield from (Free(why, one / max(float(np.abs(one).max()), 1e-300)) for one in each)


def check_at_maximum(fit: ClassParameters) -> None:
    """Refuse parameters that are no maximum: there is no theory for them."""
    check_flat(fit.objective.steepest(fit.point), fit.objective.estimate)


def held_of(fit: ClassParameters) -> BoolArray:
    """(size,) probabilities of items at 0 or 1, which nothing holds off it."""
    pseudo, layout = fit.objective.pseudo, fit.given.layout
    return on_boundary(fit.point.N, pseudo, layout) & fit.given.of_items


def inside_of(fit: ClassParameters) -> IntArray:
    """Positions of items that vary, and are not held."""
    free = fit.free
    return np.asarray(free[~held_of(fit)[free]])


def class_row_scores(fit: ClassParameters, free: IntArray) -> Iterator[tuple[slice, FloatArray]]:
    """Scores of rows by coefficients, and by φ of items at `free`."""
    given, theta = fit.given, fit.point.theta
    (posterior,) = given.problem.about_hidden(theta)
    expected, pattern = given.class_table(theta), given.design.pattern
    for rows, of_items in row_scores(given.problem, theta, free):
        x = pattern[rows]
        apart = np.asarray(posterior)[rows, 1:] - expected[x, 1:]
        of_classes = np.einsum("ic,ip->icp", apart, given.design.matrix[x])
        yield rows, np.hstack([of_classes.reshape(len(x), -1), of_items])


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
