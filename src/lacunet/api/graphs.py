"""Structure learning, edge probabilities, and comparison of graphs.

Also latent trees, and hidden variables in a graph.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lacunet.api.inputs import KnowledgeLike, as_knowledge, as_network, as_table, one_of
from lacunet.api.options import (
    CLIMB,
    GRAPH,
    NUMBERS,
    PARALLEL,
    READ,
    SAMPLE,
    SettingsLike,
    divide,
    with_options,
)
from lacunet.data.table import Table
from lacunet.deprecation import renamed_parameter
from lacunet.errors import OptionError
from lacunet.models import equivalence
from lacunet.models.ensemble import NetworkLike
from lacunet.models.equivalence import EquivalenceClass
from lacunet.models.number_prior import GRAPH_NUMBERS
from lacunet.models.prior import one_alpha
from lacunet.runtime.executor import on_threads
from lacunet.runtime.files import StrPath
from lacunet.runtime.progress import Listener, ignore
from lacunet.selection import hidden_search
from lacunet.selection.hidden_comparison import HiddenStructure, learn_classes
from lacunet.selection.hidden_search import MOST
from lacunet.settings import Settings
from lacunet.structure import learned, learning
from lacunet.structure.edges.certainty import EdgeCertainty, resample_edges
from lacunet.structure.edges.posterior import check_cases, find_edges
from lacunet.structure.families import AVERAGED
from lacunet.structure.hidden.latent_tree import LatentTree, TreeShape, learn_tree
from lacunet.structure.knowledge import Knowledge
from lacunet.structure.learned import GraphDistances, Learned
from lacunet.summaries.bootstrap import check_replicates

USUAL = Settings(alpha=AVERAGED, number_prior=GRAPH_NUMBERS)


@with_options(*READ, *PARALLEL, *GRAPH, *NUMBERS, "score", "evidence", *SAMPLE)
def learn_structure(
    data: object,
    *,
    max_parents: int | None = None,
    knowledge: KnowledgeLike | None = None,
    resume: StrPath | None = None,
    settings: SettingsLike = USUAL,
    listener: Listener = ignore,
    **options: Any,
) -> Learned:
    """Learn the most probable graph over the columns of a table; with missing cells, by a bound.

    Parameters
    ----------
    data
        A table, or anything that `read_table` reads.
    max_parents
        Most parents of a variable (default: any number).
    knowledge
        Constraints on the graph: a `Knowledge`, or the path of its JSON file.
    resume
        Checkpoint file. If it exists, the search resumes from it.
    settings, listener, **options
        By name, as alpha, seed, threads, evidence, graph_prior, exact, or as objects; see `select`.
    """
    settings, reading = divide(settings, options)
    alpha, known, search_options = (
        one_alpha(settings.alpha),
        known_of(knowledge, max_parents),
        settings.graph_search,
    )
    table, prior = as_table(data, reading, numbers=True), settings.numbers
    with on_threads(settings.threads, listener) as executor:
        goal = settings.goal if settings.evidence else None
        return learning.learn_structure(
            table, alpha, search_options, known, executor, goal=goal, resume=resume, prior=prior
        )


@with_options(*READ, *PARALLEL, *GRAPH, "target")
def edge_certainty(
    data: object,
    *,
    resamples: int = 0,
    max_parents: int | None = None,
    knowledge: KnowledgeLike | None = None,
    settings: SettingsLike = USUAL,
    listener: Listener = ignore,
    **options: Any,
) -> EdgeCertainty:
    """Compute the posterior probability of each edge between columns, and of each direction.

    It is exact for complete tables of up to 12 columns. Else it comes from Markov chains over
    graphs and missing values, with standard errors, and a flag if the chains disagree.

    Parameters
    ----------
    data
        A table, or anything that `read_table` reads.
    resamples
        Above 0: instead of the posterior, the share of so many bootstrap resamples whose learned
        graph has the edge.
    max_parents, knowledge
        As for `learn_structure`.
    settings, listener, **options
        By name, as alpha, seed, threads, target, graph_prior, or as objects; see `select`.

    Examples
    --------
    >>> import lacunet
    >>> sure = lacunet.edge_certainty(lacunet.load_dataset("myocardial"))
    >>> pair = sure.pairs()[0]
    >>> pair.parent, pair.child, round(pair.edge, 2)
    ('CPK', 'Q', 1.0)
    """
    settings, reading = divide(settings, options)
    alpha, known = one_alpha(settings.alpha), known_of(knowledge, max_parents)
    table = as_table(data, reading)
    with on_threads(settings.threads, listener) as executor:
        if resamples:
            search_options = settings.graph_search
            return resample_edges(table, alpha, known, search_options, resamples, executor)
        return find_edges(table, alpha, known, settings.edge_sampling, executor)


def check_edges(table: Table, resamples: int = 0) -> None:
    """Refuse data for which edge probabilities are undefined, before the computation."""
    as_table(table)  # without numbers
    if resamples:
        check_replicates(table.counts, resamples)
    else:
        check_cases(table)


def known_of(knowledge: KnowledgeLike | None, max_parents: int | None) -> Knowledge:
    """Combine the constraints on the graph."""
    return as_knowledge(knowledge).and_also(Knowledge(max_parents=max_parents))


def cpdag(network: NetworkLike, knowledge: KnowledgeLike | None = None) -> EquivalenceClass:
    """Give the Markov equivalence class of a network (or of its file) as a CPDAG.

    With `knowledge` (a `Knowledge`, or the path of its JSON file), only graphs that satisfy it
    count. Edges that are the same in all of them are directed (Meek 1995).
    """
    return as_knowledge(knowledge).equivalence_class(as_network(network))


def structural_hamming_distance(
    one: NetworkLike, other: NetworkLike, knowledge: KnowledgeLike | None = None
) -> int:
    """Count the pairs of variables between which the CPDAGs of two networks differ."""
    known = as_knowledge(knowledge)
    return equivalence.structural_hamming_distance(cpdag(one, known), cpdag(other, known))


def graph_distances(
    networks: Mapping[str, NetworkLike],
    reference: NetworkLike,
    knowledge: KnowledgeLike | None = None,
) -> GraphDistances:
    """Compare networks, by name, with a reference over the same variables: SHD and F1.

    With `knowledge`, edges whose direction it implies are directed before the comparison.
    """
    if not isinstance(networks, Mapping):
        raise OptionError("networks must be named: give a mapping of names to networks.")
    graphs = {name: as_network(network) for name, network in networks.items()}
    return learned.graph_distances(graphs, as_network(reference), as_knowledge(knowledge))


@renamed_parameter("found", "learned")
def edge_f1(
    learned: NetworkLike, true: NetworkLike, knowledge: KnowledgeLike | None = None
) -> float:
    """Compute the F1 of the edges of a network's CPDAG, compared with the true CPDAG."""
    known = as_knowledge(knowledge)
    return equivalence.edge_f1(cpdag(learned, known), cpdag(true, known))


TREES = Settings(number_prior=GRAPH_NUMBERS)

# Hidden-variable decisions were validated with these priors.
BDEU = Settings(alpha="bdeu:10", number_prior=GRAPH_NUMBERS)


@with_options(*READ, *PARALLEL, *NUMBERS, "alpha", "starts", "evidence", *SAMPLE)
def learn_latent_tree(
    data: object,
    shape: str = "tree",
    *,
    settings: SettingsLike = TREES,
    listener: Listener = ignore,
    **options: Any,
) -> LatentTree:
    """Learn a latent tree over the columns of a table, with the numbers of hidden states.

    Parameters
    ----------
    data
        A table, or anything that `read_table` reads.
    shape
        tree: every column is a leaf, and inner variables are hidden; forest: the same, perhaps
        disconnected; naive: one hidden parent of all columns (a latent class model).
    settings, listener, **options
        By name, as alpha, seed, threads, evidence, or as objects; see `select`.

    Examples
    --------
    >>> import lacunet
    >>> learned = lacunet.learn_latent_tree(lacunet.load_dataset("values"))
    >>> learned.hidden
    {'H1': 2}
    """
    chosen = one_of(TreeShape, "shape", shape)
    settings, reading = divide(settings, options)
    alpha, table = one_alpha(settings.alpha), as_table(data, reading, numbers=True)
    with on_threads(settings.threads, listener) as executor:
        if chosen is TreeShape.NAIVE:
            return learn_classes(table, settings, executor)
        return learn_tree(
            table,
            alpha,
            apart=chosen is TreeShape.FOREST,
            seed=settings.seed,
            goal=settings.goal if settings.evidence else None,
            executor=executor,
            prior=settings.numbers,
        )


@with_options(*READ, *PARALLEL, *NUMBERS, "alpha", "starts", "evidence", *SAMPLE, *CLIMB)
def find_hidden(
    data: object,
    *,
    most: int = MOST,
    max_parents: int | None = None,
    knowledge: KnowledgeLike | None = None,
    resume: StrPath | None = None,
    settings: SettingsLike = BDEU,
    listener: Listener = ignore,
    **options: Any,
) -> HiddenStructure:
    """Look for hidden variables in the graph over the columns of a table.

    The best graph with a hidden variable is compared with the best without, by measured evidence
    if they are close. The comparison averages over the given prior and one that the data support
    more. A hidden variable is kept if its probability exceeds one half.

    Parameters
    ----------
    data
        A table, or anything that `read_table` reads.
    most
        Maximum number of hidden variables.
    max_parents, knowledge
        As for `learn_structure`; they apply to the columns.
    resume
        As for `learn_structure`; a finished search continues if `most` is larger.
    settings, listener, **options
        By name, as alpha, seed, threads, evidence, or as objects; see `select`.
    """
    settings, reading = divide(settings, options)
    if most < 1:
        raise OptionError(
            f"most {most}: give 1 or more hidden variables to look for, or learn a graph without "
            "any."
        )
    known, table = known_of(knowledge, max_parents), as_table(data, reading, numbers=True)
    with on_threads(settings.threads, listener) as executor:
        return hidden_search.find_hidden(table, settings, known, executor, most=most, resume=resume)
