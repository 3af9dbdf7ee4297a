"""The first two steps: rows are given classes, and how often that is wrong.

p(given s | class t) follows from the posteriors of all rows (Vermunt 2010). Taking given classes
for the true ones makes every difference between classes too small; what comes third takes this into
account, by its inverse (BCH) or by a likelihood in which it is known (ML).
"""

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Self

import numpy as np

from lacunet.data.sampling_design import SamplingDesign
from lacunet.errors import ModelError
from lacunet.flags import Flag, Kind
from lacunet.inference.problem import Problem
from lacunet.models.network import Variable
from lacunet.runtime.arrays import BoolArray, FloatArray
from lacunet.summaries.identification import listed
from lacunet.summaries.intervals import HELD, linearised_words

SINGULAR = 1e-6  # least singular value of p(given | class), below which it has no inverse


class Assigning(StrEnum):
    """How rows are given classes."""

    MODAL = "modal"  # each its most probable one
    PROPORTIONAL = "proportional"  # to every class, by its probability


class Correction(StrEnum):
    """How wrong assignments are made up for."""

    BCH = "bch"  # weights by the inverse: Bolck, Croon & Hagenaars (2004), Vermunt (2010)
    ML = "ml"  # a likelihood with known errors: Vermunt (2010), Bakk, Tekle & Vermunt (2013)
    NONE = "none"  # not at all, to see what difference it makes

    @property
    def words(self) -> str:
        """As in sentences."""
        return "not corrected" if self is Correction.NONE else f"{self.value.upper()} correction"


@dataclass(frozen=True, eq=False)
class AssignedRows:
    """Rows and the classes that they are given."""

    variable: Variable  # whose states the classes are
    kept: BoolArray  # (all classes,) those that some row is given: K of them
    every_size: FloatArray  # (all classes,) shares, by all rows
    posterior: FloatArray  # (m, K) p(class | items)
    given: FloatArray  # (m, K) the part of a row that each class is given
    counts: FloatArray  # (m,) cases of each row
    errors: FloatArray  # (K, K) D_ts = p(given s | class t), by all rows
    sizes: FloatArray  # (K,) shares of the classes, by all rows
    design: SamplingDesign | None = None  # how rows were drawn

    @property
    def classes(self) -> tuple[str, ...]:
        """Labels of all classes."""
        return self.variable.labels

    @property
    def cases(self) -> float:
        """Number of cases."""
        return float(self.counts.sum())

    @property
    def every_error(self) -> FloatArray:
        """(all classes, all classes) errors; NaN of classes that no row is given."""
        found = np.full((len(self.kept),) * 2, np.nan)
        found[np.ix_(self.kept, self.kept)] = self.errors
        return found

    @property
    def flags(self) -> tuple[Flag, ...]:
        """Classes that no row is given."""
        lost = [c for c, kept in zip(self.classes, self.kept, strict=True) if not kept]
        names = listed(f"{self.variable.name} {c}" for c in lost)
        return (Flag(Kind.CLASS_WITHOUT_ROWS, detail={"names": names}),) if lost else ()

    @cached_property
    def bch_weights(self) -> FloatArray:
        """(m, K) given classes times the inverse of D: they sum to 1, and may be negative."""
        return np.asarray(self.given @ np.linalg.inv(self.errors))

    @property
    def degrees(self) -> float:
        """Degrees of freedom of a survey; without bound elsewhere."""
        return math.inf if self.design is None else float(self.design.degrees)

    @property
    def design_words(self) -> str:
        """Say how errors of a survey were found; "" elsewhere."""
        return "" if self.design is None else f" {linearised_words(self.design)}"

    def weights(self, correction: Correction) -> FloatArray:
        """(m, K) how much of a row counts for each class."""
        return self.bch_weights if correction is Correction.BCH else self.given

    def only(self, rows: BoolArray) -> Self:
        """Some of the rows; how often classes are wrong is still known from all."""
        own = self.posterior[rows], self.given[rows], self.counts[rows]
        share = float(own[2].sum() / self.counts.sum())
        design = self.design and self.design.only(rows, share)
        return replace(self, posterior=own[0], given=own[1], counts=own[2], design=design)


def assign_rows(
    problem: Problem, theta: FloatArray, how: Assigning, kept: BoolArray | None = None
) -> AssignedRows:
    """Give rows their classes, at the parameters of a model with one hidden variable.

    Classes that no row is given have no part in it; `kept` are those that have, if that is known.
    """
    (hidden,) = problem.network.hidden
    (found,) = problem.about_hidden(theta)
    posterior, counts = np.asarray(found), problem.counts
    possible = posterior.sum(axis=1) > 0
    if not possible.all():
        raise ModelError(
            f"{counts[~possible].sum():g} cases have probability 0 under the model, and so "
            "no class. Fit the model to these data."
        )
    every = counts @ posterior
    kept = counts @ _given(posterior, how) >= HELD if kept is None else kept
    if not kept.all():
        posterior = posterior[:, kept]
        posterior = posterior / np.maximum(posterior.sum(axis=1, keepdims=True), 1e-300)
    given = _given(posterior, how)
    weighted = counts[:, None] * posterior
    cases = weighted.sum(axis=0)
    errors = (weighted.T @ given) / cases[:, None]
    _check_told_apart(errors)
    variable, sizes = problem.network.variables[hidden], cases / cases.sum()
    shares = every / every.sum()
    design = problem.design
    return AssignedRows(variable, kept, shares, posterior, given, counts, errors, sizes, design)


def _given(posterior: FloatArray, how: Assigning) -> FloatArray:
    """(m, K) the part of a row that each class is given."""
    if how is Assigning.MODAL:
        return np.asarray(np.eye(posterior.shape[1])[posterior.argmax(axis=1)])
    return posterior


def _check_told_apart(errors: FloatArray) -> None:
    """Refuse classes that are given to about as many rows of another class."""
    least = float(np.linalg.svd(errors, compute_uv=False).min())
    if not least > SINGULAR:
        raise ModelError(
            "the classes cannot be told apart by the rows: rows of two of them are given alike, so "
            "that wrong assignments cannot be made up for. Take fewer classes."
        )
