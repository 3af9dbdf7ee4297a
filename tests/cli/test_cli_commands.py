"""Every command, as a user runs it."""

import csv
import json
import math

import numpy as np
import pytest

import lacunet as package

SCORES = {"laplace", "csl", "csl-occupied", "vb", "cs", "mled", "draper", "bic"}


def check_scores(scores):
    for name, score in scores.items():
        assert {"value", "terms", "flags"} <= set(score), name
        assert score["value"] == pytest.approx(sum(score["terms"].values()), abs=1e-9)


@pytest.mark.slow
def test_select_prints_the_result_on_stdout_and_the_rest_on_stderr(lacunet, carcinoma, tmp_path):
    words = ("select", carcinoma, "--weights", "count", "--states", "1:4", "--quick")
    ran = lacunet(*words)
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert lines[0].startswith("3 classes (probability 0.88")
    assert ", among 1 to 4; 4: 0.118), approximated, not calibrated." in lines[0]
    assert any(line.startswith("classes  probability") for line in lines)
    assert lines[-1].endswith("--classes 3 --intervals --save model.json")
    everything = lacunet(*words, "--verbose").out.splitlines()
    assert "Candidates" in everything
    assert "Scores: log marginal likelihoods in nats" in everything
    assert any(line.startswith("size ") for line in lines)
    assert "\x1b" not in ran.out + ran.err
    assert "20 rows, 20 distinct, total weight 118 (column 'count'); 7 columns" in ran.err
    assert "preparing" in ran.err
    assert "100%" in ran.err
    assert "is right" not in ran.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_select_json(lacunet, carcinoma):
    ran = lacunet("select", carcinoma, "--weights", "count", "--states", "1:3", "--json")
    document = ran.json
    assert {"data", "seed", "candidates", "chosen", "posterior"} <= set(document)
    data = document["data"]
    assert (data["rows"], data["distinct_rows"], data["weight"]) == (20, 20, 118)
    assert [c["name"] for c in data["columns"]] == list("ABCDEFG")
    assert document["seed"] == 0
    assert [c["states"] for c in document["candidates"]] == [1, 2, 3]
    for c in document["candidates"]:
        assert {
            "states",
            "dimension",
            "log_likelihood",
            "log_posterior",
            "status",
            "iterations",
            "flags",
            "scores",
            "seconds",
        } <= set(c)
        assert c["dimension"] == c["states"] - 1 + 7 * c["states"]
        assert set(c["scores"]) >= SCORES
        check_scores(c["scores"])
        assert set(c["seconds"]) == {"em", *c["scores"]}
    # With one class nothing is hidden, so the evidence is known exactly.
    assert set(document["candidates"][0]["scores"]) == {*SCORES, "bd"}
    assert document["candidates"][2]["log_likelihood"] == pytest.approx(-293.805, abs=1e-3)
    assert set(document["chosen"]) == set(document["posterior"]) == {*SCORES, "evidence"}
    certainty = document["certainty"]
    assert certainty["basis"] == "measured"
    assert certainty["probabilities"] == document["posterior"]["evidence"]
    assert certainty["log_bayes_factors"]["3"] == {"value": 0.0, "stderr": 0.0}
    assert document["chosen"]["cs"] == 3
    for chances in document["posterior"].values():
        assert set(chances) == {"1", "2", "3"}
        assert sum(chances.values()) == pytest.approx(1)


@pytest.mark.slow
def test_select_saves_everything(lacunet, carcinoma, tmp_path):
    folder = tmp_path / "new" / "folder"
    arguments = ("select", carcinoma, "--weights", "count", "--states", "1:3", "--json")
    ran = lacunet(*arguments, "--save", folder)
    assert f"written: {folder}" in ran.err
    names = {p.name for p in folder.iterdir()}
    models = {f"model-{k}.json" for k in (1, 2, 3)}
    assert names == {"selection.json", "selection.txt", "candidates.csv"} | models
    assert [p.name for p in folder.parent.iterdir()] == ["folder"]
    printed = ran.json
    saved = json.loads((folder / "selection.json").read_text("utf-8"))
    assert saved == {"format": "lacunet-document/2", **printed}
    assert (folder / "selection.txt").read_text("utf-8").startswith("At least 3 classes (")
    with (folder / "candidates.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    for line, c in zip(lines, printed["candidates"], strict=True):
        assert int(line["states"]) == c["states"]
        assert float(line["log_likelihood"]) == c["log_likelihood"]
        assert float(line["cs"]) == c["scores"]["cs"]["value"]
        head = printed["headline"]
        assert float(line[f"p_{head}"]) == printed["posterior"][head][line["states"]]
        model = package.read_model(folder / f"model-{c['states']}.json")
        scores = package.score(carcinoma, model, weights="count")
        assert scores.log_likelihood == pytest.approx(c["log_likelihood"], abs=1e-9)
        assert scores.evidence["cs"].value == pytest.approx(c["scores"]["cs"]["value"], abs=1e-8)
    assert lines[0]["bd"] != ""
    assert lines[1]["bd"] == ""


def test_a_saved_folder_keeps_what_else_is_in_it(invoke, carcinoma, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "notes.md").write_text("mine")
    (folder / "selection.txt").write_text("old")
    options = ("--weights", "count", "--states", "1,2", "--starts", "4", "--scores", "bic")
    assert invoke("select", carcinoma, *options, "--save", folder).code == 0
    assert (folder / "notes.md").read_text() == "mine"
    assert "At least 2 classes" in (folder / "selection.txt").read_text("utf-8")
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


@pytest.mark.slow
def test_fit_writes_a_model_that_reads_back_to_the_last_bit(lacunet, carcinoma, tmp_path):
    path = tmp_path / "made" / "on" / "the" / "way.json"
    options = ("--weights", "count", "--states", "2", "--seed", "5", "--starts", "8")
    ran = lacunet("fit", carcinoma, *options, "--save", path, "--json")
    assert f"written: {path}" in ran.err
    here = package.fit(carcinoma, 2, weights="count", seed=5, starts=8)
    read = package.read_model(path)
    np.testing.assert_array_equal(read.theta, here.model.theta)
    np.testing.assert_array_equal(read.alpha, here.model.alpha)
    assert read.network == here.model.network
    document = ran.json
    assert document["log_likelihood"] == here.log_lik
    assert document["log_posterior"] == here.log_posterior
    assert (document["states"], document["seed"], document["dimension"]) == (2, 5, 15)
    assert document["model"] == str(path)
    package.write_model(read, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


@pytest.mark.slow
def test_score_at_exactly_the_parameters_in_the_file(lacunet, carcinoma, model):
    ran = lacunet("score", carcinoma, "--model", model, "--weights", "count", "--json")
    document = ran.json
    assert {"dimension", "log_likelihood", "log_prior", "scores"} <= set(document)
    assert "refit" not in document
    assert set(document["scores"]) == SCORES
    check_scores(document["scores"])
    theta = package.read_model(model)
    sizes, leaves = theta.table("class"), [theta.table(x) for x in "ABCDEFG"]
    total = 0.0
    with carcinoma.open(newline="") as file:
        for row in csv.DictReader(file):
            p = sizes.copy()
            for x, table in zip("ABCDEFG", leaves, strict=True):
                p = p * table[:, int(row[x])]
            total += int(row["count"]) * math.log(p.sum())
    assert document["log_likelihood"] == pytest.approx(total, abs=1e-9)
    bic = total - document["dimension"] / 2 * math.log(118)
    assert document["scores"]["bic"]["value"] == pytest.approx(bic, abs=1e-9)


def test_score_names_unused_columns(invoke, carcinoma, model):
    ran = invoke("score", carcinoma, "--model", model, "--scores", "bic")
    assert "note: not in the model, so not used: 'count'." in ran.err
    assert "20 rows, 20 distinct; 7 columns" in ran.err
    weighted = invoke("score", carcinoma, "--model", model, "--scores", "bic", "--weights", "count")
    assert "not used" not in weighted.err
    assert weighted.out != ran.out


def test_refit_climbs_from_the_file(invoke, carcinoma, model):
    document = json.loads(model.read_text())
    document["families"][0]["table"] = [0.7, 0.3]
    model.write_text(json.dumps(document))
    options = ("--model", model, "--weights", "count", "--json")
    before = invoke("score", carcinoma, *options).json
    after = invoke("score", carcinoma, *options, "--refit").json
    assert after["log_likelihood"] > before["log_likelihood"]
    assert after["refit"]["status"]
    assert json.loads(model.read_text()) == document


@pytest.mark.slow
@pytest.mark.parametrize("plug_in", [False, True])
def test_assign_keeps_columns_order_and_text(lacunet, model, tmp_path, plug_in):
    lines = [
        "A,class,B,C,D,E,F,G,p(class=1),note",
        '0,x,1,0,1,0,1,1,q,"a, b"',
        '1, y ,?,NA,1,0,,1,"say ""z""",',
        "1,y,1,0,0,0,0,0,,",
        "0,x,0,0,0,0,0,0,,last",
    ]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    options = ["--plug-in"] if plug_in else []
    ran = lacunet("assign", "rows.csv", "--model", model, "-o", "out.csv", "--json", *options)
    assert ran.json == {
        "rows": 4,
        "classes": {"1": 2, "2": 2},
        "variables": {"class": {"1": 2, "2": 2}},
        "impossible": 0,
        "output": "out.csv",
    }
    with (tmp_path / "out.csv").open(newline="") as file:
        header, *rows = list(csv.reader(file))
    old = list(csv.reader(lines))
    assert header == [*old[0], "class_2", "p(class=1)_2", "p(class=2)"]
    assert [row[:10] for row in rows] == old[1:]
    given = package.read_model(model)
    given = given if plug_in else given.predictive
    for row in rows:
        p = np.array([float(x) for x in row[11:]])
        assert p.sum() == pytest.approx(1)
        assert row[10] == str(p.argmax() + 1)
        cells = dict(zip(header, row, strict=True))
        joint = given.table("class").copy()
        for x in "ABCDEFG":
            if cells[x] in "01" and cells[x]:
                joint *= given.table(x)[:, int(cells[x])]
        np.testing.assert_allclose(p, joint / joint.sum(), atol=1e-12)


def test_assign_may_overwrite_its_own_input(invoke, carcinoma, model, tmp_path):
    copy = tmp_path / "copy.csv"
    copy.write_bytes(carcinoma.read_bytes())
    assert invoke("assign", copy, "--model", model, "-o", copy).code == 2
    assert invoke("assign", copy, "--model", model, "-o", copy, "--overwrite").code == 0
    lines = copy.read_text().splitlines()
    assert len(lines) == 21
    assert lines[0] == "A,B,C,D,E,F,G,count,class,p(class=1),p(class=2)"


@pytest.mark.slow
def test_random_simulate_select_round_trip(lacunet, tmp_path):
    made = lacunet("random", "--classes", 2, "--leaves", 6, "-o", "r.json", "--seed", 4, "--json")
    assert made.json == {"output": "r.json", "dimension": 13, "seed": 4}
    drawn = lacunet(
        *("simulate", "--model", "r.json", "--rows", 800, "--seed", 1, "-o", "rows.csv"),
        *("--missing-rate", 0.1),
    )
    assert (drawn.code, drawn.out, drawn.err) == (0, "written: rows.csv\n", "")
    lines = (tmp_path / "rows.csv").read_text().splitlines()
    assert lines[0] == "x1,x2,x3,x4,x5,x6"
    assert len(lines) == 801
    cells = [cell for line in lines[1:] for cell in line.split(",")]
    assert cells.count("") / len(cells) == pytest.approx(0.1, abs=0.02)
    ran = lacunet("select", "rows.csv", "--states", "1:3", "--starts", 16)
    assert ran.out.startswith("2 classes (probability ")
    assert "800 rows" in ran.err
    assert "% of the cells missing" in ran.err


def test_the_same_seed_draws_the_same_rows(invoke, model, tmp_path):
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        options = ("--model", model, "--rows", 50, "--seed", seed, "-o", f"{name}.tsv", "--json")
        document = invoke("simulate", *options).json
        assert document == {"output": f"{name}.tsv", "rows": 50, "seed": seed, "missing_rate": 0.0}
    a, b, c = ((tmp_path / f"{name}.tsv").read_bytes() for name in "abc")
    assert a == b != c
    read = package.simulate(model, 50, seed=3)
    assert a.decode().splitlines()[1].split("\t") == list(read.row(0))


@pytest.mark.slow
def test_demo_ends_with_what_it_wrote(lacunet, tmp_path):
    ran = lacunet("demo", "--json")
    assert ran.code == 0
    document = ran.json
    assert document["written"] == "lacunet-demo"
    assert document["states"] == 3
    assert "--states 1:6 --save lacunet-demo" in ran.err
    assert ran.err.splitlines()[-1].startswith("written: lacunet-demo")
    assert "4 rows have every cell missing: kept and counted." in ran.err
    assert [p.name for p in tmp_path.iterdir()] == ["lacunet-demo"]
    assert len(list((tmp_path / "lacunet-demo").iterdir())) == 9


@pytest.mark.slow
def test_help_and_version(invoke, lacunet):
    version = lacunet("--version")
    assert (version.code, version.out) == (0, f"lacunet {package.__version__}\n")
    bare = invoke()
    names = ("demo", "select", "fit", "score", "assign", "simulate", "random")
    assert all(f" {name} " in bare.out for name in names)
    for name in names:
        text = " ".join(invoke(name, "-h").out.replace("│", " ").split())
        assert "--json" in text
        if "--threads" in text:
            assert "(default: one per core)" in text
        if "--alpha" in text:
            usual = "average" if name == "select" else "1.01"
            assert f"[default: {usual}]" in text
        if "--starts" in text:
            assert "[default: 64]" in text
    text = " ".join(invoke("select", "--help").out.replace("│", " ").split())
    assert "[default: (1:8, and more, up to 32, while they are probable)]" in text


def test_a_prior_moves_the_answer(invoke, carcinoma):
    options = ("--weights", "count", "--states", "2,3", "--starts", 8, "--scores", "cs")
    ran = invoke("select", carcinoma, *options, "--prior", "1,0", "--json")
    assert ran.json["chosen"] == {"cs": 2}
    assert ran.json["posterior"]["cs"] == {"2": 1.0, "3": 0.0}


def test_more_states_than_rows_is_a_warning(invoke, tmp_path):
    (tmp_path / "few.csv").write_text("a,b\n0,1\n1,0\n0,0\n")
    ran = invoke("fit", "few.csv", "--states", 5, "--starts", 2)
    assert ran.code == 0
    assert (
        "warning: 5 hidden states are more than the 3 rows of the data: some classes must stay "
        "empty." in ran.err
    )
    assert "warning" not in ran.out


def test_a_column_that_looks_like_weights_is_mentioned(invoke, carcinoma):
    ran = invoke("fit", carcinoma, "--states", 1)
    assert (
        "note: column 'count' is used as a variable. If it holds counts or weights of rows, give "
        "--weights count." in ran.err
    )


def test_names_with_commas(invoke, tmp_path):
    (tmp_path / "d.csv").write_text('"id, code",a,b\n1,0,1\n2,1,0\n3,0,0\n')
    refused = invoke("fit", "d.csv", "--states", 1)
    assert "Exclude it with --exclude 'id, code'." in refused.err
    assert invoke("fit", "d.csv", "--states", 1, "--exclude", "id, code").code == 0
    assert invoke("fit", "d.csv", "--states", 1, "--columns", "a,b").code == 0


def test_more_markers_of_missing_cells(invoke, tmp_path):
    (tmp_path / "d.csv").write_text("a,b\n0,1\n1,-9\nrefused,0\n0,0\n1,1\n")
    options = ("--states", 1, "--json", "--missing", "refused,-9")
    columns = invoke("fit", "d.csv", *options).json["data"]["columns"]
    assert [c["missing"] for c in columns] == [pytest.approx(0.2), pytest.approx(0.2)]
    assert [c["states"] for c in columns] == [[0, 1], [0, 1]]


def test_rows_that_are_impossible_under_the_model(invoke, carcinoma, model, tmp_path):
    document = json.loads(model.read_text())
    document["families"][1]["table"] = [[1, 0], [1, 0]]
    model.write_text(json.dumps(document))
    scored = invoke("score", carcinoma, "--model", model, "--json").json
    assert scored["log_likelihood"] is None
    assert scored["flags"] == ["impossible: at least one row has probability 0 under the model"]
    ran = invoke("assign", carcinoma, "--model", model, "-o", "out.csv")
    assert ran.out.startswith("class: 20 of 20 rows assigned\n")  # of the posterior
    ran = invoke("assign", carcinoma, "--model", model, "-o", "out.csv", "--plug-in")
    with (tmp_path / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    impossible = [row for row in rows if row["A"] == "1"]
    assert {row["class"] for row in impossible} == {""}
    assert {row["p(class=1)"] for row in impossible} == {"NaN"}
    assert all(row["class"] in {"1", "2"} for row in rows if row["A"] == "0")
    assert ran.out.startswith(f"class: {20 - len(impossible)} of 20 rows assigned\n")
    assert (
        f"{len(impossible)} have probability 0 under the model: they are not assigned." in ran.out
    )
