"""What questions to a model return, ready to be printed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from lacunet.api.known import Known
from lacunet.models.network import Variable
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.states import alike
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
