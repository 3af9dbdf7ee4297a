"""Priors, modes, draws and coordinates of all parameters together: each segment asks its family.

Flat vectors are over one layout, (..., size). A layout has one segment for each kind of family, so
these are loops over kinds, never over numbers.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from lacunet.arrays import FloatArray, IntArray
from lacunet.model.families import Segment
from lacunet.model.layout import Layout


def _joined(
    layout: Layout, one: Callable[[Segment], FloatArray], like: FloatArray | None = None
) -> FloatArray:
    """Put the answers of all segments at their places; one segment is the whole vector."""
    first, *more = layout.segments
    if not more:
        return one(first)
    whole = np.empty(layout.size) if like is None else np.empty_like(like)
    for s in layout.segments:
        whole[..., s.where] = one(s)
    return whole


def natural(theta: FloatArray, layout: Layout) -> FloatArray:
    """η(θ); for categories log θ."""
    return _joined(layout, lambda s: s.family.natural(theta[..., s.where], s), theta)


def parameters(eta: FloatArray, layout: Layout) -> FloatArray:
    """θ(η)."""
    return _joined(layout, lambda s: s.family.parameters(eta[..., s.where], s), eta)


def has_mode(hyper: FloatArray, layout: Layout) -> bool:
    """Whether the density of θ has a maximum whatever the data say; for categories α ≥ 1."""
    return all(s.family.has_mode(hyper[s.where], s) for s in layout.segments)


def log_density(N: FloatArray, theta: FloatArray, layout: Layout) -> float:
    """N · η(θ): log p of statistics without their base measure."""
    return sum([s.family.log_density(N[s.where], theta[s.where], s) for s in layout.segments])


def in_theta(hyper: FloatArray, layout: Layout) -> FloatArray:
    """What the prior adds to statistics as a density of θ; for categories α − 1."""
    return _joined(layout, lambda s: s.family.in_theta(hyper[s.where], s))


def log_prior(theta: FloatArray, hyper: FloatArray, layout: Layout) -> float:
    """Log density of θ with its normalising constant. CH96 eq. 3."""
    return sum(s.family.log_prior(theta[s.where], hyper[s.where], s) for s in layout.segments)


def log_constant(hyper: FloatArray, layout: Layout) -> float:
    """What of the log prior is left without its linear part in η."""
    return sum(s.family.log_constant(hyper[s.where], s) for s in layout.segments)


def log_marginal(N: FloatArray, hyper: FloatArray, layout: Layout) -> FloatArray:
    """Log marginal likelihood of complete statistics, an addend per family, (n,). CH96 eq. 5.

    One binary variable, α = 1, seen once in each state: p(D) = 1/6.

    >>> layout = Layout.build([2], [()], [False])
    >>> float(np.exp(log_marginal(np.ones(2), np.ones(2), layout)[0])) * 6
    1.0...
    """
    addends = np.empty(len(layout.families))
    for s in layout.segments:
        addends[s.variables] = s.family.log_marginal(N[s.where], hyper[s.where], s)
    return addends


def log_integral(hyper: FloatArray, layout: Layout) -> FloatArray:
    """Log ∫ exp(hyper · η) dφ: (batch, size) → (batch,)."""
    total = np.zeros(len(hyper))
    for s in layout.segments:
        total += s.family.log_integral(hyper[:, s.where], s)
    return total


def expected_natural(hyper: FloatArray, layout: Layout) -> FloatArray:
    """E[η] under the prior with these hyperparameters."""
    return _joined(layout, lambda s: s.family.expected_natural(hyper[s.where], s))


def mean(hyper: FloatArray, layout: Layout) -> FloatArray:
    """E[θ]."""
    return _joined(layout, lambda s: s.family.mean(hyper[s.where], s))


def expected_statistics(theta: FloatArray, cases: FloatArray, layout: Layout) -> FloatArray:
    """E[T | θ], times the cases of each configuration, (size,)."""
    return cases * _joined(layout, lambda s: s.family.mean_statistics(theta[s.where], s))


def cases(N: FloatArray, layout: Layout) -> FloatArray:
    """How many cases of its configuration statistics stand for, at every position."""
    return _joined(layout, lambda s: s.family.cases(N[s.where], s))


def draw(hyper: FloatArray, layout: Layout, rng: Any) -> FloatArray:
    """Draw η given hyperparameters, (batch, size)."""
    return _joined(layout, lambda s: s.family.draw(hyper[:, s.where], s, rng), hyper)


def random_theta(layout: Layout, rng: np.random.Generator) -> FloatArray:
    """Draw θ to start from; for categories from the uniform Dirichlet, as CH96 does."""
    return _joined(layout, lambda s: s.family.random(s, rng))


def maximize(N: FloatArray, pseudo: FloatArray, theta: FloatArray, layout: Layout) -> FloatArray:
    """M step: the θ that is best for statistics N + pseudo; where there are no cases, θ stays."""
    best = theta.copy()
    for s in layout.segments:
        own = best[s.where]
        s.family.maximize(N[s.where], pseudo[s.where], own, s)
        best[s.where] = own
    return best


def pull_back(theta: FloatArray, g: FloatArray, layout: Layout) -> FloatArray:
    """Jᵀ g, from natural parameters to φ; of statistics, the gradient."""
    return _joined(layout, lambda s: s.family.pull_back(theta[s.where], g[s.where], s))


def push(theta: FloatArray, phi: FloatArray, layout: Layout) -> FloatArray:
    """J φ, from a direction in φ to that of the natural parameters."""
    return _joined(layout, lambda s: s.family.push(theta[s.where], phi[s.where], s))


def information(theta: FloatArray, N: FloatArray, phi: FloatArray, layout: Layout) -> FloatArray:
    """Curvature that statistics N have in φ, times a direction."""
    return _joined(
        layout, lambda s: s.family.information(theta[s.where], N[s.where], phi[s.where], s)
    )


def longest_move(layout: Layout, *, edge: bool) -> float:
    """How far a coordinate may move in one step."""
    return min(s.family.longest_move(edge=edge) for s in layout.segments)


def slope(theta: FloatArray, gradient: FloatArray, layout: Layout, *, edge: bool) -> FloatArray:
    """Turn the gradient in φ into that of the coordinates (`edge`: of the boundary)."""
    return _joined(layout, lambda s: s.family.slope(theta[s.where], gradient[s.where], edge=edge))


def sharpness(
    theta: FloatArray, N: FloatArray, layout: Layout, *, edge: bool = False
) -> FloatArray:
    """Diagonal of a metric for the coordinates: about that of the curvature of statistics N."""
    return _joined(layout, lambda s: s.family.sharpness(theta[s.where], N[s.where], s, edge=edge))


def idle(theta: FloatArray, v: FloatArray, layout: Layout) -> FloatArray:
    """Project onto directions that change no probability, v measured in that metric."""
    return _joined(layout, lambda s: s.family.idle(theta[s.where], v[s.where], s))


def moved(theta: FloatArray, move: FloatArray, layout: Layout, *, edge: bool = False) -> FloatArray:
    """Move the coordinates, and give the θ that they then say."""
    return _joined(layout, lambda s: s.family.moved(theta[s.where], move[s.where], s, edge=edge))


def between(old: FloatArray, new: FloatArray, layout: Layout, *, edge: bool) -> FloatArray:
    """Give the move of the coordinates from one θ to another."""
    return _joined(layout, lambda s: s.family.between(old[s.where], new[s.where], edge=edge))


def free(theta: FloatArray, layout: Layout) -> tuple[IntArray, IntArray]:
    """Positions of the free coordinates, and of what makes up for each."""
    found = []
    for s in layout.segments:
        positions = np.arange(layout.size)[s.where]
        found.append([positions[x] for x in s.family.free(theta[s.where], s)])
    own, reference = (np.concatenate(x) for x in zip(*found, strict=True))
    return own, reference


def log_jacobian(theta: FloatArray, layout: Layout) -> float:
    """Log |dθ/dφ| over the free coordinates."""
    return sum(s.family.log_jacobian(theta[s.where], s) for s in layout.segments)


def complete_log_det(theta: FloatArray, N: FloatArray, layout: Layout) -> float:
    """Log of the determinant of the curvature of statistics N in free φ."""
    return sum(s.family.complete_log_det(theta[s.where], N[s.where], s) for s in layout.segments)
