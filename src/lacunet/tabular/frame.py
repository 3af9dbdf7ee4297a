"""Results as dataframes: tidy columns, in the library that a person works with."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, cast, get_args

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
        """Name the library of dataframes that `to_frame` gives unless another is asked for."""
        return POLARS

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
        return shortened(f"<{type(self).__name__}: {self.brief()}>")


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
    every = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in names]
    return dict(zip(names, every, strict=True))


def shortened(text: str, most: int = LONGEST) -> str:
    """Put a text into one line, and leave out its end if it is long.

    >>> shortened("<Table: one of very many>", 16)
    '<Table: one of…>'
    """
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 2].rstrip()}…>"
