"""Direct effects that residuals point to: tried, weighed as fits of their own are, and kept."""

import json

import numpy as np
import pytest

import lacunet
from lacunet.selection.average import price

FEW = {"starts": 4, "threads": 1}


@pytest.fixture(scope="module")
def answers():
    """Two classes; B copies A, and F copies C, in 40 of 100."""
    rng = np.random.default_rng(1)
    members = rng.integers(0, 2, 600)
    items = {n: np.where(rng.random(600) < 0.8, members, 1 - members) for n in "ABCDEFG"}
    items["B"] = np.where(rng.random(600) < 0.4, items["A"], items["B"])
    items["F"] = np.where(rng.random(600) < 0.4, items["C"], items["F"])
    return items


@pytest.fixture(scope="module")
def effects(answers):
    return lacunet.add_direct_effects(answers, 2, **FEW)


def test_what_goes_together_is_found(effects):
    assert sorted(effects.edges) == ["A:B", "C:F"]
    assert effects.pairs == 21
    assert [t.step for t in effects.trials if t.accepted] == [0, 1]
    kept = [t for t in effects.trials if t.accepted and t.adds]
    assert not any(t.accepted for t in effects.trials if not t.adds)  # each was left out for a try
    assert {":".join(t.edge) for t in effects.trials if not t.adds} == set(effects.edges)
    assert all(t.gain > t.price and t.ratio.p_value < 1e-6 and t.change_of_bic < 0 for t in kept)
    assert f"{len(effects.trials)} tried, kept: {', '.join(effects.edges)}" in str(effects)


def test_the_model_is_that_of_its_edges(effects, answers):
    expected = lacunet.fit(answers, 2, edges=effects.edges, **FEW)
    assert effects.model.network == expected.model.network
    assert effects.fit.log_lik == pytest.approx(expected.log_lik, abs=1e-6)
    assert (effects.model.posterior > 0).all()


def test_a_trial_has_the_worth_of_separate_fits(effects, answers):
    first = next(t for t in effects.trials if t.accepted)
    edges = [], [":".join(first.edge)]
    likelihoods = [lacunet.fit(answers, 2, edges=e, estimate="ml", **FEW).log_lik for e in edges]
    gain = likelihoods[1] - likelihoods[0]
    assert first.ratio.statistic == pytest.approx(2 * gain, abs=1e-5)
    assert first.ratio.df == 2
    assert first.change_of_bic == pytest.approx(2 * np.log(600) - 2 * gain, abs=1e-5)
    options = {"scores": "csl", "quick": True, **FEW}
    scores = [
        lacunet.select(answers, [2], edges=e, **options).candidates[0].scores["csl"].value
        for e in edges
    ]
    assert first.gain == pytest.approx(scores[1] - scores[0], abs=1e-5)


def test_nothing_is_kept_where_classes_explain_all():
    rng = np.random.default_rng(3)
    members = rng.integers(0, 2, 500)
    items = {n: np.where(rng.random(500) < 0.8, members, 1 - members) for n in "ABCDEF"}
    effects = lacunet.add_direct_effects(items, 2, **FEW)
    assert effects.edges == ()
    assert effects.fit.log_lik == pytest.approx(lacunet.fit(items, 2, **FEW).log_lik)
    assert "none pays" in str(effects)


def test_prices_are_those_of_sets_of_edges():
    """Each edge more is half as probable, and all sets of as many are alike."""
    from math import comb, log

    for position in range(5):
        odds = (0.5 ** (position + 1) / comb(21, position + 1)) / (
            0.5**position / comb(21, position)
        )
        assert price(position, 21) == pytest.approx(-log(odds))
    assert price(20, 21) == 0.0


def test_on_the_command_line(answers, tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from lacunet.cli.app import app

    monkeypatch.chdir(tmp_path)
    rows = zip(*answers.values(), strict=True)
    lines = [",".join(answers), *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "d.csv").write_text("\n".join(lines) + "\n")

    def run(*given):
        options = ("fit", "d.csv", "--classes", "2", "--starts", "4", "--threads", "1")
        return CliRunner().invoke(app, [*options, "--residuals", "add", *given])

    ran = run("--save", "m.json", "--statistics", "--report", "r.html", "--json")
    assert ran.exit_code == 0, ran.stderr
    document = json.loads(ran.stdout)
    assert sorted(document["direct_effects"]["accepted"]) == ["A:B", "C:F"]
    assert document["dimension"] == 2 * 9 + 1
    assert "Direct effects beside the classes" in (tmp_path / "r.html").read_text()
    saved = lacunet.read_model(tmp_path / "m.json").network
    assert {len(p) for p in saved.parents} == {0, 1, 2}
    for given, words in (
        (("--network", "class[2] -> A B"), "--network cannot be given with --residuals"),
        (("--tables", "t.csv"), "--tables cannot be given with --residuals"),
        (("--group", "A"), "--residuals cannot be given with --group"),
        (("--covariates", "A"), "--residuals cannot be given with --covariates"),
    ):
        refused = run(*given)
        assert refused.exit_code == 2
        assert words in " ".join(refused.stderr.split())
