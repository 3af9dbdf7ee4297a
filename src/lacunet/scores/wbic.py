"""WBIC: the mean log-likelihood over the posterior at inverse temperature 1/log N.

Watanabe (2013, JMLR 14, 867–897): that mean is the log evidence to the order of √log N, whether or
not the parameters are identified; classes too many need no special care.
"""

import numpy as np

from lacunet.flags import Flag, Kind
from lacunet.inference.expectation import Expectation, hidden_counts
from lacunet.inference.problem import Problem
from lacunet.model import conjugacy
from lacunet.runtime.arrays import FloatArray
from lacunet.scoring import log_gammas
from lacunet.scoring.chains import chain_mean
from lacunet.scoring.hamiltonian import Chain
from lacunet.scoring.score import TABULAR, Score
from lacunet.scoring.score_input import Evidence, ScoreInput

CHAINS = 4
WARM_UP = 300  # draws of each chain that only tune it
ROUND = 250  # draws of each chain before the standard error is looked at, and then again
ROUNDS = 8  # at most
TARGET = 0.25  # nats of standard error that are enough
DISAGREE = 1.05  # R̂ from which the chains are taken to be in different places
MEAN = "E log p(D|θ) at 1/log N"


class Tempered:
    """The posterior with p(D|θ)^β, in coordinates of any size; the gradient costs one E step."""

    def __init__(self, problem: Problem, beta: float) -> None:
        self.problem, self.beta = problem, beta

    def __call__(self, u: FloatArray) -> tuple[float, FloatArray, float]:
        """Give the log density, its gradient, and log p(D|θ)."""
        log_theta, expected = self._expect(u)
        slope = conjugacy.pull_back(np.exp(log_theta), expected.N, self.problem.layout) * self.beta
        value = self.beta * expected.log_lik
        return *log_gammas.with_prior(value, slope, u, self.problem.alpha), expected.log_lik

    def _expect(self, u: FloatArray) -> tuple[FloatArray, Expectation]:
        """Give log θ, and the E step there: small exponents have θ below any float."""
        problem, log_theta = self.problem, log_gammas.log_theta_of(u, self.problem.layout)
        hidden = hidden_counts(problem, log_theta)
        log_lik = hidden.log_lik + float(problem.seen @ log_theta) + problem.log_base
        return log_theta, Expectation(log_lik, hidden.N + problem.seen, log_theta)

    def chain(self, N: FloatArray, rng: np.random.Generator) -> Chain:
        """Start a chain near the posterior that counts N would give; N = 0 is the prior."""
        start = log_gammas.draw(self.problem.alpha + self.beta * N, rng)
        _, expected = self._expect(start)
        return Chain(self, start, self.problem.alpha + self.beta * expected.N, rng)


def wbic(at: ScoreInput) -> Evidence:
    """Sample the tempered posterior from θ and from the prior, until the standard error is small.

    The same seed gives the same value. Where nothing is hidden the mean has a closed form.
    """
    problem = at.problem
    if at.log_cases <= 0.0:
        return Evidence("wbic", {}, (Flag(Kind.ONE_CASE),))
    beta = 1.0 / at.log_cases
    if problem.exact:
        tempered = problem.alpha + beta * problem.seen
        log_theta = conjugacy.expected_natural(tempered, problem.layout)
        return Evidence("wbic", {MEAN: float(problem.seen @ log_theta)})
    target = Tempered(problem, beta)
    children = np.random.default_rng([at.options.seed, problem.layout.size]).spawn(CHAINS)
    known = (at.observed_counts, np.zeros(problem.layout.size))
    chains = [target.chain(known[c % 2], rng) for c, rng in enumerate(children)]
    for chain in chains:
        chain.warm_up(WARM_UP)
    draws = np.empty((CHAINS, 0))
    for _ in range(ROUNDS):
        draws = np.hstack([draws, [chain.draw(ROUND) for chain in chains]])
        mean = chain_mean(draws)
        if mean.stderr <= TARGET:
            break
    disagree = Flag(Kind.CHAINS_DISAGREE, detail={"r_hat": mean.r_hat})
    flags = (disagree,) if mean.r_hat > DISAGREE else ()
    return Evidence("wbic", {MEAN: mean.value}, flags, mean.stderr)


WBIC = Score(
    "wbic",
    "WBIC",
    "Watanabe (2013)",
    wbic,
    domain=TABULAR,
    usual=False,
    every_labelling=True,
    bound=True,
)
