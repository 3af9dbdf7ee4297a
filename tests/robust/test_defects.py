"""An unexpected error ends in a sentence, a file with the details, and exit code 70."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from lacunet.cli import app as commands
from lacunet.cli import fit as fit_command
from lacunet.data.write import append_columns
from lacunet.errors import ImpossibleNumberError
from lacunet.runtime.files import SAFE_CSV, harmless
from lacunet.tabular.export import csv_table


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    path = tmp_path / "data.csv"
    path.write_text("a,b\n" + "x,u\ny,v\n" * 10)
    return path


def run(*arguments):
    return CliRunner().invoke(commands.app, [str(a) for a in arguments])


@pytest.mark.parametrize("error", [ZeroDivisionError("by zero"), ImpossibleNumberError("+49")])
def test_a_defect_is_one_sentence_and_a_file(rows, monkeypatch, error):
    def fails(*args, **options):
        raise error

    monkeypatch.setattr(fit_command.api, "fit", fails)
    done = run("fit", rows, "--states", 2)
    assert done.exit_code == 70
    assert done.stdout == ""
    sentence = " ".join(done.stderr.split())
    assert (
        f"defect: this is a defect of lacunet, not of your data ({type(error).__name__}" in sentence
    )
    assert "Traceback" not in sentence
    (details,) = rows.parent.glob("lacunet-defect-*.txt")
    assert details.name in sentence
    text = details.read_text()
    assert "Traceback" in text
    assert "numpy" in text


def test_debug_shows_the_traceback(rows, monkeypatch):
    def fails(*args, **options):
        raise ZeroDivisionError("by zero")

    monkeypatch.setattr(fit_command.api, "fit", fails)
    assert isinstance(run("--debug", "fit", rows, "--states", 2).exception, ZeroDivisionError)
    assert not list(rows.parent.glob("lacunet-defect-*.txt"))


@pytest.mark.slow
def test_sigterm_ends_like_ctrl_c(rows):
    """With its own exit code, and nothing left behind."""
    slow = ["-m", "lacunet", "select", str(rows), "--states", "1:8", "--starts", "4000"]
    process = subprocess.Popen(
        [sys.executable, *slow, "--save", "saved"],
        cwd=rows.parent,
        stderr=subprocess.PIPE,
        env=dict(os.environ),
    )
    process.stderr.readline()  # it says what it begins with
    process.send_signal(signal.SIGTERM)
    _, message = process.communicate(timeout=60)
    assert (process.returncode, b"interrupted" in message) == (143, True)
    assert [p.name for p in rows.parent.iterdir()] == ["data.csv"]


def test_nothing_in_a_name_acts_on_a_terminal_or_a_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("a\x1b[2J,b\u202e\n" + "x,u\ny,v\n" * 10, encoding="utf-8")
    done = run(
        *("select", "data.csv", "--states", "1:2", "--quick", "--starts", 2, "--report", "r.html")
    )
    assert done.exit_code == 0
    page = Path("r.html").read_text(encoding="utf-8")
    for text in (page, done.stdout, done.stderr):
        assert "\x1b[2J" not in text
        assert "\u202e" not in text
    assert "default-src 'none'" in page
    assert harmless("a\u2066b\x07") == "a\ufffdb\ufffd"


def test_spreadsheets_compute_nothing_with_safe_csv(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text("=cmd(),b\n" + "x,u\ny,v\n" * 10)
    plain, safe = (
        run(*switch, "fit", "data.csv", "--states", 1, "--starts", 1, "--format", "csv").stdout
        for switch in ((), ("--safe-csv",))
    )
    assert "'=cmd()" not in plain
    assert "=cmd()" in plain
    assert "'=cmd()" in safe
    run("--safe-csv", "fit", "data.csv", "--states", 2, "--starts", 1, "--save", "model.json")
    for name in ("simulated.csv", "simulated.tsv"):
        run("--safe-csv", "simulate", "--model", "model.json", "--rows", 3, "-o", name)
        assert Path(name).read_text().startswith("'=cmd()")


@pytest.mark.parametrize(
    ("cell", "written"),
    [("=x", "'=x"), ("@x", "'@x"), ("+y", "'+y"), ("-1", "-1"), ("- 1", "'- 1"), ("a", "a")],
)
def test_every_table_of_text_is_written_safely(tmp_path, cell, written):
    token = SAFE_CSV.set(True)
    try:
        append_columns(pl.DataFrame({"a": [cell, None]}), {"n": [1, 2]}, tmp_path / "t.csv")
        assert (tmp_path / "t.csv").read_text() == f"a,n\n{written},1\n,2\n"
        assert csv_table((cell,), [[cell]]) == f"{written}\n{written}\n"
    finally:
        SAFE_CSV.reset(token)
    append_columns(pl.DataFrame({"a": [cell]}), {"n": [1]}, tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == f"a,n\n{cell},1\n"


def test_a_report_whose_name_is_no_text_is_written(rows):
    """The work was lost when the page said which command had made it."""
    name = os.fsdecode(b"r\xff.html")
    done = run("select", rows, "--states", "1:2", "--quick", "--starts", 1, "--report", name)
    assert (done.exit_code, Path(name).exists()) == (0, True), done.output


INTERRUPTED = """
import os, runpy, signal, sys
class Finder:
    def find_spec(name, path, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder)
runpy.run_module("lacunet", run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize("module", ["typer", "numpy", "numba", "lacunet.cli.fit"])
def test_ctrl_c_while_a_module_is_imported_shows_no_traceback(rows, module):
    words = [sys.executable, "-c", INTERRUPTED.format(module=module), "fit", str(rows), "--states"]
    ran = subprocess.run([*words, "2"], capture_output=True, text=True, timeout=300, check=False)
    assert (ran.returncode, ran.stdout) == (130, "")
    assert ran.stderr.startswith("interrupted")
