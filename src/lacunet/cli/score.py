"""`lacunet score`: every score of a given model."""

from __future__ import annotations

from typing import Annotated

import typer

from lacunet import api
from lacunet.cli import options as o
from lacunet.cli.console import Format, check_format, command, progress, show
from lacunet.cli.table_words import audit, remind
from lacunet.learn.objective import Estimate
from lacunet.report.documents import scores_document, table_document
from lacunet.scores import choose_scores


@command
def score(
    data: o.Data,
    model: o.ModelFile,
    hidden: o.AlsoHidden = None,
    refit: Annotated[bool, typer.Option("--refit", help="Run EM from the model first.")] = False,
    scores: o.Scores = "usual",
    estimate: o.EstimateOption = Estimate.MAP,
    dimension: o.Dimension = "parameters",
    threads: o.Threads = None,
    missing: o.Missing = None,
    missing_as_state: o.MissingAsState = False,
    weights: o.Weights = None,
    form: o.FormatOption = Format.TEXT,
    json: o.Json = False,
) -> None:
    """Score a model on a table, at exactly the parameters in its file.

    With --refit, EM starts from them, and the scores are taken where it ends. Scores that are
    defined at a mode of their own (csl, laplace-phi) climb to it from there; those that need models
    with fewer classes (sbic, and all that end in -occupied) fit them.
    """
    check_format(form, json)
    choose_scores(scores)
    api.check_dimension(dimension)
    api.check_search(estimate, threads=threads)
    given = api.as_model(model, o.parse_hidden(hidden))
    table = api.table_with_model(
        data,
        given.network,
        missing_as_state=missing_as_state,
        missing=o.split(missing),
        weights=weights,
    )
    audit(table)
    remind(given.network, missing_as_state)
    with progress() as listener:
        found = api.score(
            table,
            given,
            scores=scores,
            refit=refit,
            estimate=estimate,
            dimension=dimension,
            threads=threads,
            listener=listener,
        )
    show(found, {"data": table_document(table), **scores_document(found)}, json, form)
