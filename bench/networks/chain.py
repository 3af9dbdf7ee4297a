"""(l): a hidden chain with observed children, as in a hidden Markov model: E step by length."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np

from bench.peer import Peers
from bench.report import Line, as_long
from bench.timing import alternate, clock
from lacunet.fitting.prepare import prepare
from lacunet.inference.classes import expect
from lacunet.inference.problem import problem_of_codes
from lacunet.models.conjugacy import random_theta
from lacunet.models.network import Model, Network, Variable
from lacunet.models.prior import PAPER_ALPHA, uniform_alpha
from lacunet.models.surgery import sample_codes
from lacunet.runtime.executor import SERIAL

LENGTHS = (25, 50, 100)
HIDDEN_STATES, SEEN_STATES = 5, 4
ROWS = 200
LIMIT = 2.3  # times as long for twice the length
SEED = 1996


def run(_peers: Peers, quick: bool) -> Iterator[Line]:
    prepare(SERIAL, chain(2))
    steps = {length: _e_step(length) for length in LENGTHS}
    times = alternate(
        {str(length): lambda step=step: clock(step) for length, step in steps.items()},  # type: ignore[misc]
        5 if quick else 20,
    )
    best = {length: min(times[str(length)]) for length in LENGTHS}
    for short, long in itertools.pairwise(LENGTHS):
        yield as_long(
            "l",
            f"E step, hidden chain of {long} variables of {HIDDEN_STATES} states, {ROWS} rows;"
            f" of {short}",
            best[long],
            best[short],
            LIMIT if long == LENGTHS[-1] else None,
            ours_trials=times[str(long)],
            their_trials=times[str(short)],
        )


def chain(length: int) -> Network:
    """h1 → h2 → …, and hi → xi."""
    hidden = [Variable(f"h{i}", tuple(range(HIDDEN_STATES)), hidden=True) for i in range(length)]
    seen = [Variable(f"x{i}", tuple(range(SEEN_STATES))) for i in range(length)]
    parents = [(), *((i,) for i in range(length - 1)), *((i,) for i in range(length))]
    return Network.build([*hidden, *seen], parents)


def _e_step(length: int) -> Callable[[], object]:
    """An E step at random parameters, on rows drawn from the same; run once already."""
    network = chain(length)
    rng = np.random.default_rng([SEED, length])
    theta = random_theta(network.layout, rng)
    alpha = uniform_alpha(network.layout, PAPER_ALPHA)
    codes = sample_codes(Model(network, theta, alpha), ROWS, rng)
    problem = problem_of_codes(codes, np.ones(ROWS), network, alpha)
    expect(problem, theta)
    return lambda: expect(problem, theta)
