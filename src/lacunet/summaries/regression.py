"""Standard errors and fit statistics of latent class regression.

Errors come from the inverse of the joint observed information of coefficients and items, or from
the bootstrap.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.linalg import block_diag
from scipy.stats import t as student

from lacunet.fitting.ascent import Convergence
from lacunet.fitting.fit import Options
from lacunet.fitting.logit import whole
from lacunet.fitting.regression import ClassFit, climb_on, model_of
from lacunet.flags import Flag, Kind
from lacunet.inference import information
from lacunet.inference.covariates import ClassProblem, CovariateDesign, build_class_problem
from lacunet.inference.problem import Problem, problem_of_codes
from lacunet.models import conjugacy
from lacunet.models.latent_class import classes_of
from lacunet.models.network import Model
from lacunet.models.surgery import predicted, with_shown
from lacunet.runtime.arrays import BoolArray, CodeArray, FloatArray, IntArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.summaries import bootstrap, residuals
from lacunet.summaries.coefficients import Coefficients
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
from lacunet.summaries.residuals import few_pairs
from lacunet.summaries.statistics import FitStatistics, classify, criteria

HOW = "From the observed information of coefficients and items together, at the {} parameters."
NO_ERROR = 1e-6  # standard error of a logit that counts as 0


@dataclass(frozen=True, eq=False)
class ClassPrecision:
    """The joint covariance of coefficients and of φ of items, at a maximum."""

    fit: ClassFit
    free: IntArray  # positions of free item parameters that are not at the boundary
    held: BoolArray  # (size,) probabilities at 0 or 1
    root: FloatArray  # (d, m) F with F Fᵀ the covariance, along determined directions
    flat: FloatArray  # (d, f) directions that the data do not determine
    separated: FloatArray  # (coefficients, s) directions in which the likelihood has no maximum
    maximum: bool

    def coefficients(self, level: float) -> Coefficients:
        """Coefficients in the units of the covariates, against the first class."""
        given, design = self.fit.given, self.fit.given.design
        changes = _in_units(self.root[: given.free], design, given.states)
        classes = classes_of(given.plain.network).variable
        return Coefficients(
            classes.name,
            classes.labels,
            design.titles,
            design.named_places,
            _reached(self.fit),
            np.einsum("apm,bqm->apbq", changes, changes),
            0,
            level,
            self._how,
            self._degrees,
            free=tuple(self._free_directions()),
        )

    def _free_directions(self) -> Iterator[Free]:
        """Undetermined directions of coefficients, with reasons."""
        given, design = self.fit.given, self.fit.given.design
        n, K = given.free, given.states
        if not self.maximum:
            yield from free_directions(np.eye(n), design, K, Why.NO_MAXIMUM)
        cases = given.class_table(self.fit.point.N).sum(axis=0)
        likelihood = not self.fit.objective.precision.any()  # the MAP has a prior of coefficients
        for c in np.flatnonzero(likelihood & (cases < HELD)).tolist():
            yield class_direction(c, K, len(design.titles), Why.EMPTY_CLASS)
        yield from free_directions(self.separated, design, K, Why.SEPARATED)
        yield from free_directions(self.flat[:n], design, K, Why.NOT_IDENTIFIED)

    @property
    def _degrees(self) -> float:
        """Degrees of freedom of a survey; infinite otherwise."""
        design = self.fit.given.plain.design
        return np.inf if design is None else float(design.degrees)

    @property
    def _how(self) -> str:
        words, design = self.fit.objective.estimate.words, self.fit.given.plain.design
        if design is None:
            return HOW.format(words)
        together = f"Coefficients and items together, at the {words} parameters."
        return f"{linearised_words(design)} {together}"

    def intervals(self, level: float) -> Intervals:
        """Intervals of class sizes over all rows, and of items."""
        given, model, layout = self.fit.given, model_of(self.fit), self.fit.given.plain.layout
        scaled = np.sqrt((self._changes(self.root) ** 2).sum(axis=1))
        unknown = np.abs(self._changes(self.flat)).max(axis=1, initial=0.0) > TOUCHED
        kept = given.items_of(self.held.astype(np.float64)) > 0
        # A class size does not vary if covariates determine the class of every row.
        certain = (scaled < NO_ERROR) & bool(self.separated.shape[1])
        scaled[kept | unknown | certain | (not self.maximum)] = np.nan
        reach = float(student.ppf((1.0 + level) / 2.0, self._degrees)) * scaled
        ends = [conjugacy.off_scale(model.theta, sign * reach, layout) for sign in (-1.0, 1.0)]
        stderr = conjugacy.scale_slope(model.theta, layout) * scaled
        vague = layout.in_simplex & (stderr > LARGEST)
        stderr, low, high = (np.where(vague, np.nan, x) for x in (stderr, *ends))
        how = self._how + " Class sizes are those of the rows at hand."
        flags = (
            *self.flags,
            *(self.coefficients(level).flags if certain.any() else ()),
            *counted(Kind.NOT_IDENTIFIED, unknown & ~kept),
            *counted(Kind.HARDLY_IDENTIFIED, vague, largest=LARGEST),
        )
        estimate = self.fit.objective.estimate
        return Intervals(model, estimate, level, how, stderr, low, high, flags)

    @property
    def flags(self) -> tuple[Flag, ...]:
        """Warnings about the errors."""
        at_boundary = counted(Kind.HELD_AT_BOUNDARY, self.held)
        return (*at_boundary, *(() if self.maximum else (Flag(Kind.SADDLE),)))

    def _changes(self, along: FloatArray) -> FloatArray:
        """(size of plain, m) derivatives of class sizes and items, on the scale of intervals."""
        given, theta = self.fit.given, self.fit.point.theta
        n, K, p = given.free, given.states, given.design.matrix.shape[1]
        phi = np.zeros((given.layout.size, along.shape[1]))
        phi[self.free] = along[n:]
        each = conjugacy.on_scale(phi, theta, given.layout)
        table, share = given.class_table(theta), given.cases / given.cases.sum()
        slopes = np.zeros((K, p, along.shape[1]))
        slopes[1:] = along[:n].reshape(K - 1, p, -1)
        logits = np.einsum("xp,cpm->xcm", given.design.matrix, slopes)
        moved = table[:, :, None] * (logits - np.einsum("xc,xcm->xm", table, logits)[:, None])
        sizes, mean = np.einsum("x,xcm->cm", share, moved), share @ table
        of_sizes = sizes / np.maximum(mean * (1.0 - mean), 1e-300)[:, None]
        columns = [given.items_of(x, s) for x, s in zip(each.T, of_sizes.T, strict=True)]
        return np.array(columns).reshape(len(columns), given.plain.layout.size).T


def class_precision(fit: ClassFit) -> ClassPrecision:
    """Invert the observed information at a fit."""
    objective, point = fit.objective, fit.point
    free = inside_of(fit)
    A, C = objective.negative_hessian(point, free), objective.complete(point, free)
    inside, separated = end_of_coefficients(fit, C)
    T = block_diag(inside, np.eye(len(free)))
    A, C = T.T @ A @ T, T.T @ C @ T
    scale = np.sqrt(np.maximum(C.diagonal(), information.NOTHING))
    factor, flat, maximum = information.root_of_inverse(A / np.outer(scale, scale))
    root, design = T @ (factor / scale[:, None]), fit.given.plain.design
    if design is not None and maximum:  # a sandwich, as without covariates
        G = information.spread_of_scores(design, class_row_scores(fit, free), len(root))
        root = root @ information.root_of(root.T @ G @ root)
    flat = T @ (flat / scale[:, None])
    flat = flat / np.maximum(np.abs(flat).max(axis=0, initial=0.0), 1e-300)
    return ClassPrecision(fit, free, held_of(fit), root, flat, separated, maximum=maximum)


def end_of_coefficients(
    fit: ClassFit, complete: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Bases of the coefficients: determined directions, and those without a maximum likelihood.

    `complete` is the information of complete data, coefficients first.
    """
    given, n = fit.given, fit.given.free
    if complete is None:
        complete = fit.objective.complete(fit.point, np.zeros(0, dtype=np.int64))
    reach = np.abs(given.design.matrix).max(axis=0)
    return without_end(complete[:n, :n], np.tile(reach, given.states - 1))


def _reached(fit: ClassFit) -> FloatArray:
    """(K, p) coefficients in the units of covariates."""
    to_units = fit.given.design.to_units
    return np.asarray(whole(fit.point.beta, len(to_units)) @ to_units.T)


def _in_units(along: FloatArray, design: CovariateDesign, K: int) -> FloatArray:
    """(K, p, m) directions of free coefficients, (free, m), in the units of covariates."""
    p = design.matrix.shape[1]
    each = np.zeros((K, p, along.shape[1]))
    each[1:] = np.einsum("pq,cqm->cpm", design.to_units, along.reshape(K - 1, p, along.shape[1]))
    return each


def class_direction(c: int, K: int, p: int, why: Why) -> Free:
    """The direction of all coefficients of a class."""
    return Free(why, np.outer(np.arange(K) == c, np.ones(p)))


def free_directions(along: FloatArray, design: CovariateDesign, K: int, why: Why) -> Iterator[Free]:
    """Scale undetermined directions of free coefficients, (free, m), one by one."""
    if along.shape[1]:
        scale = 1.0 / design.to_units.diagonal()
        each = np.moveaxis(_in_units(along, design, K) * scale[:, None], 2, 0)
        yield from (Free(why, one / max(float(np.abs(one).max()), 1e-300)) for one in each)


def check_at_maximum(fit: ClassFit) -> None:
    """Refuse parameters that are not a maximum, because errors are then undefined."""
    check_flat(fit.gradient, fit.objective.estimate)


def held_of(fit: ClassFit) -> BoolArray:
    """(size,) probabilities of items at 0 or 1, without a prior that keeps them inside."""
    pseudo, layout = fit.objective.pseudo, fit.given.layout
    return on_boundary(fit.point.N, pseudo, layout) & fit.given.of_items


def inside_of(fit: ClassFit) -> IntArray:
    """Positions of free item parameters that are not at the boundary."""
    free = fit.free
    return np.asarray(free[~held_of(fit)[free]])


def class_row_scores(fit: ClassFit, free: IntArray) -> Iterator[tuple[slice, FloatArray]]:
    """Scores of rows: gradients by coefficients, and by φ of items at `free`."""
    given, theta = fit.given, fit.point.theta
    (posterior,) = given.problem.about_hidden(theta)
    expected, pattern = given.class_table(theta), given.design.pattern
    for rows, of_items in information.row_scores(given.problem, theta, free):
        x = pattern[rows]
        apart = np.asarray(posterior)[rows, 1:] - expected[x, 1:]
        of_classes = np.einsum("ic,ip->icp", apart, given.design.matrix[x])
        yield rows, np.hstack([of_classes.reshape(len(x), -1), of_items])


@dataclass(frozen=True, eq=False)
class ClassReplicates:
    """Bootstrap refits, with classes numbered as in the fit."""

    fit: ClassFit
    thetas: FloatArray  # (B, size of plain) class sizes over all rows, and items
    coefficients: FloatArray  # (B, K, p) in the units of the covariates
    stopped: int  # number of refits that did not converge
    seed: int

    def intervals(self, level: float) -> Intervals:
        """Percentile intervals of class sizes over all rows, and of items."""
        given = self.fit.given
        held = given.items_of(held_of(self.fit).astype(np.float64)) > 0
        settings = self.fit.objective.estimate, level, self.thetas, held
        model, stopped = model_of(self.fit), self.stopped
        return bootstrap.replicated(given.plain, model, *settings, stopped=stopped, seed=self.seed)

    def of_coefficients(self, coefficients: Coefficients) -> Coefficients:
        """Coefficients with errors and intervals from these refits."""
        method = self.intervals(coefficients.level).method
        method = f"{method} Coefficients: p-values by their standard deviations."
        return replace(coefficients, method=method, draws=self.coefficients)


def check_replicates_of(plain: Problem, replicates: int) -> None:
    """Refuse too few replicates, and weights without a survey design."""
    if plain.design is None:
        bootstrap.check_replicates(plain.counts, replicates, bootstrap.FEWEST)
    bootstrap.check_number(replicates, bootstrap.FEWEST)


def class_replicates(
    fit: ClassFit, options: Options, replicates: int, *, executor: Executor = SERIAL
) -> ClassReplicates:
    """Refit drawn data, each time from the fit; the seed is that of the options."""
    check_replicates_of(fit.given.plain, replicates)
    executor = executor.if_worth(fit.given.problem.components.nanoseconds)
    refit = partial(_refit, fit, options.seed)
    refits = executor.count(refit, range(replicates), "bootstrap", 0, replicates)
    thetas = np.array([one.given.to_plain(one.point.theta) for one in refits])
    coefficients = np.array([_with_infinities(one) for one in refits])
    stopped = sum(one.outcome is not Convergence.CONVERGED for one in refits)
    return ClassReplicates(fit, thetas, coefficients, stopped, options.seed)


def _with_infinities(refit: ClassFit) -> FloatArray:
    """(K, p) in the units of covariates; infinite where the likelihood has no maximum."""
    values, (_, separated) = _reached(refit), end_of_coefficients(refit)
    for free in free_directions(separated, refit.given.design, len(values), Why.SEPARATED):
        values = np.where(np.abs(free.along) > TOUCHED, np.inf, values)
    return values


def _refit(fit: ClassFit, seed: int, replicate: int) -> ClassFit:
    """Climb from the fit to the maximum of a replicate, and number its classes as in the fit."""
    drawn = _drawn(fit.given, fit.point.theta, seed, replicate)
    refit = climb_on(drawn, fit.point, fit.objective.estimate)
    apart = profile_distances(model_of(refit), model_of(fit), fit.given.root)
    return refit.renumbered(cheapest_order(apart))


def _drawn(given: ClassProblem, theta: FloatArray, seed: int, replicate: int) -> ClassProblem:
    """Draw data: units of a survey, or rows with the observed covariates and missing values."""
    plain, design = given.plain, given.design
    if plain.design is not None:
        counts = bootstrap.draw_units(plain.design, len(plain.codes), seed, replicate)
        kept = counts > 0
        rows = plain.codes[kept], counts[kept], plain.network, plain.alpha
        pattern = design.pattern[kept]
    else:
        above = len(given.problem.network.variables) - 1
        drawn, counts = bootstrap.simulate_rows(given.problem, theta, seed, replicate, above)
        network = with_shown(plain.network, drawn.variables[:-1])
        items: CodeArray = np.ascontiguousarray(drawn.codes[:, :-1])
        rows = items, counts, network, plain.alpha
        pattern = drawn.codes[:, -1].astype(np.int64)
    design = replace(design, pattern=pattern)
    problem = problem_of_codes(*rows)
    return build_class_problem(problem, design, given.exponent, given.coefficient_sd)


def predicted_statistics(fit: ClassFit) -> FitStatistics:
    """All fit statistics at the parameters of a fit.

    G² compares rows with others of the same covariates. Bivariate residuals compare pairs of items,
    and items with categorical covariates, over all rows, with class sizes given the covariates.
    """
    given, point, model = fit.given, fit.point, model_of(fit)
    problem, plain = given.problem, given.plain
    conditional = predicted(model, given.design.matrix)
    sizes, pairs = (
        given.class_table(point.theta)[given.design.pattern],
        list[residuals.PairResidual](),
    )
    if few_pairs(plain):
        pairs = residuals.bivariate_residuals(model, plain.codes, plain.counts, sizes)
        pairs = residuals.worst_first([*pairs, *_with_covariates(given, model, sizes)])
    return FitStatistics(
        model=model,
        estimate=fit.objective.estimate,
        log_lik=point.log_lik,
        cases=problem.cases,
        dimension=fit.dimension,
        criteria=criteria(point.log_lik, fit.dimension, problem.cases),
        classification=classify(problem, point.theta),
        goodness=residuals.goodness_of_fit(
            conditional, problem.codes, problem.counts, fit.dimension
        ),
        residuals=tuple(pairs) if few_pairs(plain) else None,
    )


def _with_covariates(
    given: ClassProblem, model: Model, sizes: FloatArray
) -> Iterator[residuals.PairResidual]:
    """Residuals of pairs of an item and a categorical covariate, given the covariate."""
    design, plain = given.design, given.plain
    for one, place in zip(design.covariates, design.places, strict=True):
        if one.number:
            continue
        # The reference, and then a column for each state.
        each = design.matrix[:, place]
        states = np.column_stack([1.0 - each.sum(axis=1), each])[design.pattern]
        for column, i in enumerate(plain.network.observed):
            item = plain.network.variables[i]
            if not item.family.tabular:
                continue
            seen = plain.codes[:, column] >= 0
            weighted = plain.counts[seen, None] * states[seen]
            table = plain.layout.table(model.theta, i)
            expected = (sizes[seen] @ table).T @ weighted
            answers = np.eye(len(item.states))[plain.codes[seen, column]]
            yield residuals.pair_residual(item.name, one.name, answers.T @ weighted, expected)
