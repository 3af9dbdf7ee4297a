"""States of a variable: their texts, bins of numbers, and the natural order of names."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

from lacunet.errors import OptionError

State: TypeAlias = str | int | float | bool

EXACT = 2.0**53  # up to it floats hold every whole number; above, all of them are whole
WHOLE = 1e15  # above this a float is written with its exponent, not as a row of digits


def label(state: State) -> str:
    """Write a state as canonical text, equal for equal values of different types.

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
    """Give the states of a dataframe column one type: mixed types become texts.

    >>> alike((0, 1)), alike((0, 1, "(missing)"))
    ((0, 1), ('0', '1', '(missing)'))
    """
    return tuple(states) if len({*map(type, states)}) < 2 else tuple(map(label, states))


@dataclass(frozen=True, eq=False, repr=False)
class Numbers(Sequence[State]):
    """Distinct numbers as states: a tuple of numbers in an eighth of its memory.

    >>> Numbers(np.array([1.0, 2.0, 5.0])) == (1, 2, 5), Numbers(np.array([0.5, 2.0]))[0]
    (True, 0.5)
    """

    array: NDArray[np.float64]  # (values,) sorted, if they are the states of a variable

    @cached_property
    def whole(self) -> bool:
        """Whether all are integers up to 2⁵³, beyond which every float is whole."""
        return bool(((np.abs(self.array) <= EXACT) & (self.array == np.floor(self.array))).all())

    @overload
    def __getitem__(self, at: int) -> State: ...
    @overload
    def __getitem__(self, at: slice) -> tuple[State, ...]: ...
    def __getitem__(self, at: int | slice) -> State | tuple[State, ...]:
        """Give Python numbers: integers, if all are whole."""
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
        return hash(self[:2]) ^ len(self)  # differs from the hash of an equal tuple

    def __repr__(self) -> str:
        return repr(self[:])


Floats: TypeAlias = NDArray[np.float64]
BinSpec: TypeAlias = "int | tuple[float, ...] | Bins"  # number of bins, edges, or bins of a model
BinLike: TypeAlias = int | str | Mapping[str, int | Sequence[float]] | None

USUAL_BINS = 5  # default number
MOST_BINS = 1_000
DASH = " – "


@dataclass(frozen=True)
class Bins:
    """Edges of bins. A number at an edge is in the bin above; the outer bins are unbounded."""

    edges: tuple[float, ...]  # (bins + 1,) rising; the last two may be equal: a bin of one number
    typical: tuple[float, ...]  # (bins,) imputed value of each bin: the median of its numbers

    def __post_init__(self) -> None:
        steps = np.diff(self.edges)
        rising = (steps[:-1] > 0).all() and (steps >= 0).all()
        if len(self.edges) < 3 or not rising or not np.isfinite(self.edges).all():
            raise OptionError(
                f"bins have the edges {', '.join(map(label, self.edges))}. Give at least three "
                "finite numbers, each above the one before."
            )
        if len(self.typical) != len(self.edges) - 1 or not np.isfinite(self.typical).all():
            raise OptionError("bins have a typical number each. Give as many as there are bins.")

    def codes(self, numbers: Floats) -> NDArray[np.int64]:
        """Give the bin of each number.

        >>> Bins((0.0, 10.0, 20.0, 30.0), (5.0, 15.0, 25.0)).codes(np.array([-5.0, 10.0, 99.0]))
        array([0, 1, 2])
        """
        return np.searchsorted(self.edges[1:-1], numbers, side="right").astype(np.int64)

    def find(self, text: str) -> int:
        """Give the bin of a number in text form; −1 if it is not a finite number."""
        try:
            number = float(text)
        except ValueError:
            return -1
        return int(self.codes(np.array([number]))[0]) if np.isfinite(number) else -1


def bin_numbers(numbers: Floats, cases: Floats, bin_spec: int | tuple[float, ...]) -> Bins | None:
    """Cut numbers into bins of about as many cases each, or at given edges.

    `numbers` (values,) are distinct and sorted, and `cases` (values,) are their counts. None if
    there is only one number.
    """
    if len(numbers) < 2:
        return None
    if isinstance(bin_spec, tuple):
        edges = bin_spec
    else:
        inner = quantiles(numbers, cases, np.arange(1, bin_spec) / bin_spec)
        # Equal numbers, and gaps between them, leave fewer bins: none is empty.
        inner = np.unique(inner[inner > numbers[0]])
        inner = inner[np.unique(np.searchsorted(inner, numbers, side="right"))[1:] - 1]
        inner = inner if len(inner) else numbers[1:2]
        edges = (float(numbers[0]), *inner.tolist(), float(numbers[-1]))
    typical = [(low + high) / 2 for low, high in pairwise(edges)]
    places = Bins(edges, tuple(typical)).codes(numbers)
    for k in range(len(typical)):
        # The lower median is a number that occurs, so whole numbers stay whole.
        upto = np.cumsum(cases[places == k])
        if len(upto) and upto[-1] > 0:
            median = int(np.searchsorted(upto, upto[-1] / 2))
            typical[k] = float(numbers[places == k][median])
    return Bins(edges, tuple(typical))


def quantiles(numbers: Floats, cases: Floats, shares: Floats) -> Floats:
    """Quantiles of numbers with counts, by linear interpolation.

    >>> quantiles(np.array([1.0, 2.0, 9.0]), np.array([3.0, 1.0, 1.0]), np.array([0.5, 0.75, 0.9]))
    array([1. , 2. , 6.2])
    """
    upto = np.cumsum(cases)
    at = shares * max(upto[-1] - 1.0, 0.0)  # places among the cases in their order, from 0
    whole = np.floor(at)
    low, high = (np.searchsorted(upto, place, side="right") for place in (whole, whole + 1.0))
    last = len(numbers) - 1
    low, high = np.minimum(low, last), np.minimum(high, last)
    interpolated: Floats = numbers[low] + (at - whole) * (numbers[high] - numbers[low])
    return interpolated


def bin_labels(edges: Sequence[float], *, exact: bool) -> tuple[str, ...]:
    """Name bins by their edges; computed edges get just enough digits to differ.

    >>> bin_labels((18.0, 25.26, 40.6666, 80.0), exact=False)
    ('18 – 25.3', '25.3 – 40.7', '40.7 – 80')
    >>> bin_labels((0.0, 0.125, 1e6), exact=True)
    ('0 – 0.125', '0.125 – 1000000')
    """
    steps = np.diff(edges)
    digits = 1 - int(np.floor(np.log10(steps[steps > 0].min())))
    texts = [label(x if exact else round(x, max(digits, 0))) for x in edges]
    return tuple(lo if lo == hi else f"{lo}{DASH}{hi}" for lo, hi in pairwise(texts))


@dataclass(frozen=True)
class Binning:
    """Declared bins."""

    named: Mapping[str, BinSpec]  # by column
    every: int = 0  # bins of all other columns of numbers; 0: they stay numbers


def understand_bins(bins: BinLike) -> Binning:
    """Parse bins: a number or edges by column, or one number for all columns.

    >>> understand_bins("age=5,income=0:1000:5000").named
    {'age': 5, 'income': (0.0, 1000.0, 5000.0)}
    >>> understand_bins(4).every
    4
    """
    pairs: list[tuple[str | None, object]] = []  # no name: all columns
    if isinstance(bins, Mapping):
        pairs = [(str(name), given) for name, given in bins.items()]
    elif isinstance(bins, str):
        for part in filter(None, (p.strip() for p in bins.split(","))):
            name, _, given = part.rpartition("=")
            pairs.append((name.strip() or None, _numbers(given.strip())))
    elif isinstance(bins, int | np.integer) and not isinstance(bins, bool):
        pairs = [(None, bins)]
    elif bins is not None:
        raise OptionError(
            f"--bin: {bins!r} is not understood. Give a number of bins for all columns of numbers, "
            "or a mapping of columns to a number of bins or a list of edges."
        )
    named, every = dict[str, BinSpec](), 0
    for column, what in pairs:
        bin_spec = _bin_spec(column or "all columns", what)
        if column is not None:
            named[column] = bin_spec
        elif isinstance(bin_spec, int):
            every = bin_spec
        else:
            raise OptionError("--bin: edges are those of one column. Give NAME=EDGE:EDGE:EDGE.")
    return Binning(named, every)


def _numbers(text: str) -> int | list[float]:
    """Parse a number of bins, or edges."""
    try:
        numbers = [float(x) for x in text.split(":")]
    except ValueError:
        raise OptionError(
            f"--bin: '{text}' is not understood. Give NAME=NUMBER, NAME=EDGE:EDGE:EDGE, or a "
            "number for all columns of numbers."
        ) from None
    return int(numbers[0]) if len(numbers) == 1 and numbers[0].is_integer() else numbers


def _bin_spec(name: str, given: object) -> BinSpec:
    if isinstance(given, Bins):
        return given
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        if not 2 <= given <= MOST_BINS:
            raise OptionError(f"--bin: {name}: {given} bins. Give 2 to {MOST_BINS:,}.")
        return int(given)
    try:
        edges = tuple(float(x) for x in given)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        edges = ()
    rising = len(edges) >= 3 and (np.diff(edges) > 0).all() and np.isfinite(edges).all()
    if not rising or len(edges) > MOST_BINS:
        raise OptionError(
            f"--bin: column '{name}': {given!r} are not edges. Give a number of bins, or at least "
            "three finite edges, each above the one before."
        )
    return edges


DIGITS = re.compile("([0-9]+)")
NOWHERE = -1  # without a place: first


def by_name(names: Sequence[str]) -> list[int]:
    """Give the indices that sort names in natural order.

    >>> by_name(["x10", "y", "x2"])
    [2, 0, 1]
    """
    return sorted(range(len(names)), key=lambda i: (natural_key(names[i]), names[i]))


def natural_key(text: str) -> list[tuple[int, str]]:
    """Key that sorts "q2" before "q10": texts and numbers of any length in turn."""
    parts = DIGITS.split(text)
    parts[1::2] = [digits.lstrip("0") for digits in parts[1::2]]
    return [(len(part) if k % 2 else 0, part) for k, part in enumerate(parts)]


def places_or_range(places: Sequence[int]) -> Sequence[int]:
    """Give the places, or 0, 1, … if no place is set."""
    return range(len(places)) if all(place == NOWHERE for place in places) else places


def as_shown(places: Sequence[int]) -> tuple[int, ...]:
    """Give the indices that sort by place, for output."""
    return tuple(sorted(range(len(places)), key=places.__getitem__))
