"""Latent classes that are all alike, and models with more or fewer of them."""

import numpy as np

from lacunet.inference.problem import Problem, problem_of_codes
from lacunet.inference.symmetry import interchangeable
from lacunet.model.latent_class import classes_of, find_classes
from lacunet.model.network import with_hidden


def exchangeable(problem: Problem) -> bool:
    """Whether it is a latent class model whose prior does not tell the classes apart."""
    classes = find_classes(problem.network)
    return classes is not None and interchangeable(problem) == (classes.root,)


def with_classes(problem: Problem, classes: int) -> Problem:
    """Give the same data another number of classes, each with the prior that each has now.

    The exponents are those of the given problem, class by class: with a prior that depends on the
    number of classes (BDeu) that is not the prior that a model with `classes` classes would get.
    """
    old = classes_of(problem.network)
    if classes == old.number:
        return problem
    network = with_hidden(problem.network, {old.variable.name: classes})
    each = [problem.layout.table(problem.alpha, i)[0] for i in range(len(problem.layout.cards))]
    tables = [np.broadcast_to(one, (classes, *np.shape(one))) for one in each]
    return problem_of_codes(problem.codes, problem.counts, network, network.layout.flat(tables))
