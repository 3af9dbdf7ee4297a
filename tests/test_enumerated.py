"""Learning, scores and measured evidence on the enumeration plan: any plan gives the same."""

import numpy as np
import pytest

from enumeration import enumerated
from lacunet.evidence.exact import exact_evidence
from lacunet.evidence.smc import run_particles
from lacunet.fitting.fit import Options, learn
from lacunet.inference.classes import expect
from lacunet.inference.hessian import negative_hessian, softmax_hessian
from lacunet.inference.plans.plan import free_coordinates
from lacunet.scores import ScoreInput, choose_scores
from problems import build, make

NETWORKS = {
    "latent class": build("H>a H>b H>c", {"H": 2, "a": 2, "b": 3, "c": 2}, "H"),
    "two hidden": build(
        "G>a H>a H>b G>c H>d", {"G": 2, "H": 2, "a": 2, "b": 2, "c": 3, "d": 2}, "GH"
    ),
    "missing values only": build("a>b a>c b>d c>d", {"a": 2, "b": 3, "c": 2, "d": 2}),
}
networks = pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)


def case_of(network, rows=12):
    return make(network, rows, missing=0.15, seed=4, alpha=1.5)


@networks
def test_learning(network):
    case = case_of(network)
    options = Options(starts=2, seed=1)
    ours, theirs = (learn(p, options) for p in (case.problem, enumerated(case.problem)))
    assert theirs.point.g == pytest.approx(ours.point.g, abs=1e-8)
    assert theirs.log_lik == pytest.approx(ours.log_lik, abs=1e-6)
    assert theirs.gradient < 1e-6


@networks
def test_curvature(network):
    case = case_of(network)
    both = [case.problem, enumerated(case.problem)]
    at = free_coordinates(case.layout, case.theta)
    A, B = (np.tril(negative_hessian(p, case.theta, at)) for p in both)
    np.testing.assert_allclose(A, B, rtol=1e-8, atol=1e-8)
    N = expect(case.problem, case.theta).N
    A, B = (softmax_hessian(p, case.theta, N, at) for p in both)
    np.testing.assert_allclose(A, B, rtol=1e-8, atol=1e-8)


@networks
def test_scores(network):
    case = case_of(network)
    theta = learn(case.problem, Options(starts=4)).model.theta
    scores = choose_scores("laplace,csl,cs,mled,vb,draper,bic,icl")
    for score in scores:
        ours, theirs = (
            score(ScoreInput(p, theta)).value for p in (case.problem, enumerated(case.problem))
        )
        assert theirs == pytest.approx(ours, abs=1e-6, nan_ok=True), score.name


@pytest.mark.slow
@networks
def test_evidence(network):
    case = case_of(network, rows=6)
    problem = enumerated(case.problem)
    truth = exact_evidence(case.problem).value
    assert exact_evidence(problem).value == pytest.approx(truth, abs=1e-9)
    runs = np.array([run_particles(problem, 10, (0, i)).log_evidence for i in range(30)])
    w = np.exp(runs - truth)
    assert w.mean() == pytest.approx(1.0, abs=4.5 * w.std() / np.sqrt(len(w)))
