"""`lacunet simulate`: data from a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lacunet import api
from lacunet.cli import options as o
from lacunet.cli.console import command, tell
from lacunet.data import check_table_file, write_codes


@command
def simulate(
    model: o.ModelFile,
    rows: Annotated[int, typer.Option(help="Number of rows.", show_default=False)],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Table to write.", show_default=False)
    ],
    seed: o.Seed = 0,
    missing_rate: Annotated[
        float, typer.Option(help="Share of the cells to leave empty, completely at random.")
    ] = 0.0,
    json: o.Json = False,
) -> None:
    """Draw rows from a model; its hidden variables are left out."""
    check_table_file(output)
    given = api.as_model(model)
    codes = api.draw(given, rows, seed, missing_rate)
    write_codes(api.observed_columns(given.network), codes, output)
    document = {"output": str(output), "rows": rows, "seed": seed, "missing_rate": missing_rate}
    tell(document, f"written: {output}", json)
