"""`lacunet random`: a random naive-Bayes model, as in the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lacunet import api
from lacunet.cli import options as o
from lacunet.cli.console import Format, command, tell
from lacunet.files import check_file
from lacunet.model.formats import write_model
from lacunet.settings import Settings


@command
@o.options_after(api.random_model, leaf_states=("alpha", "seed", "json"))
def random(
    classes: Annotated[int, typer.Option(help="States of the hidden root.", show_default=False)],
    leaves: Annotated[int, typer.Option(help="Observed variables.", show_default=False)],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Model file to write.", show_default=False)
    ],
    leaf_states: Annotated[int, typer.Option(help="States of each observed variable.")] = 2,
    *,
    settings: Settings,
    form: Format,
) -> None:
    """Write a random naive-Bayes model: every distribution drawn uniformly, as in the paper."""
    check_file(output)
    model = api.random_model(classes, leaves, leaf_states=leaf_states, settings=settings)
    write_model(model, output)
    dimension = model.network.dimension
    document = {"output": str(output), "dimension": dimension, "seed": settings.seed}
    tell(document, f"written: {output}", form)
