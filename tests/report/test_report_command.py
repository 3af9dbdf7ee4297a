"""`--report` on the command line."""

import json
import shlex
import sys

import pytest
from typer.testing import CliRunner

from lacunet import api, dataset_path, load_dataset, write_model
from lacunet.cli.app import app


def run(monkeypatch, folder, *arguments):
    monkeypatch.chdir(folder)
    given = [str(a) for a in arguments]
    monkeypatch.setattr(sys, "argv", ["lacunet", *given])
    return CliRunner().invoke(app, given, catch_exceptions=False)


@pytest.mark.slow
def test_select_writes_a_report(monkeypatch, tmp_path):
    given = ("select", dataset_path("carcinoma"), "--weights", "count", "--states", "1:2")
    given = (*given, "--starts", "2", "--report", "a report.html")
    done = run(monkeypatch, tmp_path, *given)
    assert done.exit_code == 0
    assert "written: a report.html" in done.stderr
    assert "2 classes (" in done.stdout
    page = (tmp_path / "a report.html").read_text("utf-8")
    assert shlex.join(["lacunet", *map(str, given)]).replace("'", "&#39;") in page
    assert [p.name for p in tmp_path.iterdir()] == ["a report.html"]


@pytest.mark.slow
def test_compare_writes_a_report(monkeypatch, tmp_path):
    table = load_dataset("carcinoma")
    for k in (1, 2):
        write_model(api.fit(table, k, starts=2).model, tmp_path / f"m{k}.json")
    given = ("compare", dataset_path("carcinoma"), "m1.json", "m2.json", "--weights", "count")
    done = run(monkeypatch, tmp_path, *given, "--starts", "2", "--report", "out.html", "--json")
    assert done.exit_code == 0
    page = (tmp_path / "out.html").read_text("utf-8")
    assert "Which network?" in page
    assert "m2.json" in page


def test_learn_writes_a_report(monkeypatch, tmp_path):
    given = ("learn", dataset_path("carcinoma"), "--weights", "count", "--report", "out.html")
    done = run(monkeypatch, tmp_path, *given, "--save", "net.dot", "--json")
    assert done.exit_code == 0
    assert "written: net.dot" in done.stderr
    assert "out.html" in done.stderr
    document = json.loads(done.stdout)
    page = (tmp_path / "out.html").read_text("utf-8")
    for child, parents in document["parents"].items():
        for parent in parents:
            assert f'data-tip="{parent} → {child}"' in page
        assert f"p({child}" in page
    assert f"{document['log_evidence']:.2f}".replace("-", "−") in page
    assert "lacunet learn" in page
    assert (tmp_path / "net.dot").read_text().count(" -> ") == page.count('class="edge"')


def test_refused_before_the_search(monkeypatch, tmp_path):
    def never(*_, **__):
        raise AssertionError("the search was begun")

    monkeypatch.setattr(api, "select", never)
    (tmp_path / "file").write_text("")
    for path, reason in ((tmp_path, "is a folder"), (tmp_path / "file" / "x.html", "is a file")):
        given = ("select", dataset_path("carcinoma"), "--report", path)
        done = run(monkeypatch, tmp_path, *given)
        assert done.exit_code == 2
        assert reason in done.stderr


def test_fit_writes_a_report(monkeypatch, tmp_path):
    given = ("fit", dataset_path("carcinoma"), "--weights", "count", "--states", "2")
    given = (*given, "--starts", "2", "--statistics", "--report", "out.html", "--json")
    done = run(monkeypatch, tmp_path, *given)
    assert done.exit_code == 0
    page = (tmp_path / "out.html").read_text("utf-8")
    assert page.count('data-tip="class → ') == 7
    assert "Fit statistics" in page
    assert f"{json.loads(done.stdout)['log_likelihood']:.2f}".replace("-", "−") in page
