"""Hidden variables that can change places: annealing counts all such labellings, as sums do."""

import math

import numpy as np
import pytest

from lacunet.evidence.annealing import Goal, Reference
from lacunet.evidence.consistency import sandwich
from lacunet.evidence.estimate import Method, Verdict
from lacunet.evidence.exact import exact_evidence
from lacunet.evidence.measure import measure
from lacunet.evidence.modes import distinct_symmetries
from lacunet.flags import Flag, Kind
from lacunet.inference.problem import problem_of_codes
from lacunet.inference.symmetry import symmetries_of
from lacunet.models.conjugacy import random_theta
from lacunet.models.network import Model, Network, Variable
from lacunet.models.prior import dirichlet
from lacunet.models.surgery import sample_codes

LEAVES = 8
ROWS = np.array([[0] * 8, [1] * 8, [0] * 4 + [1] * 4, [0, 1] * 4], dtype=np.int8)


def parents_of_all(hidden, *, apart=0):
    """Binary hidden roots, all of them parents of all leaves but the last `apart`."""
    variables = [
        *(Variable(f"h{i}", (0, 1), hidden=True) for i in range(hidden)),
        *(Variable(f"x{i}", (0, 1)) for i in range(LEAVES)),
    ]
    leaves = [tuple(range(hidden))] * (LEAVES - apart) + [(0,)] * apart
    return Network.build(variables, [()] * hidden + leaves)


def weighed(network, weights, alpha=1.0):
    codes = ROWS[: len(weights)]
    return problem_of_codes(codes, np.array(weights, float), network, dirichlet(network, alpha))


def agree(problem, labellings):
    """Annealing finds what the exact sum does, and knows how many labellings are equal."""
    truth = measure(problem, Method.EXACT)
    estimate = measure(problem, Method.AIS, Goal(0.1, 6000.0))
    assert truth.value - truth.one_labelling == pytest.approx(math.log(labellings))
    assert estimate.value - estimate.one_labelling == pytest.approx(math.log(labellings))
    assert estimate.verdict is Verdict.RELIABLE
    assert estimate.stderr < 0.17  # a quarter of log 2
    assert abs(estimate.value - truth.value) < 4 * estimate.stderr + 0.01


@pytest.mark.slow
def test_two_hidden_variables_change_places():
    agree(weighed(parents_of_all(2), [7, 5, 4, 3]), 2 * 2 * 2)


@pytest.mark.slow
def test_three_hidden_variables_change_places():
    agree(weighed(parents_of_all(3), [4, 3]), 2**3 * 6)


def test_a_prior_that_distinguishes_variables_leaves_their_states():
    alpha = {"h0": 1.0, "h1": 2.0, **{f"x{i}": 1.0 for i in range(LEAVES)}}
    agree(weighed(parents_of_all(2), [9, 6], alpha), 2 * 2)


def test_a_graph_that_distinguishes_variables_leaves_their_states():
    agree(weighed(parents_of_all(2, apart=4), [9, 6]), 2 * 2)


# Labels that are chosen by themselves for each state of a context.

APART = np.array([[0] * 7, [0] + [1] * 6, [1, 0, 0, 0, 1, 1, 1], [1, 1, 1, 1, 0, 0, 0]], np.int8)


def seen_context(states=2):
    """A hidden variable below a seen one, both of them parents of six leaves."""
    variables = [Variable("o", (0, 1)), Variable("h", tuple(range(states)), hidden=True)]
    variables += [Variable(f"x{i}", (0, 1)) for i in range(6)]
    return Network.build(variables, [(), (0,), *[(0, 1)] * 6])


@pytest.mark.slow
def test_a_context_has_labels_of_its_own():
    """Two labels for each state of o: without them annealing would be log 2 too low."""
    network = seen_context()
    codes, weights = APART, np.array([7.0, 5.0, 4.0, 6.0])
    agree(problem_of_codes(codes, weights, network, dirichlet(network, 1.0)), 2 * 2)


def test_contexts_with_unidentified_labels_are_left_to_the_chains():
    network = seen_context()
    alpha = dirichlet(network, 1.0)
    problem = problem_of_codes(APART, np.array([7.0, 5.0, 1.0, 0.0]), network, alpha)
    leaf = np.array([[[40.0, 1.0], [1.0, 40.0]]] * 2)
    clear = problem.layout.flat([np.full(2, 20.0), np.full((2, 2), 10.0), *[leaf] * 6])
    both = distinct_symmetries(problem, Reference(clear, clear, clear), (0,))
    assert math.exp(both.log_count) == pytest.approx(4)
    half = clear.copy()
    for i in range(2, 8):
        problem.layout.table(half, i)[1] = 20.0  # where o = 1, both states are alike
    left = distinct_symmetries(problem, Reference(half, half, half), (0,))
    assert math.exp(left.log_count) == pytest.approx(2)
    assert [dict(c) for c in left.blocks[0].contexts] == [{0: 0}]


def test_contexts_in_which_one_label_stands_out_are_kept():
    """Chains change the two labels that are alike, but would not find the third by themselves."""
    network = seen_context(states=3)
    alpha = dirichlet(network, 1.0)
    problem = problem_of_codes(APART, np.array([7.0, 5.0, 4.0, 6.0]), network, alpha)
    leaf = np.array([[[40.0, 1.0], [20.0, 20.0], [20.0, 20.0]]] * 2)
    x = problem.layout.flat([np.full(2, 20.0), np.full((2, 3), 10.0), *[leaf] * 6])
    kept = distinct_symmetries(problem, Reference(x, x, x), (0,))
    assert math.exp(kept.log_count) == pytest.approx(36)


@pytest.mark.slow
def test_symmetries_that_are_not_counted_make_a_lower_bound():
    """With BDeu, h0 → h1 over the same leaves are one variable with four states."""
    variables = [Variable(f"h{i}", (0, 1), hidden=True) for i in range(2)]
    variables += [Variable(f"x{i}", (0, 1)) for i in range(3)]
    network = Network.build(variables, [(), (0,), *[(0, 1)] * 3])
    codes = ROWS[:2, :3]
    problem = problem_of_codes(codes, np.array([4.0, 3.0]), network, dirichlet(network, "bdeu:8"))
    estimate = measure(problem, Method.AIS, Goal(0.5, 2.0))
    assert estimate.verdict is Verdict.LOWER_BOUND
    assert Flag(Kind.MORE_LABELLINGS) in estimate.notes
    assert measure(problem, Method.EXACT).verdict is Verdict.EXACT


@pytest.mark.slow
def test_bounds_from_both_sides_meet_around_the_exact_evidence():
    network = parents_of_all(2)
    rng = np.random.default_rng(5)
    theta, alpha = random_theta(network.layout, rng), np.ones(network.layout.size)
    codes = sample_codes(Model(network, theta, alpha), 6, rng).astype(np.int8)
    problem = problem_of_codes(codes, np.ones(6), network, alpha)
    assert math.exp(symmetries_of(problem).log_count) == pytest.approx(8)
    truth = exact_evidence(problem).value
    bounds = sandwich(problem, theta, Goal(0.3, 6000.0))
    # Each bound fails by t nats with probability at most exp(−t).
    assert (
        bounds.lower - 4 * bounds.lower_stderr < truth < bounds.upper + 4 * bounds.upper_stderr + 3
    )
    assert truth - bounds.lower < 4 * bounds.lower_stderr + 0.3
