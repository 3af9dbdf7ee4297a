"""Answers to queries of a model: probabilities, most probable states, and d-separation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

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
    described,
    measured,
    number,
    probability,
    transposed,
)


@dataclass(frozen=True, eq=False, repr=False)
class Answer(Printable):
    """The joint distribution of some variables, given the evidence of a case."""

    variables: tuple[Variable, ...]
    probabilities: FloatArray  # an axis for each of the variables
    known: Known
    log_known: float  # log p(evidence)

    def tidy(self) -> Columns:
        states = product(*(alike(v.states) for v in self.variables))
        cells = zip(states, self.probabilities.reshape(-1).tolist(), strict=True)
        names = (*(v.name for v in self.variables), "probability")
        return transposed(names, [(*labels, p) for labels, p in cells])

    def to_dict(self) -> dict[str, Any]:
        """Give the document of `--json`; probabilities are nested in the order of `of`."""
        return {
            "of": [v.name for v in self.variables],
            **self.known.to_dict(),
            "log_probability_of_given": self.log_known,
            "states": {v.name: list(v.labels) for v in self.variables},
            "probabilities": self.probabilities.tolist(),
        }

    def grids(self) -> Sequence[Grid]:
        names = tuple(v.name for v in self.variables)
        states = product(*(v.labels for v in self.variables))
        cells = zip(states, self.probabilities.reshape(-1), strict=True)
        rows = tuple((*labels, probability(p, exact=False)) for labels, p in cells)
        title = f"p({', '.join(names)}{self.known})"
        words = frozenset(range(len(names)))
        return [Grid(title, (*names, "p"), rows, words, _about(self.known, self.log_known))]


@dataclass(frozen=True, eq=False, repr=False)
class NumberAnswer(Printable):
    """Mean and spread of a number, given the evidence of a case."""

    name: str
    mean: float  # for a lognormal, the geometric mean
    spread: float  # standard deviation; for a lognormal, its factor
    titles: tuple[str, str]  # of these two
    known: Known
    log_known: float  # log p(evidence)

    def to_dict(self) -> dict[str, Any]:
        given = {**self.known.to_dict(), "log_probability_of_given": self.log_known}
        moments = dict(zip(self.titles, (self.mean, self.spread), strict=True))
        return {"of": [self.name], **given, **moments}

    def grids(self) -> Sequence[Grid]:
        row = (self.name, measured(self.mean), measured(self.spread))
        notes = _about(self.known, self.log_known)
        title = f"{self.name}{self.known}"
        return [Grid(title, ("number", *self.titles), (row,), notes=notes)]


@dataclass(frozen=True, eq=False, repr=False)
class MostProbable(Printable):
    """The most probable joint state of some variables, given the evidence of a case."""

    states: Mapping[str, str]  # the label of each variable's state, by name
    log_probability: float  # log p(these states | evidence)
    known: Known
    log_known: float  # log p(evidence)

    @property
    def probability(self) -> float:
        """p(these states together | evidence)."""
        return math.exp(self.log_probability)

    def tidy(self) -> Columns:
        return transposed(("variable", "state"), self.states.items())

    def to_dict(self) -> dict[str, Any]:
        keys = "log_probability_of_given=log_known most_probable=states probability log_probability"
        return {"of": list(self.states), **self.known.to_dict(), **described(self, keys)}

    def brief(self) -> str:
        """List the states."""
        return ", ".join(f"{name}={state}" for name, state in self.states.items())

    def grids(self) -> Sequence[Grid]:
        title = f"Most probable together{self.known}"
        notes = _about(self.known, self.log_known)
        rows = (*self.states.items(), ("p(all of these)", small(self.log_probability)))
        return [Grid(title, ("variable", "state"), rows, frozenset({0, 1}), notes)]


@dataclass(frozen=True, eq=False, repr=False)
class Separations(Printable):
    """Pairs of variables, and whether the graph d-separates them."""

    given: tuple[str, ...]
    do: tuple[str, ...]
    pairs: Mapping[tuple[str, str], bool]  # whether each pair is d-separated

    def tidy(self) -> Columns:
        rows = [(*pair, apart) for pair, apart in self.pairs.items()]
        return transposed(("variable", "other", "separated"), rows)

    def to_dict(self) -> dict[str, Any]:
        pairs = [{"variables": list(two), "d_separated": x} for two, x in self.pairs.items()]
        return described(self, "given do", pairs=pairs)

    def grids(self) -> Sequence[Grid]:
        condition = [*self.given, *(f"do({name})" for name in self.do)]
        title = f"d-separated given {', '.join(condition)}" if condition else "d-separated"
        rows = tuple((*pair, "yes" if apart else "no") for pair, apart in self.pairs.items())
        notes = ("yes: independent for all parameters; no: dependent for almost all parameters.",)
        return [Grid(title, ("variable", "and", "d-separated"), rows, frozenset({0, 1, 2}), notes)]


def _about(known: Known, log_known: float) -> tuple[str, ...]:
    """Write the probability of the evidence."""
    if not (known.seen or known.heard):
        return ()
    what = "what is given" if not known.heard else "what is given, likelihoods taken as they are"
    continuous = any(not known.network.variables[i].family.tabular for i in known.seen)
    return (f"{'density' if continuous else 'p'}({what}) = {small(log_known)}",)


def small(log_p: float) -> Shown:
    """Write a probability, perhaps below the range of floats, from its log.

    >>> small(math.log(0.25)), small(-1000.0)
    ('0.25', '10^-434.3')
    """
    if log_p > math.log(np.finfo(float).tiny):
        return Shown(f"{math.exp(log_p):.3g}", math.exp(log_p))
    return Shown(f"10^{number(log_p / math.log(10), 1)}", math.exp(log_p))
