"""Rows with numbers, asked of all parameters by their posterior: against SciPy, class by class."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from lacunet.data.table import Column
from lacunet.fitting.fit import Options, learn_posterior
from lacunet.inference.leaves import all_with_values, kind_of, with_values
from lacunet.inference.queries.answers import (
    ensemble_log_lik,
    expected_numbers,
    in_units,
    row_log_lik,
)
from lacunet.inference.queries.query import posterior
from lacunet.likelihoods.unit import Unit
from lacunet.models.ensemble import Ensemble, Member, sample_rows
from lacunet.models.formats import read_model_or_stack, write_stack
from lacunet.models.network import Model, Network
from lacunet.models.surgery import coded, sample_cells
from mixtures import MOST, UNIT, density, mixture

NUMBERS = ("gaussian", "poisson", "binomial")
WIDE = {"gaussian": np.linspace(-400.0, 400.0, 160_001), "poisson": np.arange(3000)}


def student_or_its_like(name, x, hyper):
    """The predictive density of a value given hyperparameters of one configuration, by SciPy."""
    if name == "gaussian":
        first, kappa, second, cases = hyper
        m, a, b = first / kappa, (cases - 1) / 2, (second - first**2 / kappa) / 2
        wide = math.sqrt(b * (kappa + 1) / (a * kappa))
        return stats.t.pdf(x, 2 * a, UNIT.origin + UNIT.size * m, UNIT.size * wide)
    if name == "poisson":
        shape, rate = hyper
        return stats.nbinom.pmf(x, shape, rate / (rate + 1))
    return stats.betabinom.pmf(x, MOST, hyper[1], hyper[0])


def fitted(name, seed=0):
    problem = mixture(name, 40, seed=seed, missing=0.2)
    return learn_posterior(problem, Options(starts=4))


@pytest.mark.parametrize("name", NUMBERS)
def test_rows_are_sums_over_classes_of_predictive_densities(name):
    fit = fitted(name)
    model, problem = fit.model, fit.problem
    layout, variables = problem.layout, problem.network.variables
    hyper = [layout.table(model.posterior, i) for i in range(4)]
    weights = []
    for row in problem.codes:
        p = hyper[0] / hyper[0].sum()
        for i, x in enumerate(row, start=1):
            if x >= 0 and i == 2:
                p = p * hyper[2][:, x] / hyper[2].sum(axis=1)
            elif x >= 0:
                value = variables[i].states[x]
                p = p * [student_or_its_like(name, value, h) for h in hyper[i]]
        weights.append(p)
    log_likelihoods = row_log_lik(model.predictive, problem.codes)
    np.testing.assert_allclose(log_likelihoods, np.log(np.sum(weights, axis=1)), rtol=0, atol=1e-9)
    classes = weights / np.sum(weights, axis=1, keepdims=True)
    (posteriors,) = posterior(model.predictive, problem.codes, [(0,)])
    np.testing.assert_allclose(posteriors, classes, atol=1e-9)


@pytest.mark.parametrize("name", NUMBERS)
def test_without_a_posterior_rows_are_assigned_by_the_estimate(name):
    fit = fitted(name)
    model = replace(fit.model, posterior=None)
    assert model.predictive is model
    total = fit.problem.counts @ row_log_lik(model, fit.problem.codes)
    assert total == pytest.approx(fit.log_lik, abs=1e-9)


@pytest.mark.parametrize("name", NUMBERS)
def test_predictions_integrate_to_one(name):
    """Over one number, the others missing; values that the fit never saw among them."""
    model = fitted(name).model.predictive
    values = WIDE.get(name, np.arange(MOST + 1))
    variables = list(model.network.variables)
    variables[1] = replace(variables[1], states=tuple(values.tolist()))
    wide = replace(model, network=Network.build(variables, model.network.parents))
    codes = np.full((len(values), 3), -1)
    codes[:, 0] = np.arange(len(values))
    p = np.exp(row_log_lik(wide, codes))
    total = np.trapezoid(p, values) if name == "gaussian" else p.sum()
    assert total == pytest.approx(1.0, abs=1e-5)


def test_a_number_below_what_is_seen_and_what_is_not():
    """Two parents, one of them hidden, either of them open: by plain sums over both."""
    fit = fitted("gaussian", seed=3)
    root, first, colour, _ = fit.problem.network.variables
    network = Network.build([root, first, colour], [(), (0, 2), (0,)])
    rng = np.random.default_rng(0)
    hyper = np.abs(rng.normal(2.0, 0.5, network.layout.size))
    tables = [network.layout.table(hyper, i) for i in range(3)]
    tables[1][..., 2] += 40.0  # sums of squares
    tables[1][..., 3] += 3.0
    hyper = network.layout.flat(tables)
    model = Model(network, network.layout.flat(tables), hyper, hyper).predictive
    codes = np.array([[0, 0], [3, 1], [2, -1], [-1, 1], [-1, -1]])
    expected = []
    for x, c in codes:
        total = 0.0
        for z in range(2):
            for k in [c] if c >= 0 else [0, 1]:
                p = tables[0][z] / tables[0].sum() * tables[2][z, k] / tables[2][z].sum()
                if x >= 0:
                    p *= student_or_its_like("gaussian", first.states[x], tables[1][z, k])
                total += p
        expected.append(total)
    np.testing.assert_allclose(np.exp(row_log_lik(model, codes)), expected, rtol=1e-9)


def test_the_estimate_is_that_of_the_twin():
    fit = fitted("poisson")
    layout, x = fit.problem.layout, fit.problem.network.variables[1].states
    theta = layout.table(fit.model.theta, 1)
    size = layout.table(fit.model.theta, 0)
    codes = np.full((len(x), 3), -1)
    codes[:, 0] = np.arange(len(x))
    expected = [size @ density("poisson", value, theta.T) for value in x]
    np.testing.assert_allclose(np.exp(row_log_lik(fit.model, codes)), expected, rtol=1e-9)


@pytest.mark.parametrize("name", NUMBERS)
def test_what_is_expected_are_the_moments_of_the_predictive_density(name):
    model = fitted(name).model.predictive
    values = np.linspace(-4000, 4000, 400_001) if name == "gaussian" else WIDE.get(name)
    values = np.arange(MOST + 1) if values is None else values
    codes = np.array([[-1, 1, 0], [-1, -1, -1]])
    (expected,) = expected_numbers(model, codes, [1])
    hyper = model.network.layout.table(model.averaged, 1)
    densities = np.stack([student_or_its_like(name, values, h) for h in hyper])
    (classes,) = posterior(model, codes, [(0,)])
    p = classes @ densities
    p /= p.sum(axis=1, keepdims=True)
    mean = p @ values
    variance = (p * (values - mean[:, None]) ** 2).sum(axis=1)
    rescaled = in_units(model.network.variables[1], expected, np.array([-1, -1]))
    np.testing.assert_allclose(rescaled.mean, mean, rtol=1e-6)
    np.testing.assert_allclose(rescaled.spread, np.sqrt(variance), rtol=1e-3)
    assert rescaled.titles == ("mean", "sd")


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("averaged", [False, True])
def test_draws_have_the_predicted_moments(name, averaged):
    fit = fitted(name)
    model = fit.model.predictive if averaged else fit.model
    cells = sample_cells(model, 20_000, np.random.default_rng(1))
    v = model.network.variables[1]
    mean, variance = model.moments(1)
    for c in range(2):
        x = np.array((v.unit or Unit()).numbers(cells[cells[:, 0] == c, 1]))
        if name != "gaussian":
            assert (x == np.round(x)).all()
        assert x.mean() == pytest.approx(mean[c], abs=4.5 * math.sqrt(variance[c] / len(x)))
        assert x.std() == pytest.approx(math.sqrt(variance[c]), rel=0.1)


def test_draws_are_coded_by_the_values_that_occur():
    model = fitted("poisson").model
    variables = [model.network.variables[i] for i in model.network.observed]
    cells = np.array([[7.0, 1.0, np.nan], [0.0, np.nan, np.nan], [7.0, 0.0, np.nan]])
    drawn = coded(variables, cells)
    assert drawn.codes.tolist() == [[1, 1, -1], [0, -1, -1], [1, 0, -1]]
    assert drawn.variables[0].states == (0, 7)
    assert drawn.variables[2].states == variables[2].states  # never seen
    assert all(isinstance(x, int) for x in drawn.variables[0].states)


def test_an_ensemble_mixes_what_its_members_expect(tmp_path):
    models = [fitted("gaussian", seed=s).model.predictive for s in (0, 1)]
    columns = [
        Column(v.name, (1.0, 2.5) if v.name != "colour" else v.states, kind_of(v))
        for v in models[0].network.variables[1:]
    ]
    members = tuple(
        Member(str(i), w, with_values(m, columns))
        for i, (m, w) in enumerate(zip(models, (0.3, 0.7), strict=True))
    )
    ensemble = Ensemble(members)
    codes = np.array([[1, 1, 0], [-1, -1, 1]])
    log_p = np.stack([row_log_lik(m.model, codes) for m in members]) + np.log([[0.3], [0.7]])
    share = np.exp(log_p - np.logaddexp(*log_p))
    each = [expected_numbers(m.model, codes, [1])[0] for m in members]
    (expected,) = expected_numbers(ensemble, codes, [0])
    mean = sum(s * e.mean for s, e in zip(share, each, strict=True))
    square = sum(s * (e.variance + e.mean**2) for s, e in zip(share, each, strict=True))
    np.testing.assert_allclose(expected.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(expected.variance, square - mean**2, rtol=1e-9)
    write_stack(ensemble, tmp_path / "stack.json")
    again = all_with_values(read_model_or_stack(tmp_path / "stack.json"), columns)
    np.testing.assert_array_equal(ensemble_log_lik(again, codes), ensemble_log_lik(ensemble, codes))
    rows = sample_rows(ensemble, 50, np.random.default_rng(0), 0.2)
    assert (rows.codes < 0).any()
    assert len(rows.variables[0].states) > 10
