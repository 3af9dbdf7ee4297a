"""`lacunet random`: a random naive-Bayes model, as in the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lacunet import api
from lacunet.cli import options as o
from lacunet.cli.console import command, tell
from lacunet.files import check_file
from lacunet.model.formats import write_model
from lacunet.model.prior import PAPER_ALPHA


@command
def random(
    classes: Annotated[int, typer.Option(help="States of the hidden root.", show_default=False)],
    leaves: Annotated[int, typer.Option(help="Observed variables.", show_default=False)],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Model file to write.", show_default=False)
    ],
    leaf_states: Annotated[int, typer.Option(help="States of each observed variable.")] = 2,
    alpha: o.Alpha = str(PAPER_ALPHA),
    seed: o.Seed = 0,
    json: o.Json = False,
) -> None:
    """Write a random naive-Bayes model: every distribution drawn uniformly, as in the paper."""
    check_file(output)
    model = api.random_model(
        classes, leaves, leaf_states=leaf_states, seed=seed, alpha=o.parse_alpha(alpha)
    )
    write_model(model, output)
    document = {"output": str(output), "dimension": model.network.dimension, "seed": seed}
    tell(document, f"written: {output}", json)
