"""ICL by hand and by enumeration."""

import numpy as np
import pytest
from hypothesis import given

import oracle
from examples import examples
from lacunet.scores import BIC, ICL, ScoreInput
from problems import build, cases, make


def at(case, **options):
    return ScoreInput(case.problem, case.theta, **options)


# ICL.


@examples(40)
@given(cases(max_rows=15, max_classes=4))
def test_icl_takes_the_entropy_of_the_classes_from_bic(case):
    """Cells that are missing are not classes: their entropy does not count."""
    weights, *tables = case.tables()
    entropy = 0.0
    for (_, *row), n in zip(case.rows, case.counts, strict=True):
        if any(x >= 0 for x in row):
            seen = [t[:, x] for t, x in zip(tables, row, strict=True) if x >= 0]
            p = weights * np.prod(seen, axis=0)
            p = p / p.sum()
            entropy -= n * float(np.sum(p * np.log(p)))
    score = ICL(at(case))
    assert score.value == pytest.approx(BIC(at(case)).value - entropy, abs=1e-8)
    assert score.terms["−H(hidden|D,θ)"] == pytest.approx(-entropy, abs=1e-8)


def test_icl_of_a_network_takes_the_entropy_of_all_hidden_values():
    network = build("H>G H>a G>b G>c", {"H": 2, "G": 3, "a": 2, "b": 2, "c": 3}, "HG")
    case = make(network, 20, seed=3)
    entropy = oracle.entropy(case.oracle(), case.rows, case.counts)
    assert ICL(at(case)).value == pytest.approx(BIC(at(case)).value - entropy, abs=1e-8)
