"""From the content of a page to its text: jinja2 has its door here."""

import base64
import hashlib
import importlib.metadata
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lacunet.charts.style import style_sheet
from lacunet.errors import OutputError
from lacunet.models.prior import Alpha
from lacunet.optional import require
from lacunet.report.page.words import hundredths, listed, percent
from lacunet.runtime.files import StrPath, check_ending, check_file, harmless, write_text
from lacunet.tabular import chance, measured, probability

LARGEST = 3_000_000  # bytes of a page
PAGES = (".html", ".htm")
HERE = Path(__file__).parent


def version() -> str:
    """Give the version of Lacunet."""
    return importlib.metadata.version("lacunet")


def prior_words(alpha: Alpha) -> str:
    """Say the prior of the parameters."""
    if isinstance(alpha, Mapping):
        return f"tables of Dirichlet exponents for {listed(list(alpha), 12)}"
    return f"Dirichlet, exponents {alpha}"


def check_report(target: StrPath) -> None:
    """Say now, before the work, why a report could not be written."""
    check_file(target)
    _jinja()


def check_page(target: StrPath) -> None:
    """Do the same, and refuse an ending that a page does not have."""
    check_report(target)
    check_ending(target, PAGES, "a report")


def write_page(
    template: str, content: Mapping[str, Any], target: StrPath, command: str | None
) -> Path:
    """Write one page, unless it is too large; `content["call"]` is how to make it in Python."""
    page = page_text(template, content, command)
    if len(page.encode()) > LARGEST:
        raise OutputError(
            f"the report would have {len(page.encode()):,} bytes; at most {LARGEST:,} are allowed. "
            "Compare fewer candidates, or name fewer scores."
        )
    write_text(target, page)
    return Path(target)


def page_text(template: str, content: Mapping[str, Any], command: str | None) -> str:
    """Give the text of a page."""
    environment = _jinja().Environment(
        loader=_jinja().FileSystemLoader(HERE),
        autoescape=True,
        undefined=_jinja().StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for write in (hundredths, percent, chance, measured, probability):
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
    return harmless(page.encode("utf-8", "replace").decode())  # paths may hold bytes of no text


def _jinja() -> Any:
    return require("jinja2", extra="report", what="the report")


def _whole_options(words: str) -> Any:
    """Escape a text, and keep the names of options in it on one line."""
    markup = require("markupsafe", extra="report", what="the report").Markup
    whole = re.sub(r"--[a-z-]+", r'<span class="nobr">\g<0></span>', str(markup.escape(words)))
    return markup(whole)


def _asset(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")
