"""E steps at θ, problems with more or fewer hidden states, and checks of log probabilities."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.linalg import LinAlgError

from lacunet.errors import DataError, ImpossibleNumberError, ModelError
from lacunet.flags import Flag, Kind
from lacunet.inference.problem import Problem, problem_of_codes
from lacunet.inference.symmetry import interchangeable
from lacunet.models import conjugacy
from lacunet.models.latent_class import classes_of, find_classes
from lacunet.models.network import Network
from lacunet.models.surgery import with_hidden
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.executor import SERIAL, Executor


def informed_states(problem: Problem) -> dict[int, int]:
    """Numbers of states of interchangeable, resizable hidden variables that are not barren.

    Only their states can be unused.
    """
    informed = problem.components.members
    alike = [h for h in interchangeable(problem) if h in informed and resizable(problem.network, h)]
    return {h: problem.layout.cards[h] for h in alike}


def resizable(network: Network, h: int) -> bool:
    """Whether the number of states of a hidden variable can change.

    Its families must have no known tables, and ties only to tables with it on the same axis.
    """
    families = network.layout.families
    leaders = network.layout.leaders or range(len(families))
    around = [i for i, leader in enumerate(leaders) if h in (*families[i], *families[leader])]
    return h not in {i for i in around if leaders[i] != i} and all(
        network.variables[leaders[i]].known is None
        and [v == h for v in families[i]] == [v == h for v in families[leaders[i]]]
        for i in around
    )


def network_with_sizes(network: Network, sizes: Mapping[int, int]) -> Network:
    """Change the numbers of states of hidden variables, given by index."""
    return with_hidden(network, {network.variables[h].name: k for h, k in sizes.items()})


def with_sizes(problem: Problem, sizes: Mapping[int, int]) -> Problem:
    """Change the numbers of states of interchangeable variables; each state keeps its prior.

    So a prior that depends on the number of states (BDeu) differs from that of a new model.
    """
    if all(problem.layout.cards[h] == k for h, k in sizes.items()):
        return problem
    network = network_with_sizes(problem.network, sizes)
    alpha = network.layout.flat(prior_of_states(problem, sizes))
    return problem_of_codes(problem.codes, problem.counts, network, alpha, problem.place.holder)


def prior_of_states(problem: Problem, sizes: Mapping[int, int]) -> list[FloatArray]:
    """Hyperparameters of each family after interchangeable variables are resized."""
    tables = []
    for i, family in enumerate(problem.layout.families):
        table = problem.layout.table(problem.alpha, i)
        before = table[..., :1].size
        for axis, v in enumerate(family):
            if v in sizes:  # all states have equal priors: repeat the first
                table = np.take(table, np.zeros(sizes[v], dtype=np.int64), axis=axis)
        if table.size:
            table = problem.layout.kinds[i].shared_out(table, table[..., 0].size / before)
        tables.append(table)
    return tables


def exchangeable(problem: Problem) -> bool:
    """Whether it is a latent class model with classes that are exchangeable a priori."""
    classes = find_classes(problem.network)
    return (
        classes is not None and problem.layout.plain and interchangeable(problem) == (classes.root,)
    )


def with_classes(problem: Problem, classes: int) -> Problem:
    """The same data with another number of classes; each class keeps its prior."""
    return with_sizes(problem, {classes_of(problem.network).root: classes})


@dataclass(frozen=True, eq=False)
class Expectation:
    """The result of an E step."""

    log_lik: float  # log p(D | θ)
    N: FloatArray  # (size,) E[N | D, θ] over the rows in which family i is not barren
    natural: FloatArray  # (size,) η(θ), or the weights used instead


def safe_log(p: FloatArray) -> FloatArray:
    """Logs of probabilities; log 0 = −inf without a warning."""
    with np.errstate(divide="ignore"):
        return np.log(p)


def dot(N: FloatArray, natural: FloatArray) -> float:
    """Σ N η, with 0 · −inf = 0."""
    used = N != 0.0
    return float(N[used] @ natural[used])


def expect(problem: Problem, theta: FloatArray, executor: Executor = SERIAL) -> Expectation:
    """Run the E step. CH96 eq. 11.

    Barren variables are left out: they carry no information about θ, so EM has the same fixed
    points and converges faster. `complete_counts` includes them.
    """
    layout, cells = problem.layout, problem.components.cells
    log_lik = problem.log_base
    natural = conjugacy.natural(theta, layout)
    if problem.any_seen:
        log_lik += dot(problem.seen, natural)
    N = problem.components.seen.copy()
    log_lik += problem.components.add_expected(cells.weights(natural), N, executor.local())
    return Expectation(log_lik, cells.statistics(N), natural)


def expect_at_once(problem: Problem, thetas: Sequence[FloatArray]) -> list[Expectation]:
    """Run the E step at several θ in one batch, which is fast on a device."""
    components, theta = problem.components, np.stack(thetas)
    natural = conjugacy.natural(theta, problem.layout)
    N = np.tile(components.seen, (len(theta), 1))
    log_lik = np.full(len(theta), problem.log_base)
    if problem.any_seen:
        log_lik += [dot(problem.seen, eta) for eta in natural]
    for plan in components.plans:
        log_lik += plan.expect(components.cells.weights(natural), N)
    each = zip(log_lik.tolist(), components.cells.statistics(N), natural, strict=True)
    return [Expectation(*one) for one in each]


def hidden_counts(problem: Problem, natural: FloatArray) -> Expectation:
    """The hidden part of the E step at any weights: log Z and expected statistics."""
    cells = problem.components.cells
    weights = cells.weights(natural)
    N = np.zeros(len(weights))
    log_z = problem.components.add_expected(weights, N)
    return Expectation(log_z, cells.statistics(N), natural)


def complete_counts(problem: Problem, theta: FloatArray) -> FloatArray:
    """E[N | D, θ] of the imaginary complete data D′ of the paper (CH96).

    A missing category without children adds θ times the expected count of its parents. A missing
    number is left out unless its block is partly observed: otherwise a density, which depends on
    the unit of an unobserved value, would enter.
    """
    layout, components = problem.layout, problem.filled
    cells, natural = components.cells, conjugacy.natural(theta, layout)
    whole = np.zeros(cells.network.layout.size)
    whole[: layout.size] = natural
    N = components.seen.copy()
    components.add_expected(cells.weights(whole), N)
    known = cells.statistics(N)
    barren = np.append(known, 0.0)[problem.missing_at]
    return known[: layout.size] + conjugacy.expected_statistics(theta, barren, layout)


def missing_numbers(problem: Problem, theta: FloatArray) -> float:
    """Base measure plus entropy of the missing numbers of partly observed blocks, in nats.

    Given θ, D and the hidden categories they are normal with covariance C: ½ (d + log |C|) each.
    """
    weights = problem.components.cells.weights(conjugacy.natural(theta, problem.layout))
    return problem.components.missing_numbers(weights)


class Tangent:
    """The linear map from a direction of η to the change of the expected statistics, at one θ."""

    def __init__(self, problem: Problem, theta: FloatArray, executor: Executor = SERIAL) -> None:
        self.cells = problem.components.cells
        weights = self.cells.weights(conjugacy.natural(theta, problem.layout))
        local = executor.local()
        self.maps = [plan.tangent(weights, local) for plan in problem.components.plans]

    def __call__(self, direction: FloatArray) -> FloatArray:
        """Return dE[N] for dη = direction, (size,)."""
        along = self.cells.weights(direction)
        change = np.zeros(len(along))
        for one in self.maps:
            change += one(along)
        return self.cells.statistics(change)


# Failures of one model or score, which leave the others valid. Other exceptions end the run.
FAILURES = (ImpossibleNumberError, DataError, ModelError, ArithmeticError, LinAlgError)
ROUNDING = 1e-9  # rounding error of a sum, relative to its largest term and 1


def failure(error: Exception) -> Flag:
    """A flag with the reason for a failure."""
    return Flag(Kind.FAILED, detail={"reason": reason_of(error)})


def reason_of(error: Exception) -> str:
    """The text of an error without its final period."""
    return (str(error) or type(error).__name__).rstrip(".")


def is_above_zero(problem: Problem, terms: Mapping[str, float], noise: float = 0.0) -> bool:
    """Whether terms sum to an impossible log probability of discrete data, above 0."""
    slack = noise + ROUNDING * max(1.0, *map(abs, terms.values())) if terms else math.inf
    return problem.layout.discrete and math.fsum(terms.values()) > slack


def check_log_probability(
    problem: Problem, name: str, terms: Mapping[str, float], noise: float = 0.0
) -> None:
    """Refuse a log probability, or a bound of one, that is above 0 or not finite."""
    value = math.fsum(terms.values())
    if not math.isfinite(value) or is_above_zero(problem, terms, noise):
        addends = ", ".join(f"{what} = {x:.17g}" for what, x in terms.items())
        raise ImpossibleNumberError(
            f"{name} is {value:.6g}, which is impossible for a log probability of these data "
            f"({problem.cases:g} cases, exponents from {problem.alpha.min():.3g} to "
            f"{problem.alpha.max():.3g}): {addends}. It is not reported: this is a defect of "
            "lacunet."
        )
