"""Columns of numbers on the command line: what is printed of them, kept, and refused."""

import numpy as np
import pytest

KINDS = ("--kinds", "height=gaussian,agree=ordinal")
FAST = ("--starts", 4, "--threads", 1)


@pytest.fixture
def people(tmp_path):
    rng = np.random.default_rng(0)
    tall = rng.random(80) < 0.5
    height = rng.normal(np.where(tall, 185.0, 160.0), 5.0).round(1)
    agree = 1 + rng.binomial(4, np.where(tall, 0.2, 0.8))
    sex = np.where(rng.random(80) < np.where(tall, 0.8, 0.3), "m", "f")
    path = tmp_path / "people.csv"
    rows = zip(height, agree, sex, strict=True)
    path.write_text("height,agree,sex\n" + "".join(f"{h},{a},{s}\n" for h, a, s in rows))
    return path


def test_a_model_is_chosen_kept_and_scored(invoke, people):
    chosen = invoke("select", people, "--states", "1:3", "--quick", *KINDS, *FAST)
    assert chosen.code == 0
    assert chosen.out.startswith("2 hidden classes")
    assert "The same question with another scale of the prior" in chosen.out
    assert "height: mean" in chosen.out
    assert "height  gaussian     as declared" in chosen.err
    fitted = invoke("fit", people, "--states", 2, *KINDS, *FAST, "--save", "m.json", "--json").json
    assert fitted["data"]["columns"][0]["kind"] == "gaussian"
    scored = invoke("score", people, "--model", "m.json", "--scores", "csl", "--json").json
    assert scored["log_likelihood"] == pytest.approx(fitted["log_likelihood"], abs=1e-9)
    again = invoke("fit", people, "--network", "m.json", *FAST, "--json").json
    assert again["log_likelihood"] == pytest.approx(fitted["log_likelihood"], abs=1e-6)


def test_the_prior_of_numbers_is_an_option(invoke, people):
    run = ("select", people, "--states", 2, "--quick", "--scores", "vb", *KINDS, *FAST, "--json")
    usual, narrow = (invoke(*run, *more).json for more in ((), ("--number-prior", "scale=0.1")))
    assert [s["factor"] for s in usual["sensitivity"]] == [0.25, 4.0]
    values = [d["candidates"][0]["scores"]["vb"]["value"] for d in (usual, narrow)]
    assert abs(values[0] - values[1]) > 0.1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("fit", "--states", 2), "holds continuous numbers"),
        (("fit", "--states", 2, *KINDS, "--estimate", "ml"), "the likelihood has no maximum"),
        (("fit", "--states", 2, *KINDS, "--intervals"), "here only categories can be"),
        (("fit", "--states", 2, *KINDS, "--report", "page.html"), "here only categories can be"),
        (("fit", "--states", 2, *KINDS, "--missing-as-state"), "answer of categories only"),
        (("select", *KINDS, "--number-prior", "scale=-1"), "must be above 0"),
        (("select", "--kinds", "heigth=gaussian"), "Did you mean 'height'"),
        (("evidence", "--states", 2, "--kinds", "auto,sex=gaussian"), "is not a number"),
    ],
)
def test_what_cannot_be_is_refused(invoke, people, arguments, words):
    command, *rest = arguments
    ran = invoke(command, people, *rest)
    assert ran.code == 2
    assert words in ran.err
