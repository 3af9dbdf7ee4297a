"""Learn which variables no column shows: latent trees, and hidden variables in a graph."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

from lacunet.api.graphs import known_of
from lacunet.api.inputs import KnowledgeLike, as_table, one_alpha, one_of
from lacunet.api.options import HiddenOptions, TreeOptions, divide, with_options
from lacunet.models.number_prior import GRAPH_NUMBERS
from lacunet.runtime.executor import on_threads
from lacunet.runtime.files import StrPath
from lacunet.runtime.progress import Listener, ignore
from lacunet.selection.hidden import looking
from lacunet.selection.hidden.found import HiddenFound
from lacunet.selection.hidden.looking import MOST, HiddenSearch
from lacunet.selection.hidden.naive import learn_classes
from lacunet.settings import Settings
from lacunet.structure.graph_prior import GraphPrior
from lacunet.structure.hidden.latent_tree import LatentTree, Shape, learn_tree

TREES = Settings(number_prior=GRAPH_NUMBERS)

# Decisions about hidden variables were checked with these priors.
BDEU = Settings(alpha="bdeu:10", number_prior=GRAPH_NUMBERS)


@with_options
def learn_latent_tree(
    data: object,
    shape: str = "tree",
    *,
    settings: Settings = TREES,
    listener: Listener = ignore,
    **options: Unpack[TreeOptions],
) -> LatentTree:
    """Learn hidden variables that join the columns of a table, and their numbers of states.

    Parameters
    ----------
    **data
    shape
        tree: every column is a leaf, whatever joins them is hidden; forest: the same, but it may
        fall apart; naive: one hidden variable behind all columns (a latent class model).
    **options

    Examples
    --------
    >>> import lacunet
    >>> found = lacunet.learn_latent_tree(lacunet.load_dataset("values"))
    >>> found.hidden
    {'H1': 2}
    """
    chosen = one_of(Shape, "shape", shape)
    settings, reading = divide(settings, options)
    alpha, table = one_alpha(settings), as_table(data, reading, numbers=True)
    prior, goal = settings.numbers, settings.goal
    with on_threads(settings.threads, listener) as executor:
        if chosen is Shape.NAIVE:
            return learn_classes(table, alpha, settings.options, goal, executor, prior=prior)
        return learn_tree(
            table,
            alpha,
            apart=chosen is Shape.FOREST,
            seed=settings.seed,
            goal=goal if settings.evidence else None,
            executor=executor,
            prior=prior,
        )


@with_options
def find_hidden(
    data: object,
    *,
    most: int = MOST,
    max_parents: int | None = None,
    knowledge: KnowledgeLike | None = None,
    resume: StrPath | None = None,
    settings: Settings = BDEU,
    listener: Listener = ignore,
    **options: Unpack[HiddenOptions],
) -> HiddenFound:
    """Look for hidden variables in the graph over the columns of a table.

    The best graph with one is compared with the best without: by measured evidence where they are
    close, averaged over the prior given and one that the data support more. It is kept if it has
    more than half of the probability.

    Parameters
    ----------
    **data
    most
        Hidden variables to look for, at most.
    max_parents, knowledge
        As for `learn_structure`: about the columns.
    resume
        As for `learn_structure`; a search that has ended goes on if `most` is larger then.
    **options
    """
    settings, reading = divide(settings, options)
    alpha, known = one_alpha(settings), known_of(knowledge, max_parents)
    graphs = replace(settings.graph_search, prior=GraphPrior.UNIFORM)
    how = HiddenSearch(most, graphs, settings.options, settings.goal, settings.evidence)
    table = as_table(data, reading, numbers=True)
    with on_threads(settings.threads, listener) as executor:
        return looking.find_hidden(
            table, alpha, how, known, executor, resume=resume, prior=settings.numbers
        )
