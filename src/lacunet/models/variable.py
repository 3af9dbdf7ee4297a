"""One node of a network: its name, states or numbers, and likelihood."""

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
    """One node of a network."""

    name: str
    states: Sequence[State]  # of a number, the values that occur
    hidden: bool = False  # never seen in any data
    family: Likelihood = CATEGORICAL  # the likelihood
    known: KnownTable | None = None  # numbers of its table that are not learned
    tied_to: str | None = None  # the variable whose table it shares
    unit: Unit | None = None  # standardisation of its values; None: not standardised
    prior: tuple[float, ...] = ()  # hyperparameters of a configuration; (): exponents α
    bins: Bins | None = None  # of numbers, if its states are bins
    place: int = field(default=NOWHERE, compare=False)  # display position among the variables
    title: str = field(default="", compare=False)  # description, if known

    @property
    def heading(self) -> str:
        """The display name: title, or name."""
        return self.title or self.name

    @property
    def values(self) -> Sequence[State]:
        """Standardised states, the input of the likelihood."""
        return self.states if self.unit is None else self.unit.numbers(self.states)

    @cached_property
    def statistics(self) -> FloatArray:
        """T(x) of each state, (states, width)."""
        return self.family.statistics(self.values)

    def statistics_of(self, codes: CodeArray) -> FloatArray:
        """T(x) of some states, (codes, width)."""
        return self.family.statistics(self.values_of(codes))

    def values_of(self, codes: CodeArray) -> Any:
        """Standardised values of some states, (codes,)."""
        return np.asarray(self.values)[codes]

    @property
    def log_base(self) -> FloatArray:
        """Log h(x) and log Jacobian of each state, (states,)."""
        slope = 0.0 if self.unit is None else self.unit.log_slope(self.states)
        return self.family.log_base(self.values) + slope

    def summary(self, theta: FloatArray) -> dict[str, FloatArray]:
        """Parameters to display, (configurations, width), in the unit of the data."""
        return self.family.summary(theta, self.unit or Unit())

    def deviations(self, theta: FloatArray) -> FloatArray:
        """Standard deviations in the unit of the data, or of its logarithm, (configurations,)."""
        return (self.unit or Unit()).size * self.family.deviations(theta)

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest possible number."""
        low, high = (self.unit or Unit()).values(np.array(self.family.ends))
        return float(low), float(high)

    @cached_property
    def smallest_gap(self) -> float:
        """Smallest difference of two observed values, in the unit of the data; 0 for categories."""
        if self.unit is None:
            return 0.0
        return float(np.diff(self.values).min(initial=np.inf)) * self.unit.size

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Labels of the states."""
        return tuple(label(s) for s in self.states)

    @property
    def to_fill(self) -> Sequence[State]:
        """The cell value of each state: itself, or the typical number of its bin."""
        return self.states if self.bins is None else Numbers(np.array(self.bins.typical))[:]

    def code(self, state: State) -> int:
        """The index of a state, found by its label."""
        text, labels = label(state), self.labels
        if self.bins is not None and text not in labels and (code := self.bins.find(text)) >= 0:
            return code
        if text not in labels:
            raise DataError(
                f"'{self.name}': '{text}' is not one of its states.{did_you_mean(text, labels)} "
                f"They are {', '.join(labels)}."
            )
        return labels.index(text)
