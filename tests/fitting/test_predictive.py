"""What a fit says of new rows, against p(row | D) = p(D, row)/p(D) summed exactly."""

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given

import lacunet
import oracle
from examples import examples
from lacunet.api import observed_columns
from lacunet.data import Table
from lacunet.evidence.exact import exact_evidence
from lacunet.fitting.fit import Options, learn_posterior, quick_posterior
from lacunet.fitting.objective import Estimate
from lacunet.inference.leaves import leaves_of
from lacunet.inference.problem import build_problem
from lacunet.inference.queries.answers import row_log_lik
from lacunet.models.formats import read_network, write_network
from lacunet.models.latent_class import over_leaves
from lacunet.models.number_prior import NumberPrior
from lacunet.models.prior import dirichlet
from problems import build, make, make_case, network_cases


def fitted(case, **options):
    """Fit a case as a user does."""
    return lacunet.fit(case.table, network=case.network, alpha=1.0, starts=4, threads=1, **options)


def every_row(network):
    """All rows that can be seen, (rows, observed variables)."""
    cards = [len(network.variables[i].states) for i in network.observed]
    return np.array(list(itertools.product(*map(range, cards))), dtype=np.int32)


def exactly(fit, rows):
    """p(row | D) of each row, by exact evidence with and without it."""
    problem, network = fit.problem, fit.problem.network
    columns = observed_columns(network)

    def log_evidence(codes, counts):
        table = Table.from_codes(codes, columns, counts=counts)
        return exact_evidence(build_problem(table, network, problem.alpha)).value

    codes, counts = problem.codes, problem.counts
    before = log_evidence(codes, counts)
    more = [log_evidence(np.vstack([codes, row]), np.append(counts, 1)) for row in rows]
    return np.exp(np.array(more) - before)


@examples(40)
@given(case=network_cases(complete=True, whole=True, hidden=False))
def test_where_all_is_seen_it_is_exact(case):
    fit = fitted(case)
    alphas = case.tables(fit.problem.alpha)
    for row in every_row(case.network)[:8]:
        with_row = oracle.log_evidence(
            case.layout.cards, case.network.parents, alphas, [*case.cases, tuple(row)]
        )
        without = oracle.log_evidence(case.layout.cards, case.network.parents, alphas, case.cases)
        result = row_log_lik(fit.model.predictive, row[None, :])[0]
        assert result == pytest.approx(with_row - without, abs=1e-10)


@pytest.mark.parametrize("seed", range(6))
def test_it_is_nearer_to_the_exact_one_than_the_estimate(seed):
    fit = fitted(make_case([2, 2, 3], 2, 24, seed=seed))
    rows = every_row(fit.problem.network)
    truth = exactly(fit, rows)
    assert truth.sum() == pytest.approx(1)
    learned, plain = (
        float(truth @ (np.log(truth) - row_log_lik(model, rows)))
        for model in (fit.model.predictive, fit.model)
    )  # Kullback–Leibler divergence from the truth
    assert learned < plain
    assert learned < 0.05


def test_the_counts_are_those_expected_at_the_mean_itself():
    network = build("H>a H>b a>c", {"H": 2, "a": 2, "b": 3, "c": 2}, "H")
    case = make(network, 40, seed=3)
    model = fitted(case).model
    expected = oracle.expected_counts(case.oracle(model.predictive.theta), case.rows, case.counts)
    for i, table in enumerate(expected):
        result = network.layout.table(model.posterior - model.alpha, i)
        np.testing.assert_allclose(result, table, atol=1e-5)


def test_no_row_is_impossible():
    codes = np.array([[0, 0], [1, 1], [0, 0], [1, 1]], dtype=np.int32)
    columns = [lacunet.Column("a", (0, 1, 2)), lacunet.Column("b", (0, 1))]
    for estimate in ("map", "ml"):
        fit = lacunet.fit(
            Table.from_codes(codes, columns), 2, alpha=1.0, estimate=estimate, threads=1
        )
        unseen = np.array([[2, 0], [2, -1], [0, 1]], dtype=np.int32)
        assert row_log_lik(fit.model, unseen)[0] == -np.inf
        assert np.isfinite(row_log_lik(fit.model.predictive, unseen)).all()
        assert not np.isnan(lacunet.query(fit.model, "class", {"a": 2})).any()
        assert np.isnan(lacunet.query(fit.model, "class", {"a": 2}, plug_in=True)).all()


def test_a_model_file_predicts_as_the_fit_did(tmp_path):
    table = lacunet.load_dataset("carcinoma")
    fit = lacunet.fit(table, 3, starts=4, threads=1)
    write_network(fit.model, tmp_path / "model.json")
    write_network(fit.model, tmp_path / "model.bif")
    path = lacunet.dataset_path("carcinoma")
    here, plain = (lacunet.assign(path, fit.model, plug_in=p).probabilities for p in (False, True))
    from_file = lacunet.assign(path, tmp_path / "model.json").probabilities
    np.testing.assert_array_equal(from_file, here)
    assert np.abs(plain - here).max() > 1e-3
    # Other formats hold one table for each family, the estimate: nothing else can be asked there.
    estimate = read_network(tmp_path / "model.bif")
    assert estimate.predictive is estimate
    again = lacunet.assign(path, tmp_path / "model.bif", hidden=["class"]).probabilities
    np.testing.assert_allclose(again, plain, atol=1e-12)


def test_other_names_for_states_are_no_other_predictions():
    table = lacunet.load_dataset("carcinoma")
    fit = lacunet.fit(table, 3, starts=4, threads=1)
    turned = fit.model.permuted(fit.model.network.hidden[0], [2, 0, 1])
    rows = table.codes
    np.testing.assert_allclose(
        row_log_lik(turned.predictive, rows), row_log_lik(fit.model.predictive, rows), rtol=1e-12
    )
    back = lacunet.match_classes(turned, fit)
    np.testing.assert_array_equal(back.posterior, fit.model.posterior)


def test_threads_change_nothing():
    table = lacunet.load_dataset("carcinoma")
    one, two = (lacunet.fit(table, 3, starts=4, threads=n).model for n in (1, 2))
    np.testing.assert_array_equal(one.posterior, two.posterior)
    (candidate,) = lacunet.select(table, [3], starts=4, threads=2).candidates
    np.testing.assert_array_equal(candidate.fit.model.posterior, one.posterior)


def test_rows_are_drawn_from_the_posterior_mean():
    table = lacunet.load_dataset("carcinoma")
    model = lacunet.fit(table, 2, starts=4, threads=1).model
    learned = lacunet.simulate(model, 200, seed=1)
    assert learned.equals(lacunet.simulate(model.predictive, 200, seed=1, plug_in=True))
    assert not learned.equals(lacunet.simulate(model, 200, seed=1, plug_in=True))


def test_a_quick_posterior_predicts_as_the_whole_search_does():
    rng = np.random.default_rng(3)
    middle = rng.integers(0, 3, 150) * 4.0
    frame = pl.DataFrame({"x": rng.normal(middle, 1.0), "y": rng.normal(-middle, 1.0)})
    table = lacunet.read_table(frame, kinds={"x": "gaussian", "y": "gaussian"})
    network = over_leaves(leaves_of(table, NumberPrior()), 3)
    problem = build_problem(table, network, dirichlet(network, 1.0))
    whole = learn_posterior(problem, Options(estimate=Estimate.SOFTMAX, starts=4)).model
    quick = quick_posterior(problem, 1, 0)
    predicted, expected = (row_log_lik(one.predictive, table.codes) for one in (quick, whole))
    np.testing.assert_allclose(predicted, expected, atol=5e-3)
