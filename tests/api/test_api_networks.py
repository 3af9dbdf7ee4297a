"""Networks through Python: questions, hidden variables of a model, imputed cells."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given

import lacunet
import oracle
from examples import examples
from lacunet import api
from lacunet.errors import DataError, ModelError, OptionError
from lacunet.models.surgery import hide
from problems import build, make, network_cases


@pytest.fixture(scope="module")
def case():
    network = build("a>H H>x H>y G>y", {"a": 2, "H": 3, "x": 2, "y": 3, "G": 2}, "HG")
    return make(network, 12, missing=0.3, seed=2)


def frame(case):
    network = case.network
    cells = {
        network.variables[v].name: [None if x < 0 else int(x) for x in case.codes[:, j]]
        for j, v in enumerate(network.observed)
    }
    return pd.DataFrame(cells, dtype=object)


def test_one_question(case):
    p = oracle.joint(case.oracle())
    names = [v.name for v in case.network.variables]
    for query, seen in (
        (["H"], {}),
        (["y", "H"], {"a": 1}),
        (["G", "x", "a"], {"y": 2, "a": 0}),
        (["y"], {"y": 1}),
    ):
        row = [seen.get(name, -1) for name in names]
        q = oracle.row_posterior(p, row)[0]
        expected = oracle.marginal(q, [names.index(name) for name in query])
        np.testing.assert_allclose(lacunet.query(case.model, query, seen), expected, atol=1e-12)
    np.testing.assert_allclose(lacunet.query(case.model, "a"), case.model.table("a"))


def test_a_question_for_each_row(case):
    answer = lacunet.query(case.model, ["G", "H"], frame(case))
    assert answer.shape == (12, 2, 3)
    p = oracle.joint(case.oracle())
    names = [v.name for v in case.network.variables]
    for row, got in zip(case.rows, answer, strict=True):
        q = oracle.row_posterior(p, row)[0]
        expected = oracle.marginal(q, [names.index("G"), names.index("H")])
        np.testing.assert_allclose(got, expected, atol=1e-12)


def test_evidence_that_cannot_be(case):
    theta = case.theta.copy()
    case.layout.table(theta, 2)[:] = [1.0, 0.0]  # x is always 0
    model = lacunet.Model(case.network, theta, case.alpha)
    assert np.isnan(lacunet.query(model, ["H", "G"], {"x": 1})).all()
    assert lacunet.query(model, "H", {"x": 0}).sum() == pytest.approx(1)


def test_questions_that_make_no_sense(case):
    for variables, evidence, error, text in (
        ("h", {}, ModelError, "'h' is not a variable of the network. Did you mean 'H'"),
        ([], {}, OptionError, "name one or more different variables"),
        (["H", "H"], {}, OptionError, "name one or more different variables"),
        ("H", {"q": 1}, ModelError, "'q' is not a variable of the network"),
        ("H", {"x": 7}, DataError, "'x': '7' is not one of its states. They are 0, 1."),
    ):
        with pytest.raises(error, match=text):
            lacunet.query(case.model, variables, evidence)


@examples(30)
@given(network_cases(max_variables=5, hidden=False))
def test_hiding_is_never_seeing(case):
    """A variable declared hidden says the same as one whose column is empty."""
    names = [v.name for v in case.network.variables]
    secret = names[::2][: max(1, len(names) // 2)]
    if len(secret) == len(names):
        return
    model = hide(case.model, secret)
    assert [model.network.variables[h].name for h in model.network.hidden] == sorted(secret)
    empty = case.codes.copy()
    empty[:, [names.index(name) for name in secret]] = -1
    kept = [j for j, name in enumerate(names) if name not in secret]
    for name in names:
        np.testing.assert_allclose(model.table(name), case.model.table(name))
    from lacunet.inference.queries.query import posterior

    groups = [(v,) for v in range(len(names))]
    hidden = posterior(model, case.codes[:, kept], groups)
    for a, b in zip(hidden, posterior(case.model, empty, groups), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_assign_fills_in_what_each_row_lacks(case):
    assignment = api.assign(frame(case), case.model, impute=True)
    names = [v.name for v in assignment.variables]
    assert names[:2] == ["H", "G"]
    assert set(names) <= {"H", "G", "a", "x", "y"}
    p = oracle.joint(case.oracle())
    columns = [v.name for v in case.network.variables]
    for v in assignment.variables:
        i = columns.index(v.name)
        for r, row in enumerate(case.rows):
            expected = oracle.marginal(oracle.row_posterior(p, row)[0], [i])
            np.testing.assert_allclose(v.probabilities[r], expected, atol=1e-12)
            assert v.best[r] == expected.argmax()
            assert v.missing[r] == (row[i] < 0)


def test_assign_takes_columns_that_are_absent_for_unobserved(case):
    whole = frame(case)
    absent = api.assign(whole.drop(columns="x"), case.model, impute=True)
    empty = api.assign(whole.assign(x=None), case.model, impute=True)
    for one, other in zip(absent.variables, empty.variables, strict=True):
        assert one.name == other.name
        np.testing.assert_array_equal(one.probabilities, other.probabilities)


def test_a_prior_for_each_family(case):
    """Numbers and tables, by child; what is left out or has another shape is refused."""
    alpha = {"a": 2.0, "H": [[1, 2, 3], [3, 2, 1]], "x": 1.5, "y": 1.1, "G": [2, 2]}
    fitted = api.fit(case.table, network=case.network, alpha=alpha, starts=2, threads=1)
    assert fitted.model.network.layout.table(fitted.model.alpha, 1).tolist() == alpha["H"]
    for change, text in (
        ({"H": [1, 2, 3]}, r"alpha of 'H' has shape \(3,\); give a number, or \(2, 3\)"),
        ({"q": 1}, "alpha names 'q', which is not a variable of the network"),
        ({"G": -1}, "alpha of 'G': every exponent must be a number above 0"),
    ):
        with pytest.raises(OptionError, match=text):
            api.fit(case.table, network=case.network, alpha=alpha | change, starts=2)
    del alpha["G"]
    with pytest.raises(OptionError, match="alpha has no entry for the family of 'G'"):
        api.fit(case.table, network=case.network, alpha=alpha, starts=2)
