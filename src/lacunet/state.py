"""What a state of a variable may be, and its one text."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

State: TypeAlias = str | int | float | bool

EXACT = 2.0**53  # up to it floats hold every whole number; above, all of them are whole
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


def alike(states: Sequence[State]) -> tuple[State, ...]:
    """Give states for one column of a dataframe: their texts, where they are of several types.

    >>> alike((0, 1)), alike((0, 1, "(missing)"))
    ((0, 1), ('0', '1', '(missing)'))
    """
    return tuple(states) if len({*map(type, states)}) < 2 else tuple(map(label, states))


@dataclass(frozen=True, eq=False, repr=False)
class Numbers(Sequence[State]):
    """Different numbers, as states: like a tuple of them, in an eighth of its memory.

    >>> Numbers(np.array([1.0, 2.0, 5.0])) == (1, 2, 5), Numbers(np.array([0.5, 2.0]))[0]
    (True, 0.5)
    """

    array: NDArray[np.float64]  # (values,) of a variable: rising

    @cached_property
    def whole(self) -> bool:
        """Whether they are integers, all of them; beyond 2⁵³ that says nothing of a float."""
        return bool(((np.abs(self.array) <= EXACT) & (self.array == np.floor(self.array))).all())

    @overload
    def __getitem__(self, at: int) -> State: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[State, ...]: ...
    def __getitem__(self, at: int | slice) -> State | tuple[State, ...]:
        """Give Python's own numbers: integers, if all of them are."""
        kind = int if self.whole else float
        if isinstance(at, slice):
            return tuple(map(kind, self.array[at].tolist()))
        return kind(self.array[at])

    def __iter__(self) -> Iterator[State]:
        return iter(self[:])

    def __len__(self) -> int:
        return len(self.array)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.array, dtype=dtype) if copy else np.asarray(self.array, dtype=dtype)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Numbers):
            return self is other or np.array_equal(self.array, other.array)
        return isinstance(other, Sequence) and self[:] == tuple(other)

    def __hash__(self) -> int:
        return hash(self[:2]) ^ len(self)  # equal to no tuple of the same: nothing mixes the two

    def __repr__(self) -> str:
        return repr(self[:])
