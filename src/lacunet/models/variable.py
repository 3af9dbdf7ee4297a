"""One node of a network: its name, its states or numbers, and what its values mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from lacunet.errors import DataError, did_you_mean
from lacunet.likelihoods import CATEGORICAL, Likelihood
from lacunet.likelihoods.unit import Unit
from lacunet.models.known import KnownTable
from lacunet.runtime.arrays import CodeArray, FloatArray
from lacunet.runtime.states import NOWHERE, Bins, Numbers, State, label


@dataclass(frozen=True)
class Variable:
    """One node."""

    name: str
    states: Sequence[State]  # or the values that occur, of a family that is not categorical
    hidden: bool = False  # never seen in any data
    family: Likelihood = CATEGORICAL  # what its values say about its parameters
    known: KnownTable | None = None  # numbers of its table that are not learned
    tied_to: str | None = None  # the variable whose table it shares
    unit: Unit | None = None  # what its values are measured in; None: its family takes its states
    prior: tuple[float, ...] = ()  # hyperparameters of a configuration; (): exponents α
    bins: Bins | None = None  # of numbers that its states stand for, if they are bins
    place: int = field(default=NOWHERE, compare=False)  # where people see it among the others
    title: str = field(default="", compare=False)  # what it is about, in words, if that is known

    @property
    def heading(self) -> str:
        """What pictures and pages call it."""
        return self.title or self.name

    @property
    def values(self) -> Sequence[State]:
        """What its family sees of its states."""
        return self.states if self.unit is None else self.unit.numbers(self.states)

    @cached_property
    def statistics(self) -> FloatArray:
        """T(x) of each state, (states, width)."""
        return self.family.statistics(self.values)

    def statistics_of(self, codes: CodeArray) -> FloatArray:
        """T(x) of some states, (codes, width)."""
        return self.family.statistics(self.values_of(codes))

    def values_of(self, codes: CodeArray) -> Any:
        """What its family sees of some states, (codes,)."""
        return np.asarray(self.values)[codes]

    @property
    def log_base(self) -> FloatArray:
        """Log of what of each state's density no parameter moves, (states,)."""
        slope = 0.0 if self.unit is None else self.unit.log_slope(self.states)
        return self.family.log_base(self.values) + slope

    def summary(self, theta: FloatArray) -> dict[str, FloatArray]:
        """What a person reads of parameters, (configurations, width), in the unit of the data."""
        return self.family.summary(theta, self.unit or Unit())

    def deviations(self, theta: FloatArray) -> FloatArray:
        """Standard deviations in the unit of the data, or of its logarithm, (configurations,)."""
        return (self.unit or Unit()).size * self.family.deviations(theta)

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest number that it can be."""
        low, high = (self.unit or Unit()).values(np.array(self.family.ends))
        return float(low), float(high)

    @cached_property
    def smallest_gap(self) -> float:
        """The least difference of two values that occur, in the same unit; 0 of categories."""
        if self.unit is None:
            return 0.0
        return float(np.diff(self.values).min(initial=np.inf)) * self.unit.size

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Texts of the states."""
        return tuple(label(s) for s in self.states)

    @property
    def to_fill(self) -> Sequence[State]:
        """What stands in a cell for each state: itself, or a number of its bin."""
        return self.states if self.bins is None else Numbers(np.array(self.bins.typical))[:]

    def code(self, state: State) -> int:
        """Find a state by its text, and give its number, from 0."""
        text, labels = label(state), self.labels
        if self.bins is not None and text not in labels and (code := self.bins.find(text)) >= 0:
            return code
        if text not in labels:
            raise DataError(
                f"'{self.name}': '{text}' is not one of its states.{did_you_mean(text, labels)} "
                f"They are {', '.join(labels)}."
            )
        return labels.index(text)
