"""Base classes of results: a tidy table, as a dict or a dataframe, and printed tables."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, cast, get_args

from lacunet.errors import OptionError, unknown_value
from lacunet.tabular.documents import Documented, plain
from lacunet.tabular.export import Grid, Shown, csv_table, html_page

Columns: TypeAlias = Mapping[str, Sequence[Any]]

Backend: TypeAlias = Literal["polars", "pandas", "pyarrow"]

POLARS = "polars"  # always installed
LIBRARIES: tuple[str, ...] = get_args(Backend)
LONGEST = 160  # characters of a `repr`: two lines


class Framed(Documented):
    """A result with one tidy table; `repr` summarises it in a line."""

    def brief(self) -> str:
        """Summarise the result in a few words."""
        raise NotImplementedError

    def tidy(self) -> Columns:
        """Give the columns of the tidy table."""
        raise NotImplementedError

    def usual_library(self) -> str:
        """Name the default `library` of `to_frame`."""
        return POLARS

    def to_dict(self) -> dict[str, Any]:
        """Give the document of `--json`; of a table alone, its tidy columns as lists."""
        if self.KEYS:
            return super().to_dict()
        return {name: plain(list(values)) for name, values in self.tidy().items()}

    def to_frame(self, library: str | None = None) -> Any:
        """Give a tidy dataframe: numbers with all their digits, classes numbered from 1.

        Parameters
        ----------
        library
            'polars', 'pandas' or 'pyarrow'. Default: that of the queried rows, or Polars.
        """
        return frame_of(self.tidy(), library or self.usual_library())

    def __repr__(self) -> str:
        line = " ".join(f"<{type(self).__name__}: {self.brief()}>".split())
        return line if len(line) <= LONGEST else f"{line[: LONGEST - 2].rstrip()}…>"


def frame_of(columns: Columns, library: str = POLARS) -> Any:
    """Make a dataframe.

    >>> frame_of({"class": [1, 2], "share": [0.75, 0.25]}).shape
    (2, 2)
    """
    if library not in LIBRARIES:
        raise unknown_value("library", library, LIBRARIES)
    import narwhals as nw

    try:
        return nw.from_dict(dict(columns), backend=cast(Backend, library)).to_native()
    except ModuleNotFoundError as error:
        raise OptionError(
            f"{library} is not installed. Install it with: pip install {library}."
        ) from error


def library_of(data: object) -> str:
    """Name the library of a dataframe; Polars for anything else.

    >>> library_of([[1, 2]])
    'polars'
    """
    package = type(data).__module__.partition(".")[0]
    return package if package in LIBRARIES else POLARS


def transposed(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Columns:
    """Turn the rows of a table into columns.

    >>> transposed(("name", "share"), [("a", 0.5), ("b", 0.5)])
    {'name': ['a', 'b'], 'share': [0.5, 0.5]}
    """
    every = list(map(list, zip(*rows, strict=True))) or [[] for _ in names]
    return dict(zip(names, every, strict=True))


class Printable(Framed):
    """A result that prints as grids in terminals, notebooks and papers."""

    def grids(self) -> Sequence[Grid]:
        """Give the tables to print."""
        raise NotImplementedError

    def brief(self) -> str:
        """Give the first title as the summary."""
        return self.grids()[0].title

    def tidy(self) -> Columns:
        """Give the columns of its first table."""
        table = next((grid for grid in self.grids() if grid.header), Grid(""))
        return transposed(
            table.header,
            ([c.value if isinstance(c, Shown) else c for c in row] for row in table.rows),
        )

    def __str__(self) -> str:
        return "\n\n".join(grid.text() for grid in self.grids())

    def _repr_html_(self) -> str:
        return "".join(grid.html() for grid in self.grids())

    def to_csv(self) -> str:
        """Give the tables as CSV, numbers with all their digits.

        One table is plain CSV. Several are separated by empty lines, each below its title.
        """
        tables = [grid for grid in self.grids() if grid.header]
        if len(tables) == 1:
            return tables[0].csv()
        return "\n".join(csv_table((grid.title,), ()) + grid.csv() for grid in tables)

    def to_markdown(self) -> str:
        """Give the tables as Markdown."""
        return "\n".join(grid.markdown() for grid in self.grids())

    def to_latex(self) -> str:
        """Give the tables as LaTeX, for a document that loads the package booktabs."""
        return "\n".join(grid.latex() for grid in self.grids())

    def to_html(self) -> str:
        """Give the tables as a whole HTML page."""
        return html_page(self.brief(), self._repr_html_())


class Together(Printable):
    """Several results, shown one after the other."""

    def __init__(self, *results: Printable) -> None:
        self.results = results

    def grids(self) -> Sequence[Grid]:
        """Give the grids of all."""
        return [grid for result in self.results for grid in result.grids()]

    def to_csv(self) -> str:
        """Give the tables of all results as CSV, below their titles."""
        if sum(bool(grid.header) for grid in self.grids()) == 1:
            return super().to_csv()
        return "\n".join(filter(None, map(_titled_csv, self.results)))


def _titled_csv(result: Printable) -> str:
    """Write the tables of a result, each below its title."""
    titles = [grid.title for grid in result.grids() if grid.header]
    tables = result.to_csv() if titles else ""
    return csv_table((titles[0],), ()) + tables if len(titles) == 1 else tables
