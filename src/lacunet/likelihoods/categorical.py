"""Categories with Dirichlet priors, CH96 eq. 3.

θ are probabilities, η = log θ, statistics are counts N_ijk, hyperparameters exponents α_ijk.
φ = log θ up to a constant (softmax). Its gradient N − θ Σ N is zero exactly at fixed points of EM,
and finite at the boundary. A maximum on the boundary has φ = −∞, but finite √θ and curvature
(4 N_ij in every direction for complete data).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import digamma, expit, gammaln, logit, xlogy

from lacunet.likelihoods import kernels
from lacunet.likelihoods.conjugate_prior import ConjugatePrior
from lacunet.likelihoods.gamma_functions import log_gamma_density, log_rising
from lacunet.likelihoods.likelihood import Likelihood, Segment, Vector, move_of_logs
from lacunet.runtime.arrays import FloatArray, IntArray
from lacunet.runtime.states import State


class Categories(Likelihood):
    """A likelihood of categories: each state has a place, T(x) = e_x."""

    tabular: ClassVar[bool] = True

    def width(self, states: Sequence[State]) -> int:
        return len(states)

    def statistics(self, states: Sequence[State]) -> FloatArray:
        return np.eye(len(states))

    def log_base(self, states: Sequence[State]) -> FloatArray:
        return np.zeros(len(states))

    def cases(self, N: Vector, at: Segment) -> Vector:
        return at.totals(N)


@dataclass(frozen=True)
class Categorical(Categories, ConjugatePrior):
    """A categorical distribution, with one probability a state."""

    name: ClassVar[str] = "categorical"
    simplex: ClassVar[bool] = True
    rooted: ClassVar[bool] = True
    longest_moves: ClassVar[tuple[float, float]] = 4.0, 0.5

    def natural(self, theta: Vector, at: Segment) -> Vector:
        """Log θ; log 0 = −inf without a warning."""
        with np.errstate(divide="ignore"):
            return np.log(theta)

    def log_density(self, N: Vector, theta: Vector, at: Segment) -> float:
        return float(np.sum(xlogy(N, theta)))

    def parameters(self, natural: Vector, at: Segment) -> Vector:
        theta: FloatArray = np.exp(natural)
        return theta

    def has_mode(self, hyper: Vector, at: Segment) -> bool:
        """Whether all α ≥ 1; below, the density is infinite at probability 0."""
        return bool((hyper >= 1.0).all())

    def in_theta(self, hyper: Vector, at: Segment) -> Vector:
        return hyper - 1.0

    def log_prior(self, theta: Vector, hyper: Vector, at: Segment) -> float:
        """Log density of θ: −inf at zero probabilities where α > 1, +inf where α < 1."""
        if (theta <= 0.0).any():
            return self.log_constant(hyper, at) + float(np.sum(xlogy(hyper - 1.0, theta)))
        # Normalised Gamma densities avoid differences of large numbers at large exponents.
        total = at.sum(hyper)
        terms = log_gamma_density(hyper, total[at.ij] * theta) - np.log(theta)
        return float(np.sum(terms) - np.sum(log_gamma_density(total, total)))

    def log_marginal(self, N: Vector, hyper: Vector, at: Segment) -> FloatArray:
        """CH96 eq. 5."""
        return at.by_variable(log_rising(hyper, N), -log_rising(at.sum(hyper), at.sum(N)))

    def log_integral(self, hyper: Vector, at: Segment) -> FloatArray:
        """Sum of log multivariate Beta functions over configurations."""
        totals = np.zeros((len(hyper), at.configurations))
        np.add.at(totals.T, at.ij, hyper.T)
        return np.asarray(gammaln(hyper).sum(axis=1) - gammaln(totals).sum(axis=1))

    def log_quotient(self, N: Vector, hyper: Vector, at: Segment) -> FloatArray:
        values = np.empty(len(N))
        kernels.log_beta_quotient(N, hyper, at.ij, at.sum(hyper), values)
        return values

    def expected_natural(self, hyper: Vector, at: Segment) -> Vector:
        expected: FloatArray = digamma(hyper) - digamma(at.sum(hyper))[at.ij]
        return expected

    def mean(self, hyper: Vector, at: Segment) -> Vector:
        return hyper / at.totals(hyper)

    def mean_statistics(self, theta: Vector, at: Segment) -> Vector:
        return theta

    def draw(self, hyper: Vector, at: Segment, rng: Any) -> Vector:
        drawn = np.empty_like(hyper)
        kernels.draw_log_theta(hyper, at.ij, rng, np.empty(at.configurations), drawn)
        return drawn

    def draw_theta(self, hyper: Vector, at: Segment, rng: np.random.Generator) -> Vector:
        return self.mean(rng.standard_gamma(hyper), at)

    def random(self, hyper: Vector, at: Segment, rng: np.random.Generator) -> Vector:
        """Draw from the uniform Dirichlet, as CH96 draws models and starts."""
        gamma = rng.standard_exponential(len(at.ij))
        return gamma / at.totals(gamma)

    def maximize(self, N: Vector, pseudo: Vector, theta: Vector, at: Segment) -> Vector:
        best = theta.copy()
        kernels.maximize_tables(N, pseudo, at.ij, np.empty(at.configurations), best)
        return best

    def pull_back(self, theta: Vector, g: Vector, at: Segment) -> Vector:
        return g - theta * at.totals(g)

    def push(self, theta: Vector, phi: Vector, at: Segment) -> Vector:
        return phi - at.totals(theta * phi)

    def information(self, theta: Vector, N: Vector, phi: Vector, at: Segment) -> Vector:
        """N_ij (diag θ − θθᵀ)."""
        return theta * self.push(theta, phi, at) * at.totals(N)

    def metric(self, theta: Vector, N: Vector, at: Segment, *, edge: bool = False) -> Vector:
        cases = at.totals(N)
        return np.where(theta > 0, 4.0 * cases, 0.0) if edge else theta * cases

    def null_projection(self, theta: Vector, v: Vector, at: Segment) -> Vector:
        """Project onto constants added to φ of one configuration."""
        root = np.sqrt(theta)
        return root * at.totals(root * v)

    def moved(self, theta: Vector, move: Vector, at: Segment, *, edge: bool = False) -> Vector:
        """Move and normalise; steps of √θ across zero are reflected."""
        return self.mean((np.sqrt(theta) + move) ** 2 if edge else theta * np.exp(move), at)

    def log_map(self, old: Vector, new: Vector, at: Segment, *, edge: bool) -> Vector:
        return move_of_logs(old, new, edge=edge)

    def free(self, theta: Vector, at: Segment) -> tuple[IntArray, IntArray]:
        """The most probable state of each configuration is the reference."""
        order = np.lexsort((at.k, -theta, at.ij))  # by configuration, most probable first
        ij = at.ij[order]
        opens = np.ones(len(order), dtype=bool)
        opens[1:] = ij[1:] != ij[:-1]
        free = order[~opens]
        return free, order[opens][at.ij[free]]

    def to_interval_scale(self, phi: FloatArray, theta: Vector, at: Segment) -> FloatArray:
        """Changes of logits: d log θ_k = dφ_k − Σ_l θ_l dφ_l, d logit θ = d log θ / (1 − θ)."""
        mean = np.zeros((at.configurations, phi.shape[1]))
        np.add.at(mean, at.ij, theta[:, None] * phi)
        with np.errstate(divide="ignore", invalid="ignore"):
            logits = (phi - mean[at.ij]) / (1.0 - theta)[:, None]
        return np.nan_to_num(logits, nan=0.0, posinf=0.0, neginf=0.0)

    def from_interval_scale(self, theta: Vector, move: Vector, at: Segment) -> Vector:
        with np.errstate(divide="ignore", invalid="ignore"):
            moved: FloatArray = expit(logit(theta) + move)
        return moved

    def scale_slope(self, theta: Vector, at: Segment) -> Vector:
        return theta * (1.0 - theta)

    def log_jacobian(self, theta: Vector, at: Segment) -> float:
        """Log Π θ_k over configurations with more than one state."""
        several = at.totals(np.ones(len(theta))) > 1
        return float(np.sum(self.natural(theta[several], at)))

    def complete_log_det(self, theta: Vector, N: Vector, at: Segment) -> float:
        """Log Π_ij N_ij^(r − 1) Π_k θ_k."""
        states = at.sum(np.ones(len(theta)))
        several = states > 1  # a variable with one state has no parameter
        cases = at.sum(N)[several]
        log_cases = float(np.sum((states[several] - 1.0) * np.log(cases)))
        return log_cases + float(np.sum(self.natural(theta, at)))


CATEGORICAL = Categorical()
