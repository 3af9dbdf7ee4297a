"""`lacunet learn --shape`, `--hidden auto`: variables that no column shows."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from lacunet import api
from lacunet.api.options import defaults_of
from lacunet.cli import options as o
from lacunet.cli.outcome import show_network
from lacunet.cli.table_words import read
from lacunet.errors import OptionError
from lacunet.report.documents import hidden_document, latent_tree_document
from lacunet.report.page.answers import hidden_answer, latent_tree_answer
from lacunet.structure.hidden.latent_tree import Shape
from lacunet.structure.knowledge import Knowledge

ShapeOption: TypeAlias = Annotated[
    Shape | None,
    o.option(
        "Learn hidden variables that join the columns instead: tree (every column a leaf), forest "
        "(it may fall apart) or naive (one of them behind all columns). --alpha is then 1.01, if "
        "not given."
    ),
]


HiddenAuto: TypeAlias = Annotated[
    str | None,
    o.option(
        "auto: also look for variables that no column shows; one is kept only if it is "
        "more probable than not, under priors that the data support.",
        metavar="auto",
    ),
]
MostHidden: TypeAlias = Annotated[
    int, typer.Option(help="With --hidden auto: hidden variables to look for, at most.")
]


def learn_shape(
    asked: o.Asked, data: Path, shape: Shape, save: Path | None, report: Path | None
) -> None:
    """Learn a latent tree, forest or class model."""
    table = read(data, asked)
    with asked.work() as how:
        found = api.learn_latent_tree(table, shape, **how)
    answer = latent_tree_answer(found, table, asked.settings)
    show_network(found, answer, latent_tree_document(found), asked, save, report)


@dataclass(frozen=True)
class HiddenAsked:
    """What is asked of hidden variables."""

    most: int  # of them
    known: Knowledge
    resume: Path | None


def learn_with_hidden(
    asked: o.Asked, data: Path, hidden: HiddenAsked, save: Path | None, report: Path | None
) -> None:
    """Learn a graph, and hidden variables in it."""
    table = read(data, asked)
    most, known, resume = hidden.most, hidden.known, hidden.resume
    with asked.work() as how:
        found = api.find_hidden(table, most=most, knowledge=known, resume=resume, **how)
    answer = hidden_answer(found, table, asked.settings, most)
    show_network(found, answer, hidden_document(found), asked, save, report)


def check_hidden(hidden: str, shape: Shape | None, edges: bool) -> None:
    """Refuse what is not offered with hidden variables."""
    if shape is not None:
        raise OptionError(f"--shape {shape} has hidden variables of its own: leave out --hidden.")
    if hidden != "auto":
        raise OptionError(
            f"--hidden '{hidden}': learn finds hidden variables and their states by itself. Give "
            "--hidden auto; for one that you know, use fit or select with --network."
        )
    _refuse_edges("--hidden auto", edges)


def check_shape(shape: Shape, known: Knowledge, edges: bool, resume: Path | None) -> None:
    """Refuse what a shape leaves no room for."""
    _refuse_edges(f"--shape {shape}", edges)
    if resume is not None:
        raise OptionError(
            f"--resume keeps the search for a graph, not --shape {shape}. Leave one out."
        )
    if known != Knowledge():
        raise OptionError(
            f"--shape {shape} says already where edges are, so that nothing else can be known of "
            "them: leave out --require, --forbid, --tiers, --start, --max-parents and --knowledge, "
            "or --shape."
        )


def _refuse_edges(what: str, edges: bool) -> None:
    if edges:
        raise OptionError(
            f"--edges is about graphs over the columns alone, not about {what}. Leave one out."
        )


def own_prior(context: typer.Context, asked: o.Asked, function: Callable[..., object]) -> o.Asked:
    """Where no prior is asked for, take that of a function that finds hidden variables."""
    if _was_given(context, "graph_prior"):
        raise OptionError(
            "--graph-prior is about graphs over the columns alone: leave it out with --hidden and "
            "--shape."
        )
    if _was_given(context, "alpha"):
        return asked
    alpha = defaults_of(function).alpha
    return replace(asked, settings=replace(asked.settings, alpha=alpha))


def check_most(context: typer.Context) -> None:
    """Refuse a number of hidden variables where none are looked for."""
    if _was_given(context, "most"):
        raise OptionError("--most says how many hidden variables. Give --hidden auto too.")


def _was_given(context: typer.Context, option: str) -> bool:
    source = context.get_parameter_source(option)
    return source is None or source.name != "DEFAULT"
