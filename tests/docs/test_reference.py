"""The reference names everything that there is, and nothing that there is not."""

import ast
import importlib
import re

import pytest
from page_code import ROOT

import lacunet
from lacunet.cli.app import COMMANDS
from lacunet.fitting.schedules import Schedule
from lacunet.scores import SCORES

DOCS = ROOT / "docs"
LINES = re.MULTILINE
MAP = (DOCS / "reference" / "equations.md").read_text(encoding="utf-8")
ROWS = re.findall(r"`(lacunet\.[\w.]+)`<br>`(tests/[\w/]+\.py)::(\w+)`", MAP)


def test_every_public_name_is_documented_once():
    pages = (DOCS / "reference").glob("*.md")
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    named = re.findall(r"^\.\. auto(?:function|class|exception|module):: (.+)$", text, LINES)
    result = [name.removeprefix("lacunet.") for name in named]
    assert [name for name in lacunet.__all__ if result.count(name) != 1] == []


def test_the_map_names_every_row():
    assert len(ROWS) == MAP.count("::test_")
    assert len(ROWS) > 30


@pytest.mark.parametrize("path", sorted({path for path, _, _ in ROWS}))
def test_functions_of_the_map_exist(path):
    module, names = path, []
    while True:
        try:
            thing = importlib.import_module(module)
            break
        except ModuleNotFoundError:
            module, _, name = module.rpartition(".")
            names.insert(0, name)
    for name in names:
        thing = getattr(thing, name)


@pytest.mark.parametrize("file", sorted({file for _, file, _ in ROWS}))
def test_tests_of_the_map_exist(file):
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assert {name for _, f, name in ROWS if f == file} <= functions


@pytest.mark.parametrize("page", ["glossary.md", "explanation/approximations.md"])
def test_every_score_is_explained(page):
    text = (DOCS / page).read_text(encoding="utf-8")
    assert [score.name for score in SCORES if f"`{score.name}`" not in text] == []


def test_the_glossary_lists_usual_scores_and_their_labellings():
    text = (DOCS / "glossary.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.+?) \| .* \| (yes|) ?\| (one|all) \|$", text, LINES)
    documented = {name: row[1:] for row in rows for name in re.findall("`(.+?)`", row[0])}
    meant = {
        score.name: ("yes" if score.usual else "", "all" if score.every_labelling else "one")
        for score in SCORES
        if not score.only_exact  # exact: there is nothing to add
    }
    assert {name: documented[name] for name in meant} == meant


def test_every_schedule_is_explained():
    text = (DOCS / "explanation" / "learning.md").read_text(encoding="utf-8")
    assert [schedule for schedule in Schedule if f"`{schedule}`" not in text] == []


def test_every_command_is_used_on_some_page():
    text = "\n".join(page.read_text(encoding="utf-8") for page in DOCS.rglob("*.md"))
    names = [command.__name__.replace("_", "-") for command in COMMANDS]
    assert [name for name in names if f"lacunet {name}" not in text] == []
