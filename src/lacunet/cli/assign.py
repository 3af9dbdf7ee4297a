"""`lacunet assign`: which class is each row in?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from lacunet import api
from lacunet.cli import options as o
from lacunet.cli.console import command, say, show
from lacunet.cli.table_words import remind
from lacunet.data import append_columns, check_table_file, column_names
from lacunet.report.documents import assignment_document


@command
def assign(
    data: o.Data,
    model: o.ModelFile,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Table to write.", show_default=False)
    ],
    hidden: o.AlsoHidden = None,
    impute: Annotated[bool, typer.Option("--impute", help="Fill in missing cells too.")] = False,
    missing: o.Missing = None,
    missing_as_state: o.MissingAsState = False,
    json: o.Json = False,
) -> None:
    """Give each row its class: the most probable state of what is hidden, and all probabilities.

    All columns and the order of the rows are kept; the new columns come last. With --impute, also
    the most probable value, and the probabilities, of every column that has missing cells.
    """
    check_table_file(output)
    given = api.as_model(model, o.parse_hidden(hidden))
    remind(given.network, missing_as_state)
    found = api.assign(
        data,
        given,
        impute=impute,
        missing=o.split(missing),
        missing_as_state=missing_as_state,
    )
    secret = {given.network.variables[h].name for h in given.network.hidden}
    new: dict[str, Any] = {}
    for v in found.variables:
        labels = (*v.states, None)  # an impossible row, -1, gets the last: an empty cell
        new[v.name if v.name in secret else f"{v.name} (imputed)"] = [labels[k] for k in v.best]
        new |= {f"p({v.name}={s})": v.probabilities[:, k] for k, s in enumerate(v.states)}
    append_columns(data, api.fresh_names(new, column_names(data)), output)
    show(found, {**assignment_document(found), "output": str(output)}, json)
    say(f"written: {output}")
