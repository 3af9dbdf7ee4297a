"""What is said of fits with tables that are known: errors, labels, dimensions, predictions."""

import itertools
import math
from functools import partial

import numpy as np
import pytest

from finite_differences import LogLikelihood, gradient, hessian
from knowing import FreeLogits
from lacunet.errors import ModelError
from lacunet.fitting.fit import Options, learn
from lacunet.fitting.objective import Estimate
from lacunet.fitting.schedules import Schedule
from lacunet.inference.classes import informed_states
from lacunet.inference.hessian import negative_hessian
from lacunet.inference.plans.plan import free_coordinates
from lacunet.inference.queries.answers import row_log_lik
from lacunet.inference.queries.most_probable import effective_dimension
from lacunet.inference.queries.query import posterior
from lacunet.inference.symmetry import interchangeable, symmetries_of
from lacunet.models.conjugacy import random_theta
from lacunet.models.known_tables import KnownTables
from lacunet.models.network import Model, Network, Variable
from lacunet.models.prior import dirichlet
from lacunet.models.surgery import sample_cells, sample_codes, with_hidden
from lacunet.summaries.intervals import hessian_intervals
from lacunet.summaries.matching import matched
from lacunet.summaries.residuals import goodness_of_fit
from problems import Case

FIXED = {"child": "a", "parents": ["h"], "table": [[0.9, 0.1], [0.2, 0.8]]}
ZEROS = {"child": "d", "state": 2, "given": {"h": 0}}


def classes(**known):
    """A latent class model of four columns, the last with three states."""
    leaves = [*(Variable(name, (0, 1)) for name in "abc"), Variable("d", (0, 1, 2))]
    network = Network.build([Variable("h", (0, 1), hidden=True), *leaves], [(), *[(0,)] * 4])
    return KnownTables(**known).of(network)


def case_of(network, rows=300, seed=0, missing=0.1, alpha=2.0):
    rng = np.random.default_rng(seed)
    theta, prior = random_theta(network.layout, rng), dirichlet(network, alpha)
    codes = sample_codes(Model(network, theta, prior), rows, rng, missing)
    return Case(network, theta, prior, codes, np.ones(rows))


def twin_of(case, added):
    """The objective as a function of free logits, by enumeration."""
    logits = FreeLogits(case.network)
    log_lik = LogLikelihood(case.layout.cards, case.network.parents, case.rows, case.counts)

    def objective(x):
        tables = logits.tables(x)
        return log_lik(tables) + logits.log_prior(tables, added)

    return logits, objective


def number(logits, i, k, x):
    """One number of a table."""
    return logits.tables(x)[i].flat[k]


@pytest.mark.parametrize("tied", [[], [["b", "c"]]])
def test_standard_errors_are_those_of_finite_differences(tied):
    case = case_of(classes(fixed=[FIXED], zeros=[ZEROS], tied=tied))
    fit = learn(case.problem, Options(starts=4))
    intervals = hessian_intervals(case.problem, fit.model, Estimate.MAP)
    logits, objective = twin_of(case, 1.0)
    x = logits.of(case.tables(fit.model.theta))
    covariance = np.linalg.inv(-hessian(objective, x))
    for i in range(5):
        shape = case.network.shape(i)
        slopes = [gradient(partial(number, logits, i, k), x) for k in range(math.prod(shape))]
        expected = np.sqrt([slope @ covariance @ slope for slope in slopes]).reshape(shape)
        interval = intervals.table(case.network.variables[i].name)
        np.testing.assert_allclose(interval.stderr, expected, rtol=1e-4, atol=1e-9)
    of_a = intervals.table("a")
    assert np.array_equal(of_a.low, FIXED["table"])
    assert np.array_equal(of_a.high, FIXED["table"])


def test_zeros_in_latent_classes_leave_the_hessian_of_the_rest():
    """By the kernels for one hidden variable, whose tables hold the zeros."""
    case = case_of(classes(fixed=[FIXED], zeros=[ZEROS]))
    theta = learn(case.problem, Options(starts=4)).model.theta
    A = negative_hessian(case.problem, theta, free_coordinates(case.layout, theta))
    logits, objective = twin_of(case, 1.0)
    tables = case.tables(theta)
    expected = np.linalg.slogdet(-hessian(objective, logits.of(tables)))[1]
    expected -= 2.0 * logits.log_prior(tables, 1.0)  # |dθ/dφ| = Π θ, squared
    assert len(A) == case.network.dimension
    result = np.linalg.slogdet(np.tril(A) + np.tril(A, -1).T)[1]
    np.testing.assert_allclose(result, expected, rtol=1e-6)


@pytest.mark.parametrize(
    "known",
    [
        {"fixed": [FIXED]},
        {"tied": [["a", "b"]]},
        {"zeros": [ZEROS]},
        {"fixed": [FIXED], "tied": [["b", "c"]], "zeros": [ZEROS]},
    ],
)
def test_the_effective_dimension_is_the_rank_of_what_can_be_seen(known):
    network = classes(**known)
    logits = FreeLogits(network)
    x = np.random.default_rng(1).standard_normal(logits.number)
    cards = [len(v.states) for v in network.variables]

    def chance(x, row):
        tables = logits.tables(x)
        return sum(
            tables[0][h] * np.prod([t[h, k] for t, k in zip(tables[1:], row, strict=True)])
            for h in range(2)
        )

    rows = itertools.product(*map(range, cards[1:]))
    slopes = [gradient(partial(chance, row=row), x) for row in rows]
    assert effective_dimension(network) == np.linalg.matrix_rank(np.array(slopes))


def test_labels_that_a_known_table_distinguishes_are_not_exchanged():
    assert symmetries_of(case_of(classes()).problem).log_count == pytest.approx(math.log(2))
    for known in ({"fixed": [FIXED]}, {"zeros": [ZEROS]}):
        case = case_of(classes(**known))
        assert symmetries_of(case.problem).log_count == 0.0
        assert interchangeable(case.problem) == ()
    alike = {"zeros": [{"child": "d", "state": 2}]}  # whatever the class is
    for known in (alike, {"tied": [["a", "b"]]}):
        case = case_of(classes(**known), rows=50)
        symmetries = symmetries_of(case.problem)
        assert (symmetries.log_count, symmetries.whole) == (pytest.approx(math.log(2)), True)
    assert informed_states(case_of(classes(**alike)).problem) == {}
    assert informed_states(case_of(classes(tied=[["a", "b"]])).problem) == {0: 2}


def test_tied_states_are_reported_to_have_more_labellings():
    hidden = [Variable(f"h{t}", (0, 1), hidden=True) for t in range(2)]
    seen = [Variable(f"x{t}", (0, 1)) for t in range(2)]
    network = Network.build([*hidden, *seen], [(), (0,), (0,), (1,)])
    free = symmetries_of(case_of(network, 40).problem)
    tied = symmetries_of(case_of(KnownTables(tied=[["x0", "x1"]]).of(network), 40).problem)
    assert free.log_count == pytest.approx(2 * math.log(2))
    assert (tied.log_count, tied.whole) == (0.0, False)


def test_what_is_impossible_is_never_predicted_or_drawn():
    network = classes(zeros=[ZEROS])
    case = case_of(network, 100)
    model = learn(case.problem, Options(starts=4)).model
    (both,) = posterior(model, np.full((1, 4), -1, dtype=np.int32), [[0, 4]])
    assert both[0, 0, 2] == 0.0
    drawn = sample_cells(model, 2000, np.random.default_rng(0))
    assert not ((drawn[:, 0] == 0) & (drawn[:, 4] == 2)).any()
    never = classes(zeros=[{"child": "d", "state": 2}])
    constrained = Model(
        never, random_theta(never.layout, np.random.default_rng(0)), dirichlet(never, 1.0)
    )
    assert row_log_lik(constrained, np.array([[-1, -1, -1, 2]], dtype=np.int32))[0] == -np.inf


def test_fit_statistics_count_the_cells_that_are_possible():
    network = classes(zeros=[{"child": "d", "state": 2}])
    case = case_of(network, 400, missing=0.0)
    fit = learn(case.problem, Options(starts=4))
    goodness = goodness_of_fit(fit.model, case.codes, case.counts)
    assert goodness.cells == 2**4
    assert goodness.df == 2**4 - 1 - network.dimension
    codes = np.vstack([case.codes, np.full((1, 4), -1)])  # what shows nothing has one cell
    assert goodness_of_fit(fit.model, codes, np.ones(401)).cells == 2**4 + 1


def test_states_with_a_meaning_keep_their_numbers():
    case = case_of(classes(fixed=[FIXED]), 200)
    model = learn(case.problem, Options(starts=4)).model
    turned = model.permuted(0, [1, 0])
    assert np.array_equal(turned.table("a"), np.array(FIXED["table"])[::-1])
    assert turned.network.variables[1].known.values.tolist() == FIXED["table"][::-1]
    assert np.array_equal(matched(model, turned).theta, model.theta)
    with pytest.raises(ModelError, match="shape"):
        with_hidden(model.network, {"h": 3})


@pytest.mark.parametrize(
    "known", [{"fixed": [FIXED], "zeros": [ZEROS], "tied": [["b", "c"]]}, {"tied": [["a", "b"]]}]
)
def test_thorough_searches_keep_what_is_known(known):
    """Starts are made by merging rows, and states are exchanged where no table is known."""
    network = classes(**known)
    case = case_of(network, 150, seed=3, missing=0.3, alpha=1.01)
    quick = learn(case.problem, Options(starts=8))
    thorough = learn(case.problem, Options(starts=8, schedule=Schedule.THOROUGH))
    assert thorough.log_posterior >= quick.log_posterior - 1e-6
    layout, theta = network.layout, thorough.model.theta
    assert np.array_equal(theta, theta[layout.slots])
    assert layout.given is None or np.array_equal(
        theta[~layout.learned], layout.given[~layout.learned]
    )
