"""Groups on the command line, with the mistakes that people make."""

import json

import numpy as np
import pytest

OPTIONS = ("--states", "2", "--starts", "2", "--threads", "1")


@pytest.fixture
def people(tmp_path):
    """Two groups of 100; `b` is a matter of chance in the second."""
    rng = np.random.default_rng(0)
    z = rng.random(200) < np.tile([0.3, 0.6], 100)
    answers = np.where(rng.random((4, 200)) < 0.85, z, ~z).astype(int)
    answers[1, 1::2] = rng.random(100) < 0.5
    rows = [f"{'fm'[i % 2]},{','.join(map(str, answers[:, i]))},{0.5 + i % 3}" for i in range(200)]
    path = tmp_path / "people.csv"
    path.write_text("\n".join(["sex,a,b,c,d,w", *rows]) + "\n")
    return path


def test_fit_with_groups(invoke, people):
    written = ("--save", "m.json", "--tables", "t.csv", "--plot", "p.svg")
    ran = invoke(
        "fit", people, *OPTIONS, "--exclude", "w", "--group", "sex", "--quick", *written, "--json"
    )
    assert ran.code == 0, ran.err
    document = ran.json
    assert document["answer"] == "partly equal"
    assert document["free_items"] == ["b"]
    assert set(document["models"]) == {"equal", "partly equal", "free"}
    assert document["cases"] == [100, 100]
    assert [item["edge"] for item in document["items"] if item["accepted"]] == [["sex", "b"]]
    assert document["tests"][0]["df"] == 2
    # The model is a network with the group in it: rows are assigned as by any other.
    rows = invoke("assign", people, "--model", "m.json", "-o", "out.csv")
    assert rows.code == 0, rows.err
    assert "profiles,log L,d,AIC,BIC,log evidence" in (people.parent / "t.csv").read_text()
    assert json.loads((people.parent / "m.json").read_text())
    assert "all groups" in (people.parent / "p.svg").read_text()


def test_items_are_named_and_weights_taken(invoke, people):
    options = ("--group", "sex", "--weights", "w", "--free", "a,b", "--quick", "--intervals")
    ran = invoke("fit", people, *OPTIONS, *options, "--report", "r.html")
    assert ran.code == 0, ran.err
    page = (people.parent / "r.html").read_text()
    assert "Are the classes the same by sex?" in page
    assert "partly equal against free" in page
    assert "Profiles by sex" in page
    assert "Precision" in page
    assert "partly equal against free" in ran.out
    assert "Weights of a survey are scaled" in ran.out
    assert "Probabilities with standard errors" in ran.out


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--group", "gender"), "group 'gender' is not a column of the data"),
        (("--group", "sex", "--free", "e"), "--free names 'e', which is not an item"),
        (("--group", "sex", "--columns", "a,sex"), "Leave it out of --columns"),
        (("--group", "sex", "--like", "x.json"), "--like cannot be given with --group, which"),
        (("--group", "sex", "--covariates", "a"), "--group cannot be given with --covariates"),
        (("--group", "sex", "--edge", "a:b"), "--edge cannot be given with --group"),
        (("--group", "sex", "--dry-run"), "--dry-run cannot be given with --group"),
        (("--group", "sex", "--plot", "p.gif"), "figures are written to .svg, .pdf or .png"),
        (
            ("--group", "sex", "--columns", "w", "--kinds", "w=gaussian", "--plot", "p.png"),
            "--plot draws answers, and every column here is a number",
        ),
        (("--free", "a"), "--free is about groups. Give --group too"),
        (("--quick",), "--quick is about groups. Give --group too"),
        (("--evidence",), "Give --covariates or --group too"),
    ],
)
def test_mistakes(invoke, people, given, message):
    ran = invoke("fit", people, *OPTIONS, *given)
    assert ran.code == 2
    assert message in " ".join(ran.err.split())


def test_groups_are_of_classes(invoke, people):
    ran = invoke("fit", people, "--network", "class[2] -> a b c", "--group", "sex")
    assert "--network cannot be given with --group" in " ".join(ran.err.split())
