"""Numbers that vary together within a class, as people ask for them."""

import numpy as np
import pandas as pd
import pytest

import lacunet
from lacunet.errors import DataError, OptionError
from lacunet.model.covariance import Covariance, understand_covariance
from lacunet.search.certainty import How

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


def test_the_evidence_knows_what_varies_together(people):
    def found(covariance):
        kinds = {"kinds": KINDS, "covariance": covariance, "quick": True, "starts": 4}
        return lacunet.select(people, [2], **kinds).values("csl")[2]

    together, alone = found("height+weight"), found("diagonal")
    assert together > alone + 10  # height and weight do
    assert found("weight+age") < together


def test_what_cannot_be_measured_is_said_by_scores(people):
    some = people.head(30)
    found = lacunet.select(some, [1, 2], kinds=KINDS, covariance="height+weight", starts=2)
    assert found.found.how in (How.APPROXIMATED, How.CLEAR)


def test_what_is_refused(people):
    ask = {"kinds": KINDS, "starts": 2}
    with pytest.raises(OptionError, match="'sex' is no Gaussian column"):
        lacunet.fit(people, 2, covariance="height+sex", **ask)
    for said in ("", "height", "height+", "wide", "common", "full,common"):
        with pytest.raises(OptionError, match="is not understood"):
            lacunet.fit(people, 2, covariance=said, **ask)
    with pytest.raises(OptionError, match="stands twice"):
        lacunet.fit(people, 2, covariance="height+weight,age+height", **ask)
    inches = people.assign(inches=people["height"] / 2.54)
    with pytest.raises(DataError, match="say the same, in other units"):
        lacunet.fit(inches, 2, kinds=f"{KINDS},inches=gaussian", covariance="full", starts=2)


def test_blocks_by_name():
    assert understand_covariance("full").blocks(["a", "b"]) == [("a", "b")]
    assert understand_covariance("full").blocks(["a"]) == []
    assert understand_covariance("diagonal") == Covariance()
    assert understand_covariance("a + c").blocks(["a", "b", "c"]) == [("a", "c")]
    for said in ("a+c,common", "common, a+c"):
        assert understand_covariance(said) == Covariance(named=(("a", "c"),), common=True)
    for said in ("diagonal", "full"):
        found = understand_covariance(f"{said}-common")
        assert found == Covariance(full=said == "full", common=True)
