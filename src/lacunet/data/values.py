"""From codes back to the values that a person works with."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from lacunet.runtime.arrays import CodeArray
from lacunet.runtime.states import State

Values: TypeAlias = NDArray[Any]


def as_array(states: Sequence[Sequence[State]], codes: CodeArray) -> Values:
    """Give the values of coded cells without holes: numbers if all columns have them, or objects.

    >>> as_array([("no", "yes"), (1, 2)], np.array([[1, 0]])).tolist()
    [['yes', 1]]
    >>> as_array([(0.5, 2.5), (1, 2)], np.array([[1, 0]]))
    array([[2.5, 1. ]])
    """
    columns = [as_values(s)[codes[:, j]] for j, s in enumerate(states)]
    if any(column.dtype == object for column in columns):
        columns = [column.astype(object) for column in columns]
    return np.column_stack(columns)


def as_values(states: Sequence[State]) -> Values:
    """Keep numbers and truth values as they are; texts stay Python's."""
    numbers = not any(isinstance(state, str) for state in states)
    return np.array(states, dtype=None if numbers else object)
