"""`lacunet score`: every score of a given model."""

from __future__ import annotations

from typing import Annotated

import typer

from lacunet import api
from lacunet.api.options import ReadOptions
from lacunet.cli import options as o
from lacunet.cli.console import Format, command, progress, show
from lacunet.cli.parsing import parse_hidden
from lacunet.cli.table_words import audit, remind
from lacunet.report.documents import scores_document, table_document
from lacunet.settings import Settings


@command
@o.options_after(
    api.score,
    refit=(
        "scores",
        "estimate",
        "dimension",
        "threads",
        "missing",
        "missing_as_state",
        "weights",
        *o.PRINTING,
    ),
)
def score(
    data: o.Data,
    model: o.ModelFile,
    hidden: o.AlsoHidden = None,
    refit: Annotated[bool, typer.Option("--refit", help="Run EM from the model first.")] = False,
    *,
    settings: Settings,
    reading: ReadOptions,
    form: Format,
) -> None:
    """Score a model on a table, at exactly the parameters in its file.

    With --refit, EM starts from them, and the scores are taken where it ends. Scores that are
    defined at a mode of their own (csl, laplace-phi) climb to it from there; those that need models
    with fewer classes (sbic, and all that end in -occupied) fit them.
    """
    given = api.as_model(model, parse_hidden(hidden))
    table = api.table_with_model(data, given.network, settings, reading)
    audit(table)
    remind(given.network, settings)
    with progress() as listener:
        found = api.score(table, given, refit=refit, settings=settings, listener=listener)
    show(found, {"data": table_document(table), **scores_document(found)}, form)
