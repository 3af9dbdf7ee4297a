"""Compile the kernels before the work starts, and say so: it must never look like a hang."""

from __future__ import annotations

import functools

import numpy as np

from lacunet.inference.coordinates import free_coordinates
from lacunet.inference.hessian import negative_hessian
from lacunet.inference.problem import problem_of_codes
from lacunet.learn.fit import Options, learn
from lacunet.model.latent_class import latent_class
from lacunet.model.prior import PAPER_ALPHA, uniform_alpha
from lacunet.progress import Listener, Progress


def prepare(listener: Listener) -> None:
    """Make sure that every kernel is ready; the first time on a machine takes some seconds."""
    listener(Progress("preparing (kernels are compiled once, then kept on disk)", 0.0))
    _run_all_kernels()


@functools.cache
def _run_all_kernels() -> None:
    codes = np.array([[0, 1, 0], [1, 0, -1], [1, 1, 1], [0, 0, 1]], dtype=np.int8)
    network = latent_class([(name, (0, 1)) for name in "abc"], 2)
    problem = problem_of_codes(
        codes, np.ones(4), network, uniform_alpha(network.layout, PAPER_ALPHA)
    )
    theta = learn(problem, Options(starts=2)).model.theta
    negative_hessian(problem, theta, free_coordinates(network.layout, theta))
