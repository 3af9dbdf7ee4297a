"""Options that several commands share; those of `Settings` are made from its fields."""

import functools
import inspect
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from lacunet.api.engine import in_cluster
from lacunet.api.options import ReadSettings, defaults_of
from lacunet.cli.console import Format, progress
from lacunet.cli.parsing import split
from lacunet.cli.paths import READS, Writes, check_paths, last_output
from lacunet.data.design import WeightsAs
from lacunet.data.write import check_table_file, column_names
from lacunet.errors import OptionError
from lacunet.report.page import check_page
from lacunet.report.tables_file import WRITTEN, check_selection_folder, check_tables
from lacunet.runtime.files import check_ending, check_file
from lacunet.settings import OPTIONS, Settings


def option(meaning: str, *names: str, **more: Any) -> Any:
    """Make an option that is given or not, so that there is no default to show."""
    return typer.Option(*names, help=meaning, show_default=False, **more)


def switch(name: str, meaning: str) -> Any:
    """Make an option that turns something on, and has no opposite."""
    return typer.Option(name, help=meaning)


def check_json(path: Path) -> None:
    """Refuse a file of JSON that could not be written."""
    check_ending(path, (".json",), "JSON")


def argument(metavar: str, meaning: str) -> Any:
    """Make what stands without a name, and must be given."""
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
# The same by two names each: whoever says the other one is understood.
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
        "Direct effect between two answers of a latent class model, beside their class; may be "
        "repeated.",
        "--edge",
        metavar="PARENT:CHILD",
    ),
]
KnowledgeFile: TypeAlias = Annotated[
    Path | None,
    option(
        "JSON file of what is known: tables that are fixed, tied or have zeros; edges.",
        metavar="FILE",
    ),
    READS,
]
HiddenOption: TypeAlias = Annotated[
    list[str] | None,
    option(
        "Variable of the network that no column shows, and its number of states; may be repeated.",
        metavar="NAME[=STATES]",
    ),
]
AlsoHidden: TypeAlias = Annotated[
    list[str] | None,
    option(
        "Variable of the model that no column shows, where the file does not say so; may be "
        "repeated.",
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
        "File that keeps how far the work is; if it is there, the work goes on from it. A file "
        "that --resume did not write is refused.",
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
        "Fit nothing: read the data, and say how many rows and components there are, what memory "
        "and about what time the work would take, and who would do it.",
    ),
]
Report: TypeAlias = Annotated[
    Path | None,
    option(
        "Also write one self-contained HTML page: charts, the network, tables, warnings, holes.",
        metavar="FILE",
    ),
    Writes(check_page),
]
Tables: TypeAlias = Annotated[
    Path | None,
    option(
        "Also write the tables of a paper: fit by number of classes, items by class with standard "
        "errors. The ending decides: .csv, .md, .tex, .html or .docx (Word).",
        metavar="FILE",
    ),
    Writes(check_tables),
]
Overwrite: TypeAlias = Annotated[
    bool,
    switch(
        "--overwrite",
        "Let an output replace a file that this command reads. Without it, that is refused.",
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

SaveJson: TypeAlias = Annotated[
    Path | None, option("File to write what --json prints to: .json."), Writes(check_json)
]

REPEAT = "may be repeated, or have commas between."
CLUSTER = ("cluster", "workers")
LEARNING = ("estimate", "alpha", "starts", "schedule", "seed", "threads", *CLUSTER, "device")
MEASURING = ("quick", "evidence", "calibrate", "target", "budget")
COLUMNS = ("columns", "exclude", "bin", "ignore_case")
READING = ("missing", "weights", "weights_as", *COLUMNS)
NUMBERS = ("kinds", "number_prior", "covariance")
LIMITS = ("memory",)
HOLES = ("missing", "missing_as_state", "weights", "weights_as")
DESIGN = ("strata", "clusters")
PRINTING = ("form", "json")

METAVARS = {"blrt": "DRAWS", "budget": "TIME", "cluster": "ADDRESS"}
ABSENT: dict[str, Any] = {"cluster": str | None}  # what options hold that are usually not given
# What `Settings` reads from a text is shown as one.
TEXTS: dict[str, Callable[[Any], str]] = {
    "scores": str,
    "alpha": lambda alpha: alpha if isinstance(alpha, str) else f"{alpha:g}",
    "budget": lambda seconds: f"{seconds:g}s",
}


@dataclass(frozen=True)
class Request:
    """What a command has been given by options that it has in common with others."""

    settings: Settings
    reading: ReadSettings
    form: Format

    @contextmanager
    def work(self) -> Iterator[dict[str, Any]]:
        """Give a function its settings and its listener; progress is shown until it is done."""
        with progress() as listener:
            yield {"settings": self.settings, "listener": listener}


@dataclass(frozen=True)
class ReadingOptions:
    """Options of `read_table`, as texts."""

    missing: Annotated[
        list[str] | None,
        option(
            f"One more marker of a missing cell, besides NA, NaN, null and ? of CSV; {REPEAT}",
            metavar="MARKER",
        ),
    ] = None
    weights: Annotated[
        str | None, option("Column of row weights: counts, or survey weights.", metavar="COLUMN")
    ] = None
    weights_as: Annotated[
        WeightsAs,
        option(
            "frequency: weight 2 is the row twice; survey: weights are scaled to the effective "
            "sample size; auto: frequency if all are whole numbers, else survey."
        ),
    ] = WeightsAs.AUTO
    strata: Annotated[
        str | None,
        option(
            "Column of the strata that rows were drawn from: for standard errors.", metavar="COLUMN"
        ),
    ] = None
    clusters: Annotated[
        list[str] | None,
        option(
            "Column of the units that were drawn (households, schools): for standard errors. "
            "Several, with commas between, tell units together.",
            metavar="COLUMN",
        ),
    ] = None
    columns: Annotated[
        list[str] | None, option(f"Use only these columns; {REPEAT}", metavar="COLUMN")
    ] = None
    exclude: Annotated[
        list[str] | None, option(f"Leave these columns out; {REPEAT}", metavar="COLUMN")
    ] = None
    kinds: Annotated[
        str | None,
        option(
            "What columns are, NAME=KIND with commas between: gaussian, lognormal, poisson "
            "(counts), ordinal (whole numbers in order) or categorical; for the others a rule "
            "decides.",
            metavar="KINDS",
        ),
    ] = None
    bin: Annotated[
        list[str] | None,
        option(
            "Put numbers into bins: NAME=5 for five of about as many rows each, "
            f"NAME=0:1000:5000 for these edges, 5 alone for all columns of numbers; {REPEAT}",
            metavar="BINS",
        ),
    ] = None
    ignore_case: Annotated[
        bool,
        switch(
            "--ignore-case", "Take texts that differ in upper and lower case alone for one state."
        ),
    ] = False
    memory: Annotated[
        str | None,
        option(
            "Memory that the process may have, 2GB for instance: more distinct rows are left on "
            "disk.",
            metavar="SIZE",
        ),
    ] = None

    def settings(self, data: Any) -> ReadSettings:
        """Read the texts; commas stand between names, unless they are in a name of the data."""
        names = column_names(data) if self.columns or self.exclude or self.clusters else []
        return ReadSettings(
            missing=tuple(split(self.missing)),
            weights=self.weights,
            weights_as=self.weights_as,
            strata=self.strata,
            clusters=split(self.clusters, names) if self.clusters else None,
            columns=None if self.columns is None else split(self.columns, names),
            exclude=tuple(split(self.exclude, names)),
            kinds=self.kinds,
            bin=None if self.bin is None else ",".join(self.bin),
            ignore_case=self.ignore_case,
            memory=self.memory,
        )


@dataclass(frozen=True)
class PrintingOptions:
    """Options of how a result is printed."""

    form: Annotated[
        Format,
        typer.Option(
            "--format",
            help="Print text, csv, markdown, latex (package booktabs) or json on stdout.",
        ),
    ] = Format.TEXT
    json: Annotated[bool, switch("--json", "Print JSON on stdout.")] = False

    @property
    def format(self) -> Format:
        """Give the format; refuse two at once."""
        if self.json and self.form not in (Format.TEXT, Format.JSON):
            raise OptionError(f"--json and --format {self.form}: give one of the two.")
        return Format.JSON if self.json else self.form


# Options that are not of `Settings`.
TO_READ, TO_PRINT = (
    dict(inspect.signature(kind).parameters) for kind in (ReadingOptions, PrintingOptions)
)


def options_after(
    work: Callable[..., Any], **after: tuple[str, ...]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of the function that does its work, behind some of its own.

    It gets them as `asked`. Defaults are the function's; the order is that of `--help`. Where a
    command has inputs and outputs, `--overwrite` comes after the last of these.
    """
    start = defaults_of(work)

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = [p for p in inspect.signature(command).parameters.values() if p.name != "asked"]
        shown: list[inspect.Parameter] = []
        last = last_output(own)
        for parameter in own:
            shown.append(parameter.replace(kind=parameter.KEYWORD_ONLY))
            shown += [OVERWRITE] * (parameter.name == last)
            shown += (_parameter(name, start) for name in after.get(parameter.name, ()))

        @functools.wraps(command)
        def run(**given: Any) -> None:
            check_paths(own, given, given.get("overwrite", False))
            settings = replace(start, **_among(given, OPTIONS))
            reading = ReadingOptions(**_among(given, TO_READ)).settings(given.get("data"))
            form = PrintingOptions(**_among(given, TO_PRINT)).format
            mine = _among(given, {p.name for p in own})
            if mine.get("dry_run"):  # it says who would work
                command(Request(settings, reading, form), **mine)
                return
            with in_cluster(settings) as left:  # from reading on
                command(Request(left, reading, form), **mine)

        run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in shown}
        return run

    return decorate


def _among(given: Mapping[str, Any], names: Container[str]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name in names}


def _parameter(name: str, start: Settings) -> inspect.Parameter:
    """Make the parameter of an option."""
    word = inspect.Parameter.KEYWORD_ONLY
    if name in TO_READ or name in TO_PRINT:
        return {**TO_READ, **TO_PRINT}[name].replace(kind=word)
    value = getattr(start, name)
    default = TEXTS[name](value) if name in TEXTS else value
    found = typer.Option(
        f"--{name.replace('_', '-')}",
        help=OPTIONS[name].metadata["meaning"],
        metavar=METAVARS.get(name),
        show_default=default is not None,
    )
    kind: Any = Annotated[ABSENT.get(name, int | None) if default is None else type(default), found]
    return inspect.Parameter(name, word, default=default, annotation=kind)
