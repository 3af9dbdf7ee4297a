"""`lacunet simulate`: data from a model."""

from typing import Annotated

import typer

from lacunet import api
from lacunet.cli import options as o
from lacunet.cli.console import command, say, tell
from lacunet.data.write import write_codes


@command
@o.options_after(api.simulate, output=("seed",), missing_rate=("plug_in", "json"))
def simulate(
    asked: o.Asked,
    model: o.ModelFile,
    rows: Annotated[int, o.option("Number of rows.")],
    output: o.TableFile,
    missing_rate: Annotated[
        float, typer.Option(help="Share of the cells to leave empty, completely at random.")
    ] = 0.0,
) -> None:
    """Draw rows from a model or a stack; what a model hides is left out."""
    given = api.asked_speaker(model, asked.settings)
    if known := api.covariates_of(given).names:
        told = ", ".join(f"'{name}'" for name in known)
        say(f"note: {told} predict the classes of the model, and have no distribution themselves.")
        say("note: classes are drawn by their sizes over the rows that it was fitted to.")
    seed = asked.settings.seed
    columns, codes = api.draw(given, rows, seed, missing_rate)
    write_codes(columns, codes, output)
    document = {"output": str(output), "rows": rows, "seed": seed, "missing_rate": missing_rate}
    tell(document, f"written: {output}", asked.form)
