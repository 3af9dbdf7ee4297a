"""Latent classes that are all alike, and models with more or fewer of them."""

from lacunet.inference.problem import Problem
from lacunet.inference.sizes import with_sizes
from lacunet.inference.symmetry import interchangeable
from lacunet.model.latent_class import classes_of, find_classes


def exchangeable(problem: Problem) -> bool:
    """Whether it is a latent class model whose prior does not tell the classes apart."""
    classes = find_classes(problem.network)
    return (
        classes is not None and problem.layout.plain and interchangeable(problem) == (classes.root,)
    )


def with_classes(problem: Problem, classes: int) -> Problem:
    """Give the same data another number of classes, each with the prior that each has now."""
    return with_sizes(problem, {classes_of(problem.network).root: classes})
