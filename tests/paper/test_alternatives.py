"""Other ways up and to the Hessian: they agree where they should, and the study goes on."""

import numpy as np
import pytest
from small_studies import TINY

from lacunet.fitting.fit import Options, learn
from lacunet.fitting.objective import Estimate, Objective
from lacunet.models.conjugacy import moved
from lacunet.scores import ScoreInput
from lacunet.scores.approximations import laplace
from lacunet.settings import Settings
from problems import build, make, make_case
from studies.__main__ import main
from studies.alternatives import second_derivatives as by
from studies.alternatives.climbing import climb, conjugate_gradients, em, quasi_newton
from studies.alternatives.ratio_tests import ratio_tests
from studies.alternatives.study import compare_alternatives

OPTIONS = {"datasets": 1, "design": TINY, "settings": Settings(starts=4, threads=1)}


def top_of(case):
    """A maximum of the posterior, and what is climbed."""
    fit = learn(case.problem, Options(starts=6))
    return fit, Objective.build(case.problem, Estimate.MAP)


CASES = {
    "classes": make_case([2, 3, 2, 2], 2, 80, seed=1, alpha=2.0),
    "holes": make_case([2, 2, 2, 2, 3], 2, 90, missing=0.2, seed=2, alpha=2.0),
    "chain": make(
        build("g>h g>a g>b h>c h>d", {"g": 2, "h": 2, "a": 3, "b": 2, "c": 2, "d": 3}, "gh"),
        120,
        alpha=2.0,
        seed=3,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_every_way_ends_at_the_same_maximum(name):
    """From the same place, not far from the top; the gradient vanishes there."""
    case = CASES[name]
    fit, _ = top_of(case)
    noise = np.random.default_rng(0).normal(scale=0.2, size=case.layout.size)
    start = moved(fit.model.theta, noise, case.layout)
    ends = [climb(way, case.problem, start) for way in (em, conjugate_gradients, quasi_newton)]
    assert all(end.converged for end in ends)
    assert [end.g for end in ends] == pytest.approx([fit.log_posterior] * 3, abs=1e-6)
    assert all(1 <= end.near <= end.steps for end in ends)


@pytest.mark.parametrize("name", CASES)
def test_hessians_agree(name):
    """Finite differences to 7 digits; supplemented EM to 4; both with Laplace's score itself."""
    case = CASES[name]
    fit, objective = top_of(case)
    theta = fit.model.theta
    exact = by.exact(objective, theta)
    differences = by.finite_differences(objective, theta)
    supplemented = by.supplemented_em(objective, theta)
    assert by.largest_difference(differences.A, exact.A) < 1e-7
    assert by.largest_difference(supplemented.A, exact.A) < 3e-4
    assert supplemented.log_det == pytest.approx(exact.log_det, abs=2e-3)
    assert differences.passes == 2 * case.network.dimension
    score = laplace(ScoreInput(case.problem, theta))
    assert score.terms["−½ log|A|"] == pytest.approx(-exact.log_det / 2, abs=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_ratio_tests_multiply_to_the_determinant(name):
    case = CASES[name]
    fit, objective = top_of(case)
    tests = ratio_tests(case.problem, fit.model.theta)
    exact = by.exact(objective, fit.model.theta).log_det
    assert tests.log_det == pytest.approx(exact, abs=0.05)


def test_where_it_is_no_maximum_there_is_no_determinant():
    """Two equal classes: a saddle, on which EM stands still."""
    case = make_case([2, 2, 2], 2, 60, seed=5, alpha=1.5, true_classes=3)
    objective = Objective.build(case.problem, Estimate.MAP)
    point = objective.at(np.full(case.layout.size, 0.5))
    for _ in range(3):
        point = objective.em_step(point)
    assert np.abs(objective.gradient(point)).max() < 1e-9
    saddle = by.exact(objective, point.theta)
    assert np.linalg.eigvalsh(saddle.A).min() < 0
    assert saddle.log_det is None
    assert by.finite_differences(objective, point.theta).log_det is None


def test_an_asymmetric_hessian_is_reported():
    assert by.Curvature(np.array([[4.0, 1.0], [0.0, 1.0]]), 1, 0.0).asymmetry == 0.5


@pytest.mark.slow
def test_the_study_is_written_and_resumes(tmp_path):
    result = compare_alternatives(tmp_path, **OPTIONS)
    endings = {f"alternatives.{e}" for e in ("jsonl", "json", "md", "html")}
    assert {p.name for p in tmp_path.iterdir()} == endings
    before = (tmp_path / "alternatives.jsonl").read_bytes()
    assert compare_alternatives(tmp_path, **OPTIONS).hessians == result.hessians
    assert (tmp_path / "alternatives.jsonl").read_bytes() == before
    assert [row["n"] for row in result.ascents] == [4, 5]
    assert "supplemented EM" in result.page.read_text(encoding="utf-8")
    assert "conjugate gradients" in str(result)


@pytest.mark.slow
def test_the_command_writes_the_study(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(compare_alternatives.__kwdefaults__, "design", TINY)
    folder = tmp_path / "ways"
    ask = ["alternatives", "--out", str(folder), "--datasets", "1", "--threads", "1"]
    assert main(ask) == 0
    assert "Ways up" in capsys.readouterr().out
    page = (folder / "alternatives.html").read_text(encoding="utf-8")
    assert f"python -m studies alternatives --out {folder} --models 1 --datasets 1" in page


def test_what_the_command_refuses(tmp_path, capsys):
    folder = tmp_path / "x"
    ask = ["calibration", "--out", str(folder), "--cells", "reference,nowhere"]
    assert main(ask) == 2
    known = "'nowhere' is not a cell of this study. Choose from posteriors, verdicts"
    assert known in capsys.readouterr().err
    assert main(["truth", "--out", str(folder), "--models", "0"]) == 2
    assert "0 models: there must be at least 1." in capsys.readouterr().err
    assert not folder.exists()
