"""The same argument by the names of two worlds: functions of this package, and scikit-learn's."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from typing import Any

from lacunet.errors import UnknownOptionError, did_you_mean
from lacunet.runtime.executor import cores

# Ours first; then scikit-learn's, and what else people call it there.
SAME = (
    ("starts", "n_init"),
    ("seed", "random_state"),
    ("threads", "n_jobs"),
    ("states", "n_classes", "n_components", "n_clusters"),
    ("missing", "missing_values"),
    ("weights", "sample_weight"),
)
# What is given there is something else, and must be said otherwise.
OTHER = {"weights": "and names a column", "missing": "and lists markers"}


def named_here(name: str, names: Collection[str]) -> str | None:
    """Give the name by which someone has an argument that others call so; None if nobody does.

    >>> named_here("random_state", ["states", "seed"]), named_here("seed", ["n_init", "n_jobs"])
    ('seed', None)
    """
    group: tuple[str, ...] = next((g for g in SAME if name in g), ())
    return next((own for own in group if own in names), None)


def unknown_option(who: str, name: str, names: Collection[str]) -> UnknownOptionError:
    """Say that someone has no such argument, and which is meant, as far as that can be guessed."""
    own = named_here(name, names)
    if own is not None:
        words = f", {OTHER[own]}" if own in OTHER else ""
        hint = f" Here it is called '{own}'{words}."
    else:
        others = (other for group in SAME for other in group if named_here(other, names))
        hint = did_you_mean(name, [*names, *others]) or f" It has {', '.join(names)}."
    return UnknownOptionError(f"{who}() has no option '{name}'.{hint}")


def understood(who: str, given: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Put our names in the place of scikit-learn's, with a warning; refuse what is no argument."""
    told = dict(given)
    for name in given:
        if name in names:
            continue
        own = named_here(name, names)
        if own is None or own in OTHER or own in given:
            raise unknown_option(who, name, names)
        value = told.pop(name)
        if value is not None:  # which means the usual in both worlds
            told[own] = _threads(value) if own == "threads" else value
        warnings.warn(f"{who}() calls '{name}' '{own}': taken as that.", UserWarning, stacklevel=3)
    return told


def _threads(n_jobs: int) -> int | None:
    """Count threads as joblib does: -1 is all of them, -2 all but one."""
    if n_jobs >= 0:
        return n_jobs
    return None if n_jobs == -1 else max(1, cores() + 1 + n_jobs)
