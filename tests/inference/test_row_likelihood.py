"""log p(row | θ), row by row: against enumeration, and against the sum that learning uses."""

import numpy as np
import pytest
from hypothesis import given

import oracle
from examples import examples
from lacunet.inference.classes import expect
from lacunet.inference.queries.answers import row_log_lik
from problems import MODES, build, engine, make, network_cases


@pytest.mark.parametrize("mode", MODES)
@examples(60)
@given(case=network_cases(zeros=True))
def test_each_row_has_its_probability(mode, case):
    p = oracle.joint(case.oracle())
    expected = np.array([oracle.row_posterior(p, row)[1] for row in case.rows])
    with engine(mode):
        log_likelihoods = row_log_lik(case.model, case.codes)
    possible = expected > 0
    assert (log_likelihoods[~possible] == -np.inf).all()
    np.testing.assert_allclose(
        log_likelihoods[possible], np.log(expected[possible]), rtol=1e-11, atol=1e-12
    )


def test_the_rows_add_up_to_the_log_likelihood():
    network = build("H>a H>b H>c b>d", {"H": 3, "a": 2, "b": 3, "c": 4, "d": 2}, "H")
    case = make(network, 400, missing=0.3, seed=2)
    total = row_log_lik(case.model, case.codes) @ case.counts
    assert total == pytest.approx(expect(case.problem, case.theta).log_lik, rel=1e-12)
