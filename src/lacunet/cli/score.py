"""`lacunet score`: every score of a given model."""

from typing import Annotated

from lacunet import api
from lacunet.cli import options as o
from lacunet.cli.console import command, show
from lacunet.cli.parsing import parse_hidden
from lacunet.cli.table_words import audit, remind
from lacunet.report.documents import scores_document, table_document


@command
@o.options_after(
    api.score, refit=("scores", "estimate", "dimension", "threads", *o.HOLES, *o.PRINTING)
)
def score(
    asked: o.Asked,
    data: o.Data,
    model: o.ModelFile,
    hidden: o.AlsoHidden = None,
    refit: Annotated[bool, o.switch("--refit", "Run EM from the model first.")] = False,
) -> None:
    """Score a model on a table, at exactly the parameters in its file.

    With --refit, EM starts from them, and the scores are taken where it ends. Scores that are
    defined at a mode of their own (csl) climb to it from there; those that need models with fewer
    classes (csl-occupied, vb-occupied) fit them.
    """
    given = api.as_model(model, parse_hidden(hidden))
    table = api.table_with_model(data, given.network, asked.settings, asked.reading, numbers=True)
    audit(table)
    remind(given.network, asked.settings)
    with asked.work() as how:
        found = api.score(table, given, refit=refit, **how)
    show(found, {"data": table_document(table), **scores_document(found)}, asked.form)
