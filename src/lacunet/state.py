"""What a state of a variable may be, and its one text."""

from typing import TypeAlias

import numpy as np

State: TypeAlias = str | int | float | bool

WHOLE = 1e15  # above this a float is written with its exponent, not as a row of digits


def label(state: State) -> str:
    """Write a state as canonical text, the same for every type that means the same.

    >>> [label(s) for s in (True, 1, 1.0, 2.5, "a")]
    ['true', '1', '1', '2.5', 'a']
    """
    if isinstance(state, str):
        return str(state)
    if isinstance(state, bool | np.bool_):
        return "true" if state else "false"
    if isinstance(state, int | np.integer):
        return str(int(state))
    number = float(state)
    return str(int(number)) if number.is_integer() and abs(number) < WHOLE else repr(number)
