"""Latent class models of one table that differ only in their number of classes."""

from __future__ import annotations

import numpy as np

from lacunet.inference.problem import Problem, problem_of_codes
from lacunet.model.latent_class import is_latent_class, latent_class


def exchangeable(problem: Problem) -> bool:
    """Whether it is a latent class model whose prior does not tell the classes apart."""
    if not is_latent_class(problem.network):
        return False
    layout, alpha = problem.layout, problem.alpha
    tables = [layout.table(alpha, i) for i in range(len(layout.cards))]
    return bool((tables[0] == tables[0][0]).all()) and all(
        (table == table[0]).all() for table in tables[1:]
    )


def with_classes(problem: Problem, classes: int) -> Problem:
    """Give the same data another number of classes, each with the prior that each has now.

    The exponents are those of the given problem, class by class: with a prior that depends on the
    number of classes (BDeu) that is not the prior that a model with `classes` classes would get.
    """
    old = problem.layout
    if classes == old.cards[0]:
        return problem
    leaves = [(v.name, v.states) for v in problem.network.variables[1:]]
    network = latent_class(leaves, classes)
    tables = [np.full(classes, old.table(problem.alpha, 0)[0])]
    for i in range(1, len(old.cards)):
        one = old.table(problem.alpha, i)[0]
        tables.append(np.broadcast_to(one, (classes, len(one))))
    return problem_of_codes(problem.codes, problem.counts, network, network.layout.flat(tables))
