"""Parameters, priors, modes and coordinates of a whole network: each segment asks its likelihood.

Flat vectors are over one layout, (..., size). A layout has one segment for each likelihood, so
these are loops over kinds, never over numbers. `Likelihood` and `ConjugatePrior` say what each
means; what only a prior gives is refused where a likelihood has none.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from lacunet.likelihoods import ConjugatePrior, Likelihood, Segment, with_prior
from lacunet.model.layout import Layout
from lacunet.runtime.arrays import FloatArray, IntArray


def _of(s: Segment, method: Callable[..., Any]) -> Callable[..., Any]:
    """What a segment's likelihood has for a method of the contracts."""
    name = method.__name__
    found: Callable[..., Any] = getattr(
        s.family if hasattr(s.family, name) else with_prior(s.family), name
    )
    return found


def _joined(
    layout: Layout, method: Callable[..., Any], *vectors: FloatArray, **how: Any
) -> FloatArray:
    """Put the answers of all segments at their places; where there is only one, it is all."""
    if layout.only is not None:
        answer: FloatArray = _of(layout.only, method)(*vectors, layout.only, **how)
        return answer
    whole = np.empty((*vectors[0].shape[:-1], layout.size))
    for s in layout.segments:
        whole[..., s.where] = _of(s, method)(*(x[..., s.where] for x in vectors), at=s, **how)
    return whole


def _each(layout: Layout, method: Callable[..., Any], *vectors: FloatArray) -> list[Any]:
    """The answer of each segment."""
    return [_of(s, method)(*(x[..., s.where] for x in vectors), s) for s in layout.segments]


def natural(theta: FloatArray, layout: Layout) -> FloatArray:
    """η(θ); for categories log θ."""
    return _joined(layout, Likelihood.natural, theta)


def parameters(eta: FloatArray, layout: Layout) -> FloatArray:
    """θ(η)."""
    return _joined(layout, ConjugatePrior.parameters, eta)


def by_configuration(hyper: FloatArray, layout: Layout) -> FloatArray:
    """Hyperparameters of each configuration by itself, with all that it shares with others."""
    return _joined(layout, Likelihood.by_configuration, hyper)


def has_mode(hyper: FloatArray, layout: Layout) -> bool:
    """Whether the density of θ has a maximum whatever the data say; for categories α ≥ 1."""
    return all(_each(layout, ConjugatePrior.has_mode, hyper))


def keeps_off_zero(pseudo: FloatArray, layout: Layout) -> bool:
    """Whether these, added to any statistics, keep their maximum off the boundary."""
    return all(_each(layout, Likelihood.keeps_off_zero, pseudo))


def on_boundary(theta: FloatArray, layout: Layout) -> bool:
    """Whether a parameter that is learned is on the boundary; for categories a probability 0."""
    return any(_each(layout, Likelihood.on_boundary, theta))


def allows(theta: FloatArray, layout: Layout) -> bool:
    """Whether numbers can be parameters at all: no variance is 0."""
    return all(_each(layout, Likelihood.allows, theta))


def log_density(N: FloatArray, theta: FloatArray, layout: Layout) -> float:
    """N · η(θ): log p of statistics without their base measure."""
    return float(sum(_each(layout, Likelihood.log_density, N, theta)))


def widened(hyper: FloatArray, factor: float, layout: Layout) -> FloatArray:
    """The prior with variances expected so many times as large; of categories, the same."""
    return _joined(layout, ConjugatePrior.widened, hyper, factor=factor)


def in_theta(hyper: FloatArray, layout: Layout) -> FloatArray:
    """What the prior adds to statistics as a density of θ; for categories α − 1."""
    return _joined(layout, ConjugatePrior.in_theta, hyper)


def log_prior(theta: FloatArray, hyper: FloatArray, layout: Layout) -> float:
    """Log density of θ with its normalising constant. CH96 eq. 3."""
    return float(sum(_each(layout, ConjugatePrior.log_prior, theta, hyper)))


def log_constant(hyper: FloatArray, layout: Layout) -> float:
    """What of the log prior is left without its linear part in η."""
    return float(sum(_each(layout, ConjugatePrior.log_constant, hyper)))


def log_marginal(N: FloatArray, hyper: FloatArray, layout: Layout) -> FloatArray:
    """Log marginal likelihood of complete statistics, an addend per family, (n,). CH96 eq. 5.

    One binary variable, α = 1, seen once in each state: p(D) = 1/6.

    >>> layout = Layout.build([2], [()], [False])
    >>> float(np.exp(log_marginal(np.ones(2), np.ones(2), layout)[0])) * 6
    1.0...
    """
    addends = np.zeros(len(layout.families))
    each = _each(layout, ConjugatePrior.log_marginal, N, hyper)
    for s, own in zip(layout.segments, each, strict=True):
        addends[s.variables] += own
    return addends


def log_integral(hyper: FloatArray, layout: Layout) -> FloatArray:
    """Log ∫ exp(hyper · η) dφ: (batch, size) → (batch,)."""
    return np.asarray(sum(_each(layout, ConjugatePrior.log_integral, hyper)))


def log_quotient(N: FloatArray, hyper: FloatArray, layout: Layout) -> FloatArray:
    """Log ∫ exp((hyper + N) · η) dφ / ∫ exp(hyper · η) dφ: (batch, size), (size,) → (batch,)."""
    return np.asarray(sum(_each(layout, ConjugatePrior.log_quotient, N, hyper)))


def expected_natural(hyper: FloatArray, layout: Layout) -> FloatArray:
    """E[η] under the prior with these hyperparameters."""
    return _joined(layout, ConjugatePrior.expected_natural, hyper)


def mean(hyper: FloatArray, layout: Layout) -> FloatArray:
    """E[θ]."""
    return _joined(layout, ConjugatePrior.mean, hyper)


def expected_statistics(theta: FloatArray, cases: FloatArray, layout: Layout) -> FloatArray:
    """E[T | θ], times the cases of each configuration, (size,)."""
    return cases * _joined(layout, Likelihood.mean_statistics, theta)


def cases(N: FloatArray, layout: Layout) -> FloatArray:
    """How many cases of its configuration statistics stand for, at every position."""
    found = _joined(layout, Likelihood.cases, N)
    # A configuration of which something is known is in several segments.
    return found if layout.given is None else np.where(layout.in_tables, layout.totals(N), found)


def draw(hyper: FloatArray, layout: Layout, rng: Any) -> FloatArray:
    """Draw η given hyperparameters, (batch, size)."""
    return _joined(layout, ConjugatePrior.draw, hyper, rng=rng)


def draw_theta(hyper: FloatArray, layout: Layout, rng: np.random.Generator) -> FloatArray:
    """Draw θ given hyperparameters, (size,)."""
    return _joined(layout, ConjugatePrior.draw_theta, hyper, rng=rng)


def random_theta(
    layout: Layout, rng: np.random.Generator, hyper: FloatArray | None = None
) -> FloatArray:
    """Draw θ to start from; for categories from the uniform Dirichlet, as CH96 does."""
    prior = np.ones(layout.size) if hyper is None else hyper
    return _joined(layout, Likelihood.random, prior, rng=rng)


def maximize(N: FloatArray, pseudo: FloatArray, theta: FloatArray, layout: Layout) -> FloatArray:
    """M step: the θ that is best for statistics N + pseudo; where there are no cases, θ stays."""
    return _joined(layout, Likelihood.maximize, N, pseudo, theta)


def pull_back(theta: FloatArray, g: FloatArray, layout: Layout) -> FloatArray:
    """Jᵀ g, from natural parameters to φ; of statistics, the gradient."""
    return _joined(layout, Likelihood.pull_back, theta, g)


def push(theta: FloatArray, phi: FloatArray, layout: Layout) -> FloatArray:
    """J φ, from a direction in φ to that of the natural parameters."""
    return _joined(layout, Likelihood.push, theta, phi)


def information(theta: FloatArray, N: FloatArray, phi: FloatArray, layout: Layout) -> FloatArray:
    """Curvature that statistics N have in φ, times a direction."""
    return _joined(layout, Likelihood.information, theta, N, phi)


def idle(theta: FloatArray, v: FloatArray, layout: Layout) -> FloatArray:
    """Project onto directions that change no probability, v measured in that metric."""
    return _joined(layout, Likelihood.idle, theta, v)


def longest_move(layout: Layout, *, edge: bool) -> float:
    """How far a coordinate may move in one step."""
    return min(s.family.longest_moves[edge] for s in layout.segments)


def slope(theta: FloatArray, gradient: FloatArray, layout: Layout, *, edge: bool) -> FloatArray:
    """Turn the gradient in φ into that of the coordinates (`edge`: of the boundary)."""
    return _joined(layout, Likelihood.slope, theta, gradient, edge=edge)


def sharpness(
    theta: FloatArray, N: FloatArray, layout: Layout, *, edge: bool = False
) -> FloatArray:
    """Diagonal of a metric for the coordinates: about that of the curvature of statistics N."""
    return _joined(layout, Likelihood.sharpness, theta, N, edge=edge)


def moved(theta: FloatArray, move: FloatArray, layout: Layout, *, edge: bool = False) -> FloatArray:
    """Move the coordinates, and give the θ that they then say."""
    return _joined(layout, Likelihood.moved, theta, move, edge=edge)


def between(old: FloatArray, new: FloatArray, layout: Layout, *, edge: bool) -> FloatArray:
    """Give the move of the coordinates from one θ to another."""
    return _joined(layout, Likelihood.between, old, new, edge=edge)


def free(theta: FloatArray, layout: Layout) -> tuple[IntArray, IntArray]:
    """Positions of the free coordinates, and of what makes up for each."""
    parts = []
    for s in layout.segments:
        positions = np.arange(layout.size)[s.where]
        parts.append([positions[x] for x in s.family.free(theta[s.where], s)])
    own, reference = (np.concatenate(x) for x in zip(*parts, strict=True))
    return own, reference


def on_scale(phi: FloatArray, theta: FloatArray, layout: Layout) -> FloatArray:
    """Carry changes of φ, (size, m), to the scale that intervals are symmetric on."""
    changes = np.empty_like(phi)
    for s in layout.segments:
        changes[s.where] = s.family.on_scale(phi[s.where], theta[s.where], s)
    return changes


def off_scale(theta: FloatArray, move: FloatArray, layout: Layout) -> FloatArray:
    """Move every parameter on that scale; of categories, that of logits."""
    return _joined(layout, Likelihood.off_scale, theta, move)


def scale_slope(theta: FloatArray, layout: Layout) -> FloatArray:
    """By how much θ changes for a small step on that scale."""
    return _joined(layout, Likelihood.scale_slope, theta)


def log_jacobian(theta: FloatArray, layout: Layout) -> float:
    """Log |dθ/dφ| over the free coordinates."""
    return float(sum(_each(layout, Likelihood.log_jacobian, theta)))


def complete_log_det(theta: FloatArray, N: FloatArray, layout: Layout) -> float:
    """Log of the determinant of the curvature of statistics N in free φ."""
    return float(sum(_each(layout, Likelihood.complete_log_det, theta, N)))
