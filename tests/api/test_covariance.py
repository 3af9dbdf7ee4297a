"""Numbers that vary together within a class, as people ask for them."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

import lacunet
from lacunet import LatentClassModel, LatentClassSelector
from lacunet.errors import DataError, OptionError
from lacunet.flags import Kind
from lacunet.inference.leaves import leaves_of, unexplained
from lacunet.likelihoods.joint_normal import InverseWishart, places_of
from lacunet.models.number_prior import Covariance, NumberPrior, understand_covariance
from lacunet.selection.certainty import CertaintyBasis

KINDS = "height=gaussian,weight=gaussian,age=lognormal"


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(3)
    sort = rng.random(150) < 0.4
    middle = np.where(sort[:, None], [180.0, 80.0], [165.0, 60.0])
    frame = pd.DataFrame(
        middle + rng.normal(size=(150, 2)) @ [[6.0, 5.0], [0.0, 3.0]], columns=["height", "weight"]
    ).round(1)
    frame["age"] = np.exp(rng.normal(np.where(sort, 3.0, 3.6), 0.2)).round(1)
    frame["sex"] = np.where(rng.random(150) < np.where(sort, 0.9, 0.2), "m", "f")
    return frame.mask(rng.random(frame.shape) < 0.1)


DIMENSIONS = {
    "diagonal": 1 + 2 * (6 + 1),
    "diagonal-common": 1 + 2 * (3 + 1) + 3,
    "full": 1 + 2 * (9 + 1),
    "full-common": 1 + 2 * (3 + 1) + 6,
    "height+weight,common": 1 + 2 * (3 + 1) + 4,
}


@pytest.mark.parametrize("covariance", DIMENSIONS)
def test_a_fit_goes_through_a_file_and_its_scores(people, tmp_path, covariance):
    fit = lacunet.fit(people, 2, kinds=KINDS, covariance=covariance, starts=4)
    assert fit.model.network.dimension == DIMENSIONS[covariance]
    shown = fit.grids()[1].text()
    for name in ("height: mean", "weight: sd", "age: median", "sex = m"):
        assert name in shown
    path = tmp_path / "model.json"
    lacunet.write_network(fit.model, path)
    (again, here) = (
        {n: e.value for n, e in lacunet.score(people, model, scores="vb,cs,bic").evidence.items()}
        for model in (path, fit.model)
    )
    assert again == pytest.approx(here, rel=1e-10)
    np.testing.assert_allclose(
        lacunet.log_likelihoods(people, path), lacunet.log_likelihoods(people, fit.model)
    )


def test_the_evidence_prefers_true_covariances(people):
    def evidence_of(covariance):
        kinds = {"kinds": KINDS, "covariance": covariance, "quick": True, "starts": 4}
        return lacunet.select(people, [2], **kinds).values("csl")[2]

    together, alone = evidence_of("height+weight"), evidence_of("diagonal")
    assert together > alone + 10  # height and weight do
    assert evidence_of("weight+age") < together


def test_how_sure_a_choice_is_is_measured(people):
    some, ask = people.head(14), {"kinds": KINDS, "starts": 2, "target": 0.3, "threads": 1}
    selection = lacunet.select(some, [2, 3], covariance="height+weight", **ask)
    assert selection.overall.basis is CertaintyBasis.MEASURED
    cheap = selection.values("csl-occupied")
    for k, value in selection.overall.values.items():
        assert value == pytest.approx(cheap[k], abs=2.0)


def test_what_is_refused(people):
    ask = {"kinds": KINDS, "starts": 2}
    with pytest.raises(OptionError, match="'sex' is not a Gaussian column"):
        lacunet.fit(people, 2, covariance="height+sex", **ask)
    for covariance in ("", "height", "height+", "wide", "common", "full,common"):
        with pytest.raises(OptionError, match="is not understood"):
            lacunet.fit(people, 2, covariance=covariance, **ask)
    with pytest.raises(OptionError, match="occurs twice"):
        lacunet.fit(people, 2, covariance="height+weight,age+height", **ask)
    inches = people.assign(inches=people["height"] / 2.54)
    with pytest.raises(DataError, match="are linear functions of each other"):
        lacunet.fit(inches, 2, kinds=f"{KINDS},inches=gaussian", covariance="full", starts=2)


def test_blocks_by_name():
    assert understand_covariance("full").blocks(["a", "b"]) == [("a", "b")]
    assert understand_covariance("full").blocks(["a"]) == []
    assert understand_covariance("diagonal") == Covariance()
    assert understand_covariance("a + c").blocks(["a", "b", "c"]) == [("a", "c")]
    for covariance in ("a+c,common", "common, a+c"):
        assert understand_covariance(covariance) == Covariance(named=(("a", "c"),), common=True)
    for covariance in ("diagonal", "full"):
        result = understand_covariance(f"{covariance}-common")
        assert result == Covariance(full=covariance == "full", common=True)


def test_pairs_that_are_hardly_ever_seen_together_are_named():
    """The prior says how they vary together; the rest is learned."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 3)).round(3), columns=list("abc"))
    frame.loc[:39, "a"] = np.nan
    frame.loc[40:76, "b"] = np.nan  # three rows show both
    kinds = {"kinds": "a=gaussian,b=gaussian,c=gaussian", "starts": 2}
    for covariance, fewest in (("full", 6), ("full-common", 4)):
        fit = lacunet.fit(frame, 2, covariance=covariance, **kinds)
        (flag,) = [f for f in fit.flags if f.kind is Kind.FEW_PAIRS]
        details = [flag.detail[n] for n in ("one", "other", "pairs", "fewest", "number")]
        assert details == ["a", "b", 3, fewest, 1]
        assert np.isfinite(fit.log_lik)
    for covariance in ("diagonal", "b+c", "a+c,common"):
        fitted = lacunet.fit(frame, 2, covariance=covariance, **kinds)
        assert Kind.FEW_PAIRS not in [f.kind for f in fitted.flags]
    one = lacunet.fit(frame, 1, covariance="full", **kinds)
    assert Kind.FEW_PAIRS not in [f.kind for f in one.flags]  # three cases are enough for one


def test_columns_that_follow_from_others_are_refused():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 3)).round(3), columns=list("abc"))
    frame["sum"] = frame["a"] - 2.0 * frame["c"]
    kinds = dict.fromkeys(frame.columns, "gaussian")
    missing = frame.mask(rng.random(frame.shape) < 0.1)
    for data in (frame, missing):
        with pytest.raises(DataError, match=r"'sum' follows from 'a', 'c'.*exclude=\['sum'\]"):
            lacunet.fit(data, 2, kinds=kinds, covariance="full", starts=2)
        lacunet.fit(data, 2, kinds=kinds, covariance="a+b+c", starts=2)
    twice = missing.assign(sum=-3.0 * missing["a"])
    twice.loc[:30, "sum"] = np.nan  # means and deviations of the two differ then
    with pytest.raises(DataError, match="'a' and 'sum' are linear functions"):
        lacunet.fit(twice, 2, kinds=kinds, covariance="full-common", starts=2)


def test_the_prior_expects_what_other_columns_leave():
    """The scale of a block: 1 − R² of each column on the others, adjusted, times the degrees."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(90, 4)) @ np.tril(rng.normal(size=(4, 4)))
    frame = pd.DataFrame(x, columns=list("abcd"))
    times = rng.integers(1, 3, 90)
    kinds = dict.fromkeys(frame.columns, "gaussian")
    table = lacunet.read_table(frame.assign(n=times), kinds=kinds, weights="n")
    leaves = leaves_of(table, NumberPrior(scale=2.0, covariance=Covariance(full=True)))
    prior = InverseWishart.of(places_of(4).read(np.array(leaves[0].prior)))
    whole = np.repeat(x, times, axis=0)
    n = len(whole)
    for j in range(4):
        others = np.column_stack([np.ones(n), np.delete(whole, j, axis=1)])
        left = whole[:, j] - others @ np.linalg.lstsq(others, whole[:, j])[0]
        share = left.var() / whole[:, j].var() * (n - 1) / (n - 4)
        assert prior.S[j, j] == pytest.approx(2.0 * (6 / 3) * share, rel=0.1)  # a little shrunk
    assert (prior.S - np.diag(np.diagonal(prior.S)) == 0.0).all()
    assert prior.nu == pytest.approx(6.0)


def test_few_cases_leave_residual_variances_undetermined():
    x = np.random.default_rng(6).normal(size=(5, 5))
    np.testing.assert_array_equal(unexplained(x, np.ones(5)), np.eye(5))
    x[3:, 0] = np.nan
    np.testing.assert_array_equal(unexplained(x, np.ones(5)), np.eye(5))


@pytest.mark.parametrize("seed", [0, 1])
def test_species_are_found_without_options(seed):
    """The flowers of Fisher: `GaussianMixture` has an adjusted Rand index of 0.90."""
    flowers = load_iris()
    model = LatentClassModel(3, covariance="full", n_init=16, random_state=seed, n_jobs=1)
    model.fit(flowers.data)  # and no warning, which would be an error here
    assert adjusted_rand_score(flowers.target, model.predict(flowers.data)) > 0.88


def test_classes_with_fewer_cases_than_columns_are_named():
    rng = np.random.default_rng(7)
    x = rng.normal(size=(60, 12)) + 8.0 * (np.arange(60) < 8)[:, None]
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(12)])
    ask = {"kinds": dict.fromkeys(frame.columns, "gaussian"), "starts": 4, "threads": 1}
    fit = lacunet.fit(frame, 2, covariance="full", **ask)
    (flag,) = [f for f in fit.flags if f.kind is Kind.FEW_CASES]
    assert flag.detail["cases"] == pytest.approx(8.0, abs=0.1)
    assert (flag.detail["holder"], flag.detail["columns"], flag.detail["fewest"]) == (
        "class 2",
        12,
        13.0,
    )
    assert "few cases: class 2: 8" in str(fit)
    common = lacunet.fit(frame, 2, covariance="full-common", **ask)
    few = lacunet.fit(frame.head(13), 2, covariance="full-common", **ask)
    assert Kind.FEW_CASES not in [f.kind for f in common.flags]
    assert [f.detail["holder"] for f in few.flags if f.kind is Kind.FEW_CASES] == ["all classes"]
    model = LatentClassModel(2, covariance="full", n_init=4, random_state=0, n_jobs=1)
    with pytest.warns(ConvergenceWarning, match="few cases: class 2: 8"):
        model.fit(frame)


def test_estimators_warn_of_an_unstable_search_and_of_the_end_of_a_range():
    rng = np.random.default_rng(8)
    x = np.concatenate([rng.normal(m, 1.0, (40, 3)) for m in (0.0, 6.0, 12.0)])
    basis = {"covariance": "full", "n_init": 8, "random_state": 0, "n_jobs": 1}
    with pytest.warns(UserWarning, match="2 is the largest number that was tried. Try more"):
        LatentClassSelector([1, 2], quick=True, **basis).fit(x)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = LatentClassModel(9, **{**basis, "n_init": 3}).fit(rng.normal(size=(150, 3)))
    unstable = [w for w in caught if str(w.message).startswith("unstable: only 1 of")]
    assert not model.fit_.stable
    assert [w.category for w in unstable] == [ConvergenceWarning]
