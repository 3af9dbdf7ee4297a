"""`lacunet learn --shape`: hidden variables that join the columns."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from lacunet import api
from lacunet.api.options import defaults_of
from lacunet.cli import options as o
from lacunet.cli.console import say_written, show
from lacunet.cli.outcome import report_network, save_network
from lacunet.cli.table_words import read
from lacunet.errors import OptionError
from lacunet.graphs.hidden.latent_tree import Shape
from lacunet.graphs.knowledge import Knowledge
from lacunet.report.documents import latent_tree_document, table_document
from lacunet.report.page.answers import latent_tree_answer

ShapeOption: TypeAlias = Annotated[
    Shape | None,
    o.option(
        "Learn hidden variables that join the columns instead: tree (every column a leaf), forest "
        "(it may fall apart) or naive (one of them behind all columns). --alpha is then 1.01, if "
        "not given."
    ),
]


def learn_shape(
    asked: o.Asked, data: Path, shape: Shape, save: Path | None, report: Path | None
) -> None:
    """Learn a latent tree, forest or class model."""
    table, settings = read(data, None, asked), asked.settings
    with asked.work() as how:
        found = api.learn_latent_tree(table, shape, **how)
    save_network(found.model, save)
    report_network(latent_tree_answer(found, table, settings), report)
    document = {
        "data": table_document(table),
        "seed": settings.seed,
        "alpha": settings.alpha,
        **latent_tree_document(found),
        "model": None if save is None else str(save),
    }
    show(found, document, asked.form)
    say_written(save, report)


def check_shape(shape: Shape, known: Knowledge, edges: bool, resume: Path | None) -> None:
    """Refuse what a shape leaves no room for."""
    if resume is not None:
        raise OptionError(
            f"--resume is for searches that take long, and --shape {shape} does not keep what it "
            "has done. Leave it out."
        )
    if edges:
        raise OptionError(
            f"--edges is about edges between columns, and --shape {shape} has none. "
            "Give one of the two."
        )
    if known != Knowledge():
        raise OptionError(
            f"--shape {shape} says already where edges are, so that nothing else can be known of "
            "them: leave out --require, --forbid, --tiers, --start, --max-parents and --knowledge, "
            "or --shape."
        )


def own_prior(context: typer.Context, asked: o.Asked) -> o.Asked:
    """Where no prior is asked for, take the one that numbers of hidden states are found with."""
    source = context.get_parameter_source("alpha")
    if source is None or source.name != "DEFAULT":
        return asked
    alpha = defaults_of(api.learn_latent_tree).alpha
    return replace(asked, settings=replace(asked.settings, alpha=alpha))
