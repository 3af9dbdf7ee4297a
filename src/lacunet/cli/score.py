"""`lacunet score`: every score of a given model."""

from __future__ import annotations

from typing import Annotated

import typer

from lacunet import api
from lacunet.cli import options as o
from lacunet.cli.console import command, progress, show
from lacunet.learn.objective import Estimate
from lacunet.report.documents import scores_document


@command
def score(
    data: o.Data,
    model: o.ModelFile,
    refit: Annotated[bool, typer.Option("--refit", help="Run EM from the model first.")] = False,
    scores: o.Scores = "all",
    estimate: o.EstimateOption = Estimate.MAP,
    dimension: o.Dimension = "parameters",
    threads: o.Threads = None,
    missing: o.Missing = None,
    weights: o.Weights = None,
    json: o.Json = False,
) -> None:
    """Score a model on a table, at exactly the parameters in its file.

    With --refit, EM starts from them, and the scores are taken where it ends.
    """
    with progress() as listener:
        found = api.score(
            data,
            model,
            scores=scores,
            refit=refit,
            estimate=estimate,
            dimension=dimension,
            threads=threads,
            listener=listener,
            **o.reading(missing, weights),
        )
    show(found, scores_document(found), json)
