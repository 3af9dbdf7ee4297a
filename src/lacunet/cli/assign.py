"""`lacunet assign`: which class is each row in?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from lacunet import api
from lacunet.cli import options as o
from lacunet.cli.console import command, say, show
from lacunet.data import append_columns, column_names
from lacunet.report.documents import assignment_document


@command
def assign(
    data: o.Data,
    model: o.ModelFile,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Table to write.", show_default=False)
    ],
    missing: o.Missing = None,
    json: o.Json = False,
) -> None:
    """Give each row its class probabilities and its most probable class.

    All columns and the order of the rows are kept; the new columns come last.
    """
    given = api.as_model(model)
    found = api.assign(data, given, missing=o.split(missing))
    root = given.network.variables[0].name
    new: dict[str, Any] = {root: np.array(found.classes)[found.best]}
    new |= {f"p({root}={c})": found.probabilities[:, k] for k, c in enumerate(found.classes)}
    append_columns(data, api.fresh_names(new, column_names(data)), output)
    show(found, {**assignment_document(found), "output": str(output)}, json)
    say(f"written: {output}")
