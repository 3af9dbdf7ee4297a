"""`lacunet learn`: the best graph over the columns, one with hidden variables, or a latent tree."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from lacunet import api
from lacunet.api.options import defaults_of
from lacunet.cli import options as o
from lacunet.cli.console import command
from lacunet.cli.outcome import check_outputs, read, show_network
from lacunet.cli.parsing import split
from lacunet.cli.paths import READS, Writes
from lacunet.errors import OptionError
from lacunet.models.formats import check_network_file
from lacunet.report.page.network_page import hidden_answer, latent_tree_answer, learned_answer
from lacunet.selection.hidden_search import MOST
from lacunet.structure.hidden.latent_tree import TreeShape
from lacunet.structure.knowledge import Knowledge, parse_edges, parse_tiers, read_knowledge
from lacunet.tabular import Together

ShapeOption: TypeAlias = Annotated[
    TreeShape | None,
    o.option(
        "Learn a latent tree instead: tree (every column a leaf), forest (perhaps disconnected) or "
        "naive (one hidden parent of all columns). The default --alpha is then 1.01."
    ),
]


HiddenAuto: TypeAlias = Annotated[
    str | None,
    o.option(
        "auto: also look for hidden variables; one is kept if its probability exceeds one half, "
        "under priors that the data support.",
        metavar="auto",
    ),
]
MostHidden: TypeAlias = Annotated[
    int, typer.Option(help="With --hidden auto: maximum number of hidden variables.")
]


MaxParents: TypeAlias = Annotated[
    int | None, o.option("Most parents of a variable (default: any number).")
]
SaveNetwork: TypeAlias = Annotated[
    Path | None,
    o.option("Network file to write: .bif, .xmlbif, .xdsl, .json; .dot for a picture."),
    Writes(check_network_file),
]
EDGE = "PARENT>CHILD"
Required: TypeAlias = Annotated[
    list[str] | None, o.option(f"Required edge; {o.REPEAT}", metavar=EDGE)
]
Forbidden: TypeAlias = Annotated[
    list[str] | None, o.option(f"Forbidden edge; {o.REPEAT}", metavar=EDGE)
]
Tiers: TypeAlias = Annotated[
    str | None,
    o.option("No edge goes from a later tier to an earlier one.", metavar="'A,B;C,...'"),
]
Start: TypeAlias = Annotated[
    Path | None,
    o.option("Start of the search: a network file or a text graph (default: the empty graph)."),
    READS,
]
Edges: TypeAlias = Annotated[
    bool,
    o.switch(
        "--edges",
        "Also print the posterior probability of each edge, and of each direction.",
    ),
]
Resamples: TypeAlias = Annotated[
    int,
    typer.Option(
        help="With --edges, above 0: instead of posterior probabilities, the share of so many "
        "bootstrap resamples whose graph has the edge."
    ),
]


@command
@o.options_after(
    api.learn_structure,
    data=(
        "alpha",
        "score",
        "sweeps",
        "restarts",
        "probes",
        "graph_prior",
        "exact",
        "seed",
        *o.READING,
        *o.NUMBERS,
    ),
    resume=("evidence", "target", "budget", "threads"),
    report=o.PRINTING,
)
def learn(
    request: o.Request,
    context: typer.Context,
    data: o.Data,
    max_parents: MaxParents = None,
    require: Required = None,
    forbid: Forbidden = None,
    tiers: Tiers = None,
    start: Start = None,
    knowledge: o.KnowledgeFile = None,
    edges: Edges = False,
    resamples: Resamples = 0,
    resume: o.Resume = None,
    shape: ShapeOption = None,
    hidden: HiddenAuto = None,
    most: MostHidden = MOST,
    save: SaveNetwork = None,
    report: o.Report = None,
) -> None:
    """Learn the graph over the columns of a table, complete or not, and its parameters.

    The score of complete data is the exact evidence. With missing cells, imputed values propose
    graphs, and a lower bound of the evidence of the incomplete data chooses. Close graphs are
    compared by the score CSL, or by measured evidence (--evidence).
    """
    if resamples and not edges:
        raise OptionError("--resamples estimates edge probabilities. Give --edges too.")
    known = Knowledge(
        parse_edges("--require", split(require)),
        parse_edges("--forbid", split(forbid)),
        parse_tiers(tiers) if tiers else (),
        api.edges_given(start) if start else (),
        max_parents,
    )
    known = read_knowledge(knowledge).and_also(known) if knowledge else known
    outputs = save, report
    if hidden is not None:
        _check_hidden(hidden, shape, edges)
        request = _with_default_prior(context, request, api.find_hidden)
        table = read(data, request)
        with request.work() as kwargs:
            looked = api.find_hidden(table, most=most, knowledge=known, resume=resume, **kwargs)
        answer = hidden_answer(looked, table, request.settings, most)
        show_network(looked, answer, looked.to_dict(), request, *outputs)
        return
    if _was_given(context, "most"):
        raise OptionError("--most limits the number of hidden variables. Give --hidden auto too.")
    if shape is not None:
        _check_shape(shape, known, edges, resume)
        request = _with_default_prior(context, request, api.learn_latent_tree)
        table = read(data, request)
        with request.work() as kwargs:
            tree = api.learn_latent_tree(table, shape, **kwargs)
        answer = latent_tree_answer(tree, table, request.settings)
        show_network(tree, answer, tree.to_dict(), request, *outputs)
        return
    _learn(request, data, known, resume, resamples if edges else None, *outputs)


def _learn(
    request: o.Request,
    data: Path,
    known: Knowledge,
    resume: Path | None,
    resamples: int | None,
    save: Path | None,
    report: Path | None,
) -> None:
    """Learn a graph; unless `resamples` is None, also compute edge probabilities."""
    table, sure = read(data, request), None
    check_outputs(table, save)
    if resamples is not None:
        api.check_edges(table, resamples)
    with request.work() as kwargs:
        result = api.learn_structure(table, knowledge=known, resume=resume, **kwargs)
        if resamples is not None:
            sure = api.edge_certainty(table, resamples=resamples, knowledge=known, **kwargs)
    answer = learned_answer(result, table, request.settings, sure)
    document = result.to_dict() | ({"edges": sure.to_dict()} if sure else {})
    show_network(
        Together(result, sure) if sure else result, answer, document, request, save, report
    )


def _check_hidden(hidden: str, shape: TreeShape | None, edges: bool) -> None:
    """Refuse options that contradict --hidden auto."""
    if shape is not None:
        raise OptionError(f"--shape {shape} has hidden variables of its own: leave out --hidden.")
    if hidden != "auto":
        raise OptionError(
            f"--hidden '{hidden}': learn finds hidden variables and their states by itself. Give "
            "--hidden auto; for one that you know, use fit or select with --network."
        )
    _refuse_edges("--hidden auto", edges)


def _check_shape(shape: TreeShape, known: Knowledge, edges: bool, resume: Path | None) -> None:
    """Refuse options that contradict --shape."""
    _refuse_edges(f"--shape {shape}", edges)
    if resume is not None:
        raise OptionError(f"--resume stores a graph search, not --shape {shape}. Leave one out.")
    if known != Knowledge():
        raise OptionError(
            f"--shape {shape} determines the edges, so it allows no other constraints: leave out "
            "--require, --forbid, --tiers, --start, --max-parents and --knowledge, "
            "or --shape."
        )


def _refuse_edges(what: str, edges: bool) -> None:
    if edges:
        raise OptionError(
            f"--edges is about graphs over the columns alone, not about {what}. Leave one out."
        )


def _with_default_prior(
    context: typer.Context, request: o.Request, function: Callable[..., object]
) -> o.Request:
    """Without --alpha, use the default prior of a function."""
    if _was_given(context, "graph_prior"):
        raise OptionError(
            "--graph-prior is about graphs over the columns alone: leave it out with --hidden and "
            "--shape."
        )
    if _was_given(context, "alpha"):
        return request
    alpha = defaults_of(function).alpha
    return replace(request, settings=replace(request.settings, alpha=alpha))


def _was_given(context: typer.Context, option: str) -> bool:
    source = context.get_parameter_source(option)
    return source is None or source.name != "DEFAULT"
