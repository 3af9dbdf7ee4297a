"""Covariates on the command line, with the mistakes that people make."""

import pandas as pd
import pytest

OPTIONS = ("--states", "2", "--starts", "2", "--threads", "1")


@pytest.fixture
def people(tmp_path):
    rows = ["a,b,c,age,region"]
    for i in range(60):
        z = (i * 7 % 10) / 10 < 0.2 + i / 100
        answers = [int(z != (i % (5 + j) == 0)) for j in range(3)]
        rows.append(",".join(map(str, [*answers, 20 + i, "NS"[i % 2]])))
    path = tmp_path / "people.csv"
    path.write_text("\n".join(rows) + "\n")
    return path


def test_fit_with_covariates(invoke, people):
    ran = invoke(
        "fit", people, *OPTIONS, "--covariates", "age,region", "--save", "m.json", "--json"
    )
    assert ran.code == 0, ran.err
    document = ran.json
    assert document["coefficients"]["columns"] == ["(intercept)", "age", "region = S"]
    assert set(document["log_bayes_factors"]) == {"age", "region", "all of them"}
    assert document["scaled_gradient"] < 1e-6
    text = invoke(
        "fit", people, *OPTIONS, "--covariates", "~ age + C(region, ref=S)", "--intervals"
    )
    assert "region = N" in text.out
    assert "What a covariate adds to the evidence" in text.out
    assert "Probabilities with standard errors" in text.out


def test_a_saved_model_goes_by_covariates(invoke, people, tmp_path):
    command = ("fit", people, *OPTIONS, "--covariates", "age,region", "--save", "m.json")
    assert invoke(*command).code == 0
    rows = invoke("assign", people, "--model", "m.json", "-o", "out.csv")
    assert rows.code == 0, rows.err
    assert "not used" not in rows.err
    table = pd.read_csv(tmp_path / "out.csv")
    # Equal answers, other ages: other classes.
    alike = table[(table[["a", "b", "c"]] == table.loc[0, ["a", "b", "c"]]).all(axis=1)]
    assert alike["p(class=1)"].nunique() == len(alike) > 1
    steps = invoke("three-step", people, "--model", "m.json", "--outcomes", "a")
    assert "'a' is an item of the model" in " ".join(steps.err.split())
    text = people.read_text().splitlines()
    more = [f"{line},{'income' if i == 0 else i % 7}" for i, line in enumerate(text)]
    people.write_text("\n".join(more) + "\n")
    options = ("--outcomes", "income", "--kinds", "income=gaussian")
    steps = invoke("three-step", people, "--model", "m.json", *options)
    assert steps.code == 0, steps.err
    assert "not at its maximum" not in steps.out
    case = invoke("query", "m.json", "--of", "class", "--given", "age=30,region=N,a=1")
    assert "p(class | age = 30, region = N, a = 1)" in case.out
    drawn = invoke("simulate", "--model", "m.json", "--rows", "3", "-o", "drawn.csv")
    assert "'age', 'region' predict the classes" in " ".join(drawn.err.split())
    bif = invoke(*command[:-1], "m.bif")
    assert "BIF holds the classes with their sizes over all rows" in " ".join(bif.err.split())
    people.write_text(people.read_text().replace("region", "place"))
    lost = invoke("assign", people, "--model", "m.json", "-o", "out.csv")
    assert lost.code == 2
    assert "no column 'region'" in " ".join(lost.err.split())


def test_statistics_and_bootstrap(invoke, people, tmp_path):
    command = ("fit", people, *OPTIONS, "--covariates", "age", "--statistics", "--bootstrap", "4")
    ran = invoke(*command, "--json")
    assert ran.code == 0, ran.err
    document = ran.json
    assert document["intervals"]["bootstrap"] == 4
    assert document["fit_statistics"]["dimension"] == document["dimension"]
    assert "4 parametric bootstrap" in document["coefficients"]["method"]
    text = invoke(*command, "--report", "page.html")
    assert "Bivariate residuals (worst first)" in text.out
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Fit statistics" in page
    assert "Precision" in page
    few = invoke("fit", people, *OPTIONS, "--covariates", "age", "--bootstrap", "1")
    assert few.code == 2
    assert "at least 2" in " ".join(few.err.split())


def test_a_page_tables_and_a_picture(invoke, people, tmp_path):
    command = ("fit", people, *OPTIONS, "--covariates", "age,region", "--intervals")
    files = ("--report", "page.html", "--tables", "tables.csv", "--plot", "lines.svg")
    ran = invoke(*command, *files)
    assert ran.code == 0, ran.err
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "2 classes predicted by age, region; log likelihood" in page
    assert "What a covariate adds to the evidence" in page
    assert "9 free parameters" in page  # three items in two classes, three coefficients
    assert 'aria-label="Profiles of class as a heat map"' in page
    tables = (tmp_path / "tables.csv").read_text(encoding="utf-8")
    assert "item,answer,class 1,class 1 s.e.,class 2,class 2 s.e." in tables
    assert tables.startswith('"Log odds of each class against class 1')
    assert "<svg" in (tmp_path / "lines.svg").read_text(encoding="utf-8")
    assert invoke(*command, "--report", ".").code == 2


def test_columns_are_items_and_covariates_come_with_them(invoke, people):
    ran = invoke("fit", people, *OPTIONS, "--columns", "a,b,c", "--covariates", "age", "--json")
    assert ran.code == 0, ran.err
    assert [c["name"] for c in ran.json["data"]["columns"]] == ["a", "b", "c", "age"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("--covariates", "agee", "--kinds", "age=gaussian"), "Did you mean 'age'?"),
        (("--covariates", "age*region"), "more than the name of a column"),
        (("--covariates", "age", "--group", "region"), "--group cannot be given with"),
        (("--covariates", "age", "--edge", "a:b"), "--edge cannot be given with"),
        (("--covariates", "age", "--dry-run"), "--dry-run cannot be given with"),
        (("--covariates", "age", "--coefficient-sd", "0"), "must be above 0"),
        (("--evidence",), "--evidence is about covariates"),
        (("--missing-covariates", "drop"), "Give --covariates too"),
    ],
)
def test_mistakes(invoke, people, given, message):
    ran = invoke("fit", people, *OPTIONS, *given)
    assert ran.code == 2
    assert message in " ".join(ran.err.split())


def test_a_missing_covariate(invoke, people):
    text = people.read_text().replace(",25,", ",,")
    people.write_text(text)
    refused = invoke("fit", people, *OPTIONS, "--covariates", "age")
    assert refused.code == 2
    assert "1 of 60 cases lack a covariate" in " ".join(refused.err.split())
    assert "--missing-covariates drop" in " ".join(refused.err.split())
    dropped = invoke("fit", people, *OPTIONS, "--covariates", "age", "--missing-covariates", "drop")
    assert dropped.code == 0
    assert "they are left out" in " ".join(dropped.err.split())


def test_three_steps(invoke, people):
    saved = invoke("fit", people, *OPTIONS, "--columns", "a,b,c", "--save", "m.json")
    assert saved.code == 0, saved.err
    options = ("--model", "m.json", "--outcomes", "age", "--covariates", "region")
    ran = invoke(
        "three-step", people, *options, "--correction", "bch", "--save", "found.json", "--json"
    )
    assert ran.code == 0, ran.err
    assert len(ran.json["outcomes"]["age"]["estimate"]) == 2
    assert ran.json["coefficients"]["columns"] == ["(intercept)", "region = S"]
    assert (people.parent / "found.json").exists()
    text = invoke("three-step", people, *options)
    assert "Is age the same in" in text.out
    nothing = invoke("three-step", people, "--model", "m.json")
    assert nothing.code == 2
    assert "Give --outcomes, --covariates, or both" in " ".join(nothing.err.split())
