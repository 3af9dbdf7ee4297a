"""No output takes the place of an input, or of another output, by whatever name."""

import inspect
import os
from pathlib import Path
from typing import Annotated, get_args

import pytest

from lacunet import api
from lacunet.cli import options as o
from lacunet.cli.app import COMMANDS
from lacunet.cli.paths import Reads, Writes, role_of
from lacunet.errors import OutputError
from lacunet.report.tables_file import save_selection

SAVED = ("selection.json", "selection.txt")
ROWS = "A,B,C\n" + "x,u,1\ny,v,2\nx,v,1\n,v,2\n" * 8
# Outputs of every command that reads a table: what stands before and behind DATA.
OUTPUTS = {
    ("select",): ("--save", "--report", "--tables", "--resume"),
    ("compare", "A -> B; C"): ("--save", "--report", "--resume"),
    ("fit", "--states", 2): ("--save", "--report", "--tables", "--plot"),
    ("fit", "--states", 2, "--group", "A"): ("--save", "--report", "--tables", "--plot"),
    ("fit", "--states", 2, "--covariates", "A"): ("--save", "--report", "--tables", "--plot"),
    ("evidence", "--states", 2): ("--save", "--resume"),
    ("learn",): ("--save", "--report", "--resume"),
    ("learn", "--hidden", "auto"): ("--save", "--report", "--resume"),
    ("stack",): ("--save", "--resume"),
    ("assign", "--model", "m.json"): ("-o",),
    ("impute", "-o", "filled.csv"): ("--probabilities",),
    ("impute",): ("-o",),
    ("three-step", "--model", "m.json", "--outcomes", "A"): ("--save",),
}
CASES = [(words, name) for words, names in OUTPUTS.items() for name in names]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("d.csv").write_text(ROWS)
    return tmp_path


def same_file(name):
    """Other names of one file."""
    path = Path(name)
    yield str(path.absolute())
    Path("inner").mkdir(exist_ok=True)
    yield f"inner/../{name}"
    Path(f"soft-{name}").symlink_to(path.absolute())
    yield f"soft-{name}"
    Path(f"hard-{name}").hardlink_to(path)
    yield f"hard-{name}"
    Path("folder-link").symlink_to(path.parent.absolute())
    yield f"folder-link/{name}"


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def refused(ran):
    assert (ran.code, ran.out) == (2, ""), ran.err
    return " ".join(ran.err.split())


@pytest.mark.parametrize(("words", "name"), CASES)
def test_the_table_is_never_replaced(invoke, here, words, name):
    command, *more = words
    assert refused(invoke(command, "d.csv", *more, name, "d.csv")).startswith("error: ")
    assert Path("d.csv").read_text() == ROWS
    assert names(here) == ["d.csv"]


@pytest.mark.parametrize(
    ("words", "name"),
    [(("select",), "--tables"), (("evidence", "--states", 2), "--resume"), (("impute",), "-o")],
)
def test_the_table_is_not_replaced_by_another_name_of_it(invoke, here, words, name):
    command, *more = words
    for path in same_file("d.csv"):
        message = refused(invoke(command, "d.csv", *more, name, path))
        assert "would replace d.csv, which DATA reads" in message
        assert "would replace" in refused(invoke(command, path, *more, name, "d.csv"))
        assert Path("d.csv").read_text() == ROWS
    assert not [p.name for p in here.iterdir() if "damaged" in p.name or p.name.startswith(".")]


@pytest.mark.parametrize("name", ["--tables", "--resume"])
def test_what_would_be_replaced_is_named(invoke, here, name):
    message = refused(invoke("select", "d.csv", name, "d.csv"))
    more = ", or --overwrite to replace it" if name == "--tables" else ""
    assert f"{name} would replace d.csv, which DATA reads. Give another name{more}." in message


@pytest.mark.parametrize("table", ["parts", "parts/*.csv", "inner/../parts/one*"])
def test_no_part_of_a_table_of_several_files_is_replaced(invoke, here, table):
    for folder in ("parts", "inner"):
        Path(folder).mkdir()
    for name in ("one.csv", "one-more.csv"):
        (here / "parts" / name).write_text(ROWS)
    for more in ((), ("--overwrite",)):
        message = refused(invoke("select", table, "--tables", "parts/one.csv", *more))
        assert "--tables would replace" in message
        assert "which DATA reads. Give another name." in message
    assert (here / "parts" / "one.csv").read_text() == ROWS


def test_files_that_a_folder_of_results_has_are_not_replaced(invoke, here):
    Path("out").mkdir()
    Path("out/candidates.csv").write_text(ROWS)
    Path("out/selection.txt").symlink_to(here / "d.csv")
    for table in ("out/candidates.csv", "d.csv", "out/../out/candidates.csv", "out/c*"):
        for more in ((), ("--overwrite",)):
            message = refused(invoke("select", table, "--save", "out", *more))
            assert "--save would replace" in message
    assert Path("out/candidates.csv").read_text() == Path("d.csv").read_text() == ROWS


@pytest.mark.parametrize(
    "words",
    [
        ("fit", "d.csv", "--network", "m.json", "--save", "m.json"),
        ("fit", "d.csv", "--states", 2, "--like", "m.json", "--save", "m.json"),
        ("fit", "d.csv", "--states", 2, "--like", "m.json", "--report", "m.json"),
        ("fit", "d.csv", "--states", 2, "--knowledge", "m.json", "--save", "m.json"),
        ("evidence", "d.csv", "--network", "m.json", "--save", "m.json"),
        ("evidence", "d.csv", "--network", "m.json", "--resume", "m.json"),
        ("learn", "d.csv", "--start", "m.json", "--save", "m.json"),
        ("learn", "d.csv", "--knowledge", "m.json", "--resume", "m.json"),
        ("compare", "d.csv", "m.json", "--save", "x", "--resume", "m.json"),
        ("compare", "d.csv", "A -> B; C", "--reference", "m.json", "--resume", "m.json"),
        ("stack", "d.csv", "--test", "d.csv", "--resume", "d.csv"),
        ("three-step", "d.csv", "--model", "m.json", "--outcomes", "A", "--save", "m.json"),
        ("simulate", "--model", "m.json", "--rows", 3, "-o", "m.json"),
    ],
)
def test_other_inputs_are_not_replaced(invoke, model, monkeypatch, words):
    Path("d.csv").write_text(ROWS)
    before = Path("m.json").write_bytes(model.read_bytes())
    assert before
    assert refused(invoke(*words)).startswith("error: ")
    assert Path("m.json").read_bytes() == model.read_bytes()
    assert Path("d.csv").read_text() == ROWS


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("fit", "d.csv", "--states", 2, "--save", "d.json", "--report", "d.json"), "report"),
        (("select", "d.csv", "--tables", "r.html", "--report", "x/../r.html"), "both write"),
        (("select", "d.csv", "--save", "out", "--tables", "out/candidates.csv"), "both write"),
        (("select", "d.csv", "--save", "out", "--resume", "out/selection.json"), "both write"),
        (("select", "d.csv", "--resume", "r.html", "--report", "r.html"), "both write"),
        (("impute", "d.csv", "-o", "x.csv", "--probabilities", "./x.csv"), "both write"),
        (("fit", "d.csv", "--states", 2, "--save", "m.json", "--report", "m.json/r.html"), "needs"),
    ],
)
def test_two_outputs_have_two_names(invoke, here, words, text):
    Path("x").mkdir()
    assert text in refused(invoke(*words))
    assert names(here) == ["d.csv", "x"]


@pytest.mark.parametrize(
    ("words", "endings"),
    [
        (("select", "d.csv", "--report", "r.csv"), ".html or .htm"),
        (("select", "d.csv", "--tables", "t.json"), ".csv, .md, .tex, .html or .docx"),
        (("fit", "d.csv", "--states", 2, "--save", "m.csv"), ".bif"),
        (("fit", "d.csv", "--states", 2, "--plot", "p.csv"), ".svg, .pdf or .png"),
        (("learn", "d.csv", "--save", "m"), ".bif"),
        (("evidence", "d.csv", "--states", 2, "--save", "e.csv"), ".json"),
        (("stack", "d.csv", "--save", "s.csv"), ".json"),
        (("impute", "d.csv", "-o", "f.json"), ".csv"),
        (("impute", "d.csv", "-o", "f.csv", "--probabilities", "p.html"), ".csv"),
        (("random", "--classes", 2, "--leaves", 2, "-o", "r.csv"), ".json"),
        (("three-step", "d.csv", "--model", "m.json", "--save", "t.csv"), ".json"),
    ],
)
def test_endings_are_checked_before_the_work(invoke, here, words, endings):
    message = refused(invoke(*words))
    assert "ending" in message or "written to" in message
    assert endings in message
    assert names(here) == ["d.csv"]


def test_overwrite_lets_an_output_replace_its_input(invoke, model, here):
    words = ("assign", "d.csv", "--model", "m.json", "-o", "d.csv")
    fitted = invoke("fit", "d.csv", "--states", 2, "--starts", 1, "--save", "m.json")
    assert fitted.code == 0, fitted.err
    assert "--overwrite" in refused(invoke(*words))
    assert invoke(*words, "--overwrite").code == 0
    header, *rows = Path("d.csv").read_text().splitlines()
    assert header == "A,B,C,class,p(class=1),p(class=2)"
    assert len(rows) == 32


def test_resuming_replaces_only_its_own_files(invoke, here):
    table = ROWS.replace("x", "z")
    resumed = {
        ("evidence", "d.csv", "--states", 2, "--method", "smc", "--budget", "9s"): "kept.jsonl",
        ("learn", "d.csv"): "search.json",
    }
    for words, name in resumed.items():
        for text in (table, "a", "[1]\n", '{"format": "other"}\n', "\n\n", '{\n "a": 1}\n'):
            Path(name).write_text(text)
            assert "It was left as it is" in refused(invoke(*words, "--resume", name))
            assert Path(name).read_text() == text
        Path(name).write_text("")
        first = invoke(*words, "--resume", name, "--json")
        assert first.code == 0, first.err
        assert Path(name).read_text().startswith('{"format": "lacunet-')
        assert invoke(*words, "--resume", name, "--json").code == 0
    assert names(here) == ["d.csv", "kept.jsonl", "search.json"]


def test_protected_files_are_not_replaced(invoke, here, monkeypatch):
    Path("r.html").write_text("mine")
    Path("r.html").chmod(0o444)
    if os.access("r.html", os.W_OK):  # root may write to it
        may = os.access

        def access(path, mode, **more):
            mine = Path(path).name == "r.html" and mode == os.W_OK
            return not mine and may(path, mode, **more)

        monkeypatch.setattr(os, "access", access)
    assert "r.html is protected" in refused(invoke("select", "d.csv", "--report", "r.html"))
    assert Path("r.html").read_text() == "mine"


def test_the_current_folder_may_take_a_selection(invoke, here):
    """Other relative paths still mean what they meant."""
    words = ("select", "d.csv", "--classes", "1", "--quick", "--starts", 1)
    assert invoke(*words, "--save", ".", "--tables", "t.md").code == 0
    assert names(here) == ["candidates.csv", "d.csv", "model-1.json", *SAVED, "t.md"]
    assert sorted(os.listdir()) == names(here)  # noqa: PTH208
    Path("loop").symlink_to("loop")
    assert "loop is a file, not a folder" in refused(invoke(*words, "--report", "loop/r.html"))


def test_results_do_not_replace_their_table(here):
    selection = api.select("d.csv", [1], starts=1, quick=True)
    with pytest.raises(OutputError, match=r"d\.csv is the table that was read"):
        selection.report("d.csv")
    Path("candidates.csv").symlink_to("d.csv")
    with pytest.raises(OutputError, match=r"candidates\.csv is the table that was read"):
        save_selection(selection, here)
    assert Path("d.csv").read_text() == ROWS


@pytest.mark.parametrize("function", COMMANDS)
def test_every_path_has_a_role(function):
    """A path that no role is declared for could replace an input."""
    parameters = inspect.signature(function).parameters.values()
    roles = {p.name: role_of(p) for p in parameters}
    paths = {p.name for p in parameters if "Path" in repr((*get_args(p.annotation), "")[0])}
    assert {name for name, role in roles.items() if role is not None} == paths
    reads = any(isinstance(role, Reads) for role in roles.values())
    writes = [r for r in roles.values() if isinstance(r, Writes) and not r.never_inputs]
    assert ("overwrite" in roles) == (reads and bool(writes))


def test_a_command_with_a_path_of_no_role_cannot_be_made():
    with pytest.raises(TypeError, match="a path needs one role"):

        @o.options_after(api.log_evidence)
        def command(path, extra: Annotated[list[Path] | None, o.option("More.")] = None):
            pass
