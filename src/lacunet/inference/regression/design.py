"""The design: what covariates add to the log odds of classes, and what is thought of it before.

Numbers are standardised and states are held against a reference, but the prior knows neither unit
nor reference: before the data, each class c has a score

    a_c + Σ_numbers b_c (x − mean)/sd + Σ_categories u_c[state]

with independent Gaussians of mean 0, and log odds are differences of the scores of two classes.
What is written down (an intercept at the reference states, slopes, contrasts between states) is a
linear map of these, so that its prior has the covariance of that map, whatever the reference is.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy.special import polygamma

from lacunet.arrays import BoolArray, CodeArray, FloatArray, IntArray
from lacunet.data.table import Column, Table
from lacunet.errors import DataError, OptionError, did_you_mean
from lacunet.model.terms import Term

INTERCEPT = "(intercept)"
COEFFICIENT_SD = 1.5  # of a log odds ratio before the data: see `Settings.coefficient_sd`
DEPENDENT = 1e-9  # share of a column's variance that the others leave, below which it is none


@dataclass(frozen=True, eq=False)
class Block:
    """The columns of the design that one covariate makes."""

    term: Term
    titles: tuple[str, ...]  # of its columns
    each: FloatArray  # (values of the covariate, columns)
    centre: float = 0.0  # of a number
    scale: float = 1.0  # its standard deviation
    states: tuple[str, ...] = ()  # of categories, the reference first
    unit: str = ""  # what one odds ratio is for, in words


@dataclass(frozen=True, eq=False)
class Design:
    """Covariates as columns of numbers, one row for each pattern of their values."""

    blocks: tuple[Block, ...]
    matrix: FloatArray  # (patterns, p), the first column is 1
    pattern: IntArray  # (rows of the table,) which pattern each has

    @property
    def titles(self) -> tuple[str, ...]:
        """What the columns are."""
        return (INTERCEPT, *(title for block in self.blocks for title in block.titles))

    @property
    def places(self) -> list[slice]:
        """Where the columns of each covariate are."""
        ends = np.cumsum([1, *(len(block.titles) for block in self.blocks)]).tolist()
        return [slice(a, b) for a, b in pairwise(ends)]

    @cached_property
    def to_units(self) -> FloatArray:
        """(p, p) from coefficients of standardised columns to those of the columns as given."""
        p = self.matrix.shape[1]
        units = np.eye(p)
        for block, place in zip(self.blocks, self.places, strict=True):
            units[place, place] /= block.scale
            units[0, place] -= block.centre / block.scale
        return units

    def covariance(self, exponent: float, sd: float) -> FloatArray:
        """(p, p) prior covariance of the coefficients of one class, before differences.

        Scores a_c have the variance ψ′(α) of log γ, γ ~ Gamma(α): the log odds of two classes then
        have mean and covariance as under the Dirichlet prior with exponent α. `sd` is that of a log
        odds ratio of two classes for one standard deviation of a number, or between two states.
        """
        p = self.matrix.shape[1]
        found = np.zeros((p, p))
        found[0, 0] = float(polygamma(1, exponent))
        for block, place in zip(self.blocks, self.places, strict=True):
            if not block.states:
                found[place, place] = sd**2 / 2.0
                continue
            # u_ref is in the intercept, and with the opposite sign in every contrast.
            of_state = sd**2 / 4.0
            found[0, 0] += of_state
            found[0, place] -= of_state
            found[place, 0] -= of_state
            found[place, place] += of_state * (1.0 + np.eye(len(block.titles)))
        return found


def build_design(table: Table, terms: Sequence[Term]) -> Design:
    """Make the design of the rows of a table, in which no covariate is missing."""
    columns = [_column(table, term.name) for term in terms]
    codes: CodeArray = table.codes[:, columns]
    blocks = tuple(
        _block(table.columns[j], term, codes[:, i], table.counts)
        for i, (j, term) in enumerate(zip(columns, terms, strict=True))
    )
    if not blocks:
        return Design((), np.ones((1, 1)), np.zeros(len(codes), dtype=np.int64))
    patterns, pattern = np.unique(codes, axis=0, return_inverse=True)
    parts = [block.each[patterns[:, i]] for i, block in enumerate(blocks)]
    matrix = np.column_stack([np.ones(len(patterns)), *parts])
    design = Design(blocks, matrix, pattern.reshape(-1).astype(np.int64))
    _check_independent(design, table.counts)
    return design


def shows_all(table: Table, terms: Sequence[Term]) -> BoolArray:
    """(rows,) whether a row shows every covariate."""
    columns = [_column(table, term.name) for term in terms]
    return np.asarray((table.codes[:, columns] >= 0).all(axis=1))


def _column(table: Table, name: str) -> int:
    names = [column.name for column in table.columns]
    if name not in names:
        raise OptionError(
            f"--covariates: the data have no column '{name}'.{did_you_mean(name, names)} "
            f"Their columns are {', '.join(repr(n) for n in names)}."
        )
    return names.index(name)


def _block(column: Column, term: Term, codes: CodeArray, counts: FloatArray) -> Block:
    """Make the columns of one covariate."""
    seen = np.bincount(codes, counts, len(column.states))
    used = np.flatnonzero(seen)
    if len(used) < 2:
        raise DataError(
            f"covariate '{term.name}' has the same value in every row, so it cannot tell classes "
            "apart. Leave it out."
        )
    if _is_number(column, term):
        values = np.array(column.states, dtype=np.float64)
        centre = float(values @ seen / seen.sum())
        scale = float(np.sqrt((values - centre) ** 2 @ seen / seen.sum()))
        return Block(
            term, (term.name,), ((values - centre) / scale)[:, None], centre, scale, unit="+1"
        )
    order = [_reference(column, term, used), *used.tolist()]
    order = list(dict.fromkeys(order))
    labels = [column.labels[k] for k in order]
    each = np.zeros((len(column.states), len(order) - 1))
    each[order[1:], np.arange(len(order) - 1)] = 1.0
    titles = tuple(f"{term.name} = {label}" for label in labels[1:])
    return Block(term, titles, each, states=tuple(labels), unit=f"vs {labels[0]}")


def _is_number(column: Column, term: Term) -> bool:
    """Whether a covariate is a number: so are columns of few whole numbers, unless C() is said."""
    if term.categories or column.bins is not None:
        return False
    numeric = column.kind.number or isinstance(column.states[0], int | float)
    return numeric and not isinstance(column.states[0], bool)


def _reference(column: Column, term: Term, used: IntArray) -> int:
    if term.reference is None:
        return int(used[0])
    shown = [column.labels[k] for k in used]
    if term.reference not in shown:
        raise OptionError(
            f"--covariates: '{term.reference}' is no state of '{term.name}' that the rows show."
            f"{did_you_mean(term.reference, shown)} Choose from {', '.join(shown)}."
        )
    return column.labels.index(term.reference)


def _check_independent(design: Design, counts: FloatArray) -> None:
    """Refuse a covariate that the others determine: its coefficient could be anything."""
    cases = np.bincount(design.pattern, counts, len(design.matrix))
    weighted = np.sqrt(cases / cases.sum())[:, None] * design.matrix
    for place, block in zip(design.places, design.blocks, strict=True):
        others, own = weighted[:, : place.start], weighted[:, place]
        left = own - others @ np.linalg.lstsq(others, own, rcond=None)[0]
        if np.linalg.eigvalsh(left.T @ left).min() < DEPENDENT:
            before = ", ".join(f"'{b.term.name}'" for b in _until(design, block))
            raise DataError(
                f"covariate '{block.term.name}' is determined by {before or 'a constant'}: which "
                "of them predicts a class cannot be told. Leave one of them out."
            )


def _until(design: Design, last: Block) -> Iterator[Block]:
    """Covariates before one."""
    for block in design.blocks:
        if block is last:
            return
        yield block
