"""What people say of covariates, and what they are told."""

import numpy as np
import pytest
from class_worlds import people

import lacunet
from lacunet.errors import OptionError
from lacunet.flags import Kind
from lacunet.models.predictors import CovariateTerm, understand_terms

QUICK = {"starts": 2, "threads": 1}
NAMES = ["age", "sex", "age, in years"]


@pytest.fixture(scope="module")
def frame():
    return people(120, seed=2)[0]


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("age,sex", (CovariateTerm("age"), CovariateTerm("sex"))),
        ("~ age + C(sex)", (CovariateTerm("age"), CovariateTerm("sex", True))),
        (["age", "C(sex, ref='f')"], (CovariateTerm("age"), CovariateTerm("sex", True, "f"))),
        ("~ C(sex, reference=m)", (CovariateTerm("sex", True, "m"),)),
        ("age, in years", (CovariateTerm("age, in years"),)),
        ("~ 1", ()),
        ([], ()),
    ],
)
def test_ways_to_give_covariates(said, meant):
    assert understand_terms(said, NAMES) == meant


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("~ age * sex", "'age \\* sex' is more than the name of a column"),
        ("~ log(age)", "put a column into the table"),
        ("age,,sex", "is not understood. Give names with commas"),
        ("age,age", "names 'age' twice"),
        ("~ agee", "have no column 'agee'. Did you mean 'age'"),
        (
            "C(region, ref=E)",
            "'E' is not a state of 'region' that the rows show.* Choose from N, S, W",
        ),
    ],
)
def test_covariates_that_cannot_be(frame, said, message):
    with pytest.raises(lacunet.OptionError, match=message):
        lacunet.fit(frame, 2, covariates=said, **QUICK)


def test_constant_and_collinear_covariates(frame):
    with pytest.raises(lacunet.DataError, match="'one' has the same value in every row"):
        lacunet.fit(frame.assign(one=1.5), 2, covariates=["one"], **QUICK)
    months = frame.assign(months=12 * frame["age"])
    with pytest.raises(lacunet.DataError, match="'months' is determined by 'age'"):
        lacunet.fit(months, 2, covariates=["age", "months"], **QUICK)
    with pytest.raises(lacunet.DataError, match="every column is a covariate"):
        lacunet.fit(frame[["age", "region"]], 2, covariates=["age", "region"], **QUICK)
    with pytest.raises(lacunet.OptionError, match="there must be 2 or more"):
        lacunet.fit(frame, 1, covariates=["age"], **QUICK)
    with pytest.raises(lacunet.OptionError, match="neither a network, hidden variables, edges"):
        lacunet.fit(frame, 2, covariates=["age"], hidden=["h"])


def test_missing_covariates_are_never_dropped_without_a_word(frame):
    missing = frame.copy()
    missing.loc[[3, 5, 8], "age"] = np.nan
    missing.loc[[8, 9], "region"] = None
    with pytest.raises(lacunet.DataError) as refused:
        lacunet.fit(missing, 2, covariates=["age", "region"], **QUICK)
    assert "4 of 120 cases lack a covariate ('age' in 3, 'region' in 2)" in str(refused.value)
    assert "missing_covariates='drop'" in str(refused.value)
    regression = lacunet.class_regression(
        missing, 2, ["age", "region"], missing_covariates="drop", **QUICK
    )
    assert regression.table.rows == 116
    assert any("4 of 120 cases lack a covariate" in note for note in regression.table.notes)
    whole = lacunet.fit(frame.drop(index=[3, 5, 8, 9]), 2, covariates=["age", "region"], **QUICK)
    assert regression.log_lik == pytest.approx(whole.log_lik, abs=1e-9)


def test_separating_covariates_are_reported():
    """The second covariate is the first answer itself: the likelihood has no maximum."""
    frame, z = people(150, seed=6)
    separating = frame.assign(tells=(z == 0).astype(float)).drop(columns=["region", "age"])
    fitted = lacunet.fit(separating, 2, covariates=["tells"], estimate="ml", **QUICK)
    held = lacunet.fit(separating, 2, covariates=["tells"], **QUICK)
    assert Kind.SEPARATED in {flag.kind for flag in fitted.flags}
    assert Kind.SEPARATED not in {flag.kind for flag in held.flags}


def test_fit_has_the_options_of_covariates(frame):
    options = {"covariates": "age", "exclude": ["region"], "bootstrap": 3, "level": 0.9}
    fitted = lacunet.fit(frame, 2, **options, **QUICK)
    assert (fitted.intervals.replicates, fitted.level) == (3, 0.9)
    for option, text in (
        ({"bootstrap": 3}, r"bootstrap is about covariates \(lacunet.intervals has it"),
        ({"coefficient_sd": 2.0}, "coefficient_sd is about covariates. Give covariates too"),
    ):
        with pytest.raises(OptionError, match=text):
            lacunet.fit(frame, 2, exclude=["age"], **option, **QUICK)
