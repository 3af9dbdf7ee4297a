"""Options that several commands share, and how their texts are read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from lacunet import api
from lacunet.cli.console import Format
from lacunet.data import column_names
from lacunet.errors import OptionError
from lacunet.learn.objective import Estimate
from lacunet.learn.schedules import Schedule
from lacunet.model.network import Network
from lacunet.model.prior import check_alpha
from lacunet.scores import GROUPS, SCORES

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}

Data: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="Table with a header: .csv, .tsv, .parquet, .arrow or .feather.",
        show_default=False,
    ),
]
Scores: TypeAlias = Annotated[
    str,
    typer.Option(
        help=f"Scores, with commas between: {', '.join(s.name for s in SCORES)}; "
        f"usual ({', '.join(s.name for s in GROUPS['usual'])}), or all."
    ),
]
EstimateOption: TypeAlias = Annotated[
    Estimate, typer.Option("--estimate", help="Parameters to learn: map (as the paper) or ml.")
]
Alpha: TypeAlias = Annotated[
    str,
    typer.Option(
        help="Prior: a Dirichlet exponent above 0, k2 (1 everywhere) or bdeu:SIZE (equivalent "
        "sample size)."
    ),
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
Starts: TypeAlias = Annotated[int, typer.Option(help="Random starts of EM.")]
ScheduleOption: TypeAlias = Annotated[
    Schedule,
    typer.Option(
        "--schedule",
        help="default: the highest maximum of several starts; thorough: look further for it, some "
        "5 times as long; mass: the maximum with most of the posterior around it; paper: exactly "
        "CH96.",
    ),
]
Seed: TypeAlias = Annotated[int, typer.Option(help="Seed; the same seed gives the same numbers.")]
Threads: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Threads (default: one per core); the numbers do not depend on it.", show_default=False
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
Dimension: TypeAlias = Annotated[
    str,
    typer.Option(help="What counts as d: parameters, or the rank of the observable Jacobian."),
]
FormatOption: TypeAlias = Annotated[
    Format,
    typer.Option(
        "--format", help="Print text, csv, markdown, latex (package booktabs) or json on stdout."
    ),
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
MissingAsState: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--missing-as-state",
        help="Treat a missing cell as an answer: one more state, '(missing)', of its column.",
    ),
]
SaveFolder: TypeAlias = Annotated[
    Path | None,
    typer.Option("--save", help="Folder for the result and the model files.", show_default=False),
]
Evidence: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--evidence",
        help="Measure the evidence itself of every candidate, with error bars; it then decides.",
    ),
]
Calibrate: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--calibrate",
        help="Measure the evidence of the best few candidates: how far is each score from it?",
    ),
]
Target: TypeAlias = Annotated[
    float, typer.Option(help="Standard error of a sampled evidence to reach, in nats.")
]
Budget: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="TIME", help="Time after which nothing new is sampled: 60s, 5m, 1h, or seconds."
    ),
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]
ModelFile: TypeAlias = Annotated[
    Path,
    typer.Option(
        "--model",
        help="Model file: .json, or a network with its tables (.bif, .xmlbif, .xdsl).",
        show_default=False,
    ),
]


def split(values: list[str] | None, names: Sequence[str] = ()) -> list[str]:
    """Read a repeatable option whose values may also have commas between.

    A value that is one of `names` is taken whole, commas and all.

    >>> split(["a,b", "age, in years"], names=["a", "b", "age, in years"])
    ['a', 'b', 'age, in years']
    """
    return [
        part
        for value in values or []
        for part in ([value] if value in names else map(str.strip, value.split(",")))
    ]


def reading(
    data: Path,
    missing: list[str] | None,
    weights: str | None = None,
    columns: list[str] | None = None,
    exclude: list[str] | None = None,
) -> dict[str, Any]:
    """Give the arguments of `read_table`."""
    names = column_names(data) if columns or exclude else []
    return {
        "missing": split(missing),
        "weights": weights,
        "columns": None if columns is None else split(columns, names),
        "exclude": split(exclude, names),
    }


def parse_states(text: str) -> list[int]:
    """Read numbers of states: 4, 1:8, 2:10:2 or 2,4,8.

    >>> parse_states("1:4"), parse_states("2:8:3"), parse_states("5,3")
    ([1, 2, 3, 4], [2, 5, 8], [5, 3])
    """
    found: list[int] = []
    for part in text.split(","):
        try:
            numbers = [int(x) for x in part.split(":")]
        except ValueError:
            raise OptionError(
                f"--states '{text}' is not understood. Give 4, 1:8, 2:10:2 or 2,4,8."
            ) from None
        first, last = numbers[0], numbers[1] if len(numbers) > 1 else numbers[0]
        step = numbers[2] if len(numbers) == 3 else 1
        if len(numbers) > 3 or step < 1:
            raise OptionError(
                f"--states '{text}' is not understood. Give FIRST:LAST or FIRST:LAST:STEP."
            )
        if first < 1 or last < 1:
            raise OptionError(f"--states '{text}': there must be at least 1 hidden state.")
        if last < first:
            raise OptionError(
                f"--states '{text}' runs backwards, so it is empty. Did you mean {last}:{first}?"
            )
        found.extend(range(first, last + 1, step))
    return list(dict.fromkeys(found))


def check_number_of_states(states: int) -> None:
    """Refuse fewer than one state."""
    if states < 1:
        raise OptionError(f"--states {states}: there must be at least 1 hidden state.")


def parse_seconds(text: str) -> float:
    """Read a time: 90, 60s, 5m or 1h.

    >>> parse_seconds("90"), parse_seconds("1.5m"), parse_seconds("1h")
    (90.0, 90.0, 3600.0)
    """
    number, unit = (text[:-1], text[-1]) if text[-1:] in UNITS else (text, "s")
    try:
        seconds = float(number) * UNITS[unit]
    except ValueError:
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds > 0):
        raise OptionError(f"--budget '{text}' is no time. Give for example 60s, 5m or 1h.")
    return seconds


def parse_hidden(values: list[str] | None) -> dict[str, int | None]:
    """Read --hidden NAME or NAME=STATES.

    >>> parse_hidden(["H", "G=3"])
    {'H': None, 'G': 3}
    """
    found: dict[str, int | None] = {}
    for value in values or []:
        name, equals, number = value.rpartition("=")
        if not equals:
            name, number = value, ""
        try:
            size = int(number) if equals else None
        except ValueError:
            raise OptionError(
                f"--hidden '{value}' is not understood. Give NAME, or NAME=STATES as in H=3."
            ) from None
        if size is not None and size < 1:
            raise OptionError(f"--hidden '{value}': there must be at least 1 hidden state.")
        if name in found:
            raise OptionError(f"--hidden names '{name}' twice. Name it once.")
        found[name] = size
    return found


def structure(network: Path | None, hidden: dict[str, int | None]) -> Network | None:
    """Read --network and declare --hidden; None for a latent class model."""
    if network is not None:
        return api.as_network(network, hidden)
    if hidden:
        raise OptionError("--hidden names variables of a network. Give the network: --network.")
    return None


def parse_alpha(text: str) -> float | str:
    """Read --alpha: a number, k2 or bdeu:SIZE.

    >>> parse_alpha("1.5"), parse_alpha("bdeu:10")
    (1.5, 'bdeu:10')
    """
    check_alpha(text)
    try:
        return float(text)
    except ValueError:
        return text
