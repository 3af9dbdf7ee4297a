"""`lacunet simulate`: data from a model."""

from __future__ import annotations

from typing import Annotated

import typer

from lacunet import api
from lacunet.cli import options as o
from lacunet.cli.console import Format, command, tell
from lacunet.data.write import check_table_file, write_codes
from lacunet.settings import Settings


@command
@o.options_after(api.simulate, output=("seed",), missing_rate=("json",))
def simulate(
    model: o.ModelFile,
    rows: Annotated[int, typer.Option(help="Number of rows.", show_default=False)],
    output: o.TableFile,
    missing_rate: Annotated[
        float, typer.Option(help="Share of the cells to leave empty, completely at random.")
    ] = 0.0,
    *,
    settings: Settings,
    form: Format,
) -> None:
    """Draw rows from a model; its hidden variables are left out."""
    check_table_file(output)
    given = api.as_model(model)
    codes = api.draw(given, rows, settings.seed, missing_rate)
    write_codes(api.observed_columns(given.network), codes, output)
    document = {
        "output": str(output),
        "rows": rows,
        "seed": settings.seed,
        "missing_rate": missing_rate,
    }
    tell(document, f"written: {output}", form)
