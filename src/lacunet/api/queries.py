"""What questions to a model return, ready to be printed.

Questions to a network: posteriors, most probable states, interventions, independences.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

import numpy as np

from lacunet.api.inputs import as_network, asked_model, rows_for
from lacunet.api.known import NOTHING, Known, at_covariates, understand, with_numbers_of
from lacunet.api.options import ReadSettings, SettingsLike, divide, with_options
from lacunet.errors import DataError, OptionError
from lacunet.inference.queries.answers import expected_numbers, in_units
from lacunet.inference.queries.query import posterior
from lacunet.models.ensemble import ModelLike, NetworkLike
from lacunet.models.equivalence import d_separated as graph_separates
from lacunet.models.network import Model, Network, Variable
from lacunet.models.surgery import intervened, without_causes
from lacunet.runtime.arrays import CodeArray, FloatArray
from lacunet.runtime.states import alike
from lacunet.settings import DEFAULTS
from lacunet.tabular import (
    Columns,
    Grid,
    Printable,
    Shown,
    measured,
    number,
    probability,
    transposed,
)


@dataclass(frozen=True, eq=False, repr=False)
class Answer(Printable):
    """The joint distribution of some variables, given what is known of a case."""

    variables: tuple[Variable, ...]
    probabilities: FloatArray  # an axis for each of the variables
    known: Known
    log_known: float  # log p(what is known)

    def tidy(self) -> Columns:
        """Give a row for each joint state."""
        states = product(*(alike(v.states) for v in self.variables))
        cells = zip(states, self.probabilities.reshape(-1).tolist(), strict=True)
        names = (*(v.name for v in self.variables), "probability")
        return transposed(names, [(*own, p) for own, p in cells])

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
        names = tuple(v.name for v in self.variables)
        states = product(*(v.labels for v in self.variables))
        cells = zip(states, self.probabilities.reshape(-1), strict=True)
        rows = tuple((*labels, probability(p, exact=False)) for labels, p in cells)
        title = f"p({', '.join(names)}{self.known})"
        words = frozenset(range(len(names)))
        return [Grid(title, (*names, "p"), rows, words, _about(self.known, self.log_known))]


@dataclass(frozen=True, eq=False, repr=False)
class NumberAnswer(Printable):
    """What is expected of a number, given what is known of a case."""

    name: str
    mean: float  # of a logarithm, the geometric mean
    spread: float  # standard deviation, or the factor that is one of a logarithm
    titles: tuple[str, str]  # what these two are called
    known: Known
    log_known: float  # log p(what is known)

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
        row = (self.name, measured(self.mean), measured(self.spread))
        notes = _about(self.known, self.log_known)
        title = f"{self.name}{self.known}"
        return [Grid(title, ("number", *self.titles), (row,), notes=notes)]


@dataclass(frozen=True, eq=False, repr=False)
class MostProbable(Printable):
    """The most probable joint state of some variables, given what is known of a case."""

    states: Mapping[str, str]  # the label of each variable's state, by name
    log_probability: float  # log p(these states | what is known)
    known: Known
    log_known: float  # log p(what is known)

    @property
    def probability(self) -> float:
        """p(these states together | what is known)."""
        return math.exp(self.log_probability)

    def tidy(self) -> Columns:
        """Give a row for each variable."""
        return transposed(("variable", "state"), self.states.items())

    def brief(self) -> str:
        """Say the states."""
        return ", ".join(f"{name}={state}" for name, state in self.states.items())

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
        title = f"Most probable together{self.known}"
        notes = _about(self.known, self.log_known)
        rows = (*self.states.items(), ("p(all of these)", small(self.log_probability)))
        return [Grid(title, ("variable", "state"), rows, frozenset({0, 1}), notes)]


@dataclass(frozen=True, eq=False, repr=False)
class Separations(Printable):
    """Which pairs of variables the graph makes independent, whatever its parameters."""

    given: tuple[str, ...]
    do: tuple[str, ...]
    pairs: Mapping[tuple[str, str], bool]  # whether each pair is d-separated

    def tidy(self) -> Columns:
        """Give a row for each pair."""
        rows = [(*pair, apart) for pair, apart in self.pairs.items()]
        return transposed(("variable", "other", "separated"), rows)

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
        condition = [*self.given, *(f"do({name})" for name in self.do)]
        title = f"d-separated given {', '.join(condition)}" if condition else "d-separated"
        rows = tuple((*pair, "yes" if apart else "no") for pair, apart in self.pairs.items())
        notes = ("yes: independent, whatever the parameters are; no: with most parameters, not.",)
        return [Grid(title, ("variable", "and", "d-separated"), rows, frozenset({0, 1, 2}), notes)]


def _about(known: Known, log_known: float) -> tuple[str, ...]:
    """Say how probable it is that a case is so."""
    if not (known.seen or known.heard):
        return ()
    what = "what is given" if not known.heard else "what is given, likelihoods taken as they are"
    continuous = any(not known.network.variables[i].family.tabular for i in known.seen)
    return (f"{'density' if continuous else 'p'}({what}) = {small(log_known)}",)


def small(log_p: float) -> Shown:
    """Write a probability that may be very small, from its log.

    >>> small(math.log(0.25)), small(-1000.0)
    ('0.25', '10^-434.3')
    """
    if log_p > math.log(np.finfo(float).tiny):
        return Shown(f"{math.exp(log_p):.3g}", math.exp(log_p))
    return Shown(f"10^{number(log_p / math.log(10), 1)}", math.exp(log_p))


@with_options("missing", "plug_in")
def query(
    model: ModelLike,
    variables: str | Sequence[str],
    evidence: object = None,
    *,
    do: Mapping[str, Any] = NOTHING,
    settings: SettingsLike = DEFAULTS,
    **options: Any,
) -> FloatArray:
    """Give p(variables | evidence): their joint distribution, one axis each in the order given.

    A fitted model is asked of the posterior of its parameters; with `plug_in`, or if it was not
    fitted, at the parameters that it has. Where the evidence is impossible, the answer is NaN. A
    number is asked for by itself: the answer is its mean and its standard deviation (of a
    lognormal, geometric mean and factor).

    Parameters
    ----------
    model
        A model, or the path of its file.
    variables
        What to ask for.
    evidence
        What is known of one case: a mapping {name: state}, also of hidden variables. In place of a
        state, likelihoods of the states, {state: weight} or one for each state, are soft evidence.
        Covariates that predict a class: all of them or none (then for the rows of the fit).
        Or a table with one row for each question: then the first axis of the answer is the rows,
        and columns that it lacks are not observed.
    do
        Variables that are set from outside, {name: state}: their parents have no say.
    settings, **options
        `plug_in`: take the estimate itself, without its posterior; `missing`: markers of a missing
        cell.

    Examples
    --------
    >>> import lacunet
    >>> model = lacunet.random_model(2, 3, seed=1)
    >>> lacunet.query(model, "class", {"x1": 0, "x2": 1}).round(3).tolist()
    [0.661, 0.339]
    >>> lacunet.query(model, "class", {"x1": [0.9, 0.1], "x2": 1}).round(3).tolist()  # rather 0
    [0.558, 0.442]
    """
    settings, reading = divide(settings, options)
    one = evidence is None or isinstance(evidence, Mapping)
    case = evidence if isinstance(evidence, Mapping) else NOTHING
    given, case, _ = at_covariates(asked_model(model, settings), case)
    given, case = with_numbers_of(given, case, do)
    group = _indices(given.network, variables)
    number = _number_asked(given.network, group)
    if one:
        situation = understand(given.network, case, do).of(given)
        given, codes = situation.model, situation.codes
    else:
        done = understand(given.network, do=do).done
        given, codes = _rows(evidence, given, reading)
        given = intervened(given, done) if done else given
    if number is not None:
        return _expected(given, codes, number, one=one)
    (answer,) = posterior(given, codes, [group])
    answer[answer.reshape(len(answer), -1).sum(axis=1) == 0] = np.nan
    return np.asarray(answer[0] if one else answer)


@with_options("plug_in")
def answer(
    model: ModelLike,
    variables: str | Sequence[str],
    evidence: Mapping[str, Any] = NOTHING,
    *,
    do: Mapping[str, Any] = NOTHING,
    settings: SettingsLike = DEFAULTS,
    **options: Any,
) -> Answer | NumberAnswer:
    """Give p(variables | evidence) of one case as a table to print; see `query`."""
    settings, _ = divide(settings, options)
    given, evidence, covariates = at_covariates(asked_model(model, settings), evidence)
    given, evidence = with_numbers_of(given, evidence, do)
    group, known = _indices(given.network, variables), understand(given.network, evidence, do)
    known = replace(known, covariates=covariates)
    known.check_apart(group)
    case = known.of(given)
    _check_possible(known, case.log_probability)
    if (number := _number_asked(given.network, group)) is not None:
        told, name = case.number(number), given.network.variables[number].name
        mean, spread = float(told.mean[0]), float(told.spread[0])
        return NumberAnswer(name, mean, spread, told.titles, known, case.log_probability)
    joint = case.joint(group)
    asked = tuple(given.network.variables[v] for v in group)
    return Answer(asked, joint, known, case.log_probability)


@with_options("plug_in")
def most_probable(
    model: ModelLike,
    variables: str | Sequence[str] | None = None,
    evidence: Mapping[str, Any] = NOTHING,
    *,
    do: Mapping[str, Any] = NOTHING,
    settings: SettingsLike = DEFAULTS,
    **options: Any,
) -> MostProbable:
    """Find the states that are most probable together, and how probable they are: exact.

    Of all variables that are not known (the most probable explanation, MPE), or of some of them,
    summed over the others (MAP). The states that are most probable one by one may be others.
    Numbers have no states: they may be given, but not asked for.

    Parameters
    ----------
    model
        A model, or the path of its file.
    variables
        What to ask for (default: all that is not known).
    evidence, do
        What is known of the case, and what is set from outside: as for `query`.
    settings, **options
        `plug_in`: take the estimate itself, without its posterior.

    Examples
    --------
    >>> import lacunet
    >>> model = lacunet.random_model(2, 3, seed=1)
    >>> found = lacunet.most_probable(model, evidence={"x1": 0})
    >>> found.states, round(found.probability, 3)
    ({'class': '1', 'x2': '0', 'x3': '1'}, 0.555)
    """
    settings, _ = divide(settings, options)
    given, evidence, covariates = at_covariates(asked_model(model, settings), evidence)
    given, evidence = with_numbers_of(given, evidence, do)
    network, known = given.network, understand(given.network, evidence, do)
    known = replace(known, covariates=covariates)
    if variables is None:
        numbers = [i for i, v in enumerate(network.variables) if not v.family.tabular]
        settled = {*known.seen, *known.done, *numbers}
        group = [v for v in network.shown if v not in settled]
        if not group:
            raise OptionError("every variable is given: nothing is left to ask for. Leave one out.")
    else:
        group = _indices(network, variables)
        known.check_apart(group)
        if any(not network.variables[v].family.tabular for v in group):
            raise OptionError("numbers have no states, of which one is most probable. Ask --of.")
    case = known.of(given)
    _check_possible(known, case.log_probability)
    codes, log_p = case.most_probable(group)
    asked = [network.variables[v] for v in group]
    states = {v.name: v.labels[k] for v, k in zip(asked, codes, strict=True)}
    return MostProbable(states, log_p, known, case.log_probability)


def d_separated(
    network: NetworkLike,
    a: str | Sequence[str],
    b: str | Sequence[str],
    given: str | Sequence[str] = (),
    *,
    do: str | Sequence[str] = (),
) -> bool:
    """Say whether the graph makes two sets of variables independent, whatever its parameters are.

    Parameters
    ----------
    network
        A network or model, or the path of its file.
    a, b
        Variables.
    given
        Variables that are known.
    do
        Variables that are set from outside: the edges into them are cut, and they are known.

    Examples
    --------
    >>> import lacunet
    >>> model = lacunet.random_model(2, 3)  # a latent class model: class → x1, x2, x3
    >>> lacunet.d_separated(model, "x1", "x2"), lacunet.d_separated(model, "x1", "x2", "class")
    (False, True)
    """
    graph = as_network(network)
    sets = [_indices(graph, a), _indices(graph, b)]
    sets += [_indices(graph, names) if names else [] for names in (given, do)]
    everything = [v for found in sets for v in found]
    for v in everything:
        if everything.count(v) > 1:
            name = graph.variables[v].name
            raise OptionError(f"'{name}' stands in two places. Each variable may stand in one.")
    left, right, seen, done = sets
    return graph_separates(without_causes(graph, done), left, right, [*seen, *done])


def separations(
    network: NetworkLike, variables: Sequence[str], given: Sequence[str], do: Sequence[str]
) -> Separations:
    """Say of each pair of some variables whether the graph makes it independent."""
    graph = as_network(network)
    if len(_indices(graph, variables)) < 2:
        raise OptionError("name two or more variables, to be separated from each other.")
    pairs = combinations(variables, 2)
    found = {pair: d_separated(graph, *pair, given, do=do) for pair in pairs}
    return Separations(tuple(given), tuple(do), found)


def _rows(evidence: object, given: Model, reading: ReadSettings) -> tuple[Model, CodeArray]:
    """Read rows to be asked about; the model knows their numbers."""
    speaker, codes = rows_for(evidence, given, reading)
    assert isinstance(speaker, Model)
    return speaker, codes


def _number_asked(network: Network, group: Sequence[int]) -> int | None:
    """Give the number that is asked for, if it is one; refuse it beside others."""
    numbers = [v for v in group if not network.variables[v].family.tabular]
    if numbers and len(group) > 1:
        name = network.variables[numbers[0]].name
        raise OptionError(f"'{name}' is a number. Ask for it by itself.")
    return numbers[0] if numbers else None


def _expected(model: Model, codes: CodeArray, number: int, *, one: bool) -> FloatArray:
    """Mean and spread of a number in each row, (rows, 2); what a row shows, it has."""
    (expected,) = expected_numbers(model, codes, [number])
    own = codes[:, model.network.observed.index(number)]
    told = in_units(model.network.variables[number], expected, own)
    both = np.stack([told.mean, told.spread], axis=1)
    return both[0] if one else both


def _indices(network: Network, names: str | Sequence[str]) -> list[int]:
    """Find variables by name: one or more different ones."""
    told = _listed(names)
    if not all(isinstance(name, str) for name in told):
        raise OptionError(f"variables are asked for by their names, not by {names!r}.")
    found = [network.index(name) for name in told]
    if not found or len(set(found)) < len(found):
        raise OptionError("name one or more different variables to ask for.")
    return found


def _listed(names: Any) -> list[Any]:
    several = isinstance(names, Iterable) and not isinstance(names, str)
    return list(names) if several else [names]


def _check_possible(known: Known, log_probability: float) -> None:
    if log_probability == -np.inf:
        condition = str(known).removeprefix(" | ")
        raise DataError(
            f"what is given cannot be: {condition} has probability 0 under this model. Leave out "
            "what contradicts the rest, or fit the model with a prior that allows it."
        )
