r"""Numbers in tables, and tables as text, CSV, Markdown, HTML and LaTeX.

Everything that may come from data is escaped. Markdown is GitHub's, LaTeX needs the package
booktabs. A CSV cell holds all the digits of a number (`Shown`), the other formats a rounded one.
"""

import csv
import html
import io
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

from lacunet.runtime.files import inert
from lacunet.wording import worded

SHOWN = 0.001  # the least probability that is written out
WIDE = 0.005  # standard error of a probability from which two digits suffice


class Shown(str):
    """The text of a number: tables show the text, CSV files have all the digits.

    >>> Shown("<0.001", 1e-9).value
    1e-09
    """

    value: float

    __slots__ = ("value",)

    def __new__(cls, text: str, value: float) -> Self:
        """Make it of the text and the number."""
        shown = super().__new__(cls, text)
        shown.value = float(value)
        return shown

    def __getnewargs__(self) -> tuple[str, float]:  # type: ignore[override]
        return str(self), self.value

    def digits(self) -> str:
        """Write the number with all its digits; NaN is an empty text.

        >>> number(1 / 3).digits(), number(math.nan).digits(), number(math.inf).digits()
        ('0.3333333333333333', '', 'inf')
        """
        return "" if math.isnan(self.value) else repr(self.value)


WORDS = 30  # characters of a column of words before it is wrapped
# Styles of title and notes in a notebook, which sets the colours.
TITLE = "font-weight:bold;margin:0.6em 0 0.2em"
NOTES = "font-size:90%;opacity:0.8;margin:0.2em 0 0.8em"
FULL = 1e15  # from which decimals are not significant


def number(x: float, digits: int = 2) -> Shown:
    """Format a number for a table; one that is not finite is a dash.

    >>> number(-1234.5678), number(math.nan), number(-math.inf), number(-1e100)
    ('-1234.57', '–', '–', '-1e+100')
    """
    if not math.isfinite(x):
        return Shown("–", x)
    return Shown(f"{x:.{digits}f}" if abs(x) < FULL else f"{x:.6g}", x)


def measured(x: float) -> Shown:
    """Format a number of any size to four digits; one that is not finite is a dash.

    >>> measured(1234.5678), measured(0.012344), measured(math.nan)
    ('1235', '0.01234', '–')
    """
    return Shown(f"{x:.4g}" if math.isfinite(x) else "–", x)


def probability(p: float, *, exact: bool = True) -> Shown:
    """Format a probability; only exact ones are shown as 0 or 1.

    Without `exact` 0 and 1 are rounded values too.

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
    """Format a probability with its standard error, if that is known and not too small.

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

Row = Sequence[str]

_MARKDOWN = re.compile(r"([\\`*_{}\[\]|~$#])")
_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
        "_": r"\_", "%": r"\%", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
        "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
        '"': "{''}",  # in some languages a plain quote begins a command
        # Signs of titles that pdfLaTeX fonts lack.
        "α": r"$\alpha$", "θ": r"$\theta$", "χ": r"$\chi$", "π": r"$\pi$", "−": "$-$", "–": "--",
        "′": "$'$", "²": "$^2$", "½": r"$\frac12$", "×": r"$\times$", "±": r"$\pm$",
        "≤": r"$\leq$", "≥": r"$\geq$", "…": r"\dots{}",
    }
)  # fmt: skip

_PAGE = (
    "body{font:15px/1.4 Georgia,serif;margin:2em auto;max-width:60em;padding:0 1em}"
    "table{border-collapse:collapse;display:block;overflow-x:auto}"
    "th,td{padding:.15em .7em;white-space:nowrap}th{border-bottom:1px solid}"
    "thead{border-top:2px solid}tbody{border-bottom:2px solid}"
)
_HTML = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style></head>
<body>{body}</body></html>
"""


def csv_table(header: Row, rows: Iterable[Sequence[object]]) -> str:
    r"""Write CSV with a header, numbers with all their digits; NaN is an empty cell.

    >>> from lacunet.tabular import number
    >>> csv_table(("name", "value"), [("a, b", number(1 / 3))])
    'name,value\n"a, b",0.3333333333333333\n'
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    for line in (header, *rows):
        writer.writerow([_csv_cell(cell) for cell in line])
    return buffer.getvalue()


def _csv_cell(cell: object) -> object:
    if isinstance(cell, str):
        return cell.digits() if isinstance(cell, Shown) else inert(cell)
    return "" if isinstance(cell, float) and not math.isfinite(cell) else cell


def _sorted_notes(notes: Sequence[str]) -> tuple[list[str], list[str]]:
    """Give the notes that are items of a list, without their dashes, and those that are not."""
    listed = [note.removeprefix("- ") for note in notes if note.startswith("- ")]
    return listed, [note for note in notes if not note.startswith("- ")]


def markdown(text: str) -> str:
    r"""Escape a text for Markdown.

    >>> print(markdown("<b>_x_</b> | y"))
    &lt;b&gt;\_x\_&lt;/b&gt; \| y
    """
    plain = " ".join(text.split())
    plain = plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MARKDOWN.sub(r"\\\1", plain)


def html_page(title: str, body: str) -> str:
    """Make an HTML page of tables, with three rules each; wide tables scroll.

    >>> html_page("Sizes & shares", "<table></table>").splitlines()[3]
    '<title>Sizes &amp; shares</title>'
    """
    return _HTML.format(title=html.escape(title), style=_PAGE, body=body)


def latex(text: str) -> str:
    r"""Escape a text for LaTeX; a number gets a minus sign, not a hyphen.

    >>> print(latex("50% of_all"), latex(Shown("-1.50", -1.5)))
    50\% of\_all $-$1.50
    """
    plain = " ".join(text.split())
    if isinstance(text, Shown):
        plain = plain.replace("-", "−")
    # A line of a table that begins with [ would be taken for an option of the \\ before it.
    guard = "{}" if plain.startswith(("[", "*")) else ""
    return guard + plain.translate(_LATEX)


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
        listed, plain = _sorted_notes(list(map(html.escape, self.notes)))
        items = "".join(f"<li>{note}</li>" for note in listed)
        lines = "".join(f"<div>{note}</div>" for note in plain)
        notes = f"{lines}{f'<ul>{items}</ul>' if items else ''}"
        return f"{title}{table}" + (f'<div style="{NOTES}">{notes}</div>' if notes else "")

    def csv(self) -> str:
        """Give the cells as CSV, numbers with all their digits; title and notes are left out."""
        return csv_table(self.header, self.rows)

    def markdown(self) -> str:
        r"""Give a Markdown table with its title above and its notes below, escaped.

        >>> print(Grid("", ("name", "share"), (("a|b", "0.5"),), notes=("* a note",)).markdown())
        | name | share |
        | :--- | ---: |
        | a\|b | 0.5 |
        <BLANKLINE>
        \* a note
        <BLANKLINE>
        """
        blocks = [f"**{markdown(self.title)}**"] if self.title else []
        if self.header:
            rule = [":---" if c in self.left else "---:" for c in range(len(self.header))]
            lines = [[markdown(cell) for cell in line] for line in (self.header, *self.rows)]
            lines.insert(1, rule)
            blocks.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
        listed, plain = _sorted_notes(self.notes)
        blocks += map(markdown, plain)
        blocks += ["\n".join(f"- {markdown(note)}" for note in listed)] if listed else []
        return "\n\n".join(blocks) + "\n"

    def latex(self) -> str:
        r"""Give a LaTeX table (package booktabs), its title as the caption, its notes below.

        >>> print(Grid("", ("name", "share"), (("50 %", "0.5"),)).latex())
        \begin{table}
          \centering
          \begin{tabular}{lr}
            \toprule
            name & share \\
            \midrule
            50 \% & 0.5 \\
            \bottomrule
          \end{tabular}
        \end{table}
        <BLANKLINE>
        """
        remarks = [f"{latex(note)}\\par" for note in self.notes]
        if not self.header:
            return "\n".join([*([f"{latex(self.title)}\\par"] if self.title else []), *remarks, ""])
        columns = "".join("l" if c in self.left else "r" for c in range(len(self.header)))
        rows = (" & ".join(map(latex, line)) + r" \\" for line in (self.header, *self.rows))
        body = [r"\toprule", next(rows), r"\midrule", *rows, r"\bottomrule"]
        return "\n".join(
            [
                r"\begin{table}",
                r"  \centering",
                *([f"  \\caption{{{latex(self.title)}}}"] if self.title else []),
                f"  \\begin{{tabular}}{{{columns}}}",
                *(f"    {line}" for line in body),
                r"  \end{tabular}",
                *([r"  \par\footnotesize", *(f"  {line}" for line in remarks)] if remarks else []),
                r"\end{table}",
                "",
            ]
        )


def _width(text: str) -> int:
    return sum(
        2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1
        for c in text
    )
