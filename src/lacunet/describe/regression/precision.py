"""How sure coefficients and items are: the inverse of the observed information of both together."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.stats import t as student

from lacunet.arrays import BoolArray, FloatArray, IntArray
from lacunet.describe.intervals import (
    LARGEST,
    Intervals,
    check_flat,
    counted,
    linearised_words,
    on_boundary,
)
from lacunet.describe.regression.coefficients import Coefficients
from lacunet.flags import Flag, Kind
from lacunet.inference.curvature.information import (
    NOTHING,
    TOUCHED,
    root_of,
    root_of_inverse,
)
from lacunet.inference.curvature.row_scores import row_scores, spread_of_scores
from lacunet.learn.regression.logit import whole
from lacunet.learn.regression.objective import ClassParameters
from lacunet.learn.regression.predicting import model_of
from lacunet.model import conjugacy
from lacunet.model.latent_class import classes_of

HOW = "From the observed information of coefficients and items together, at the {} parameters."


@dataclass(frozen=True, eq=False)
class ClassPrecision:
    """The covariance of coefficients and of φ of items, at a maximum."""

    fit: ClassParameters  # at a maximum
    free: IntArray  # positions of items that vary and are not held at the boundary
    held: BoolArray  # (size,) probabilities at 0 or 1
    root: FloatArray  # (d, m) F with F Fᵀ the covariance
    flat: FloatArray  # (d, f) directions that the data do not determine
    maximum: bool

    @property
    def _coefficients(self) -> int:
        return self.fit.given.free

    def coefficients(self, level: float) -> Coefficients:
        """Give coefficients in the units of the covariates, against the first class."""
        given, design = self.fit.given, self.fit.given.design
        K, p = given.states, design.matrix.shape[1]
        units, n = design.to_units, self._coefficients
        F = self.root[:n]
        if self._vague[:n].any():
            F = np.where(self._vague[:n, None], np.nan, F)
        changes = np.zeros((K, p, F.shape[1]))
        changes[1:] = np.einsum("pq,cqm->cpm", units, F.reshape(K - 1, p, -1))
        classes = classes_of(given.plain.network).variable
        return Coefficients(
            classes.name,
            classes.labels,
            design.titles,
            design.named_places,
            whole(self.fit.point.beta, p) @ units.T,
            np.einsum("apm,bqm->apbq", changes, changes),
            0,
            level,
            self._how,
            self._degrees,
        )

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

    @cached_property
    def _vague(self) -> BoolArray:
        """(d,) coordinates that the data do not determine."""
        if not self.maximum:
            return np.ones(len(self.root), dtype=bool)
        return np.asarray(np.abs(self.flat).max(axis=1, initial=0.0) > TOUCHED)

    def intervals(self, level: float) -> Intervals:
        """Give class sizes over all rows, and items, with their intervals."""
        given, model, layout = self.fit.given, model_of(self.fit), self.fit.given.plain.layout
        changes = self._changes()
        scaled = np.sqrt((changes**2).sum(axis=1))
        kept = given.to_plain_layout(self.held.astype(np.float64)) > 0
        scaled[kept] = np.nan
        if not self.maximum:
            scaled[:] = np.nan
        reach = float(student.ppf((1.0 + level) / 2.0, self._degrees)) * scaled
        ends = [conjugacy.off_scale(model.theta, sign * reach, layout) for sign in (-1.0, 1.0)]
        stderr = conjugacy.scale_slope(model.theta, layout) * scaled
        vague = layout.in_simplex & (stderr > LARGEST)
        stderr, low, high = (np.where(vague, np.nan, x) for x in (stderr, *ends))
        words = self.fit.objective.estimate
        how = self._how + " Class sizes are those of the rows at hand."
        flags = (*self.flags, *counted(Kind.HARDLY_IDENTIFIED, vague, largest=LARGEST))
        return Intervals(model, words, level, how, stderr, low, high, flags)

    @property
    def flags(self) -> tuple[Flag, ...]:
        """What to know of them."""
        found = counted(Kind.HELD_AT_BOUNDARY, self.held)
        return (*found, *(() if self.maximum else (Flag(Kind.SADDLE),)))

    def _changes(self) -> FloatArray:
        """(size of plain, m) how class sizes and items vary, on the scale of intervals."""
        given, theta, n = self.fit.given, self.fit.point.theta, self._coefficients
        K, p = given.states, given.design.matrix.shape[1]
        phi = np.zeros((given.layout.size, self.root.shape[1]))
        phi[self.free] = self.root[n:]
        each = conjugacy.on_scale(phi, theta, given.layout)
        table, share = given.class_table(theta), given.cases / given.cases.sum()
        slopes = np.zeros((K, p, self.root.shape[1]))
        slopes[1:] = self.root[:n].reshape(K - 1, p, -1)
        logits = np.einsum("xp,cpm->xcm", given.design.matrix, slopes)
        moved = table[:, :, None] * (logits - np.einsum("xc,xcm->xm", table, logits)[:, None])
        sizes = np.einsum("x,xcm->cm", share, moved)
        mean = share @ table
        of_sizes = sizes / np.maximum(mean * (1.0 - mean), 1e-300)[:, None]
        columns = [given.to_plain_layout(x, s) for x, s in zip(each.T, of_sizes.T, strict=True)]
        return np.array(columns).reshape(len(columns), -1).T


def class_precision(fit: ClassParameters) -> ClassPrecision:
    """Invert the observed information at a fit."""
    objective, point = fit.objective, fit.point
    held, free = held_of(fit), inside_of(fit)
    A = objective.negative_hessian(point, free)
    scale = np.sqrt(np.maximum(objective.complete(point, free).diagonal(), NOTHING))
    factor, flat, maximum = root_of_inverse(A / np.outer(scale, scale))
    root, design = factor / scale[:, None], fit.given.plain.design
    if design is not None and maximum:  # a sandwich, as where there are no covariates
        G = spread_of_scores(design, class_row_scores(fit, free), len(root))
        root = root @ root_of(root.T @ G @ root)
    return ClassPrecision(fit, free, held, root, flat / scale[:, None], maximum=maximum)


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
