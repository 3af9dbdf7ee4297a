"""Compile the kernels before a computation starts, with a progress message."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lacunet.fitting.fit import Options, learn
from lacunet.fitting.maxima import LARGEST_MASS
from lacunet.fitting.objective import Objective
from lacunet.fitting.recombination import Recombiner
from lacunet.inference.classes import Tangent, expect
from lacunet.inference.hessian import negative_hessian
from lacunet.inference.kernels.numbers import expect_numbers
from lacunet.inference.kernels.rows import expect_all
from lacunet.inference.kernels.trees import expect_trees
from lacunet.inference.plans.builder import MANY, compact_cells
from lacunet.inference.plans.plan import free_coordinates
from lacunet.inference.problem import Problem, problem_of_codes
from lacunet.likelihoods import GAUSSIAN
from lacunet.likelihoods.unit import Unit
from lacunet.models.conjugacy import random_theta
from lacunet.models.latent_class import is_latent_class, latent_class, over_leaves
from lacunet.models.network import Network, Variable
from lacunet.models.number_prior import Extent, NumberPrior
from lacunet.models.prior import PAPER_ALPHA, dirichlet
from lacunet.runtime.executor import Executor
from lacunet.runtime.jit import is_compiled
from lacunet.runtime.states import Numbers

PREPARING = "preparing"


class Needed(NamedTuple):
    """Kernels that are compiled together, once on a machine."""

    kernel: Callable[..., Any]  # one of them
    seconds: int  # of compilation, about


CLASSES, NUMBERS, TREES = (
    Needed(expect_all, 20),
    Needed(expect_numbers, 10),
    Needed(expect_trees, 60),
)


def prepare(executor: Executor, *networks: Network) -> None:
    """Compile or load every kernel; the first time on a machine takes some seconds."""
    trees = not all(is_latent_class(network) for network in networks)
    numbers = any(compact_cells(network).dense for network in networks)
    wanted = [CLASSES, *([NUMBERS] if numbers else []), *([TREES] if trees else [])]
    seconds = sum(what.seconds for what in wanted if not is_compiled(what.kernel))
    executor.report(f"compiling kernels, once: about {seconds} s" if seconds else PREPARING, 0.0)
    _run_all_kernels(trees=trees)
    if numbers:
        _run_number_kernels()


@functools.cache
def _run_all_kernels(*, trees: bool) -> None:
    problem = example(trees=trees)
    theta = learn(problem, Options(starts=2)).model.theta
    objective = Objective.build(problem, Options.estimate)
    recombiner = Recombiner.build(objective, LARGEST_MASS)
    one = recombiner.individual(objective.at(theta)).states
    recombiner.statistics(one, np.arange(one.size).reshape(one.shape))  # more clusters than states
    negative_hessian(problem, theta, free_coordinates(problem.layout, theta))


@functools.cache
def _run_number_kernels() -> None:
    """Run kernels for numbers given by statistics: one more value than the threshold."""
    values = Numbers(np.linspace(-1.0, 1.0, MANY + 1))
    number = Variable(
        "x", values, family=GAUSSIAN, unit=Unit(), prior=NumberPrior().of_gaussian(Extent(1.0, 1.0))
    )
    network = over_leaves([number], 2)
    codes = np.arange(len(values), dtype=np.int16)[:, None]
    problem = problem_of_codes(codes, np.ones(len(codes)), network, dirichlet(network, PAPER_ALPHA))
    theta = random_theta(network.layout, np.random.default_rng(0), problem.alpha)
    expect(problem, theta)
    Tangent(problem, theta)(np.ones(network.layout.size))


def example(*, trees: bool) -> Problem:
    """Make a tiny problem that runs every kernel."""
    codes = np.array([[0, 1, 0], [1, 0, -1], [1, 1, 1], [0, 0, 1]], dtype=np.int8)
    network = latent_class([(name, (0, 1)) for name in "abc"], 2)
    if trees:  # two hidden variables that share a child
        hidden = [Variable(name, (0, 1), hidden=True) for name in "gh"]
        observed = [Variable(name, (0, 1)) for name in "abc"]
        network = Network.build([*hidden, *observed], [(), (), (0, 1), (0,), (1,)])
    return problem_of_codes(codes, np.ones(4), network, dirichlet(network, PAPER_ALPHA))
