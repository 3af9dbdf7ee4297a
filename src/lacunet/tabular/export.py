r"""Format numbers for tables, and tables as CSV, Markdown, HTML and LaTeX.

Everything that may come from data is escaped. Markdown is GitHub's, LaTeX needs the package
booktabs. A CSV cell holds all the digits of a number (`Shown`), the other formats a rounded one.
"""

import csv
import html
import io
import math
import re
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import Self

from lacunet.runtime.files import inert

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


def markdown_table(
    title: str, header: Row, rows: Sequence[Row], left: Collection[int], notes: Sequence[str]
) -> str:
    r"""Write a Markdown table, its title above it and its notes below.

    >>> print(markdown_table("", ("name", "share"), [("a|b", "0.5")], {0}, ["* a note"]))
    | name | share |
    | :--- | ---: |
    | a\|b | 0.5 |
    <BLANKLINE>
    \* a note
    <BLANKLINE>
    """
    blocks = [f"**{markdown(title)}**"] if title else []
    if header:
        rule = [":---" if c in left else "---:" for c in range(len(header))]
        lines = [[markdown(cell) for cell in line] for line in (header, *rows)]
        lines.insert(1, rule)
        blocks.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
    listed, plain = sorted_notes(notes)
    blocks += map(markdown, plain)
    blocks += ["\n".join(f"- {markdown(note)}" for note in listed)] if listed else []
    return "\n\n".join(blocks) + "\n"


def sorted_notes(notes: Sequence[str]) -> tuple[list[str], list[str]]:
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


def latex_table(
    title: str, header: Row, rows: Sequence[Row], left: Collection[int], notes: Sequence[str]
) -> str:
    r"""Write a LaTeX table, its title as the caption and its notes below.

    >>> print(latex_table("", ("name", "share"), [("50 %", "0.5")], {0}, []))
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
    remarks = [f"{latex(note)}\\par" for note in notes]
    if not header:
        return "\n".join([*([f"{latex(title)}\\par"] if title else []), *remarks]) + "\n"
    columns = "".join("l" if c in left else "r" for c in range(len(header)))
    first, *rest = [" & ".join(latex(cell) for cell in line) + r" \\" for line in (header, *rows)]
    return "\n".join(
        [
            r"\begin{table}",
            r"  \centering",
            *([f"  \\caption{{{latex(title)}}}"] if title else []),
            f"  \\begin{{tabular}}{{{columns}}}",
            *(f"    {line}" for line in (r"\toprule", first, r"\midrule", *rest, r"\bottomrule")),
            r"  \end{tabular}",
            *([r"  \par\footnotesize", *(f"  {line}" for line in remarks)] if remarks else []),
            r"\end{table}",
            "",
        ]
    )


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
