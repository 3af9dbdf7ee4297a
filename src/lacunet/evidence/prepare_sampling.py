"""Compile the kernels that draw, before the clock of a budget starts."""

import functools

import numpy as np

from lacunet.evidence.clock import Clock, Goal, Means
from lacunet.evidence.exact import exact_evidence
from lacunet.evidence.modes import widened
from lacunet.evidence.particle_run import run_particles
from lacunet.evidence.path import Path
from lacunet.evidence.travellers import anything
from lacunet.fitting.prepare import example, prepare
from lacunet.inference.sampling.draws import Draws
from lacunet.models.latent_class import is_latent_class
from lacunet.models.network import Network
from lacunet.runtime.executor import SERIAL, Executor


def prepare_sampling(executor: Executor, *networks: Network) -> None:
    """Make sure that every kernel is ready; the first time on a machine takes some seconds."""
    prepare(executor, *networks)
    _run_all_kernels(trees=not all(is_latent_class(network) for network in networks))


@functools.cache
def _run_all_kernels(*, trees: bool) -> None:
    problem = example(trees=trees)
    exact_evidence(problem)
    run_particles(problem, 4, (0,))
    means = Means(SERIAL, Clock(Goal()))
    path = Path(problem, widened(problem, np.zeros(problem.layout.size), anything, (0,), means))
    path.log_density(0.5, path.start(2, Draws(problem, np.random.default_rng(0))))
