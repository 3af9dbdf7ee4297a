"""Rows of classes with covariances: joint Student t's by SciPy, missing values in any cell."""

import numpy as np
import polars as pl
import pytest
from scipy import stats
from scipy.special import logsumexp

import lacunet
from lacunet.inference.queries.answers import row_log_lik
from lacunet.inference.queries.query import posterior
from lacunet.likelihoods.joint_normal import BlockPlaces, InverseWishart
from lacunet.models.surgery import sample_cells
from lacunet.summaries.profiles import pair_rings, profile

FAST = {"starts": 6, "threads": 1}


def bodies(rows=150, seed=0, missing=0.15):
    """Two sorts; breadth and depth go together in both, shoes with neither. Names are in order."""
    rng = np.random.default_rng(seed)
    z = rng.random(rows) < 0.4
    tall = rng.normal(np.where(z, 182.0, 165.0), 5.0)
    columns = {
        "breadth": tall,
        "depth": 0.9 * (tall - 170) + rng.normal(np.where(z, 80.0, 62.0), 4.0),
        "length": rng.normal(40.0, 10.0, rows),
        "shoes": rng.poisson(np.where(z, 3.0, 8.0)).astype(float),
        "tint": np.where(rng.random(rows) < np.where(z, 0.9, 0.2), "m", "f"),
    }
    observed = {name: rng.random(rows) >= missing for name in columns}
    return pl.DataFrame(
        {
            n: [v if s else None for v, s in zip(x.tolist(), observed[n], strict=True)]
            for n, x in columns.items()
        }
    )


KINDS = "breadth=gaussian,depth=gaussian,length=gaussian,shoes=poisson"


@pytest.fixture(scope="module")
def frame():
    return bodies()


@pytest.fixture(scope="module", params=["breadth+depth+length", "breadth+depth+length,common"])
def model(frame, request):
    return lacunet.fit(frame, 2, kinds=KINDS, covariance=request.param, **FAST).model


def pooled(model, prior):
    """What is known of a class: of a common covariance, with what all classes say."""
    m, kappa, nu, S = prior
    if model.network.variables[1].family.apart:
        return prior
    return m, kappa, np.broadcast_to(nu.sum(), nu.shape), np.broadcast_to(S.sum(axis=0), S.shape)


def by_hand(model, frame, plug_in=False):
    """Log p(row, class), (rows, 2)."""
    source = model if plug_in else model.predictive
    network, layout = model.network, model.network.layout
    table = layout.table(model.theta if plug_in else model.posterior, 1)
    joint = BlockPlaces(3).read(table)
    units = [network.variables[i].unit for i in (1, 2, 3)]
    scale = np.diag([u.size for u in units])
    origin = np.array([u.origin for u in units])
    rate = layout.table(model.theta if plug_in else model.posterior, 4)
    results = []
    for row in frame.iter_rows(named=True):
        log_p = np.log(source.table("class"))
        shown = [k for k, n in enumerate(("breadth", "depth", "length")) if row[n] is not None]
        x = np.array([row[("breadth", "depth", "length")[k]] for k in shown])
        for c in range(2):
            if shown:
                pick = np.ix_(shown, shown)
                if plug_in:
                    mean = origin + scale @ joint.first[c]
                    wide = scale @ joint.second[c] @ scale
                    log_p[c] += stats.multivariate_normal.logpdf(x, mean[shown], wide[pick])
                else:
                    m, kappa, nu, S = (y[c] for y in pooled(model, InverseWishart.of(joint)))
                    df = nu - 2
                    wide = scale @ S @ scale * (kappa + 1) / (kappa * df)
                    mean = origin + scale @ m
                    log_p[c] += stats.multivariate_t.logpdf(x, mean[shown], wide[pick], df)
            if row["shoes"] is not None:
                n = row["shoes"]
                log_p[c] += (
                    stats.poisson.logpmf(n, rate[c, 0])
                    if plug_in
                    else stats.nbinom.logpmf(n, rate[c, 0], rate[c, 1] / (rate[c, 1] + 1))
                )
            if row["tint"] is not None:
                log_p[c] += np.log(source.table("tint")[c, "fm".index(row["tint"])])
        results.append(log_p)
    return np.array(results)


@pytest.mark.parametrize("plug_in", [False, True])
def test_rows_are_sums_over_classes_of_joint_densities(model, frame, plug_in):
    expected = by_hand(model, frame, plug_in)
    result = lacunet.log_likelihoods(frame, model, plug_in=plug_in)
    np.testing.assert_allclose(result, logsumexp(expected, axis=1), atol=1e-8)
    classes = lacunet.assign(frame, model, plug_in=plug_in).probabilities
    np.testing.assert_allclose(
        classes, np.exp(expected - logsumexp(expected, axis=1, keepdims=True)), atol=1e-8
    )


def test_the_estimate_is_the_one_that_was_fitted(frame):
    fit = lacunet.fit(frame, 2, kinds=KINDS, covariance="breadth+depth+length", **FAST)
    rows = lacunet.log_likelihoods(frame, fit.model, plug_in=True)
    assert rows.sum() == pytest.approx(fit.log_lik, abs=1e-7)


@pytest.mark.slow
def test_missing_values_are_filled_by_what_varies_with_them(model):
    """The mean of a depth given a breadth, against a fine sum over its joint density."""
    rows = pl.DataFrame({"breadth": [190.0], "tint": ["m"]})
    result = next(n for n in lacunet.assign(rows, model, impute=True).numbers if n.name == "depth")
    grid = np.linspace(-100.0, 260.0, 36_001)
    many = pl.DataFrame({"breadth": np.full(len(grid), 190.0), "depth": grid})
    many = many.with_columns(tint=pl.lit("m"))
    p = np.exp(lacunet.log_likelihoods(many, model))
    assert result.mean[0] == pytest.approx((p @ grid) / p.sum(), rel=1e-4)
    variance = p @ (grid - result.mean[0]) ** 2 / p.sum()
    assert result.spread[0] == pytest.approx(np.sqrt(variance), rel=1e-3)
    whole = np.trapezoid(p, grid)
    assert np.log(whole) == pytest.approx(lacunet.log_likelihoods(rows, model)[0], abs=1e-6)
    low = lacunet.query(model, "depth", {"breadth": 155.0})[0]
    assert result.mean[0] > low + 20
    tint = lacunet.query(model, "tint", {"breadth": 190.0})
    assert tint.sum() == pytest.approx(1.0)
    (joint,) = posterior(model.predictive, np.full((1, 5), -1), [(5, 0)])
    np.testing.assert_allclose(
        joint[0], (model.predictive.table("class")[:, None] * model.predictive.table("tint")).T
    )


@pytest.mark.slow
def test_rows_are_drawn_with_their_covariances(model):
    drawn = sample_cells(model.predictive, 20_000, np.random.default_rng(0))
    for c in range(2):
        members = drawn[drawn[:, 0] == c]
        numbers = model.network.variables[1].summary(model.network.layout.table(model.theta, 1))
        assert members[:, 1].mean() == pytest.approx(numbers["mean"][c], abs=0.5)
        assert np.corrcoef(members[:, 1], members[:, 2])[0, 1] > 0.5
        assert abs(np.corrcoef(members[:, 1], members[:, 3])[0, 1]) < 0.4
    rows = pl.DataFrame({"breadth": np.full(4000, 190.0), "tint": ["m"] * 4000})
    filled = lacunet.assign(rows, model, impute=True, draw=True, seed=1)
    depth = next(n for n in filled.numbers if n.name == "depth")
    assert depth.best.mean() == pytest.approx(depth.mean[0], abs=5 * depth.spread[0] / 63)
    assert depth.best.std() == pytest.approx(depth.spread[0], rel=0.15)
    length = next(n for n in filled.numbers if n.name == "length")
    assert abs(np.corrcoef(depth.best, length.best)[0, 1]) < 0.6


def test_profiles_are_those_of_each_number_alone(model):
    by_name = {n.name: n for n in profile(model, 0).numbers}
    for k, name in enumerate(("breadth", "depth", "length"), start=1):
        v = model.network.variables[k]
        numbers = v.summary(model.network.layout.table(model.theta, 1))
        np.testing.assert_allclose(by_name[name].mean[:2], numbers["mean"], rtol=1e-10)
        np.testing.assert_allclose(by_name[name].spread[:2], numbers["sd"], rtol=1e-10)
        np.testing.assert_allclose(
            np.trapezoid(by_name[name].density, by_name[name].places), 1.0, atol=2e-3
        )


def test_rings_lean_as_numbers_do(model):
    numbers = {n.name: n for n in profile(model, 0).numbers}
    rings = pair_rings(model, numbers["breadth"], numbers["depth"])
    joint = BlockPlaces(3).read(model.network.layout.table(model.theta, 1))
    for c in range(2):
        wide = joint.second[c][:2, :2]
        off = np.einsum("ap,ab,bp->p", rings[c], np.linalg.inv(wide), rings[c])
        np.testing.assert_allclose(off, 1.0, rtol=1e-9)
    apart = pair_rings(model, numbers["breadth"], numbers["shoes"])
    assert np.ptp(apart[0][0]) == pytest.approx(2 * numbers["breadth"].deviations[0], rel=1e-3)


def test_row_likelihoods_of_nothing(model):
    nothing = np.full((1, 5), -1)
    assert row_log_lik(model.predictive, nothing)[0] == pytest.approx(0.0, abs=1e-12)


def test_intervals_of_numbers_that_vary_together(frame):
    table = lacunet.read_table(frame, kinds=KINDS)
    fit = lacunet.fit(table, 2, covariance="breadth+depth+length", **FAST)
    for result in (lacunet.intervals(table, fit), lacunet.intervals(table, fit, bootstrap=8)):
        for name in ("breadth", "depth", "length"):
            for interval in result.summaries(name).values():
                assert (interval.low < interval.high).all()
                assert (interval.stderr > 0).all()
    mean = lacunet.intervals(table, fit).summaries("depth")["mean"]
    cases = fit.model.table("class") * 150
    sd = fit.model.network.variables[2].summary(fit.model.network.layout.table(fit.model.theta, 1))[
        "sd"
    ]
    np.testing.assert_allclose(mean.stderr, sd / np.sqrt(cases), rtol=0.25)


def test_estimators_have_covariances():
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 200)
    X = rng.normal(size=(200, 2)) @ np.array([[1.0, 0.9], [0.0, 0.4]]) + 4.0 * z[:, None] * [1, -1]
    X[rng.random(X.shape) < 0.1] = np.nan
    model = lacunet.LatentClassModel(2, covariance="full", n_init=4, random_state=0).fit(X)
    assert (model.predict(X) == z).mean() in (
        pytest.approx(1, abs=0.05),
        pytest.approx(0, abs=0.05),
    )
    assert list(model.numbers_) == ["x0", "x1"]
    filled = model.impute(X)
    assert not np.isnan(filled).any()
    alone = lacunet.LatentClassModel(2, n_init=4, random_state=0).fit(X)
    assert model.score(X) > alone.score(X) + 0.1
    drawn, _ = model.sample(50)
    assert drawn.shape == (50, 2)
