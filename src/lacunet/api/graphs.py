"""Learn a graph from data, and compare graphs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Unpack

from lacunet.api.inputs import NetworkLike, as_network, as_table
from lacunet.api.options import GraphOptions, divide, with_options
from lacunet.errors import OptionError
from lacunet.executor import Serial
from lacunet.files import StrPath
from lacunet.graphs import learning
from lacunet.graphs.knowledge import Knowledge
from lacunet.graphs.knowledge_file import read_knowledge
from lacunet.graphs.learned import Learned
from lacunet.model import equivalence
from lacunet.model.equivalence import EquivalenceClass, equivalence_class
from lacunet.progress import Listener, ignore
from lacunet.settings import Settings

# Under BDeu graphs that say the same score the same; under one exponent for all they do not. Ten
# cases are little beside most tables, and each family, however large, gets no more.
BDEU = Settings(alpha="bdeu:10")


@with_options
def learn_structure(
    data: object,
    *,
    max_parents: int | None = None,
    knowledge: Knowledge | StrPath | None = None,
    settings: Settings = BDEU,
    listener: Listener = ignore,
    **options: Unpack[GraphOptions],
) -> Learned:
    """Learn the graph over the columns of a table: the largest evidence, or bound of it.

    Parameters
    ----------
    **data
    max_parents
        Most parents of a variable (default: any number).
    knowledge
        What the graph keeps to: a `Knowledge`, or the path of its JSON file.
    **options
    """
    settings, reading = divide(settings, options)
    if isinstance(settings.alpha, Mapping):
        raise OptionError("a prior for each family needs a graph. Give a number, k2 or bdeu:SIZE.")
    known = Knowledge(max_parents=max_parents)
    if knowledge is not None:
        given = knowledge if isinstance(knowledge, Knowledge) else read_knowledge(knowledge)
        known = given.and_also(known)
    table, how = as_table(data, reading), settings.graph_search
    return learning.learn_structure(table, settings.alpha, how, known, Serial(listener))


def cpdag(network: NetworkLike) -> EquivalenceClass:
    """Give all graphs with the independences of a network (or of its file) as one."""
    return equivalence_class(as_network(network))


def structural_hamming_distance(one: NetworkLike, other: NetworkLike) -> int:
    """Count the pairs of variables between which the CPDAGs of two networks differ."""
    return equivalence.structural_hamming_distance(cpdag(one), cpdag(other))


def edge_f1(found: NetworkLike, true: NetworkLike) -> float:
    """F1 of the edges of a network's CPDAG, held against those of the true one's."""
    return equivalence.edge_f1(cpdag(found), cpdag(true))
