"""Compile the kernels before the work starts, and say so: it must never look like a hang."""

import functools

import numpy as np

from lacunet.executor import Executor
from lacunet.inference.curvature.coordinates import free_coordinates
from lacunet.inference.curvature.hessian import negative_hessian
from lacunet.inference.problem import Problem, problem_of_codes
from lacunet.learn.fit import Options, learn
from lacunet.model.latent_class import is_latent_class, latent_class
from lacunet.model.network import Network, Variable
from lacunet.model.prior import PAPER_ALPHA, dirichlet

PREPARING = "preparing (kernels are compiled once, then kept on disk)"


def prepare(executor: Executor, *networks: Network) -> None:
    """Make sure that every kernel is ready; the first time on a machine takes some seconds."""
    executor.say(PREPARING, 0.0)
    _run_all_kernels(trees=not all(is_latent_class(network) for network in networks))


@functools.cache
def _run_all_kernels(*, trees: bool) -> None:
    problem = example(trees=trees)
    theta = learn(problem, Options(starts=2)).model.theta
    negative_hessian(problem, theta, free_coordinates(problem.layout, theta))


def example(*, trees: bool) -> Problem:
    """A tiny problem that needs every kernel."""
    codes = np.array([[0, 1, 0], [1, 0, -1], [1, 1, 1], [0, 0, 1]], dtype=np.int8)
    network = latent_class([(name, (0, 1)) for name in "abc"], 2)
    if trees:  # two hidden variables that share a child
        hidden = [Variable(name, (0, 1), hidden=True) for name in "gh"]
        observed = [Variable(name, (0, 1)) for name in "abc"]
        network = Network.build([*hidden, *observed], [(), (), (0, 1), (0,), (1,)])
    return problem_of_codes(codes, np.ones(4), network, dirichlet(network, PAPER_ALPHA))
