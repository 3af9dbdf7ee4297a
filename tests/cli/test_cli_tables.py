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


def test_fit_writes_them_with_the_errors_that_were_asked_for(invoke, carcinoma, tmp_path):
    told = ("fit", carcinoma, *WEIGHTED, "--classes", "2", "--starts", "2", "--json")
    ran = invoke(*told, "--bootstrap", "3", "--tables", "paper.csv")
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
def test_what_cannot_be_written_is_said_before_the_work(
    invoke, carcinoma, monkeypatch, tmp_path, command, more, text
):
    for name in ("fit", "select"):
        monkeypatch.setattr(api, name, lambda *_, **__: pytest.fail("it worked"))
    ran = invoke(command, carcinoma, *WEIGHTED, "--classes", "2", *more)
    assert ran.code == 2
    assert text in " ".join(ran.err.split())
    assert list(tmp_path.iterdir()) == []
