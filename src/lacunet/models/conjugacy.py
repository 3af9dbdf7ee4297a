"""Parameters, priors, modes and coordinates of a whole network, segment by segment.

Functions take flat vectors, (..., size), then their layout, and loop over its segments, one a
likelihood. `Likelihood` and `ConjugatePrior` document each method. Methods of the prior raise
ModelError for a likelihood without one.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from lacunet.likelihoods import ConjugatePrior, Likelihood, Segment, with_prior
from lacunet.models.layout import Layout
from lacunet.runtime.arrays import FloatArray, IntArray


def _of(s: Segment, method: Callable[..., Any]) -> Callable[..., Any]:
    """The method of a segment's likelihood."""
    name = method.__name__
    owner = s.family if hasattr(s.family, name) else with_prior(s.family)
    bound: Callable[..., Any] = getattr(owner, name)
    return bound


def _joined(method: Callable[..., Any], *given: Any, **options: Any) -> FloatArray:
    """Flat vector of the results of all segments; arguments after the layout go to each."""
    vectors, layout, rest = _parted(given)
    if layout.only is not None:
        result: FloatArray = _of(layout.only, method)(*vectors, layout.only, *rest, **options)
        return result
    whole = np.empty((*vectors[0].shape[:-1], layout.size))
    for s in layout.segments:
        parts = (x[..., s.where] for x in vectors)
        whole[..., s.where] = _of(s, method)(*parts, s, *rest, **options)
    return whole


def _parted(given: Sequence[Any]) -> tuple[Sequence[Any], Layout, Sequence[Any]]:
    """Split arguments into the vectors, the layout, and the rest."""
    at = next(i for i, x in enumerate(given) if isinstance(x, Layout))
    return given[:at], given[at], given[at + 1 :]


def _each(method: Callable[..., Any], *given: Any) -> list[Any]:
    """The result of each segment."""
    *vectors, layout = given
    return [_of(s, method)(*(x[..., s.where] for x in vectors), s) for s in layout.segments]


def _all(method: Callable[..., Any], *given: Any) -> bool:
    return all(_each(method, *given))


def _number(method: Callable[..., Any], *given: Any) -> float:
    """Sum of the results of all segments."""
    return float(sum(_each(method, *given)))


def _batch(method: Callable[..., Any], *given: Any) -> FloatArray:
    """Sum of the results of all segments, (batch,)."""
    return np.asarray(sum(_each(method, *given)))


# Parameters, (..., size) → (..., size)
natural = partial(_joined, Likelihood.natural)  # θ → η; of categories log θ
parameters = partial(_joined, ConjugatePrior.parameters)  # η → θ
maximize = partial(_joined, Likelihood.maximize)  # N, pseudo, θ → θ: the M step
log_density = partial(_number, Likelihood.log_density)  # N, θ → N · η(θ)
keeps_off_zero = partial(_all, Likelihood.keeps_off_zero)  # pseudo: whether maxima are positive
allows = partial(_all, Likelihood.allows)  # θ: whether numbers are valid parameters

# Priors by hyperparameters, the exponents α of categories
has_mode = partial(_all, Likelihood.has_mode)  # whether it has one for all data; α ≥ 1
by_configuration = partial(_joined, Likelihood.by_configuration)
in_theta = partial(_joined, Likelihood.in_theta)  # pseudo-statistics as a density of θ; α − 1
log_prior = partial(_number, Likelihood.log_prior)  # θ, hyper: log density. CH96 eq. 3
log_constant = partial(_number, Likelihood.log_constant)  # the part not linear in η
log_integral = partial(_batch, ConjugatePrior.log_integral)  # log ∫ exp(hyper · η) dφ, (batch,)
log_quotient = partial(_batch, ConjugatePrior.log_quotient)  # N, hyper: its increase by N, (batch,)
expected_natural = partial(_joined, ConjugatePrior.expected_natural)  # E[η]
mean = partial(_joined, Likelihood.mean)  # E[θ]
widened = partial(_joined, ConjugatePrior.widened)  # hyper, layout, factor: of variances
draw = partial(_joined, ConjugatePrior.draw)  # hyper, layout, rng → η, (batch, size)
draw_theta = partial(_joined, ConjugatePrior.draw_theta)  # hyper, layout, rng → θ, (size,)

# Coordinates φ with J = dη/dφ; with `edge`, coordinates that are finite on the boundary
pull_back = partial(_joined, Likelihood.pull_back)  # θ, g → Jᵀ g; of statistics, the gradient
push = partial(_joined, Likelihood.push)  # θ, φ → J φ
information = partial(_joined, Likelihood.information)  # θ, N, φ → curvature of N times φ
metric = partial(_joined, Likelihood.metric)  # θ, N → diagonal of a metric
null_projection = partial(_joined, Likelihood.null_projection)  # θ, v → part without effect
slope = partial(_joined, Likelihood.slope)  # θ, gradient in φ → in the coordinates
moved = partial(_joined, Likelihood.moved)  # θ, move → θ
log_map = partial(_joined, Likelihood.log_map)  # old θ, new θ → move
from_interval_scale = partial(
    _joined, Likelihood.from_interval_scale
)  # θ, move on the scale of intervals → θ
scale_slope = partial(_joined, Likelihood.scale_slope)  # dθ for a small step on that scale
log_jacobian = partial(_number, Likelihood.log_jacobian)  # θ → log |dθ/dφ|
complete_log_det = partial(_number, Likelihood.complete_log_det)  # θ, N → log |curvature of N|


def _along_unit(method: Callable[..., Any], *given: Any) -> FloatArray:
    """Apply a method to a unit direction, whose effect stays in the segment of its position."""
    *vectors, position, layout = given
    number, index = layout.located
    s, result = layout.segments[number[position]], np.zeros(layout.size)
    unit = np.zeros(len(s.ij))
    unit[index[position]] = 1.0
    result[s.where] = _of(s, method)(*(x[s.where] for x in vectors), unit, s)
    return result


push_unit = partial(_along_unit, Likelihood.push)  # θ, position, layout → J e
information_of = partial(_along_unit, Likelihood.information)  # θ, N, position, layout


def on_boundary(theta: FloatArray, layout: Layout) -> bool:
    """Whether a learned parameter is on the boundary; for categories a probability 0."""
    return any(_each(Likelihood.on_boundary, theta, layout))


def log_marginal(N: FloatArray, hyper: FloatArray, layout: Layout) -> FloatArray:
    """Log marginal likelihood of complete statistics, a term for each variable, (n,). CH96 eq. 5.

    One binary variable with α = 1, observed once in each state: p(D) = 1/6.

    >>> layout = Layout.build([2], [()], [False])
    >>> float(np.exp(log_marginal(np.ones(2), np.ones(2), layout)[0])) * 6
    1.0...
    """
    terms = np.zeros(len(layout.families))
    each = _each(ConjugatePrior.log_marginal, N, hyper, layout)
    for s, part in zip(layout.segments, each, strict=True):
        terms[s.variables] += part
    return terms


def random_theta(
    layout: Layout, rng: np.random.Generator, hyper: FloatArray | None = None
) -> FloatArray:
    """Draw initial θ; for categories from the uniform Dirichlet, as in CH96."""
    prior = np.ones(layout.size) if hyper is None else hyper
    return _joined(Likelihood.random, prior, layout, rng)


def expected_statistics(theta: FloatArray, cases: FloatArray, layout: Layout) -> FloatArray:
    """E[T | θ] times the cases of each configuration, (size,)."""
    return cases * _joined(Likelihood.mean_statistics, theta, layout)


def cases(N: FloatArray, layout: Layout) -> FloatArray:
    """Number of cases of its configuration, at every position."""
    number = _joined(Likelihood.cases, N, layout)
    # A configuration with known cells is in several segments.
    return number if layout.given is None else np.where(layout.in_tables, layout.totals(N), number)


def longest_move(layout: Layout, *, edge: bool) -> float:
    """The longest step of a coordinate."""
    return min(s.family.longest_moves[edge] for s in layout.segments)


def free(theta: FloatArray, layout: Layout) -> tuple[IntArray, IntArray]:
    """Positions of the free coordinates and of their references."""
    parts = []
    for s in layout.segments:
        positions = np.arange(layout.size)[s.where]
        parts.append([positions[x] for x in s.family.free(theta[s.where], s)])
    positions, references = (np.concatenate(x) for x in zip(*parts, strict=True))
    return positions, references


def to_interval_scale(phi: FloatArray, theta: FloatArray, layout: Layout) -> FloatArray:
    """Convert changes of φ, (size, m), to the unbounded scale of confidence intervals."""
    changes = np.empty_like(phi)
    for s in layout.segments:
        changes[s.where] = s.family.to_interval_scale(phi[s.where], theta[s.where], s)
    return changes
