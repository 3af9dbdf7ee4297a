"""The same argument by the names of two worlds: functions of this package, and scikit-learn's.

Which options each function of the Python interface has: one dictionary type for each set.
"""

from __future__ import annotations

import functools
import inspect
import re
import textwrap
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any, TypedDict, TypeVar, cast, get_args, get_type_hints

from lacunet.data.design import Clusters
from lacunet.data.kinds import KindsLike
from lacunet.data.read import read_table
from lacunet.errors import UnknownOptionError, did_you_mean
from lacunet.models.number_prior import NumberPriorLike
from lacunet.models.prior import Alpha
from lacunet.runtime.executor import cores
from lacunet.runtime.progress import in_notebook, shown
from lacunet.runtime.states import BinLike, State
from lacunet.settings import OPTIONS, Settings

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


F = TypeVar("F", bound=Callable[..., Any])

NAMES = re.compile(r"^(?P<indent> *)\*\*(?P<names>[\w,; ]+)$", re.MULTILINE)  # in a docstring

PATIENCE = 2.0  # seconds of work after which a notebook shows how far it is

# What arguments mean that several functions have.
ARGUMENTS = {
    "data": "A table, or anything that `read_table` reads.",
    "fit": "A fit, or a model (or its path) at its maximum for these data.",
    "model": "A model, or the path of its file.",
    "hidden": "Variables that no column shows, besides those that are hidden in the model.",
    "states": "Number of classes of a latent class model.",
    "network, hidden": "Instead: a network (or the path of its file, or a graph as a text, "
    "'class[3] -> A B C; A -> B'), and its hidden variables.",
    "covariates": "Columns that predict classes, and are no items: a list of names, or a formula "
    "such as '~ age + C(region)'. Numbers count as numbers; C() makes categories of them, and "
    "C(region, ref=North) says which state the others are held against.",
    "edges": "Direct effects between answers of a latent class model, beside their class: "
    "'PARENT:CHILD', or pairs of names.",
    "prior": "Weights of the candidates, by label (default: all the same); or the name of a prior "
    "of the number of classes: uniform, bnb (BNB(1, 4, 3) of the number less one; or bnb:1,4,3), "
    "geometric:0.1.",
    "knowledge": "What is known of the tables (and of the edges): a `Knowledge`, or the path of "
    "its JSON file. Fixed tables are not learned, tied ones together, zeros stay zero.",
    "resume": "A file that keeps what is done. If it is there, the work goes on from it; it may be "
    "removed at the end.",
}
SHARED = {
    "settings": "What to start from; options that are named beside it count first.",
    "listener": "Gets progress events. Without one, notebooks show them after two seconds of work.",
}


class RowOptions(TypedDict, total=False):  # of all that read rows
    missing: Sequence[State]


class AskOptions(TypedDict, total=False):  # of all that ask about one case
    plug_in: bool


class QueryOptions(AskOptions, RowOptions, total=False):  # of `query`
    pass


class AnomalyOptions(QueryOptions, total=False):  # of `anomalies`
    seed: int


class AssignOptions(QueryOptions, total=False):  # of `assign`
    missing_as_state: bool
    seed: int


class ReadOptions(RowOptions, total=False):  # of `read_table`, and so of all that read a table
    weights: str | None
    weights_as: str
    columns: Sequence[str] | None
    exclude: Sequence[str]
    bin: BinLike
    ignore_case: bool


class MemoryOptions(ReadOptions, total=False):  # of all that can leave rows on disk
    memory: str | float | None


class DesignOptions(ReadOptions, total=False):  # of all that say how precise something is
    strata: str | None
    clusters: Clusters


class KindOptions(ReadOptions, total=False):  # of `read_table`, with columns of numbers
    kinds: KindsLike


class NumberOptions(KindOptions, total=False):  # of all that take columns of numbers
    number_prior: NumberPriorLike
    covariance: str


class ReadAllOptions(DesignOptions, KindOptions, MemoryOptions, total=False):  # of `read_table`
    pass


READING = tuple(ReadAllOptions.__annotations__)


class SeedOptions(TypedDict, total=False):  # of all that draw
    seed: int


class SimulateOptions(SeedOptions, total=False):  # of `simulate`
    plug_in: bool


class DrawOptions(SeedOptions, total=False):  # of `random_model`
    alpha: Alpha


class ClimbOptions(DrawOptions, ReadOptions, total=False):  # of all that search for a graph
    sweeps: int
    restarts: int
    probes: int
    exact: bool
    graph_prior: str
    threads: int | None


class GraphOptions(ClimbOptions, NumberOptions, total=False):  # of `learn_structure`
    score: str
    evidence: bool
    target: float
    budget: float | str


class EdgeOptions(ClimbOptions, total=False):  # of `edge_certainty`
    target: float


class ThreadOptions(SeedOptions, ReadOptions, total=False):  # of all that have threads and a seed
    threads: int | None


class StackOptions(ThreadOptions, KindOptions, total=False):  # of `stack`
    pass


class TreeOptions(ThreadOptions, NumberOptions, total=False):  # of `learn_latent_tree`
    alpha: Alpha
    starts: int
    evidence: bool
    target: float
    budget: float | str


class HiddenOptions(TreeOptions, total=False):  # of `find_hidden`
    sweeps: int
    restarts: int
    probes: int
    exact: bool


class ClusterOptions(ThreadOptions, total=False):  # of all that a cluster can do
    cluster: str | None
    workers: int | None


class RatioOptions(ClusterOptions, KindOptions, total=False):  # of `likelihood_ratio_test`
    starts: int
    schedule: str


class BoundOptions(ClusterOptions, total=False):  # of `log_evidence_bounds`
    alpha: Alpha
    target: float
    budget: float | str
    device: str


class EvidenceOptions(BoundOptions, NumberOptions, total=False):  # of `log_evidence`
    method: str


class LearnOptions(ClusterOptions, total=False):  # of all that look for a maximum
    estimate: str
    alpha: Alpha
    starts: int
    schedule: str
    device: str


class HoleOptions(LearnOptions, total=False):  # of `compare_missing`
    scores: str | Sequence[str]


class FitOptions(
    LearnOptions, MemoryOptions, DesignOptions, NumberOptions, total=False
):  # of `fit`
    missing_as_state: bool


class RegressionOptions(FitOptions, total=False):  # of `class_regression`
    coefficient_sd: float
    missing_covariates: str
    evidence: bool
    target: float
    budget: float | str
    level: float
    bootstrap: int


class GroupOptions(FitOptions, total=False):  # of `compare_groups`
    quick: bool
    evidence: bool
    target: float
    budget: float | str


class CompareOptions(FitOptions, total=False):  # of `compare`
    scores: str | Sequence[str]
    dimension: str
    quick: bool
    evidence: bool
    calibrate: bool
    target: float
    budget: float | str


class SelectOptions(CompareOptions, total=False):  # of `select`
    whole_range: bool
    blrt: int


class ModelOptions(ReadOptions, total=False):  # of all that hold a table against a model
    missing_as_state: bool


class ScoreOptions(ModelOptions, total=False):  # of `score`
    scores: str | Sequence[str]
    estimate: str
    dimension: str
    threads: int | None


class StatisticsOptions(ModelOptions, total=False):  # of `fit_statistics`
    missing_covariates: str


class ThreeStepOptions(DesignOptions, KindOptions, total=False):  # of `three_step`
    level: float
    missing_covariates: str


class IntervalOptions(ClusterOptions, DesignOptions, total=False):  # of `intervals`
    level: float
    bootstrap: int
    missing_as_state: bool
    missing_covariates: str


def divide(settings: Settings, options: Mapping[str, Any]) -> tuple[Settings, ReadOptions]:
    """Give the settings as some options change them, and how to read the table."""
    changes = {name: value for name, value in options.items() if name in OPTIONS}
    reading = {name: value for name, value in options.items() if name not in OPTIONS}
    return replace(settings, **changes) if changes else settings, cast(ReadOptions, reading)


def options_of(function: Callable[..., Any]) -> dict[str, str]:
    """Give the options that a function has, and their types, as its `**options` are annotated."""
    (kind,) = get_args(get_type_hints(function)["options"])
    types = kind.__annotations__
    known = [*OPTIONS, *READING]
    return {name: types[name].__forward_arg__ for name in known if name in types}


def defaults_of(function: Callable[..., Any]) -> Settings:
    """Give the settings that a function starts from."""
    found: Settings = inspect.signature(function).parameters["settings"].default
    return found


def written_out(docstring: str | None, meanings: Mapping[str, str]) -> str:
    """Put in the meanings that a line `**NAME; NAME` of a docstring stands for."""

    def meant(found: re.Match[str]) -> str:
        lines = "\n".join(meanings[name] for name in found["names"].split("; "))
        return textwrap.indent(lines, found["indent"])

    return NAMES.sub(meant, docstring or "")


def with_options(function: F) -> F:
    """Show the options of a function one by one, to `help` and to editors, and refuse any other.

    In its docstring, `**options` becomes their meanings, and so do names of `ARGUMENTS`.
    """
    signature = _with_every_option(function)
    names = list(signature.parameters)

    @functools.wraps(function)
    def checked(*args: Any, **given: Any) -> Any:
        told = understood(function.__name__, given, names)
        if "listener" not in names or "listener" in told or not in_notebook():
            return function(*args, **told)
        with shown(after=PATIENCE) as listener:
            return function(*args, **told, listener=listener)

    checked.__signature__ = signature  # type: ignore[attr-defined]
    shared = [n for n in names if n in options_of(function) or n in SHARED]
    meanings = {name: _entry(name, meaning) for name, meaning in ARGUMENTS.items()}
    meanings["options"] = "\n".join(_meanings(shared))
    checked.__doc__ = written_out(function.__doc__, meanings)
    return cast(F, checked)


def _with_every_option(function: Callable[..., Any]) -> inspect.Signature:
    """Give the signature with every option in the place of `**options`."""
    own = inspect.signature(function)
    read = inspect.signature(read_table).parameters
    parameters = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
    for name, kind in options_of(function).items():
        default = getattr(defaults_of(function), name) if name in OPTIONS else read[name].default
        default = default.value if isinstance(default, StrEnum) else default
        word = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(name, word, default=default, annotation=kind))
    parameters.sort(key=lambda p: p.name in SHARED)  # these come last
    return own.replace(parameters=parameters)


def _meanings(names: Sequence[str]) -> Iterator[str]:
    """Describe, as docstrings do, what functions have in common."""
    reading = [name for name in names if name in READING]
    told = {
        **{n: f"{o.metadata['meaning']} {o.metadata['in_python']}" for n, o in OPTIONS.items()},
        ", ".join(reading): "As for `read_table`.",
        **SHARED,
    }
    for name, meaning in told.items():
        if name in names or (reading and name == ", ".join(reading)):
            yield _entry(name, meaning)


def _entry(name: str, meaning: str) -> str:
    return f"{name}\n{textwrap.indent(textwrap.fill(meaning, 88, break_on_hyphens=False), '    ')}"
