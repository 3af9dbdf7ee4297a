"""`lacunet random`: a random naive-Bayes model, as in the paper."""

from pathlib import Path
from typing import Annotated

import typer

from lacunet import api
from lacunet.cli import options as o
from lacunet.cli.console import command, tell
from lacunet.cli.paths import Writes
from lacunet.models.formats import write_model


@command
@o.options_after(api.random_model, leaf_states=("alpha", "seed", "json"))
def random(
    asked: o.Asked,
    classes: Annotated[int, o.option("States of the hidden root.")],
    leaves: Annotated[int, o.option("Observed variables.")],
    output: Annotated[
        Path, o.option("Model file to write: .json.", "--output", "-o"), Writes(o.check_json)
    ],
    leaf_states: Annotated[int, typer.Option(help="States of each observed variable.")] = 2,
) -> None:
    """Write a random naive-Bayes model: every distribution drawn uniformly, as in the paper."""
    model = api.random_model(classes, leaves, leaf_states=leaf_states, settings=asked.settings)
    write_model(model, output)
    dimension = model.network.dimension
    document = {"output": str(output), "dimension": dimension, "seed": asked.settings.seed}
    tell(document, f"written: {output}", asked.form)
