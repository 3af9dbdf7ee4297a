"""Latent classes that are all alike, and models with more or fewer of them."""

from collections.abc import Mapping

import numpy as np

from lacunet.inference.problem import Problem, problem_of_codes
from lacunet.inference.symmetry import interchangeable
from lacunet.models.latent_class import classes_of, find_classes
from lacunet.models.network import Network
from lacunet.models.surgery import with_hidden
from lacunet.runtime.arrays import FloatArray

# Numbers of states of hidden variables: the same data with more or fewer of them.


def states_told(problem: Problem) -> dict[int, int]:
    """Hidden variables whose states are all alike, and that the data tell something of: how many.

    Only of these can states be unused, all others being as they are.
    """
    told = problem.components.members
    alike = [h for h in interchangeable(problem) if h in told and resizable(problem.network, h)]
    return {h: problem.layout.cards[h] for h in alike}


def resizable(network: Network, h: int) -> bool:
    """Whether a hidden variable may have more or fewer states: no table around it is known.

    Nor tied, but to one in which it stands at the same place.
    """
    families = network.layout.families
    leaders = network.layout.leaders or range(len(families))
    around = [i for i, leader in enumerate(leaders) if h in (*families[i], *families[leader])]
    return h not in {i for i in around if leaders[i] != i} and all(
        network.variables[leaders[i]].known is None
        and [v == h for v in families[i]] == [v == h for v in families[leaders[i]]]
        for i in around
    )


def network_with_sizes(network: Network, sizes: Mapping[int, int]) -> Network:
    """Give hidden variables, by index, other numbers of states."""
    return with_hidden(network, {network.variables[h].name: k for h, k in sizes.items()})


def with_sizes(problem: Problem, sizes: Mapping[int, int]) -> Problem:
    """Give hidden variables other numbers of states, each with the prior that each has now.

    The variables must be interchangeable. With a prior that depends on the number of states (BDeu)
    it is not the one that a model of this size would get.
    """
    if all(problem.layout.cards[h] == k for h, k in sizes.items()):
        return problem
    network = network_with_sizes(problem.network, sizes)
    tables = prior_of_states(problem, sizes)
    alpha = network.layout.flat(tables)
    return problem_of_codes(problem.codes, problem.counts, network, alpha, problem.holder)


def prior_of_states(problem: Problem, sizes: Mapping[int, int]) -> list[FloatArray]:
    """Hyperparameters of each family, with that many states of interchangeable variables."""
    tables = []
    for i, family in enumerate(problem.layout.families):
        table = problem.layout.table(problem.alpha, i)
        before = table[..., :1].size
        for axis, v in enumerate(family):
            if v in sizes:  # its states are alike: take the first, over and over
                table = np.take(table, np.zeros(sizes[v], dtype=np.int64), axis=axis)
        if table.size:
            table = problem.layout.kinds[i].shared_out(table, table[..., 0].size / before)
        tables.append(table)
    return tables


def exchangeable(problem: Problem) -> bool:
    """Whether it is a latent class model whose prior does not tell the classes apart."""
    classes = find_classes(problem.network)
    return (
        classes is not None and problem.layout.plain and interchangeable(problem) == (classes.root,)
    )


def with_classes(problem: Problem, classes: int) -> Problem:
    """Give the same data another number of classes, each with the prior that each has now."""
    return with_sizes(problem, {classes_of(problem.network).root: classes})
