"""What was run, and how to run it again.

From the content of a page to its text. jinja2 has its door here.
"""

import base64
import hashlib
import importlib.metadata
import platform
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lacunet.charts.style import style_sheet
from lacunet.data.audit import holes, sizes
from lacunet.data.notes import has_missing_state
from lacunet.errors import OutputError
from lacunet.models.latent_class import is_latent_class
from lacunet.models.prior import Alpha
from lacunet.optional import require
from lacunet.report.page.words import count, listed
from lacunet.runtime.files import StrPath, check_ending, check_file, harmless, write_text
from lacunet.selection.candidates import Selection
from lacunet.selection.certainty import TRUTH, How

PACKAGES = ("numpy", "scipy", "numba")
PARAMETERS = {
    "map": "MAP",
    "ml": "maximum likelihood",
    "softmax": "MAP of log θ (softmax), which exists for every prior",
}


def version() -> str:
    """Give the version of Lacunet."""
    return importlib.metadata.version("lacunet")


def facts(selection: Selection) -> list[tuple[str, str]]:
    """Everything that the numbers depend on."""
    options, table = selection.options, selection.table
    seconds = sum(sum(c.seconds.values()) for c in selection.candidates)
    starts = count(options.starts, "random start")
    packages = [f"{name} {importlib.metadata.version(name)}" for name in PACKAGES]
    return [
        ("Data", f"{table.source}: {sizes(table)}; {holes(table)}"),
        ("Candidates", listed([c.title for c in selection.candidates], 20)),
        ("Parameters", _parameters(selection)),
        ("Prior of the parameters", prior_words(selection.alpha)),
        ("Prior of the candidates", _prior(selection)),
        ("Search", f"{starts}, schedule {options.schedule.value}, seed {options.seed}"),
        ("Computing time", f"{seconds:,.1f} s, over all threads"),
        ("Program", f"Lacunet {version()}"),
        ("With", ", ".join([f"Python {platform.python_version()}", *packages])),
    ]


def _parameters(selection: Selection) -> str:
    """What was estimated; a prior that depends on the number of states may have a MAP or not."""
    estimates = dict.fromkeys(c.fit.estimate for c in selection.candidates)
    return "; ".join(PARAMETERS[estimate.value] for estimate in estimates)


def prior_words(alpha: Alpha) -> str:
    """Say the prior of the parameters."""
    if isinstance(alpha, Mapping):
        return f"tables of Dirichlet exponents for {listed(list(alpha), 12)}"
    return f"Dirichlet, exponents {alpha}"


def _prior(selection: Selection) -> str:
    if selection.named_prior is not None:
        return str(selection.named_prior)
    if selection.prior is None:
        return "all the same"
    return ", ".join(f"{k}: {weight:g}" for k, weight in selection.prior.items())


def _measuring(selection: Selection) -> dict[str, object]:
    """How far the evidence was measured, where that is not the default."""
    alone = {c.label for c in selection.candidates if c.measured}
    quick: dict[str, object] = {"quick": True} if selection.certainty.how is How.QUICK else {}
    if len(alone) == len(selection.candidates):
        return {"evidence": True}
    # Candidates that were measured by themselves though they do not decide.
    return {**quick, "calibrate": True} if alone - selection.certainty.measured else quick


def python_call(selection: Selection) -> str:
    """Write the call that makes this selection, where no command did.

    Data and networks are objects of somebody's program, so they are only named.
    """
    options = selection.options
    network = selection.best.fit.model.network if selection.label is not None else None
    varied = list(selection.candidates[0].proposal.sizes)
    if not varied:
        start = "lacunet.compare(data, networks"
    elif network is not None and is_latent_class(network):
        start = f"lacunet.select(data, {[c.label for c in selection.candidates]}"
    else:
        numbers = sorted({k for c in selection.candidates for k in c.proposal.sizes.values()})
        start = f"lacunet.select(data, {numbers}, network=network, hidden={varied}"
    scores = [s.name for s in selection.scores if s is not TRUTH]
    arguments: dict[str, object] = {"scores": scores}
    arguments |= _measuring(selection)
    arguments |= {
        "estimate": options.estimate.value,
        "alpha": selection.alpha,
        "starts": options.starts,
        "schedule": options.schedule.value,
        "seed": options.seed,
    }
    if any(c.dimension != c.fit.model.network.dimension for c in selection.candidates):
        arguments["dimension"] = "rank"
    if selection.ratio_tests:
        arguments["blrt"] = max(test.asked for test in selection.ratio_tests.values())
    if selection.named_prior is not None:
        arguments["prior"] = str(selection.named_prior)
    elif selection.prior is not None:
        arguments["prior"] = dict(selection.prior)
    if any(has_missing_state(column) for column in selection.table.columns):
        arguments["missing_as_state"] = True
    lines = [f"    {name}={value!r}," for name, value in arguments.items()]
    return "\n".join([f"{start},", *lines, ")"])


LARGEST = 3_000_000  # bytes of a page
PAGES = (".html", ".htm")
HERE = Path(__file__).parent


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
