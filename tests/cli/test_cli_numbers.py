"""Columns of numbers on the command line: what is printed of them, kept, and refused."""

import re

import numpy as np
import polars as pl
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
    assert chosen.out.startswith("2 classes (")
    assert "ith half and twice the prior strength: 2 (" in chosen.out
    assert "ith a quarter of and four times the variances" in chosen.out
    assert "height: mean" in chosen.out
    assert "height  gaussian     as declared" in chosen.err
    fitted = invoke("fit", people, "--states", 2, *KINDS, *FAST, "--save", "m.json", "--json").json
    assert fitted["data"]["columns"][0]["kind"] == "gaussian"
    scored = invoke("score", people, "--model", "m.json", "--scores", "csl", "--json").json
    assert scored["log_likelihood"] == pytest.approx(fitted["log_likelihood"], abs=1e-9)
    again = invoke("fit", people, "--network", "m.json", *FAST, "--json").json
    assert again["log_likelihood"] == pytest.approx(fitted["log_likelihood"], abs=1e-6)


def test_rows_are_assigned_filled_in_and_drawn(invoke, people, tmp_path):
    incomplete = tmp_path / "holed.csv"
    first, *rows = people.read_text().splitlines()
    incomplete.write_text(
        "\n".join([first, *(r if i % 9 else ",,m" for i, r in enumerate(rows))]) + "\n"
    )
    invoke("fit", incomplete, "--states", 2, *KINDS, *FAST, "--save", "m.json")
    out = tmp_path / "out.csv"
    ran = invoke("assign", incomplete, "--model", "m.json", "--impute", "--output", out, "--json")
    assert ran.json["numbers"] == {"height": 9, "agree": 9}
    got = pl.read_csv(out)
    assert got.columns[3:] == [
        "class", "p(class=1)", "p(class=2)",
        "height (imputed)", "mean(height)", "sd(height)",
        "agree (imputed)", "mean(agree)", "sd(agree)",
    ]  # fmt: skip
    assert got.schema["agree (imputed)"] == pl.Int64
    seen = got.filter(pl.col("height").is_not_null())
    assert (seen["height"] == seen["height (imputed)"]).all()
    assert got["agree (imputed)"].is_in([1, 2, 3, 4, 5]).all()
    invoke("assign", incomplete, "--model", "m.json", "--impute", "--draw", "--output", "drawn.csv")
    other = pl.read_csv("drawn.csv")["height (imputed)"]
    assert (other != got["height (imputed)"]).sum() == 9
    answer = invoke("query", "m.json", "--of", "class", "--given", "height=186.5", "--json").json
    assert max(answer["probabilities"]) > 0.9
    answer = invoke("query", "m.json", "--of", "height", "--given", "agree=1").out
    assert answer.startswith("height | agree = 1")
    drawn = tmp_path / "drawn.csv"
    invoke("simulate", "--model", "m.json", "--rows", 200, "--output", drawn, "--missing-rate", 0.1)
    again = invoke("score", drawn, "--model", "m.json", "--scores", "bic", "--json").json
    assert again["log_likelihood"] < 0
    wrong = tmp_path / "wrong.csv"
    wrong.write_text("height,agree,sex\n170,3,m\n170,9,m\n")
    ran = invoke("assign", wrong, "--model", "m.json", "--output", out)
    assert ran.code == 2
    assert "column 'agree', row 2 (line 3): 9 is not among the answers of the model" in ran.err


def test_a_fit_is_described(invoke, people):
    fit = ("fit", people, "--states", 2, *KINDS, *FAST, "--intervals", "--statistics")
    ran = invoke(*fit, "--report", "page.html", "--json").json
    height = ran["intervals"]["variables"]["height"]
    assert height["sd"]["low"][0] < height["sd"]["estimate"][0] < height["sd"]["high"][0]
    assert ran["fit_statistics"]["goodness_of_fit"] is None
    assert ran["fit_statistics"]["classification"]["class"]["entropy_r2"] > 0.5
    output = invoke(*fit, "--bootstrap", 5).out
    assert "height: mean" in output
    assert "columns of numbers have no table" in output


def test_the_prior_of_numbers_is_an_option(invoke, people):
    run = ("select", people, "--states", 2, "--quick", "--scores", "vb", *KINDS, *FAST, "--json")
    usual, narrow = (invoke(*run, *more).json for more in ((), ("--number-prior", "scale=0.1")))
    factors = [(s["what"], s["factor"]) for s in usual["sensitivity"]]
    assert factors == [("strength", 0.5), ("strength", 2.0), ("scale", 0.25), ("scale", 4.0)]
    values = [d["candidates"][0]["scores"]["vb"]["value"] for d in (usual, narrow)]
    assert abs(values[0] - values[1]) > 0.1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("fit", "--states", 2, *KINDS, "--estimate", "ml"), "the likelihood has no maximum"),
        (("fit", "--states", 2, *KINDS, "--save", "m.bif"), "BIF is a format for categories"),
        (("fit", "--states", 2, *KINDS, "--missing-as-state"), "answer of categories only"),
        (("lrt", "--states", 1, *KINDS), "by their evidence"),
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


MISTAKES = {
    "inf": ("inf", "a=gaussian,b=gaussian", r"column 'a', row 8 \(line 9\): 'inf' is not finite"),
    "text": ("tall", "a=gaussian,b=gaussian", r"column 'a', row 8 \(line 9\): 'tall' is not a num"),
    "negative": ("-2", "a=poisson,b=gaussian", r"column 'a', row 8 \(line 9\): -2 is not a count"),
    "fraction": (
        "2.5",
        "a=poisson,b=gaussian",
        r"column 'a', row 8 \(line 9\): 2.5 is not a count",
    ),
    "nobody": ("2", "aa=poisson,b=gaussian", r"there is no column 'aa' .*Did you mean 'a'"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_values_that_cannot_be_are_named_with_their_row(invoke, tmp_path, mistake):
    cell, kinds, words = MISTAKES[mistake]
    rng = np.random.default_rng(0)
    rows = [f"{rng.integers(0, 9)},{rng.normal():.3f}" for _ in range(30)]
    rows[7] = f"{cell},0.5"
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n" + "\n".join(rows) + "\n")
    ran = invoke("fit", path, "--states", 2, "--kinds", kinds, "--covariance", "full", *FAST)
    assert ran.code == 2
    assert re.search(words, ran.err), ran.err
    assert "Traceback" not in ran.err


def test_blocks_that_have_no_density_are_refused_and_those_with_few_pairs_flagged(invoke, tmp_path):
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 40)).round(3)
    half = np.arange(40) % 2 == 0
    frames = {
        "same": pl.DataFrame({"a": a, "b": 2.0 * a}),
        "one value": pl.DataFrame({"a": a, "b": np.full(40, 1.5)}),
        "few pairs": pl.DataFrame(
            {"a": np.where(half, a, np.nan), "b": np.where(half, np.nan, b)}
        ).fill_nan(None),
    }
    results = {}
    for name, frame in frames.items():
        path = tmp_path / f"{name}.csv"
        frame.write_csv(path)
        options = ("--kinds", "a=gaussian,b=gaussian", "--covariance", "full", *FAST)
        results[name] = invoke("fit", path, "--states", 2, *options)
    assert results["same"].code == results["one value"].code == 2
    assert "'a' and 'b' are linear functions" in results["same"].err
    assert "column 'b' has only one value, 1.5" in results["one value"].err
    assert results["few pairs"].code == 0
    assert "few pairs: 'a' and 'b' are observed together in 0 cases" in results["few pairs"].out
