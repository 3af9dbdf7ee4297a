"""From what scikit-learn's users hand over to what the package works on."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral, Number
from typing import Any, TypeAlias

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import check_array, check_random_state
from sklearn.utils.validation import validate_data

from lacunet.arrays import CodeArray, FloatArray
from lacunet.data import Column, Table
from lacunet.data.coded_rows import code_rows
from lacunet.data.column_checks import looks_continuous, looks_like_identifier
from lacunet.data.discover import shown
from lacunet.data.kinds import CATEGORIES, ColumnKind, Kinds, KindsLike, understand_kinds
from lacunet.data.rows import Rows, Unseen
from lacunet.data.survey import WeightsAs, as_cases
from lacunet.data.write import column_names
from lacunet.errors import DataError, OptionError, did_you_mean
from lacunet.estimators.warning import warn
from lacunet.state import State

Categories: TypeAlias = str | Sequence[Sequence[State]] | Mapping[str, Sequence[State]]
States: TypeAlias = Sequence[Sequence[State] | None]  # of each column; None: whatever it shows
WARN, REFUSE, IGNORE = UNSEEN = ("warn", "error", "missing")


def check_input(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Check the shape and the names of X as scikit-learn does.

    A dataframe stays what it is, so that its categories and types are kept; anything else becomes
    an array. NaN is a hole, and allowed; infinite numbers are not.
    """
    if is_frame(X):
        return validate_data(estimator, X, reset=reset, skip_check_array=True)
    if isinstance(X, np.ma.MaskedArray):  # whose mask an array would lose
        words = X.dtype.kind in "OUS"
        holes, X = np.ma.getmaskarray(X), X.data.astype(object if words else float)
        X[holes] = None if words else np.nan
    return validate_data(estimator, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")


def is_frame(X: Any) -> bool:
    """Whether X has names for its columns."""
    return hasattr(X, "shape") and hasattr(X, "columns")


def names_of(X: Any) -> list[str]:
    """Names of the columns; those of an array are x0, x1, … as everywhere in scikit-learn."""
    return column_names(X) if is_frame(X) else [f"x{j}" for j in range(X.shape[1])]


def check_weights(sample_weight: Any, rows: int) -> FloatArray:
    """Give the weight of each row; weight 0 is no row."""
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


def read_fit(
    X: Any,
    sample_weight: Any,
    *,
    names: Sequence[str],
    states: States,
    columns: Sequence[int] | None = None,
    unseen: str,
    kinds: Kinds = CATEGORIES,
) -> Table:
    """Make the table to learn from: rows of weight 0 are not there, not even with their states."""
    weights = check_weights(sample_weight, X.shape[0])
    keep = weights > 0
    rows = code_rows(X, states, columns, keep, names=names, kinds=kinds)
    # Rows to learn from that contradict what is declared are a mistake, not news.
    strict = REFUSE if unseen == WARN else unseen
    _judge(rows.unseen, strict, "the states that it was given")
    for j, column in enumerate(rows.columns):
        if states[j] is None and not column.kind.number:
            _doubt(column, rows.codes[:, j], weighted=sample_weight is not None)
    cases, survey = as_cases(weights[keep], np.ones(int(keep.sum()), np.int64), WeightsAs.AUTO)
    return replace(Table.from_codes(rows.codes, rows.columns, cases, source="X"), survey=survey)


def read_codes(
    X: Any,
    *,
    known: Mapping[str, Sequence[State]],
    columns: Sequence[int] | None = None,
    unseen: str,
    kinds: Kinds = CATEGORIES,
) -> Rows:
    """Code rows with the states that a model knows, by the places of the columns."""
    rows = code_rows(X, list(known.values()), columns, names=list(known), kinds=kinds)
    _judge(rows.unseen, unseen, "the states that the model knows")
    return rows


def column_kinds(kinds: KindsLike, names: Sequence[str], states: States) -> Kinds:
    """Give what a person says of the kinds of columns; of the others a rule decides."""
    free = [name for name, own in zip(names, states, strict=True) if own is None]
    if isinstance(kinds, str) and kinds in list(ColumnKind):
        return Kinds(dict.fromkeys(free, ColumnKind(kinds)))
    declared = understand_kinds(kinds).declared
    for name in declared:
        if name not in names:
            raise OptionError(
                f"kinds name {name!r}, which is no column of X. It has {shown(names)}."
            )
        if name not in free and declared[name].number:
            raise OptionError(
                f"column {name!r} has its states in categories=, and is {declared[name]} in "
                "kinds=. Leave out one of the two."
            )
    return Kinds(declared, fractions=True)


def declared_states(categories: Categories, names: Sequence[str]) -> States:
    """Give the states that a person declares for each column; None where they are not declared."""
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
                    f"categories name {name!r}, which is no column of X. It has {shown(names)}."
                )
        return [_plain(categories[name]) if name in categories else None for name in names]
    if len(categories) != len(names):
        raise OptionError(
            f"categories has {len(categories)} lists of states; X has {len(names)} columns. "
            "Give one list for each, or a mapping of some names to lists."
        )
    return [_plain(states) for states in categories]


def seed_of(random_state: Any) -> int:
    """Give a seed: a whole number is one; anything else is asked for one."""
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def threads_of(n_jobs: int | None) -> int:
    """Give a number of threads, counted as joblib does: none means one, -1 means all."""
    return int(effective_n_jobs(n_jobs))


def _plain(states: Sequence[State]) -> list[State]:
    """Take NumPy's types off."""
    return [state.item() if isinstance(state, np.generic) else state for state in states]


def _judge(unseen: Sequence[Unseen], how: str, what: str) -> None:
    """Refuse values that are no states, warn of them, or let them pass as missing."""
    if how not in UNSEEN:
        raise OptionError(f"unseen {how!r} is not known. Choose from {', '.join(UNSEEN)}.")
    if not unseen or how == IGNORE:
        return
    first, others = unseen[0], len(unseen) - 1
    more = f" (and {others} more such value{'s' * (others > 1)})" if others else ""
    found = (
        f"column {first.column!r}, {first.where}: {shown([first.value])} is not among {what}: "
        f"{shown(first.states)}{more}."
    )
    known = "name all states before fit: with categories=, or as categories of the dataframe."
    if how == REFUSE:
        raise DataError(
            f"{found} Set unseen='missing' to take such values for missing ones, or {known}"
        )
    near = did_you_mean(str(first.value), map(str, first.states))
    warn(
        f"{found}{near} It counts as missing. unseen='missing' says that without a word, "
        f"unseen='error' refuses it; or {known}"
    )


def _doubt(column: Column, codes: CodeArray, *, weighted: bool) -> None:
    """Warn of a column whose values are hardly categories; each of them is a state all the same."""
    observed = int((codes >= 0).sum())
    continuous = looks_continuous(column.states)
    if continuous or looks_like_identifier(column.states, observed, weighted=weighted):
        what = "continuous numbers" if continuous else "an identifier"
        warn(
            f"column {column.name!r} looks like {what}: {len(column.states):,} different values in "
            f"{observed:,} rows, and each is a state of its own. Put numbers into a few bins first "
            "(KBinsDiscretizer), leave the column out, or name its states with categories=."
        )
