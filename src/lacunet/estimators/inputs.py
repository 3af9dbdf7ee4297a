"""Conversion of scikit-learn inputs to tables and coded rows."""

import inspect
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Number
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import sklearn
from joblib import effective_n_jobs, parallel
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import validate_data

from lacunet.data import Table
from lacunet.data.design import (
    NO_DESIGN,
    DesignColumns,
    SamplingDesign,
    WeightsAs,
    as_cases,
    design_of_codes,
    missing_words,
)
from lacunet.data.discover import shown
from lacunet.data.distinct import places as places_of
from lacunet.data.frames import in_memory, no_table
from lacunet.data.kinds import BY_RULE, ColumnKind, Kinds, KindsLike, understand_kinds
from lacunet.data.reading import Rows, Unseen, code_rows, empty_columns
from lacunet.data.transform import put_missing_states
from lacunet.data.write import column_names
from lacunet.errors import DataError, OptionError, did_you_mean, unknown_value
from lacunet.inference.covariates import kinds_of_covariates
from lacunet.models.predictors import Covariates
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray
from lacunet.runtime.executor import cores
from lacunet.runtime.states import BinLike, State, understand_bins
from lacunet.tabular import library_of

PASSED = tuple(str(Path(file).parent) for file in (__file__, sklearn.__file__))  # frames to skip


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line of the user that called an estimator, perhaps through scikit-learn."""
    level, frame = 1, inspect.currentframe()
    while frame is not None and frame.f_code.co_filename.startswith(PASSED):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


Categories: TypeAlias = str | Sequence[Sequence[State]] | Mapping[str, Sequence[State]]
HAVE_ROWS = ("__array__", "shape", "toarray")  # attributes of tables for scikit-learn
States: TypeAlias = Sequence[Sequence[State] | None]  # of each column; None: the observed values
WARN, REFUSE, IGNORE = UNSEEN = ("warn", "error", "missing")


def check_input(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Check the shape and the names of X as scikit-learn does.

    A dataframe is unchanged, with its categories and types; anything else becomes an array. NaN is
    a missing value; infinite numbers are refused.
    """
    X = in_memory(X)
    if not isinstance(X, list | tuple) and not any(hasattr(X, name) for name in HAVE_ROWS):
        raise no_table(X)
    if is_frame(X):
        column_names(X)  # refuses invalid names
        return validate_data(estimator, X, reset=reset, skip_check_array=True)
    if isinstance(X, np.ma.MaskedArray):  # an array would lose the mask
        words = X.dtype.kind in "OUS"
        masked, X = np.ma.getmaskarray(X), X.data.astype(object if words else float)
        X[masked] = None if words else np.nan
    _check_finite(X)
    return validate_data(estimator, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")


def _check_finite(X: Any) -> None:
    """Refuse infinite numbers of an array."""
    try:
        cells = np.asarray(X)
    except ValueError:  # rows of several lengths: `validate_data` reports them
        return
    if cells.ndim == 2 and cells.dtype.kind == "f" and np.isinf(cells).any():
        row, column = np.argwhere(np.isinf(cells))[0]
        raise DataError(
            f"X contains infinity: row {row + 1}, column 'x{column}' is not a finite number. Set "
            "it to NaN, which is a missing value: X = np.where(np.isinf(X), np.nan, X)."
        )


def is_frame(X: Any) -> bool:
    """Whether X has names for its columns."""
    return hasattr(X, "shape") and hasattr(X, "columns")


def names_of(X: Any) -> list[str]:
    """Names of the columns; those of an array are x0, x1, … as in scikit-learn."""
    return column_names(X) if is_frame(X) else [f"x{j}" for j in range(X.shape[1])]


def left_out_of(X: Any) -> str:
    """Code that drops a column of such a table: {} is its name, or its position."""
    if not is_frame(X):
        return "numpy.delete(X, {}, axis=1)"
    return {"pandas": "X.drop(columns=[{}])", "polars": "X.drop({})"}.get(
        library_of(X), "X.drop_columns({})"
    )


def made_missing_in(X: Any) -> str:
    """Code that makes cells with the value {} missing in such a table."""
    pandas = is_frame(X) and library_of(X) == "pandas"
    return "X.replace({}, None)" if pandas else "a missing cell (None, NaN) in the place of {}"


def check_weights(sample_weight: Any, rows: int) -> FloatArray:
    """Check the weights of rows; rows of weight 0 do not count."""
    if sample_weight is None:
        return np.ones(rows)
    if isinstance(sample_weight, Number):
        sample_weight = np.full(rows, sample_weight)
    weights: FloatArray = check_array(
        sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight"
    )
    if weights.shape != (rows,):
        raise DataError(
            f"sample_weight has the shape {weights.shape}; X has {rows} rows, so it must be "
            f"({rows},)."
        )
    if (weights < 0).any():
        at = int(np.argmax(weights < 0))
        raise DataError(f"sample_weight of row {at + 1} is {weights[at]:g}. Give 0 or more.")
    if not weights.any():
        raise DataError("every sample weight is zero. At least one row must weigh something.")
    return weights


class CodedFit(NamedTuple):
    """Training rows of positive weight."""

    rows: Rows
    cases: FloatArray  # (rows,) weights
    selected: BoolArray  # mask of these rows among all rows
    survey: Any  # scaling of survey weights, or None


class FitInput(NamedTuple):
    """Specification of how the training columns are read."""

    names: Sequence[str]
    states: States
    unseen: str  # one of UNSEEN
    kinds: Kinds = BY_RULE
    columns: Sequence[int] | None = None  # positions in X; None: all columns
    drawn: DesignColumns = NO_DESIGN  # further columns of X with the survey design


def read_fit(X: Any, sample_weight: Any, reading: FitInput) -> Table:
    """Make the training table, without rows of weight 0 and their states."""
    coded = code_fit(X, sample_weight, reading)
    rows = coded.rows
    table = Table.from_codes(rows.codes, rows.columns, coded.cases, source="X")
    design = None
    if reading.drawn.names or (coded.survey is not None and len(rows.codes) > 1):
        design = _design(X, reading.drawn, coded)
    notes = () if design is None or not design.declared else (f"the sample has {design}.",)
    notes = (*rows.notes, *notes)
    return replace(table, survey=coded.survey, notes=notes, design=design)


def _design(X: Any, drawn: DesignColumns, coded: CodedFit) -> SamplingDesign:
    """Read the survey design from columns of X."""
    codes: dict[str, IntArray] = {}
    texts: dict[str, Sequence[str]] = {}
    names = names_of(X)
    if drawn.names:
        places = [names.index(name) for name in drawn.names]
        kinds = Kinds(dict.fromkeys(drawn.names, ColumnKind.CATEGORICAL))
        rows = code_rows(X, None, places, names=drawn.names, kinds=kinds, queried=True)
        for name, column, cells in zip(drawn.names, rows.columns, rows.codes.T, strict=True):
            mine = cells[coded.selected].astype(np.int64)
            if (mine < 0).any():
                row = int(np.flatnonzero(coded.selected)[np.argmax(mine < 0)]) + 1
                raise DataError(missing_words(name, f"row {row}"))
            codes[name], texts[name] = mine, column.labels
    cases, ones = coded.cases, np.ones(len(coded.cases), np.int64)
    people = float(cases.sum()) if coded.survey is None else float(coded.survey.rows)
    return design_of_codes(drawn, codes, texts, places_of(coded.rows.codes), cases, ones, people)


def check_drawn(drawn: DesignColumns, names: Sequence[str]) -> None:
    """Refuse columns of a design that X does not have."""
    for option, columns in (("strata", (drawn.strata,)), ("clusters", drawn.clusters)):
        for name in columns:
            if name is not None and name not in names:
                hint = did_you_mean(str(name), names)
                raise OptionError(
                    f"{option} {name!r} is not a column of X.{hint} It has {shown(names)}."
                )


def code_fit(X: Any, sample_weight: Any, reading: FitInput) -> CodedFit:
    """Code the training rows."""
    weights = check_weights(sample_weight, X.shape[0])
    keep = weights > 0
    given = None if sample_weight is None else weights
    rows = code_rows(
        X, reading.states, reading.columns, given, names=reading.names, kinds=reading.kinds
    )
    # Training rows that contradict declared states are an error.
    strict = REFUSE if reading.unseen == WARN else reading.unseen
    _check_codes(rows.unseen, strict, "the states that it was given")
    for note in rows.notes:
        warn(note)
    # Weights beside a design are survey weights, even if they are whole numbers.
    designed = given is not None and bool(reading.drawn.names)
    kind = WeightsAs.SURVEY if designed else WeightsAs.AUTO
    cases, survey = as_cases(weights[keep], np.ones(int(keep.sum()), np.int64), kind)
    return CodedFit(rows, cases, keep, survey)


def shown_places(
    X: Any, sample_weight: Any, places: Sequence[int], declared: Collection[int] = ()
) -> list[int]:
    """List the columns with any value in rows of positive weight; warn of the others.

    Columns with declared states stay, even without any value.
    """
    rows = check_weights(sample_weight, X.shape[0]) > 0
    empty = [j for j in empty_columns(X, rows) if j in places and j not in declared]
    if empty and len(empty) == len(places):
        raise DataError("every cell is missing. Give at least one value to learn from.")
    if empty:
        names = shown([names_of(X)[j] for j in empty])
        warn(f"columns that show no value are not used, and stay as they are: {names}.")
    return [j for j in places if j not in empty]


def read_codes(
    X: Any,
    *,
    known: Mapping[str, Sequence[State]],
    columns: Sequence[int] | None = None,
    unseen: str,
    kinds: Kinds = BY_RULE,
    as_state: bool = False,
) -> Rows:
    """Code rows with the states of a model, by the positions of the columns."""
    states = list(known.values())
    rows = code_rows(X, states, columns, names=list(known), kinds=kinds, queried=True)
    _check_codes(rows.unseen, unseen, "the states of the model")
    if as_state:
        put_missing_states(rows.codes, rows.columns)
    return rows


def check_covariates(names: Sequence[str], columns: Sequence[str]) -> None:
    """Refuse covariates that X does not have."""
    for name in names:
        if name not in columns:
            hint = did_you_mean(name, columns)
            raise OptionError(
                f"covariates: X has no column {name!r}.{hint} It has {shown(columns)}."
            )


def read_covariates(X: Any, known: Covariates, names: Sequence[str]) -> Rows:
    """Code the covariates of rows; the model checks them later."""
    places = [names.index(name) for name in known.names]
    kinds = kinds_of_covariates(known)
    return code_rows(X, None, places, names=known.names, kinds=kinds, queried=True)


def column_kinds(
    kinds: KindsLike, names: Sequence[str], states: States, bins: BinLike = None
) -> Kinds:
    """Combine the kinds that the user gives with declared states; others follow the rule."""
    binning = understand_bins(bins)
    said = understand_kinds(kinds).binned(binning)
    declared = {name for name, known in zip(names, states, strict=True) if known is not None}
    for option, about in (("kinds", said.declared), ("bin", binning.named)):
        for name in about:
            if name not in names:
                raise OptionError(
                    f"{option} name {name!r}, which is not a column of X. It has {shown(names)}."
                )
            if name in declared and said.declares_number(name):
                raise OptionError(
                    f"column {name!r} has its states in categories=, and is also in {option}=. "
                    "Leave out one of the two."
                )
    return said.also(Kinds(dict.fromkeys(declared, ColumnKind.CATEGORICAL)))


def declared_states(categories: Categories, names: Sequence[str]) -> States:
    """Give the declared states of each column; None if undeclared."""
    if isinstance(categories, str):
        if categories != "auto":
            raise OptionError(
                f"categories {categories!r} is not known. Give 'auto', or lists of states."
            )
        return [None] * len(names)
    if isinstance(categories, Mapping):
        for name in categories:
            if name not in names:
                raise OptionError(
                    f"categories name {name!r}, which is not a column of X. It has {shown(names)}."
                )
        return [_plain(categories[name]) if name in categories else None for name in names]
    if len(categories) != len(names):
        raise OptionError(
            f"categories has {len(categories)} lists of states; X has {len(names)} columns. "
            "Give one list for each, or a mapping of some names to lists."
        )
    return [_plain(states) for states in categories]


def seed_of(random_state: Any) -> int:
    """Convert `random_state` to a seed."""
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def threads_of(n_jobs: int | None) -> int:
    """Convert `n_jobs` to a number of threads; None is one per core, but one in joblib workers.

    `parallel_config(n_jobs=2)` sets the number for None.
    """
    said = int(effective_n_jobs(n_jobs))
    if n_jobs is not None or said > 1:
        return said
    return 1 if parallel.get_active_backend()[0].nesting_level else cores()


def _plain(states: Sequence[State]) -> list[State]:
    """Convert NumPy scalars to Python objects."""
    return [state.item() if isinstance(state, np.generic) else state for state in states]


def _check_codes(unseen: Sequence[Unseen], policy: str, what: str) -> None:
    """Refuse values that are not states, warn of them, or pass them as missing."""
    if policy not in UNSEEN:
        raise unknown_value("unseen", policy, UNSEEN)
    if not unseen or policy == IGNORE:
        return
    first, others = unseen[0], len(unseen) - 1
    more = f" (and {others} more such value{'s' * (others > 1)})" if others else ""
    message = (
        f"column {first.column!r}, {first.where}: {shown([first.value])} is not among {what}: "
        f"{shown(first.states)}{more}."
    )
    known = "name all states before fit: with categories=, or as categories of the dataframe."
    if policy == REFUSE:
        raise DataError(
            f"{message} Set unseen='missing' to take such values for missing ones, or {known}"
        )
    near = did_you_mean(str(first.value), map(str, first.states))
    warn(
        f"{message}{near} It counts as missing. unseen='missing' omits this warning, "
        f"unseen='error' refuses the value; or {known}"
    )


class MissingAllowed:
    """Input tags: cells may be missing, categories or text."""

    _function = "fit"  # API function with further options

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags
