"""Results as tidy columns and dataframes; numbers as tables show them, with all their digits."""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Literal, Self, TypeAlias, cast, get_args

from lacunet.errors import OptionError

Columns: TypeAlias = Mapping[str, Sequence[Any]]

Backend: TypeAlias = Literal["polars", "pandas", "pyarrow"]

POLARS = "polars"  # what is there in any case
LIBRARIES: tuple[str, ...] = get_args(Backend)
LONGEST = 160  # characters of a `repr`: two lines


class Framed:
    """A result with one tidy table; `repr` says in a line what it is."""

    def brief(self) -> str:
        """Say in a few words what it is."""
        raise NotImplementedError

    def tidy(self) -> Columns:
        """Give the columns of its table: a row for each thing that was found."""
        raise NotImplementedError

    def usual_library(self) -> str:
        """Name the library of dataframes that `to_frame` gives without a `library`."""
        return POLARS

    def to_dict(self) -> dict[str, list[Any]]:
        """Give the same columns as lists of Python's own values."""
        return {name: [_plain(x) for x in values] for name, values in self.tidy().items()}

    def to_frame(self, library: str | None = None) -> Any:
        """Give a tidy dataframe: numbers with all their digits, classes numbered from 1.

        Parameters
        ----------
        library
            'polars', 'pandas' or 'pyarrow'. Without it: that of the rows that were asked about, or
            Polars.
        """
        return frame_of(self.tidy(), library or self.usual_library())

    def __repr__(self) -> str:
        line = " ".join(f"<{type(self).__name__}: {self.brief()}>".split())
        return line if len(line) <= LONGEST else f"{line[: LONGEST - 2].rstrip()}…>"


def _plain(x: Any) -> Any:
    return x.item() if hasattr(x, "dtype") else x


def frame_of(columns: Columns, library: str = POLARS) -> Any:
    """Make a dataframe.

    >>> frame_of({"class": [1, 2], "share": [0.75, 0.25]}).shape
    (2, 2)
    """
    if library not in LIBRARIES:
        raise OptionError(f"library {library!r} is not known. Choose from {', '.join(LIBRARIES)}.")
    import narwhals as nw

    try:
        return nw.from_dict(dict(columns), backend=cast(Backend, library)).to_native()
    except ModuleNotFoundError as error:
        raise OptionError(
            f"{library} is not installed. Install it with: pip install {library}."
        ) from error


def library_of(data: object) -> str:
    """Give the library that a dataframe belongs to; Polars of anything else.

    >>> library_of([[1, 2]])
    'polars'
    """
    own = type(data).__module__.partition(".")[0]
    return own if own in LIBRARIES else POLARS


def transposed(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Columns:
    """Give the columns of a table that comes row by row.

    >>> transposed(("name", "share"), [("a", 0.5), ("b", 0.5)])
    {'name': ['a', 'b'], 'share': [0.5, 0.5]}
    """
    every = list(map(list, zip(*rows, strict=True))) or [[] for _ in names]
    return dict(zip(names, every, strict=True))


SHOWN = 0.001  # the least probability that is written out
WIDE = 0.005  # standard error of a probability from which on two digits say all


class Shown(str):
    """A text that stands for a number: tables show the text, CSV files get all the digits.

    >>> Shown("<0.001", 1e-9).value
    1e-09
    """

    value: float

    __slots__ = ("value",)

    def __new__(cls, text: str, value: float) -> Self:
        """Take the text to show, and what it stands for."""
        shown = super().__new__(cls, text)
        shown.value = float(value)
        return shown

    def __getnewargs__(self) -> tuple[str, float]:  # type: ignore[override]
        return str(self), self.value

    def digits(self) -> str:
        """Write the number with all its digits; nothing, where it does not exist.

        >>> number(1 / 3).digits(), number(math.nan).digits(), number(math.inf).digits()
        ('0.3333333333333333', '', 'inf')
        """
        return "" if math.isnan(self.value) else repr(self.value)


FULL = 1e15  # from which on digits behind the point say nothing


def number(x: float, digits: int = 2) -> Shown:
    """Write a number for a table; a value that does not exist is a dash, as it is null in JSON.

    >>> number(-1234.5678), number(math.nan), number(-math.inf), number(-1e100)
    ('-1234.57', '–', '–', '-1e+100')
    """
    if not math.isfinite(x):
        return Shown("–", x)
    return Shown(f"{x:.{digits}f}" if abs(x) < FULL else f"{x:.6g}", x)


def measured(x: float) -> Shown:
    """Write a number of any size to four digits; one that does not exist is a dash.

    >>> measured(1234.5678), measured(0.012344), measured(math.nan)
    ('1235', '0.01234', '–')
    """
    return Shown(f"{x:.4g}" if math.isfinite(x) else "–", x)


def probability(p: float, *, exact: bool = True) -> Shown:
    """Write a probability; one that is not quite 0 or 1 never looks as if it were.

    Where it is not `exact`, even 0 and 1 are taken for rounded values between them.

    >>> probability(1.0), probability(0.99999), probability(0.25), probability(1e-9)
    ('1', '>0.999', '0.250', '<0.001')
    >>> probability(1.0, exact=False)
    '>0.999'
    """
    if math.isnan(p):
        return Shown("–", p)
    if exact and p in (0.0, 1.0):
        return Shown(f"{p:.0f}", p)
    return Shown("<0.001" if p < SHOWN else ">0.999" if p > 1 - SHOWN else f"{p:.3f}", p)


def chance(p: float, stderr: float | None, *, exact: bool = False) -> Shown:
    """Write a probability with its standard error, if that is known and not too small to show.

    >>> chance(0.6234, 0.0171), chance(0.25, 0.0012), chance(0.25, None), chance(0.99999, 1e-6)
    ('0.62 ± 0.02', '0.250 ± 0.002', '0.250', '>0.999')
    """
    plain = probability(p, exact=exact)
    if not stderr or not SHOWN <= p <= 1 - SHOWN:
        return plain
    digits = 2 if stderr >= WIDE else 3
    up = math.ceil(stderr * 10**digits - 1e-9) / 10**digits  # an error is never rounded down
    return Shown(f"{p:.{digits}f} ± {up:.{digits}f}", p)


share = partial(probability, exact=False)  # of rows, or of probability: rounded, never certain
