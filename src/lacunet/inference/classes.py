"""Hidden states that are all alike, and latent class models with more or fewer of them."""

from __future__ import annotations

import numpy as np

from lacunet.inference.problem import Problem, problem_of_codes
from lacunet.model.latent_class import is_latent_class
from lacunet.model.network import with_hidden


def interchangeable(problem: Problem) -> tuple[int, ...]:
    """Hidden variables whose states the prior does not tell apart: any numbering is as good."""
    return tuple(h for h in problem.network.hidden if _alike(problem, h))


def _alike(problem: Problem, h: int) -> bool:
    layout = problem.layout
    tables = (
        np.moveaxis(layout.table(problem.alpha, i), family.index(h), 0)
        for i, family in enumerate(layout.families)
        if h in family
    )
    return all((table == table[0]).all() for table in tables)


def exchangeable(problem: Problem) -> bool:
    """Whether it is a latent class model whose prior does not tell the classes apart."""
    return is_latent_class(problem.network) and interchangeable(problem) == (0,)


def with_classes(problem: Problem, classes: int) -> Problem:
    """Give the same data another number of classes, each with the prior that each has now.

    The exponents are those of the given problem, class by class: with a prior that depends on the
    number of classes (BDeu) that is not the prior that a model with `classes` classes would get.
    """
    old = problem.layout
    if classes == old.cards[0]:
        return problem
    network = with_hidden(problem.network, {problem.network.variables[0].name: classes})
    tables = [np.full(classes, old.table(problem.alpha, 0)[0])]
    for i in range(1, len(old.cards)):
        one = old.table(problem.alpha, i)[0]
        tables.append(np.broadcast_to(one, (classes, len(one))))
    return problem_of_codes(problem.codes, problem.counts, network, network.layout.flat(tables))
