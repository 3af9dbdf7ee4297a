"""Base classes of results: a tidy table, as a dict or a dataframe, and printed grids."""

import html
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, TypeAlias, cast, get_args

from lacunet.errors import OptionError, unknown_value
from lacunet.tabular import export
from lacunet.tabular.documents import Documented
from lacunet.tabular.export import Shown
from lacunet.wording import worded

Columns: TypeAlias = Mapping[str, Sequence[Any]]

Backend: TypeAlias = Literal["polars", "pandas", "pyarrow"]

POLARS = "polars"  # always installed
LIBRARIES: tuple[str, ...] = get_args(Backend)
LONGEST = 160  # characters of a `repr`: two lines
WORDS = 30  # characters of a column of words before it is wrapped
# Styles of title and notes in a notebook, which sets the colours.
TITLE = "font-weight:bold;margin:0.6em 0 0.2em"
NOTES = "font-size:90%;opacity:0.8;margin:0.2em 0 0.8em"


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
        return {name: [_plain(x) for x in values] for name, values in self.tidy().items()}

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


def _plain(x: Any) -> Any:
    return x.item() if hasattr(x, "dtype") else x


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


@dataclass(frozen=True)
class Grid:
    """A table of texts with title, header and notes.

    Notes name options in the notation of the command line or of Python.

    >>> Grid("Fits", notes=("Raise --starts 8.",)).notes
    ('Raise starts=8.',)
    """

    title: str
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    left: frozenset[int] = frozenset({0})  # columns that are words, not numbers
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "notes", tuple(map(worded, self.notes)))

    @classmethod
    def by_columns(
        cls,
        title: str,
        columns: Mapping[str, Iterable[str]],
        left: frozenset[int] = frozenset({0}),
        notes: Iterable[str] = (),
    ) -> Self:
        """Make a table from columns by header."""
        rows = tuple(zip(*columns.values(), strict=True))
        return cls(title, tuple(columns), rows, left, tuple(notes))

    def text(self) -> str:
        """Give aligned plain text.

        >>> print(Grid("Sizes", ("class", "share"), (("1", "0.75"), ("2", "0.25"))).text())
        Sizes
        class  share
        1       0.75
        2       0.25
        """
        widths, body = self._widths(), []
        for line in (self.header, *self.rows) if self.header else ():
            spaces = [" " * (w - _width(cell)) for w, cell in zip(widths, line, strict=True)]
            cells = (
                cell + space if c in self.left else space + cell
                for c, (cell, space) in enumerate(zip(line, spaces, strict=True))
            )
            body.append("  ".join(cells).rstrip())
        return "\n".join([*([self.title] if self.title else []), *body, *self.notes])

    def panels(self, width: int, gap: int) -> list[Self]:
        """Split a table that is too wide into several, each with the first column again.

        Columns of words can be wrapped, so they count for no more than `WORDS` characters.

        >>> wide = Grid("Wide", ("k", "one", "two", "three"), (("1", "0.1", "0.2", "0.3"),))
        >>> [panel.header for panel in wide.panels(width=11, gap=2)]
        [('k', 'one', 'two'), ('k', 'three')]
        """
        needs = [min(w, WORDS) if c in self.left else w for c, w in enumerate(self._widths())]
        parts: list[list[int]] = []
        room = 0
        for c in range(1, len(self.header)):
            if not parts or room < gap + needs[c]:
                parts.append([0])
                room = width - needs[0]
            parts[-1].append(c)
            room -= gap + needs[c]
        if len(parts) < 2:
            return [self]
        panels = [self._columns(part) for part in parts]
        panels[0] = replace(panels[0], title=self.title)
        panels[-1] = replace(panels[-1], notes=self.notes)
        return panels

    def _columns(self, wanted: Sequence[int]) -> Self:
        header, *rows = (tuple(line[c] for c in wanted) for line in (self.header, *self.rows))
        left = frozenset(new for new, c in enumerate(wanted) if c in self.left)
        return replace(self, title="", header=header, rows=tuple(rows), left=left, notes=())

    def _widths(self) -> list[int]:
        lines = [self.header, *self.rows]
        return [max(_width(line[c]) for line in lines) for c in range(len(self.header))]

    def html(self) -> str:
        """Give an HTML table; everything that may come from data is escaped."""

        def row(cells: Sequence[str], tag: str) -> str:
            texts = (
                f'<{tag} style="text-align:{"left" if c in self.left else "right"}">'
                f"{html.escape(cell)}</{tag}>"
                for c, cell in enumerate(cells)
            )
            return f"<tr>{''.join(texts)}</tr>"

        title = f'<div style="{TITLE}">{html.escape(self.title)}</div>' if self.title else ""
        body = "".join(row(r, "td") for r in self.rows)
        head = f"<thead>{row(self.header, 'th')}</thead>"
        table = f"<table>{head}<tbody>{body}</tbody></table>" if self.header else ""
        listed, plain = export.sorted_notes(list(map(html.escape, self.notes)))
        items = "".join(f"<li>{note}</li>" for note in listed)
        lines = "".join(f"<div>{note}</div>" for note in plain)
        notes = f"{lines}{f'<ul>{items}</ul>' if items else ''}"
        return f"{title}{table}" + (f'<div style="{NOTES}">{notes}</div>' if notes else "")

    def csv(self) -> str:
        """Give the cells as CSV, numbers with all their digits; title and notes are left out."""
        return export.csv_table(self.header, self.rows)

    def markdown(self) -> str:
        """Give a Markdown table with its title and notes, escaped."""
        return export.markdown_table(self.title, self.header, self.rows, self.left, self.notes)

    def latex(self) -> str:
        """Give a LaTeX table (package booktabs) with its title and notes, escaped."""
        return export.latex_table(self.title, self.header, self.rows, self.left, self.notes)


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
        return "\n".join(export.csv_table((grid.title,), ()) + grid.csv() for grid in tables)

    def to_markdown(self) -> str:
        """Give the tables as Markdown."""
        return "\n".join(grid.markdown() for grid in self.grids())

    def to_latex(self) -> str:
        """Give the tables as LaTeX, for a document that loads the package booktabs."""
        return "\n".join(grid.latex() for grid in self.grids())

    def to_html(self) -> str:
        """Give the tables as a whole HTML page."""
        return export.html_page(self.brief(), self._repr_html_())


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
    return export.csv_table((titles[0],), ()) + tables if len(titles) == 1 else tables


def _width(text: str) -> int:
    return sum(
        2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1
        for c in text
    )
