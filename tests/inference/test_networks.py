"""Any network, any missing value: everything against enumeration, with components whole and cut."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from examples import examples
from gradients import softmax_gradient, theta_gradient
from lacunet.errors import ModelError
from lacunet.inference.classes import Tangent, complete_counts, expect
from lacunet.inference.hessian import negative_hessian
from lacunet.inference.plans import clique_trees
from lacunet.inference.plans.builder import Builder
from lacunet.inference.plans.plan import free_coordinates
from lacunet.inference.plans.trees import TreePlan
from lacunet.inference.problem import problem_of_codes
from lacunet.inference.queries.most_probable import effective_dimension
from lacunet.inference.queries.query import posterior
from lacunet.models.conjugacy import log_prior, random_theta
from lacunet.models.network import Network, Variable
from lacunet.models.prior import uniform_alpha
from problems import MODES, build, engine, make, network_cases, structures

modes = pytest.mark.parametrize("mode", MODES)


@modes
@examples(200)
@given(case=network_cases(zeros=True))
def test_log_likelihood(mode, case):
    expected = oracle.log_likelihood(case.oracle(), case.rows, case.counts)
    with engine(mode):
        assert expect(case.problem, case.theta).log_lik == pytest.approx(
            expected, rel=1e-12, abs=1e-12
        )


@modes
@examples(200)
@given(case=network_cases(zeros=True))
def test_complete_counts(mode, case):
    expected = oracle.expected_counts(case.oracle(), case.rows, case.counts)
    with engine(mode):
        counts = complete_counts(case.problem, case.theta)
    for got, table in zip(case.tables(counts), expected, strict=True):
        np.testing.assert_allclose(got, table, atol=1e-12)


def g(case, theta):
    return expect(case.problem, theta).log_lik + log_prior(theta, case.alpha, case.layout)


def moved(case, phi, s):
    theta = case.theta * np.exp(s * phi)
    return theta / case.layout.spread(case.layout.sum_k(theta))


@modes
@examples(200)
@given(case=network_cases())
def test_gradient_and_tangent(mode, case):
    """Pruned and filled-in counts give one gradient; it and the tangent are finite differences."""
    phi = np.random.default_rng(0).standard_normal(case.layout.size)
    step = 1e-5
    with engine(mode):
        pruned = expect(case.problem, case.theta).N
        filled = complete_counts(case.problem, case.theta)
        gradient = softmax_gradient(case.theta, pruned, case.alpha, case.layout)
        np.testing.assert_allclose(
            gradient, softmax_gradient(case.theta, filled, case.alpha, case.layout), atol=1e-11
        )
        ends = [moved(case, phi, s) for s in (step, -step)]
        slope = (g(case, ends[0]) - g(case, ends[1])) / (2 * step)
        assert gradient @ phi == pytest.approx(slope, abs=1e-6 * (1 + np.abs(gradient).sum()))
        change = (expect(case.problem, ends[0]).N - expect(case.problem, ends[1]).N) / (2 * step)
        log_theta = phi - case.layout.spread(case.layout.sum_k(case.theta * phi))
        np.testing.assert_allclose(Tangent(case.problem, case.theta)(log_theta), change, atol=1e-6)


@modes
@examples(60)
@given(case=network_cases(max_variables=5))
def test_hessian(mode, case):
    """Finite differences of the gradient in the free θ coordinates."""
    coordinates = free_coordinates(case.layout, case.theta)
    start = case.theta[coordinates.free]

    def gradient(free):
        theta = case.theta.copy()
        theta[coordinates.free] = free
        np.add.at(theta, coordinates.reference, start - free)
        return theta_gradient(theta, expect(case.problem, theta).N, case.alpha, coordinates)

    with engine(mode):
        A = negative_hessian(case.problem, case.theta, coordinates)
        A = np.tril(A) + np.tril(A, -1).T
        # In units of complete data's curvature: θ may be anything between 1e-6 and 1.
        scale = np.sqrt(case.problem.cases + 1) / start
        for j, theta_j in enumerate(start):
            step = np.zeros_like(start)
            step[j] = 1e-5 * theta_j
            column = -(gradient(start + step) - gradient(start - step)) / (2 * step[j])
            unit = scale * scale[j]
            np.testing.assert_allclose(A[:, j] / unit, column / unit, atol=2e-6)


@modes
@examples(60)
@given(network=structures(max_variables=5, max_states=3))
def test_effective_dimension(mode, network):
    """The generic rank, computed over a prime field."""
    rank = oracle.generic_rank(network.layout.cards, network.parents, network.hidden)
    with engine(mode):
        assert effective_dimension(network) == rank


@modes
@examples(200)
@given(case=network_cases(zeros=True), data=st.data())
def test_posteriors_of_any_variables(mode, case, data):
    """Each by itself, and a joint of several, in any order; a row may show some of them."""
    n = len(case.network.variables)
    group = data.draw(st.permutations(range(n)))[: data.draw(st.integers(1, 3))]
    groups = [*((v,) for v in range(n)), tuple(group)]
    with engine(mode):
        result = posterior(case.model, case.codes, groups)
    p = oracle.joint(case.oracle())
    for r, row in enumerate(case.rows):
        q = oracle.row_posterior(p, row)[0]
        for members, answer in zip(groups, result, strict=True):
            np.testing.assert_allclose(answer[r], oracle.marginal(q, members), atol=1e-12)


# Decomposition: facts of hand-made examples.


def tree_plan_of(components):
    return next((plan for plan in components.plans if isinstance(plan, TreePlan)), None)


def tables_of(network, rows):
    codes = np.array(rows, dtype=np.int8)
    problem = problem_of_codes(
        codes, np.ones(len(codes)), network, uniform_alpha(network.layout, 1.0)
    )
    return problem, problem.components


def test_complete_data_leave_no_components():
    case = make(build("a>b a>c b>c", {"a": 2, "b": 3, "c": 2}), 50)
    assert not case.problem.components.hidden
    assert case.problem.exact
    assert case.problem.components.seen.sum() == 3 * 50


def test_barren_variables_are_pruned():
    """A hidden or missing leaf, and whatever only leads to such leaves, weighs nothing."""
    network = build("a>H H>G a>b", {"a": 2, "H": 3, "G": 2, "b": 2}, "HG")
    problem, parts = tables_of(network, [[0, 1], [1, -1], [1, 0]])
    assert problem.exact
    assert not parts.hidden
    assert parts.seen.sum() == 3 + 2  # a in every row, b in two
    # In complete counts, H is a component for the sake of its child; both come back.
    assert problem.filled.hidden
    theta = random_theta(network.layout, np.random.default_rng(0))
    filled = complete_counts(problem, theta)
    assert [filled[network.layout.block(i)].sum() for i in range(4)] == pytest.approx([3] * 4)


def test_equal_components_are_merged():
    """Two missing values in one chain a → b → c → d: their surroundings differ."""
    network = build("a>b b>c c>d", dict.fromkeys("abcd", 2))
    rows = [
        [0, -1, -1, 1],  # b and c open between 0 and 1
        [0, -1, -1, 1],
        [1, -1, -1, 1],
        [0, -1, 0, 0],  # b open between 0 and 0; d is seen, and is not a part of it
        [0, -1, 0, 1],
        [0, -1, -1, -1],  # all barren
        [-1, 1, 0, 1],  # a open above 1
        [-1, 1, 1, 0],
    ]
    _, parts = tables_of(network, rows)
    trees = tree_plan_of(parts)
    assert trees is not None
    kinds = {
        shape.members: counts
        for shape, counts in zip(
            trees.shapes,
            np.split(trees.arrays.counts, trees.arrays.kind_instances[1:-1]),
            strict=True,
        )
    }
    patterns = {plan.variable: plan.counts for plan in parts.plans if plan is not trees}
    everything = {**{(v,): c for v, c in patterns.items()}, **kinds}
    assert {m: sorted(c.tolist()) for m, c in everything.items()} == {
        (0,): [2.0],
        (1,): [2.0],
        (1, 2): [1.0, 2.0],
    }
    assert parts.seen[network.layout.block(0)].sum() == 6


def test_a_hidden_variable_with_one_state_is_known():
    network = build("H>a H>b", {"H": 1, "a": 2, "b": 2}, "H")
    problem, parts = tables_of(network, [[0, 1], [1, 1], [-1, 0]])
    assert problem.exact
    assert parts.seen[0] == 3


@pytest.mark.parametrize("edges", ["H>a H>b H>G", "G>a H>a H>b"])
def test_a_hidden_variable_that_is_barren_in_some_rows(edges):
    """G is a leaf; or becomes barren where a is missing, and H stays alone with b."""
    case = make(build(edges, {"H": 3, "a": 2, "b": 2, "G": 2}, "HG"), 20, missing=0.2)
    expected = oracle.log_likelihood(case.oracle(), case.rows, case.counts)
    assert expect(case.problem, case.theta).log_lik == pytest.approx(expected)


def test_many_columns_around_one_component_are_distinguished():
    """More value combinations than an int64 holds: the key is renumbered on the way."""
    n = 45
    names = [f"x{i}" for i in range(n)]
    hidden = [Variable("H", (0, 1), hidden=True), Variable("G", (0, 1), hidden=True)]
    network = Network.build(
        [*hidden, *(Variable(name, (0, 1, 2)) for name in names)],
        [(), (0,), *[(0, 1)] * n],
    )
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (40, n)).astype(np.int8)
    codes = np.concatenate([codes, codes[:10]])
    problem = problem_of_codes(codes, np.ones(50), network, uniform_alpha(network.layout, 1.0))
    trees = tree_plan_of(problem.components)
    assert sorted(trees.arrays.counts.tolist()) == [1.0] * 30 + [2.0] * 10


# Clique trees.


@given(
    st.integers(1, 9).flatmap(
        lambda n: st.tuples(
            st.just(n),
            st.lists(st.frozensets(st.integers(0, n - 1), min_size=1, max_size=4), max_size=12),
            st.lists(st.integers(2, 4), min_size=n, max_size=n),
        )
    )
)
def test_clique_trees_are_clique_trees(drawn):
    """Every scope in a clique, every variable in one connected part: running intersection."""
    n, scopes, cards = drawn
    with engine("cut"):
        tree = clique_trees.clique_tree(range(n), scopes, dict(enumerate(cards)))
    assert tree[-1].parent == -1
    assert all(q < c.parent < len(tree) for q, c in enumerate(tree[:-1]))
    sets = [set(c.variables) for c in tree]
    assert set().union(*sets) == set(range(n))
    for scope in scopes:
        assert any(scope <= s for s in sets)
    for v in range(n):
        tops = [
            q
            for q, c in enumerate(tree)
            if v in sets[q] and (c.parent < 0 or v not in sets[c.parent])
        ]
        assert len(tops) == 1
    for a, b in itertools.permutations(sets, 2):
        assert not a < b


def chain(length, states, symbols):
    hidden = [Variable(f"h{t}", tuple(range(states)), hidden=True) for t in range(length)]
    seen = [Variable(f"x{t}", tuple(range(symbols))) for t in range(length)]
    before = [() if t == 0 else (t - 1,) for t in range(length)]
    return Network.build([*hidden, *seen], [*before, *((t,) for t in range(length))])


def chain_tables(network, length, states, symbols, seed=3):
    rng = np.random.default_rng(seed)
    initial, step, emission = (
        rng.dirichlet(np.full(k, 0.7), size)
        for k, size in ((states, None), (states, states), (symbols, states))
    )
    tables = [initial, *[step] * (length - 1), *[emission] * length]
    return initial, step, emission, network.layout.flat(tables)


def test_a_long_hidden_chain_is_the_forward_algorithm():
    length, states, symbols = 30, 3, 4
    network = chain(length, states, symbols)
    initial, step, emission, theta = chain_tables(network, length, states, symbols)
    rng = np.random.default_rng(1)
    codes = np.where(rng.random((25, length)) < 0.2, -1, rng.integers(0, symbols, (25, length)))
    problem = problem_of_codes(
        codes.astype(np.int8), np.ones(25), network, uniform_alpha(network.layout, 1.0)
    )
    trees = tree_plan_of(problem.components)
    assert trees.arrays.cells.max() == states**2  # no clique has more than two variables
    expected = sum(oracle.forward(initial, step, emission, row) for row in codes)
    expectation = expect(problem, theta)
    assert expectation.log_lik == pytest.approx(expected, rel=1e-12)
    filled = complete_counts(problem, theta)
    for i in range(2 * length):
        assert filled[network.layout.block(i)].sum() == pytest.approx(25)


@pytest.mark.parametrize("tiny", [1e-100, 1e-155, 1e-157, 1e-160, 1e-310])
def test_a_chain_of_probabilities_that_are_hardly_there(tiny):
    """Zeros, and numbers so small that their products have no digits left, give no NaN."""
    length = 8
    network = chain(length, 3, 2)
    step = np.array([[1.0, tiny, 0.0], [tiny, 1.0, tiny], [0.0, tiny, 1.0]])
    emission = np.array([[1.0, tiny], [0.5, 0.5], [tiny, 1.0]])
    theta = network.layout.flat(
        [np.array([1.0, tiny, tiny]), *[step] * (length - 1), *[emission] * length]
    )
    codes = np.array(list(itertools.product([0, 1], repeat=length)), dtype=np.int8)
    problem = problem_of_codes(
        codes, np.ones(len(codes)), network, uniform_alpha(network.layout, 1.0)
    )
    expectation = expect(problem, theta)
    assert np.isfinite(expectation.N).all()
    assert np.isfinite(expectation.log_lik)
    assert expectation.N[network.layout.block(0)].sum() == pytest.approx(len(codes))
    direction = np.random.default_rng(0).standard_normal(len(theta))
    assert np.isfinite(Tangent(problem, theta)(direction)).all()


def test_impossible_rows():
    """Probability 0 is −inf, not NaN, and such a row counts for nothing."""
    network = chain(6, 3, 2)
    case = make(network, 5)
    theta = case.theta.copy()
    for t in range(6, 12):
        case.layout.table(theta, t)[:] = [1.0, 0.0]
    codes = np.zeros((2, 6), dtype=np.int8)
    codes[1, 3] = 1
    with engine("cut"):
        problem = problem_of_codes(codes, np.ones(2), network, case.alpha)
    expectation = expect(problem, theta)
    assert expectation.log_lik == -np.inf
    assert expectation.N[case.layout.block(0)].sum() == pytest.approx(1)
    weightless = problem_of_codes(codes, np.array([1.0, 0.0]), network, case.alpha)
    assert expect(weightless, theta).log_lik == pytest.approx(0.0)


def test_a_component_that_is_too_large_is_refused_before_it_is_made():
    """Ten hidden variables, each pair with a child: small tables, but one enormous clique."""
    hidden = [Variable(f"h{i}", tuple(range(80)), hidden=True) for i in range(10)]
    pairs = list(itertools.combinations(range(10), 2))
    seen = [Variable(f"x{a}{b}", (0, 1)) for a, b in pairs]
    network = Network.build([*hidden, *seen], [*[()] * 10, *pairs])
    codes = np.zeros((3, len(pairs)), dtype=np.int8)
    with pytest.raises(ModelError) as caught:
        Builder(network, codes, np.ones(3)).build()
    text = str(caught.value)
    assert "some rows leave these variables unknown together: 'h0' (80), 'h1' (80), " in text
    assert f"Their joint table would have {80**10:,} cells (" in text
    assert "GiB); at most 67,108,864 are allowed. Give some of them fewer states, fewer" in text
