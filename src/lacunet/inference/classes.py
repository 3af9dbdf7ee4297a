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


def states_told(problem: Problem) -> dict[int, int]:
    """Interchangeable hidden variables that the data tell something of, and how many states each.

    Only states of these can be unused.
    """
    known = problem.components.members
    alike = [h for h in interchangeable(problem) if h in known and resizable(problem.network, h)]
    return {h: problem.layout.cards[h] for h in alike}


def resizable(network: Network, h: int) -> bool:
    """Whether a hidden variable may have more or fewer states.

    No table around it may be known, or tied, but to one in which it stands at the same place.
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
    """Give hidden variables, by index, other numbers of states."""
    return with_hidden(network, {network.variables[h].name: k for h, k in sizes.items()})


def with_sizes(problem: Problem, sizes: Mapping[int, int]) -> Problem:
    """Change the numbers of states of interchangeable variables; each state keeps its prior.

    With a prior that depends on the number of states (BDeu) it is not that of such a model.
    """
    if all(problem.layout.cards[h] == k for h, k in sizes.items()):
        return problem
    network = network_with_sizes(problem.network, sizes)
    alpha = network.layout.flat(prior_of_states(problem, sizes))
    return problem_of_codes(problem.codes, problem.counts, network, alpha, problem.place.holder)


def prior_of_states(problem: Problem, sizes: Mapping[int, int]) -> list[FloatArray]:
    """Hyperparameters of each family, with that many states of interchangeable variables."""
    tables = []
    for i, family in enumerate(problem.layout.families):
        table = problem.layout.table(problem.alpha, i)
        before = table[..., :1].size
        for axis, v in enumerate(family):
            if v in sizes:  # its states are alike: take the first, over and over
                table = np.take(table, np.zeros(sizes[v], dtype=np.int64), axis=axis)
        if table.size:
            table = problem.layout.kinds[i].shared_out(table, table[..., 0].size / before)
        tables.append(table)
    return tables


def exchangeable(problem: Problem) -> bool:
    """Whether it is a latent class model whose prior does not tell the classes apart."""
    classes = find_classes(problem.network)
    return (
        classes is not None and problem.layout.plain and interchangeable(problem) == (classes.root,)
    )


def with_classes(problem: Problem, classes: int) -> Problem:
    """The same data with another number of classes, each with the prior that each has now."""
    return with_sizes(problem, {classes_of(problem.network).root: classes})


@dataclass(frozen=True, eq=False)
class Expectation:
    """The result of an E step."""

    log_lik: float  # log p(D | θ)
    N: FloatArray  # (size,) E[N | D, θ] over the rows in which family i is not barren
    natural: FloatArray  # (size,) η(θ), or whatever stood in for it


def safe_log(p: FloatArray) -> FloatArray:
    """Logs of probabilities; log 0 = −inf without a warning."""
    with np.errstate(divide="ignore"):
        return np.log(p)


def dot(N: FloatArray, natural: FloatArray) -> float:
    """Σ N η, where nothing times −inf is nothing."""
    used = N != 0.0
    return float(N[used] @ natural[used])


def expect(problem: Problem, theta: FloatArray, executor: Executor = SERIAL) -> Expectation:
    """Run the E step. CH96 eq. 11.

    Barren variables are left out, not filled in: they carry no information about θ, so the fixed
    points of EM are the same, and EM converges faster. `complete_counts` has them filled in.
    """
    layout, cells = problem.layout, problem.components.cells
    log_lik = problem.log_base
    natural = conjugacy.natural(theta, layout)
    if problem.any_seen:
        log_lik += dot(problem.seen, natural)
    N = problem.components.seen.copy()
    log_lik += problem.components.add_expected(cells.weights(natural), N, executor.here())
    return Expectation(log_lik, cells.statistics(N), natural)


def expect_at_once(problem: Problem, thetas: Sequence[FloatArray]) -> list[Expectation]:
    """Run the E step at several θ in one call, as a device needs it."""
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
    """The hidden part of the E step under any weights: log Z, and expected statistics."""
    cells = problem.components.cells
    weights = cells.weights(natural)
    N = np.zeros(len(weights))
    log_z = problem.components.add_expected(weights, N)
    return Expectation(log_z, cells.statistics(N), natural)


def complete_counts(problem: Problem, theta: FloatArray) -> FloatArray:
    """E[N | D, θ] of the imaginary data D′ of the paper, in which every category is filled in.

    A missing category without children adds its θ times the expected count of its parents. A
    missing number without a shown number beside it is left out: filled in, its density would count,
    which can be above 1 and depends on the unit of a value that is not in the data.
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
    """Base measure plus entropy of the missing numbers of blocks that rows show in part, in nats.

    Given θ, D and the hidden categories they are normal with covariance C: ½ (d + log |C|) each.
    """
    weights = problem.components.cells.weights(conjugacy.natural(theta, problem.layout))
    return problem.components.missing_numbers(weights)


class Tangent:
    """The linear map from a direction of η to the change of the expected statistics, at one θ."""

    def __init__(self, problem: Problem, theta: FloatArray, executor: Executor = SERIAL) -> None:
        self.cells = problem.components.cells
        weights = self.cells.weights(conjugacy.natural(theta, problem.layout))
        here = executor.here()
        self.maps = [plan.tangent(weights, here) for plan in problem.components.plans]

    def __call__(self, direction: FloatArray) -> FloatArray:
        """Give dE[N] for dη = direction, (size,)."""
        along = self.cells.weights(direction)
        change = np.zeros(len(along))
        for one in self.maps:
            change += one(along)
        return self.cells.statistics(change)


# Arithmetic failures of one model or score, which leave the others valid. Other exceptions end the
# run: impossible options, and defects.
FAILURES = (ImpossibleNumberError, DataError, ModelError, ArithmeticError, LinAlgError)
ROUNDING = 1e-9  # of the largest addend, and of 1: what sums may lose


def failure(error: Exception) -> Flag:
    """Say why something was not computed."""
    return Flag(Kind.FAILED, detail={"reason": reason_of(error)})


def reason_of(error: Exception) -> str:
    """An error as the end of a sentence."""
    return (str(error) or type(error).__name__).rstrip(".")


def is_above_zero(problem: Problem, terms: Mapping[str, float], noise: float = 0.0) -> bool:
    """Whether terms sum to more than the log probability of discrete data can be."""
    slack = noise + ROUNDING * max(1.0, *map(abs, terms.values())) if terms else math.inf
    return problem.layout.discrete and math.fsum(terms.values()) > slack


def check_log_probability(
    problem: Problem, name: str, terms: Mapping[str, float], noise: float = 0.0
) -> None:
    """Refuse the log of a probability, or of a bound, that is above 0 or not a finite number."""
    value = math.fsum(terms.values())
    if not math.isfinite(value) or is_above_zero(problem, terms, noise):
        addends = ", ".join(f"{what} = {x:.17g}" for what, x in terms.items())
        raise ImpossibleNumberError(
            f"{name} came out as {value:.6g}, which no log probability of these data can be "
            f"({problem.cases:g} cases, exponents from {problem.alpha.min():.3g} to "
            f"{problem.alpha.max():.3g}): {addends}. It is kept back: this is a defect of lacunet."
        )
