"""`--tables` of select and fit."""

import polars as pl
import pytest

from lacunet import api

WEIGHTED = ("--weights", "count")


def test_select_writes_them(invoke, carcinoma, tmp_path):
    ran = invoke(
        *("select", carcinoma, *WEIGHTED, "--classes", "1:2", "--starts", "2", "--quick"),
        *("--scores", "bic", "--tables", "new/paper.md"),
    )
    assert ran.code == 0
    assert "written: new/paper.md" in ran.err
    text = (tmp_path / "new" / "paper.md").read_text(encoding="utf-8")
    assert text.startswith("**Fit by number of classes**\n\n| classes | log L | d | AIC |")
    assert "**Items by class**" in text


def test_fit_writes_tables_with_the_requested_errors(invoke, carcinoma, tmp_path):
    command = ("fit", carcinoma, *WEIGHTED, "--classes", "2", "--starts", "2", "--json")
    ran = invoke(*command, "--bootstrap", "3", "--tables", "paper.csv")
    assert ran.code == 0
    first = pl.read_csv(tmp_path / "paper.csv").row(0, named=True)
    size = ran.json["intervals"]["variables"]["class"]
    assert [first["class 1"], first["class 2"]] == size["estimate"]
    assert [first["class 1 s.e."], first["class 2 s.e."]] == size["stderr"]


@pytest.mark.parametrize(
    ("command", "more", "text"),
    [
        ("select", ("--tables", "a.xls"), "tables are written to .csv, .md, .tex, .html or .docx"),
        ("fit", ("--tables", "a.xls"), "tables are written to .csv, .md, .tex, .html or .docx"),
        ("fit", ("--tables", "a.csv", "--edge", "A:B"), "--tables has no meaning with --edge"),
        ("fit", ("--tables", "a.xls", "--covariates", "A"), "tables are written to .csv, .md"),
        ("fit", ("--tables", "a.html", "--report", "a.html"), "--report and --tables both write a"),
        ("select", ("--tables", "a.html", "--report", "a.html"), "both write a.html. Give two"),
    ],
)
def test_unwritable_outputs_are_refused_before_the_work(
    invoke, carcinoma, monkeypatch, tmp_path, command, more, text
):
    for name in ("fit", "select"):
        monkeypatch.setattr(api, name, lambda *_, **__: pytest.fail("it worked"))
    ran = invoke(command, carcinoma, *WEIGHTED, "--classes", "2", *more)
    assert ran.code == 2
    assert text in " ".join(ran.err.split())
    assert list(tmp_path.iterdir()) == []


def test_letters_that_a_font_lacks_are_named(invoke, tmp_path):
    (tmp_path / "d.csv").write_text("日本,b,c\n" + "x,u,1\ny,v,2\nx,v,1\n" * 8, encoding="utf-8")
    fit = ("fit", "d.csv", "--classes", 1, "--starts", 1, "--plot", "p.png")
    ran = invoke(*fit)
    assert ran.code == 0
    assert "note: p.png: the font lacks '日本', which are drawn as boxes" in " ".join(
        ran.err.split()
    )


def test_a_picture_of_numbers_alone_is_refused_before_classes_are_predicted(invoke, tmp_path):
    rows = "".join(f"{i * 0.37},{i % 7 + 0.5},{'xy'[i % 2]}\n" for i in range(40))
    (tmp_path / "d.csv").write_text(f"a,b,group\n{rows}")
    words = ("--kinds", "a=gaussian,b=gaussian", "--save", "m.json", "--plot", "p.svg")
    ran = invoke("fit", "d.csv", "--classes", 2, "--covariates", "group", *words)
    assert ran.code == 2
    assert "--plot draws answers, and every column here is a number" in ran.err
    assert not (tmp_path / "m.json").exists()
