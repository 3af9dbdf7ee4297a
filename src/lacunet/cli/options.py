"""Options that several commands share, and how their texts are read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from lacunet.errors import OptionError
from lacunet.learn.objective import Estimate
from lacunet.learn.schedules import Schedule

Data: TypeAlias = Annotated[
    Path,
    typer.Argument(help="Table: .csv, .tsv, .parquet, .arrow or .feather.", show_default=False),
]
Scores: TypeAlias = Annotated[
    str,
    typer.Option(help="Scores, with commas between: laplace, cs, mled, draper, bic, bd; or all."),
]
EstimateOption: TypeAlias = Annotated[
    Estimate, typer.Option("--estimate", help="Parameters to learn: map (as the paper) or ml.")
]
Alpha: TypeAlias = Annotated[
    float, typer.Option(help="Dirichlet exponent of every parameter set, above 0.")
]
Starts: TypeAlias = Annotated[int, typer.Option(help="Random starts of EM.")]
ScheduleOption: TypeAlias = Annotated[
    Schedule,
    typer.Option("--schedule", help="default: on to a true maximum; paper: exactly CH96."),
]
Seed: TypeAlias = Annotated[int, typer.Option(help="Seed; the same seed gives the same numbers.")]
Threads: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Threads [default: one per core]; the numbers do not depend on it.", show_default=False
    ),
]
Missing: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help="One more marker of a missing cell, besides empty, NA, NaN, null and ?; "
        "may be repeated, or have commas between.",
        show_default=False,
    ),
]
Weights: TypeAlias = Annotated[
    str | None, typer.Option(help="Column of row weights.", show_default=False)
]
Columns: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help="Use only these columns; may be repeated, or have commas between.", show_default=False
    ),
]
Exclude: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help="Leave these columns out; may be repeated, or have commas between.", show_default=False
    ),
]
Dimension: TypeAlias = Annotated[
    str,
    typer.Option(help="What counts as d: parameters, or the rank of the observable Jacobian."),
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]
ModelFile: TypeAlias = Annotated[
    Path, typer.Option("--model", help="Model file (JSON).", show_default=False)
]


def split(values: list[str] | None) -> list[str]:
    """Read a repeatable option whose values may also have commas between."""
    return [part.strip() for value in values or [] for part in value.split(",")]


def reading(
    missing: list[str] | None,
    weights: str | None = None,
    columns: list[str] | None = None,
    exclude: list[str] | None = None,
) -> dict[str, Any]:
    """Give the arguments of `read_table` that were asked for."""
    wanted: dict[str, Any] = {
        "missing": split(missing),
        "weights": weights,
        "columns": split(columns) or None,
        "exclude": split(exclude),
    }
    return {name: value for name, value in wanted.items() if value}


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
    return found
