"""Options shared by several commands; those of `Settings` are made from its fields."""

import functools
import inspect
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from lacunet.api import options as names
from lacunet.api.engine import in_cluster
from lacunet.api.options import ReadSettings, defaults_of
from lacunet.cli.console import Format, progress
from lacunet.cli.help import by_panel, put_in_panel
from lacunet.cli.parsing import split
from lacunet.cli.paths import READS, Writes, check_paths, last_output
from lacunet.data.write import check_table_file, column_names
from lacunet.errors import OptionError
from lacunet.report.page import check_page
from lacunet.report.tables_file import WRITTEN, check_selection_folder, check_tables
from lacunet.runtime.files import check_ending, check_file
from lacunet.settings import OPTIONS, Settings


def option(meaning: str, *names: str, **more: Any) -> Any:
    """Make an option without a default to show."""
    return typer.Option(*names, help=meaning, show_default=False, **more)


def switch(name: str, meaning: str) -> Any:
    """Make a flag without a negative form."""
    return typer.Option(name, help=meaning)


def check_json(path: Path) -> None:
    """Refuse an output path that is not a writable .json file."""
    check_ending(path, (".json",), "JSON")


def argument(metavar: str, meaning: str) -> Any:
    """Make a required positional argument."""
    return typer.Argument(metavar=metavar, help=meaning, show_default=False)


Data: TypeAlias = Annotated[
    Path,
    argument(
        "DATA",
        "Table with a header: .csv, .tsv, .parquet, .arrow, .feather; .sav, .dta or .xlsx; or a "
        "folder of tables, or a pattern in quotes, 'part-*.parquet'.",
    ),
    READS,
]
# Synonyms of options.
CLASSES = ("--classes", "--states")
NETWORK = ("--network", "--model")
States: TypeAlias = Annotated[
    int | None, option("Number of classes of a latent class model.", *CLASSES)
]
NetworkFile: TypeAlias = Annotated[
    Path | None,
    option(
        "Structure (default: a latent class model): .bif, .xmlbif, .xdsl, .json; or a graph as a "
        "text or .txt file, 'class[3] -> A B C; A -> B'.",
        *NETWORK,
    ),
    READS,
]
EdgeOption: TypeAlias = Annotated[
    list[str] | None,
    option(
        "Direct effect between two items of a latent class model; may be repeated.",
        "--edge",
        metavar="PARENT:CHILD",
    ),
]
KnowledgeFile: TypeAlias = Annotated[
    Path | None,
    option(
        "JSON file of constraints: fixed or tied tables, zeros, edges.",
        metavar="FILE",
    ),
    READS,
]
HiddenOption: TypeAlias = Annotated[
    list[str] | None,
    option(
        "Hidden variable of the network, and its number of states; may be repeated.",
        metavar="NAME[=STATES]",
    ),
]
AlsoHidden: TypeAlias = Annotated[
    list[str] | None,
    option(
        "Variable to hide, besides the hidden variables of the model file; may be repeated.",
        metavar="NAME",
    ),
]
ModelFile: TypeAlias = Annotated[
    Path,
    option(
        "Model file: .json, or a network with its tables (.bif, .xmlbif, .xdsl).", *NETWORK[::-1]
    ),
    READS,
]
TableFile: TypeAlias = Annotated[
    Path,
    option("Table to write: .csv, .tsv, .parquet or .arrow.", "--output", "-o"),
    Writes(check_table_file),
]
Resume: TypeAlias = Annotated[
    Path | None,
    option(
        "Checkpoint file; if it exists, the run resumes from it. A file that --resume did not "
        "write is refused.",
        metavar="FILE",
    ),
    Writes(check_file, never_inputs=True),
]
SaveFolder: TypeAlias = Annotated[
    Path | None,
    option("Folder for the result and the model files."),
    Writes(check_selection_folder, inside=WRITTEN, never_inputs=True),
]
DryRun: TypeAlias = Annotated[
    bool,
    switch(
        "--dry-run",
        "Fit nothing: read the data, and forecast rows, components, memory, time and compute "
        "backend.",
    ),
]
Report: TypeAlias = Annotated[
    Path | None,
    option(
        "Also write a self-contained HTML page: charts, network, tables, warnings, missing cells.",
        metavar="FILE",
    ),
    Writes(check_page),
]
Tables: TypeAlias = Annotated[
    Path | None,
    option(
        "Also write the tables of a paper: fit by number of classes, items by class with standard "
        "errors. The ending is .csv, .md, .tex, .html or .docx (Word).",
        metavar="FILE",
    ),
    Writes(check_tables),
]
Overwrite: TypeAlias = Annotated[
    bool,
    switch(
        "--overwrite",
        "Allow an output to replace a file that this command reads.",
    ),
]
OVERWRITE = inspect.Parameter(
    "overwrite", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Overwrite
)

Criteria: TypeAlias = Annotated[
    bool,
    switch(
        "--criteria",
        "Also print AIC, BIC, CAIC, SABIC (lower is better) and entropy of each candidate.",
    ),
]

Verbose: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--verbose", "-v", help="Print everything: all scores, all notes, all class profiles."
    ),
]

SaveJson: TypeAlias = Annotated[
    Path | None, option("File for the output of --json: .json."), Writes(check_json)
]

REPEAT = "may be repeated or comma-separated."
CLUSTER = ("cluster", "workers")
LEARNING = ("estimate", "alpha", "starts", "schedule", "seed", "threads", *CLUSTER, "device")
MEASURING = ("quick", "evidence", "calibrate", "target", "budget")
COLUMNS = ("columns", "exclude", "bin", "ignore_case")
READING = ("missing", "weights", "weights_as", *COLUMNS)
LIMITS = ("memory",)
DESIGN, NUMBERS = names.DESIGN, names.NUMBERS
MISSING = ("missing", "missing_as_state", "weights", "weights_as")
PRINTING = ("form", "json")
TABLE = (*MISSING, *LIMITS, *DESIGN, *COLUMNS, *NUMBERS)

LISTS = {"missing", "clusters", "columns", "exclude", "bin"}
METAVARS = {"blrt": "DRAWS", "budget": "TIME", "cluster": "ADDRESS", "missing": "MARKER"}
METAVARS |= {"bin": "BINS", "kinds": "KINDS", "memory": "SIZE"}
METAVARS |= dict.fromkeys(("weights", "strata", "clusters", "columns", "exclude"), "COLUMN")
# Defaults that `Settings` reads from texts.
TEXTS: dict[str, Callable[[Any], str]] = {
    "scores": str,
    "alpha": lambda alpha: alpha if isinstance(alpha, str) else f"{alpha:g}",
    "budget": lambda seconds: f"{seconds:g}s",
}


@dataclass(frozen=True)
class Request:
    """Shared options of a command."""

    settings: Settings
    reading: ReadSettings
    form: Format

    @contextmanager
    def work(self) -> Iterator[dict[str, Any]]:
        """Give the settings and the listener of a computation, and show its progress."""
        with progress() as listener:
            yield {"settings": self.settings, "listener": listener}


def _read_settings(given: Mapping[str, Any]) -> ReadSettings:
    """Parse the options of reading; commas separate names, except within names of the data."""
    texts = {name: given[name] for name in names.READING if given.get(name) not in (None, [])}
    named = texts.keys() & {"columns", "exclude", "clusters"}
    columns = column_names(given["data"]) if named else []
    for name in LISTS & texts.keys():
        parts = split(texts[name], () if name == "missing" else columns)
        texts[name] = ",".join(texts[name]) if name == "bin" else parts
    return ReadSettings(**texts)


def _format(
    form: Annotated[
        Format,
        typer.Option(
            "--format",
            help="Print text, csv, markdown, latex (package booktabs) or json on stdout.",
        ),
    ] = Format.TEXT,
    json: Annotated[bool, switch("--json", "Print JSON on stdout.")] = False,
) -> Format:
    """Give the output format; refuse two at once."""
    if json and form not in (Format.TEXT, Format.JSON):
        raise OptionError(f"--json and --format {form}: give one of the two.")
    return Format.JSON if json else form


TO_PRINT = dict(inspect.signature(_format).parameters)


def options_after(
    work: Callable[..., Any], **after: tuple[str, ...]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add the options of an API function to a command, after some of its parameters.

    The command receives them as `request`. Defaults are those of the function; the order is that of
    `--help`. A command with inputs and outputs gets `--overwrite` after its last output.
    """
    start = defaults_of(work)

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        parameters = [
            p for p in inspect.signature(command).parameters.values() if p.name != "request"
        ]
        shown: list[inspect.Parameter] = []
        last = last_output(parameters)
        for parameter in parameters:
            shown.append(parameter.replace(kind=parameter.KEYWORD_ONLY))
            shown += [OVERWRITE] * (parameter.name == last)
            shown += (_parameter(name, start) for name in after.get(parameter.name, ()))

        @functools.wraps(command)
        def run(**given: Any) -> None:
            check_paths(parameters, given, given.get("overwrite", False))
            settings = replace(start, **_among(given, OPTIONS))
            reading = _read_settings(given)
            form = _format(**_among(given, TO_PRINT))
            mine = _among(given, {p.name for p in parameters})
            if mine.get("dry_run"):  # a forecast names the cluster
                command(Request(settings, reading, form), **mine)
                return
            with in_cluster(settings) as left:  # includes reading
                command(Request(left, reading, form), **mine)

        for parameter in shown:
            put_in_panel(parameter)
        shown.sort(key=by_panel)
        run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in shown}
        return run

    return decorate


def _among(given: Mapping[str, Any], names: Container[str]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name in names}


def _parameter(name: str, start: Settings) -> inspect.Parameter:
    """Make the parameter of an option."""
    word = inspect.Parameter.KEYWORD_ONLY
    if name in TO_PRINT:
        return TO_PRINT[name].replace(kind=word)
    option = OPTIONS.get(name) or names.READING[name]
    meaning, value = option.metadata["meaning"], getattr(start, name, option.default)
    default = TEXTS[name](value) if name in TEXTS else value
    if name in LISTS:
        default = None
        meaning = meaning if name == "clusters" else f"{meaning[:-1]}; {REPEAT}"
    declared = typer.Option(
        f"--{name.replace('_', '-')}",
        help=meaning,
        metavar=METAVARS.get(name),
        show_default=default is not None,
    )
    kind: Any = list[str] if name in LISTS else str if name in METAVARS else int
    kind = kind | None if default is None else type(default)
    return inspect.Parameter(name, word, default=default, annotation=Annotated[kind, declared])
