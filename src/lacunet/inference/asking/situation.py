"""One case: a model, and all that is known of the case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lacunet.inference.asking.most_probable import most_probable
from lacunet.inference.asking.numbers import InUnits, expected_numbers, in_units
from lacunet.inference.asking.query import posterior
from lacunet.inference.asking.row_likelihood import row_log_lik
from lacunet.model.network import Model
from lacunet.model.surgery import intervened, shown, with_witnesses
from lacunet.runtime.arrays import CodeArray, FloatArray

NOTHING: Mapping[int, int] = {}


@dataclass(frozen=True, eq=False)
class Situation:
    """A model in which all that is known of a case is structure, and the row that it shows."""

    model: Model  # variables as in the model that is asked; witnesses behind them
    codes: CodeArray  # (1, observed variables), −1 = not seen

    @cached_property
    def log_probability(self) -> float:
        """Log p(what is known), of what was set from outside given; −inf if it is impossible."""
        return float(row_log_lik(self.model, self.codes)[0])

    def joint(self, variables: Sequence[int]) -> FloatArray:
        """p(variables | what is known): an axis each; zeros where that is impossible."""
        found: FloatArray = posterior(self.model, self.codes, [variables])[0][0]
        return found

    def number(self, variable: int) -> InUnits:
        """What is expected of a number, in the unit of the data, (1,) each."""
        (expected,) = expected_numbers(self.model, self.codes, [variable])
        return in_units(self.model.network.variables[variable], expected, np.array([-1]))

    def most_probable(self, variables: Sequence[int]) -> tuple[tuple[int, ...], float]:
        """Give their best joint state, and its log probability given what is known."""
        states, log_joint = most_probable(self.model, self.codes[0], variables)
        return states, log_joint - self.log_probability


def situation(
    model: Model,
    seen: Mapping[int, int],
    heard: Mapping[int, FloatArray],
    done: Mapping[int, int] = NOTHING,
) -> Situation:
    """Take in what was seen (states), heard (likelihoods of states) and done (states set).

    Each maps indices of variables; a variable is seen or done, not both.
    """
    known = {**seen, **done}
    if done:
        model = intervened(model, done)
    if heard:
        model = with_witnesses(model, heard)
    hidden = set(model.network.hidden)
    if hidden.intersection(known):
        model = shown(model, known)
    first_witness = len(model.network.variables) - len(heard)
    row = [0 if i >= first_witness else known.get(i, -1) for i in model.network.observed]
    return Situation(model, np.array([row], dtype=np.int32))
