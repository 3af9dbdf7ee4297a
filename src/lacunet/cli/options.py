"""Options that several commands share; those of `Settings` are made from its fields."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from lacunet.api.options import ReadOptions, defaults_of
from lacunet.cli.console import Format
from lacunet.cli.parsing import split
from lacunet.data.write import column_names
from lacunet.errors import OptionError
from lacunet.settings import OPTIONS, Settings

Data: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="Table with a header: .csv, .tsv, .parquet, .arrow or .feather.",
        show_default=False,
    ),
]
States: TypeAlias = Annotated[
    int | None,
    typer.Option(help="Number of classes of a latent class model.", show_default=False),
]
NetworkFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--network",
        help="Structure: .bif, .xmlbif, .xdsl or .json (default: a latent class model).",
        show_default=False,
    ),
]
HiddenOption: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--hidden",
        metavar="NAME[=STATES]",
        help="Variable of the network that no column shows, and its number of states; may be "
        "repeated.",
        show_default=False,
    ),
]
AlsoHidden: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--hidden",
        metavar="NAME",
        help="Variable of the model that no column shows, where the file does not say so; may be "
        "repeated.",
        show_default=False,
    ),
]
ModelFile: TypeAlias = Annotated[
    Path,
    typer.Option(
        "--model",
        help="Model file: .json, or a network with its tables (.bif, .xmlbif, .xdsl).",
        show_default=False,
    ),
]
TableFile: TypeAlias = Annotated[
    Path, typer.Option("--output", "-o", help="Table to write.", show_default=False)
]
SaveFolder: TypeAlias = Annotated[
    Path | None,
    typer.Option("--save", help="Folder for the result and the model files.", show_default=False),
]
Report: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Also write one self-contained HTML page: charts, class profiles, warnings, holes.",
        show_default=False,
    ),
]
Criteria: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--criteria",
        help="Also print AIC, BIC, CAIC, SABIC (lower is better) and entropy of each candidate.",
    ),
]

Missing: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="MARKER",
        help="One more marker of a missing cell, besides empty, NA, NaN, null and ?; "
        "may be repeated, or have commas between.",
        show_default=False,
    ),
]
Weights: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="Column of row weights: 2 is the row twice.", show_default=False
    ),
]
Columns: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Use only these columns; may be repeated, or have commas between.",
        show_default=False,
    ),
]
Exclude: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Leave these columns out; may be repeated, or have commas between.",
        show_default=False,
    ),
]
FormatOption: TypeAlias = Annotated[
    Format,
    typer.Option(
        "--format", help="Print text, csv, markdown, latex (package booktabs) or json on stdout."
    ),
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]

# Options that are not of `Settings`, with their defaults.
OTHERS: dict[str, tuple[Any, Any]] = {
    "missing": (Missing, None),
    "weights": (Weights, None),
    "columns": (Columns, None),
    "exclude": (Exclude, None),
    "form": (FormatOption, Format.TEXT),
    "json": (Json, False),
}
LEARNING = ("estimate", "alpha", "starts", "schedule", "seed", "threads")
MEASURING = ("evidence", "calibrate", "target", "budget")
READING = ("missing", "weights", "columns", "exclude")
PRINTING = ("form", "json")

# What `Settings` reads from a text is shown as one.
TEXTS: dict[str, Callable[[Any], str]] = {
    "scores": str,
    "alpha": lambda alpha: alpha if isinstance(alpha, str) else f"{alpha:g}",
    "budget": lambda seconds: f"{seconds:g}s",
}


def options_after(
    work: Callable[..., Any], **after: tuple[str, ...]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of the function that does its work, behind some of its own.

    It gets them as `settings`, `reading` and `form`, as far as it asks for these. Defaults are the
    function's; the order is that of `--help`.
    """
    start = defaults_of(work)

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True).parameters
        makers = {"settings": _settings, "reading": _reading, "form": _form}
        makers = {name: maker for name, maker in makers.items() if name in own}
        shown: list[inspect.Parameter] = []
        for parameter in (p for p in own.values() if p.name not in makers):
            shown.append(parameter.replace(kind=parameter.KEYWORD_ONLY))
            shown += (_option(name, start) for name in after.get(parameter.name, ()))

        @functools.wraps(command)
        def run(**given: Any) -> None:
            made = {name: maker(start, given) for name, maker in makers.items()}
            command(**{p: given[p] for p in own if p not in made}, **made)

        run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in shown}
        return run

    return decorate


def _option(name: str, start: Settings) -> inspect.Parameter:
    """Make the parameter of an option."""
    if name in OTHERS:
        kind, default = OTHERS[name]
    else:
        value = getattr(start, name)
        default = TEXTS[name](value) if name in TEXTS else value
        option = typer.Option(
            f"--{name.replace('_', '-')}",
            help=OPTIONS[name].metadata["meaning"],
            metavar="TIME" if name == "budget" else None,
            show_default=default is not None,
        )
        kind = Annotated[int | None if default is None else type(default), option]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _settings(start: Settings, given: Mapping[str, Any]) -> Settings:
    return replace(start, **{name: value for name, value in given.items() if name in OPTIONS})


def _reading(_start: Settings, given: Mapping[str, Any]) -> ReadOptions:
    """Give the options of `read_table`; commas stand between names, unless they are in a name."""
    columns, exclude = given.get("columns"), given.get("exclude")
    names = column_names(given["data"]) if columns or exclude else []
    return ReadOptions(
        missing=split(given["missing"]),
        weights=given.get("weights"),
        columns=None if columns is None else split(columns, names),
        exclude=split(exclude, names),
    )


def _form(_start: Settings, given: Mapping[str, Any]) -> Format:
    """Give the format; refuse two at once."""
    form: Format = given.get("form", Format.TEXT)
    if given["json"] and form not in (Format.TEXT, Format.JSON):
        raise OptionError(f"--json and --format {form}: give one of the two.")
    return Format.JSON if given["json"] else form
