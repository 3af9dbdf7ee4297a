"""The Python interface: one function for each thing that the command line does, no arithmetic.

`data` is always a `Table`, or anything that `read_table` reads: the path of a file, a dataframe
(pandas, Polars, PyArrow), a NumPy array.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any

import numpy as np

from lacunet.arrays import CodeArray, FloatArray, IntArray
from lacunet.data import Column, Table, read_rows, read_table
from lacunet.errors import DataError, ModelError, OptionError
from lacunet.inference.effective_dimension import effective_dimension
from lacunet.inference.expectation import row_posteriors
from lacunet.inference.problem import build_problem, problem_of_codes
from lacunet.learn.fit import DEFAULT_STARTS, Fit, Options, learn
from lacunet.learn.objective import Estimate
from lacunet.learn.prepare import prepare
from lacunet.learn.schedules import Schedule
from lacunet.model.latent_class import is_latent_class, latent_class
from lacunet.model.modelfile import read_model
from lacunet.model.network import Model
from lacunet.model.prior import PAPER_ALPHA, check_alpha, uniform_alpha
from lacunet.model.sampling import random_theta, sample_codes
from lacunet.parallel import check_threads, workers
from lacunet.progress import Listener, ignore
from lacunet.scores import Evidence, Score, ScoreInput, choose_scores
from lacunet.search.states import Selection, check_states, select_states
from lacunet.tabular import Grid, Printable, number, probability

DIMENSIONS = ("parameters", "rank")
ONLY_EXACT = "exact, so defined only where nothing is hidden; name another score, for example cs"


@dataclass(frozen=True, eq=False)
class Scores(Printable):
    """Every score of a model at exactly its parameters."""

    model: Model
    dimension: int  # d, as the scores used it
    log_likelihood: float
    log_prior: float
    evidence: Mapping[str, Evidence]  # by name
    fit: Fit | None  # where the parameters were refitted first

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
        rows = tuple(
            (
                e.name,
                number(e.value, 4),
                "; ".join(f"{t} = {number(x, 4)}" for t, x in e.terms.items()),
            )
            for e in self.evidence.values()
        )
        notes = tuple(f"- {e.name}: {flag}" for e in self.evidence.values() for flag in e.flags)
        title = (
            f"log p(D|θ) = {self.log_likelihood:.6f}, log p(θ) = {self.log_prior:.6f}, "
            f"d = {self.dimension}"
        )
        return [Grid(title, ("score", "value", "addends"), rows, frozenset({0, 2}), notes)]


@dataclass(frozen=True, eq=False)
class Assignment(Printable):
    """The classes of rows, in the order of the input."""

    classes: tuple[str, ...]  # labels of the hidden states
    probabilities: FloatArray  # (rows, K) posterior of each class
    best: IntArray  # (rows,) index of the most probable class

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
        sure = self.probabilities.max(axis=1)
        rows = []
        for k, name in enumerate(self.classes):
            mine = self.best == k
            mean = float(sure[mine].mean()) if mine.any() else float("nan")
            rows.append((name, str(int(mine.sum())), probability(mean)))
        header = ("class", "rows", "mean probability")
        return [Grid(f"{len(self.best):,} rows assigned", header, tuple(rows))]


def as_table(data: object, **reading: Any) -> Table:
    """Give a table as it is, or read it; `reading` goes to `read_table`."""
    if not isinstance(data, Table):
        return read_table(data, **reading)
    given = [name for name, value in reading.items() if value]
    if given:
        raise OptionError(
            f"{', '.join(given)}: this table is read already. Give these to read_table instead."
        )
    return data


def select(
    data: object,
    states: int | Iterable[int] = range(1, 9),
    *,
    scores: str | Sequence[str] = "all",
    estimate: str = "map",
    alpha: float = PAPER_ALPHA,
    starts: int = DEFAULT_STARTS,
    schedule: str = "default",
    seed: int = 0,
    threads: int | None = None,
    dimension: str = "parameters",
    prior: Mapping[int, float] | None = None,
    listener: Listener = ignore,
    **reading: Any,
) -> Selection:
    """Find the most probable number of hidden classes.

    Parameters
    ----------
    data
        A table, or anything that `read_table` reads.
    states
        Numbers of hidden classes to try.
    scores
        Names of scores, or 'all'.
    estimate
        Parameters at which the scores are taken: 'map' (as the paper) or 'ml'.
    alpha
        Dirichlet exponent of every parameter set.
    starts, schedule, seed
        How to search: random starts; 'default' (to a true maximum) or 'paper'; the seed.
    threads
        Threads to use (default: one per core). The numbers do not depend on it.
    dimension
        What counts as d: 'parameters', or the 'rank' of the observable distribution's Jacobian.
    prior
        Weights of the numbers of states (default: all the same).
    listener
        Gets progress events.
    **reading
        `missing`, `weights`, `columns`, `exclude`, as for `read_table`.
    """
    numbers = _whole_numbers(states)
    chosen = check_scores(scores, numbers)
    rank = check_dimension(dimension)
    options = check_search(estimate, alpha, starts, schedule, seed, threads)
    table = as_table(data, **reading)
    prepare(listener)
    with workers(threads) as spread:
        return select_states(
            table,
            numbers,
            scores=chosen,
            options=options,
            alpha=alpha,
            prior=prior,
            rank=rank,
            spread=spread,
            listener=listener,
        )


def fit(
    data: object,
    states: int,
    *,
    estimate: str = "map",
    alpha: float = PAPER_ALPHA,
    starts: int = DEFAULT_STARTS,
    schedule: str = "default",
    seed: int = 0,
    threads: int | None = None,
    listener: Listener = ignore,
    **reading: Any,
) -> Fit:
    """Fit a latent class model with a given number of classes. Parameters as for `select`."""
    options = check_search(estimate, alpha, starts, schedule, seed, threads)
    table = as_table(data, **reading)
    check_states(_whole_numbers(states), table)
    network = latent_class([(c.name, c.states) for c in table.columns], states)
    problem = build_problem(table, network, uniform_alpha(network.layout, alpha))
    prepare(listener)
    with workers(threads) as spread:
        return learn(problem, options, spread=spread, listener=listener)


def score(
    data: object,
    model: Model | str | os.PathLike[str],
    *,
    scores: str | Sequence[str] = "all",
    refit: bool = False,
    estimate: str = "map",
    dimension: str = "parameters",
    threads: int | None = None,
    listener: Listener = ignore,
    **reading: Any,
) -> Scores:
    """Score a model at exactly its parameters; with `refit`, after EM started from them."""
    chosen = choose_scores(scores)
    rank = check_dimension(dimension)
    options = check_search(estimate, starts=1, threads=threads)
    given = as_model(model)
    if not isinstance(data, Table):
        reading = {**reading, "states": observed_states(given)}
    table = as_table(data, **reading)
    problem = build_problem(table, given.network, given.alpha)
    if not any(s.applies(problem) for s in chosen):
        raise OptionError(f"{_names(chosen)} is {ONLY_EXACT}.")
    prepare(listener)
    with workers(threads):
        refitted = learn(problem, options, start=given, listener=listener) if refit else None
        theta = refitted.model.theta if refitted else given.theta
        at = ScoreInput(problem, theta, effective_dimension(given.network) if rank else None)
        found = {s.name: s(at) for s in chosen if s.applies(problem)}
    return Scores(
        Model(given.network, theta, given.alpha),
        at.dimension,
        at.log_lik,
        at.log_prior,
        found,
        refitted,
    )


def assign(
    data: object, model: Model | str | os.PathLike[str], *, missing: Sequence[str] = ()
) -> Assignment:
    """Give every row, in the order of the input, its posterior class probabilities."""
    given = as_model(model)
    if not is_latent_class(given.network):
        raise ModelError("only latent class models have classes to assign rows to.")
    if isinstance(data, Table):
        raise DataError(
            "a Table holds each distinct row once, without the order of the rows. "
            "Give the file or dataframe itself."
        )
    codes = read_rows(data, observed_states(given), missing=missing)
    problem = problem_of_codes(codes, np.ones(len(codes)), given.network, given.alpha)
    root = given.network.variables[0]
    posterior = row_posteriors(problem, given.theta)[:, : len(root.states)]
    return Assignment(root.labels, posterior, posterior.argmax(axis=1))


def simulate(
    model: Model | str | os.PathLike[str], rows: int, *, seed: int = 0, missing_rate: float = 0.0
) -> Any:
    """Draw rows from a model, as a Polars dataframe of labels; holes completely at random."""
    from lacunet.data.write import labelled_frame

    given = as_model(model)
    return labelled_frame(observed_columns(given), draw(given, rows, seed, missing_rate))


def draw(model: Model, rows: int, seed: int, missing_rate: float) -> CodeArray:
    """Draw the codes of rows: (rows, observed variables), -1 = missing."""
    return sample_codes(model, rows, _generator(seed), missing_rate)


def random_model(
    classes: int, leaves: int, *, leaf_states: int = 2, seed: int = 0, alpha: float = PAPER_ALPHA
) -> Model:
    """Draw a naive-Bayes model as in the paper: every parameter set from a uniform Dirichlet."""
    if leaves < 1:
        raise OptionError(f"{leaves} leaves: there must be at least 1.")
    if leaf_states < 2:
        raise OptionError(f"{leaf_states} states of each leaf: there must be at least 2.")
    columns = [(f"x{i}", tuple(range(leaf_states))) for i in range(1, leaves + 1)]
    network = latent_class(columns, classes)
    theta = random_theta(network.layout, _generator(seed))
    return Model(network, theta, uniform_alpha(network.layout, alpha))


def as_model(model: Model | str | os.PathLike[str]) -> Model:
    """Give a model as it is, or read its file."""
    return model if isinstance(model, Model) else read_model(model)


def observed_columns(model: Model) -> list[Column]:
    """Give the variables that data can show, as columns."""
    network = model.network
    return [
        Column(network.variables[i].name, network.variables[i].states) for i in network.observed
    ]


def observed_states(model: Model) -> dict[str, Sequence[Any]]:
    """Give the states of the variables that data can show, by name."""
    return {column.name: column.states for column in observed_columns(model)}


def check_scores(scores: str | Sequence[str], states: Sequence[int]) -> tuple[Score, ...]:
    """Give the scores; refuse those that cannot compare the candidates."""
    chosen = choose_scores(scores)
    if not chosen:
        raise OptionError("no score is named. Name some, or all.")
    if all(s.only_exact for s in chosen) and any(k > 1 for k in states):
        raise OptionError(f"{_names(chosen)} is {ONLY_EXACT}.")
    return chosen


def check_dimension(dimension: str) -> bool:
    """Whether d is the rank; refuse what is unknown."""
    if dimension not in DIMENSIONS:
        raise OptionError(
            f"dimension '{dimension}' is not known. Choose from {', '.join(DIMENSIONS)}."
        )
    return dimension == "rank"


def check_search(
    estimate: str = "map",
    alpha: float = PAPER_ALPHA,
    starts: int = DEFAULT_STARTS,
    schedule: str = "default",
    seed: int = 0,
    threads: int | None = None,
) -> Options:
    """Give the options of learning; refuse, before any work is done, what is out of range."""
    for value, kind, name in (
        (estimate, Estimate, "estimate"),
        (schedule, Schedule, "schedule"),
    ):
        allowed = [member.value for member in kind]
        if value not in allowed:
            raise OptionError(f"{name} '{value}' is not known. Choose from {', '.join(allowed)}.")
    check_alpha(alpha)
    check_threads(threads)
    return Options(Estimate(estimate), Schedule(schedule), starts, seed)


def fresh_names(new: Mapping[str, Any], taken: Sequence[str]) -> dict[str, Any]:
    """Rename new columns that stand in the data already: 'class' becomes 'class_2', and so on."""
    renamed = {}
    for name, values in new.items():
        free = name
        number = 2
        while free in taken:
            free, number = f"{name}_{number}", number + 1
        renamed[free] = values
    return renamed


def _whole_numbers(states: int | Iterable[int]) -> list[int]:
    given = [states] if isinstance(states, int) or not isinstance(states, Iterable) else states
    try:
        return [index(k) for k in given]
    except TypeError:
        raise OptionError(
            f"states {states!r} are not whole numbers. Give for example range(1, 9)."
        ) from None


def _generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(Options(seed=seed).seed)


def _names(scores: Sequence[Score]) -> str:
    return ", ".join(s.name for s in scores)
