"""Settings as keyword arguments of functions, also under the names of scikit-learn."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeAlias, TypeVar, cast

from lacunet.data.design import Clusters, WeightsAs
from lacunet.data.kinds import KindsLike
from lacunet.errors import OptionError, UnknownOptionError, did_you_mean
from lacunet.runtime.executor import cores
from lacunet.runtime.progress import in_notebook, shown
from lacunet.runtime.states import BinLike, State
from lacunet.settings import OPTIONS, PARTS, Configuration, Settings, list_meanings, setting


@dataclass(frozen=True, repr=False, kw_only=True)
class SurveySettings(Configuration):
    """Weights, strata and clusters of rows, as in `read_table`."""

    weights: str | None = setting(None, "Column of row weights: counts, or survey weights.")
    weights_as: str = setting(
        WeightsAs.AUTO,
        "frequency: weight 2 is the row twice; survey: weights are scaled to the effective sample "
        "size; auto: frequency if all are whole numbers, else survey.",
    )
    strata: str | None = setting(None, "Column of sampling strata, for standard errors.")
    clusters: Clusters = setting(
        None,
        "Column of primary sampling units (households, schools), for standard errors. Several "
        "comma-separated columns identify units jointly.",
        in_python="Or a sequence of their names.",
    )


@dataclass(frozen=True, repr=False, kw_only=True)
class ReadSettings(SurveySettings):
    """Reading of a table, including the survey design, as in `read_table`."""

    missing: Sequence[State] = setting(
        (), "Further marker of a missing cell, besides NA, NaN, null and ? in CSV."
    )
    columns: Sequence[str] | None = setting(None, "Use only these columns.")
    exclude: Sequence[str] = setting((), "Leave these columns out.")
    kinds: KindsLike = setting(
        None,
        "Kinds of columns, comma-separated NAME=KIND: gaussian, lognormal, poisson (counts), "
        "ordinal (whole numbers in order) or categorical; others are inferred.",
        in_python="Or a mapping of these.",
    )
    bin: BinLike = setting(
        None,
        "Bin numbers: NAME=5 for five bins of about equal numbers of rows, NAME=0:1000:5000 for "
        "these edges, 5 alone for all columns of numbers.",
        in_python="Or a mapping of names to a number or a list of edges.",
    )
    ignore_case: bool = setting(False, "Merge texts that differ only in upper and lower case.")
    memory: str | float | None = setting(
        None,
        "Memory limit of the process, for example 2GB; further distinct rows stay on disk.",
        in_python="Or a number of bytes.",
    )

    def __post_init__(self) -> None:
        """Make a single name a tuple."""
        for name in ("columns", "exclude"):
            if isinstance(value := getattr(self, name), str):
                self._put(name, (value,))


SettingsLike: TypeAlias = Settings | Configuration | Sequence[Configuration]
list_meanings(SurveySettings, ReadSettings)
READING = {f.name: f for f in fields(ReadSettings)}
AS_USUAL = ReadSettings()

# Groups of option names.
READ = ("missing", "weights", "weights_as", "columns", "exclude", "bin", "ignore_case")
DESIGN = ("strata", "clusters")
NUMBERS = ("kinds", "number_prior", "covariance")
PARALLEL = ("seed", "threads")
WORK = (*PARALLEL, "cluster", "workers")
CLIMB = ("sweeps", "restarts", "probes", "exact")
GRAPH = ("alpha", *CLIMB, "graph_prior")
SAMPLE = ("target", "budget")
LEARN = ("estimate", "alpha", "starts", "schedule", "device", *WORK, *READ)
FIT = (*LEARN, "missing_as_state", *NUMBERS, *DESIGN, "memory")
REGRESSION = ("coefficient_sd", "missing_covariates", "evidence", *SAMPLE, "level", "bootstrap")
COMPARE = (*FIT, "scores", "dimension", "quick", "evidence", "calibrate", *SAMPLE)
SELECT = (*COMPARE, "whole_range", "blrt")

# Synonyms: Lacunet's name first, then those of scikit-learn and similar packages.
SAME = (
    ("starts", "n_init"),
    ("seed", "random_state"),
    ("threads", "n_jobs"),
    ("states", "n_classes", "n_components", "n_clusters"),
    ("missing", "missing_values"),
    ("weights", "sample_weight"),
)
# Options whose values differ from those of their synonyms.
OTHER = {"weights": "and names a column", "missing": "and lists markers"}
PATIENCE = 2.0  # seconds after which a notebook shows progress

F = TypeVar("F", bound=Callable[..., Any])
TAKEN: dict[str, tuple[str, ...]] = {}  # the settings of each function, by its name


def with_options(*names: str) -> Callable[[F], F]:
    """Let a function accept these settings as `**options`, and refuse any other.

    Synonyms of scikit-learn are translated, and `settings` may be any configuration object.
    Without a listener, a notebook shows progress.
    """

    def decorate(function: F) -> F:
        parameters = [n for n in inspect.signature(function).parameters if n != "options"]
        allowed = sorted(
            {**dict.fromkeys(parameters), **dict.fromkeys(names)}, key=LAST.__contains__
        )
        TAKEN[function.__name__] = names

        @functools.wraps(function)
        def checked(*args: Any, **given: Any) -> Any:
            arguments = _translated(function.__name__, _unpacked(given), allowed)
            if "listener" not in parameters or "listener" in arguments or not in_notebook():
                return function(*args, **arguments)
            with shown(after=PATIENCE) as listener:
                return function(*args, **arguments, listener=listener)

        return cast(F, checked)

    return decorate


LAST = ("settings", "listener")  # listed last in messages


def divide(settings: SettingsLike, options: Mapping[str, Any]) -> tuple[Settings, ReadSettings]:
    """Split options into settings and reading settings."""
    assert isinstance(settings, Settings)  # the decorator has unpacked others
    changes = {name: value for name, value in options.items() if name in OPTIONS}
    reading = {name: value for name, value in options.items() if name not in OPTIONS}
    changed = replace(settings, **changes) if changes else settings
    return changed, ReadSettings(**reading) if reading else AS_USUAL


def defaults_of(function: Callable[..., Any]) -> Settings:
    """Give the default settings of a function."""
    settings: Settings = inspect.signature(function).parameters["settings"].default
    return settings


def _unpacked(given: Mapping[str, Any]) -> dict[str, Any]:
    """Unpack configuration objects; options given by name take precedence."""
    named = dict(given)
    settings = named.pop("settings", None)
    parts = [settings] if isinstance(settings, Configuration | None) else settings
    unpacked: dict[str, Any] = {}
    for part in parts:
        if isinstance(part, Settings):
            unpacked["settings"] = part
        elif isinstance(part, Configuration):
            unpacked |= part.changed
        elif part is not None:
            names = ", ".join(kind.__name__ for kind in (Settings, *PARTS, ReadSettings))
            raise OptionError(f"settings={part!r} are none. Give {names}, or a list of these.")
    return unpacked | named


def unknown_option(function: str, name: str, names: Collection[str]) -> UnknownOptionError:
    """Make the error for an unknown argument, with the likely intended name."""
    synonym = _synonym_in(name, names)
    if synonym is not None:
        words = f", {OTHER[synonym]}" if synonym in OTHER else ""
        hint = f" Here it is called '{synonym}'{words}."
    else:
        others = (other for group in SAME for other in group if _synonym_in(other, names))
        hint = did_you_mean(name, [*names, *others]) or f" It has {', '.join(names)}."
    return UnknownOptionError(f"{function}() has no option '{name}'.{hint}")


def _synonym_in(name: str, names: Collection[str]) -> str | None:
    """Give the synonym of a name among some argument names; None if absent.

    >>> _synonym_in("random_state", ["states", "seed"]), _synonym_in("seed", ["n_init", "n_jobs"])
    ('seed', None)
    """
    group: tuple[str, ...] = next((g for g in SAME if name in g), ())
    return next((synonym for synonym in group if synonym in names), None)


def _translated(function: str, given: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Translate names of scikit-learn, with a warning; refuse unknown arguments."""
    arguments = dict(given)
    for name in given:
        if name in names:
            continue
        synonym = _synonym_in(name, names)
        if synonym is None or synonym in OTHER or synonym in given:
            raise unknown_option(function, name, names)
        value = arguments.pop(name)
        if value is not None:  # None is the default under both names
            arguments[synonym] = _threads(value) if synonym == "threads" else value
        warnings.warn(
            f"{function}() calls '{name}' '{synonym}': taken as that.", UserWarning, stacklevel=3
        )
    return arguments


def _threads(n_jobs: int) -> int | None:
    """Count threads as joblib does: -1 is all cores, -2 all but one."""
    if n_jobs >= 0:
        return n_jobs
    return None if n_jobs == -1 else max(1, cores() + 1 + n_jobs)
