"""Rendering of a page: number formats, table cells, jinja2 templates."""

import base64
import hashlib
import importlib.metadata
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lacunet.errors import OutputError
from lacunet.models.network import Variable
from lacunet.models.prior import Alpha
from lacunet.plots.style import style_sheet
from lacunet.runtime.files import StrPath, check_ending, check_file, harmless, write_text
from lacunet.tabular import chance, measured, number, probability

SMALL = 0.001  # shares nearer to 0 or 1 are written as "<0.1%" or ">99.9%"


def nats(x: float) -> str:
    """Format a log evidence, with a true minus sign; NaN is a dash.

    >>> nats(-355.123), nats(math.nan)
    ('−355.12', '–')
    """
    return minus(number(x))


def minus(text: str) -> str:
    """Write numbers with true minus signs.

    >>> minus("-355.12 ± 0.3"), minus("1e-05")
    ('−355.12 ± 0.3', '1e-05')
    """
    return re.sub(r"(?<![\w.])-(?=\d)", "−", text)


def percent(p: float) -> str:
    """Format a share as a percentage.

    >>> percent(0.1234), percent(0.0), percent(0.00001), percent(0.99999)
    ('12.3%', '0%', '<0.1%', '>99.9%')
    """
    if math.isnan(p):
        return "–"
    if p in (0.0, 1.0):
        return f"{p:.0%}"
    return f"<{SMALL:.1%}" if p < SMALL else f">{1 - SMALL:.1%}" if p > 1 - SMALL else f"{p:.1%}"


def count(n: int, noun: str) -> str:
    """Format a count with its noun.

    >>> count(1, "row"), count(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def kind(v: Variable) -> str:
    """Return the number of categories of a variable, or the name of its numeric family."""
    return str(len(v.states)) if v.family.tabular else v.family.univariate.name


def listed(names: Sequence[str], most: int = 8) -> str:
    """Join names with commas and 'and'; truncate after `most`.

    >>> listed(["a", "b", "c"]), listed(["a", "b", "c", "d"], most=2)
    ('a, b and c', 'a, b and 2 more')
    """
    shown = list(names[:most])
    if len(names) > most:
        shown.append(f"{len(names) - most} more")
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def hundredths(p: float) -> str:
    """Format a share for the style sheet, to three decimals."""
    return "0" if math.isnan(p) else f"{p:.3f}".rstrip("0").rstrip(".")


@dataclass(frozen=True)
class Cell:
    """A number in a table, or the reason for its absence."""

    text: str
    tip: str = ""
    best: bool = False
    failed: bool = False
    share: str = ""  # strength of colour or length of bar, 0 to 1; empty: neither


@dataclass(frozen=True)
class LabelledRow:
    """A row of a table."""

    label: str
    cells: tuple[Cell, ...]
    chosen: bool = False


def share_cell(p: float) -> Cell:
    """Return the cell of a share, in percent."""
    return Cell(percent(p), share=hundredths(p))


def chance_cell(
    p: float, best: bool = False, *, exact: bool = True, stderr: float | None = None
) -> Cell:
    """Return the cell of a probability, with its standard error if given; NaN has no bar."""
    return Cell(chance(p, stderr, exact=exact), best=best, share=hundredths(p))


LARGEST = 3_000_000  # most bytes of a page
PAGES = (".html", ".htm")
FOLDER = Path(__file__).parent


def version() -> str:
    """Return the version of Lacunet."""
    return importlib.metadata.version("lacunet")


def prior_words(alpha: Alpha) -> str:
    """Describe the prior of the parameters."""
    if isinstance(alpha, Mapping):
        return f"tables of Dirichlet exponents for {listed(list(alpha), 12)}"
    return f"Dirichlet, exponents {alpha}"


def check_page(target: StrPath) -> None:
    """Raise an error before the computation if a page cannot be written to a file."""
    check_file(target)
    check_ending(target, PAGES, "a report")


def write_page(
    template: str, content: Mapping[str, Any], target: StrPath, command: str | None
) -> Path:
    """Write one page, unless it is too large; `content["call"]` is the equivalent Python call."""
    page = page_text(template, content, command)
    if len(page.encode()) > LARGEST:
        raise OutputError(
            f"the report would have {len(page.encode()):,} bytes; at most {LARGEST:,} are allowed. "
            "Compare fewer candidates, or name fewer scores."
        )
    write_text(target, page)
    return Path(target)


def page_text(template: str, content: Mapping[str, Any], command: str | None) -> str:
    """Return the HTML of a page."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for write in (hundredths, minus, percent, chance, measured, probability):
        environment.filters[write.__name__] = write
    environment.filters["whole"] = _whole_options
    script = _asset("page.js")
    page: str = environment.get_template(template).render(
        style=f"{style_sheet()}\n{_asset('page.css')}",
        script=script,
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        version=version(),
        **content,
        command=command or content["call"],
        in_shell=command is not None,
    )
    return harmless(page.encode("utf-8", "replace").decode())  # paths may hold undecodable bytes


def _whole_options(words: str) -> str:
    """Escape a text, and prevent line breaks within option names."""
    from markupsafe import Markup

    whole = re.sub(r"--[a-z-]+", r'<span class="nobr">\g<0></span>', str(Markup.escape(words)))
    return Markup(whole)


def _asset(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")
