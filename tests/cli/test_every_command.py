"""Every command on tables of well-known shapes: a result, or a sentence that says why not.

A command that takes a table must stand in `STEPS`, so that a new one cannot be left out.
"""

import json
import re
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

from drawn_tables import SHAPES, Shape, table
from lacunet.cli.app import app

FEW_ROWS = 60
ONE, FAST = ("--threads", 1), ("--starts", 2, "--threads", 1)
WITHOUT_TABLE = {"demo", "random", "paper", "warm-up"}  # those draw what they need, or have it
TEXT_TOO = ("penguins", "titanic")  # read as people do, besides as JSON
ADVICE = re.compile(r"Exclude it with --exclude '?([^'\n]+?)'?\. ")
# What a command may say instead of a result.
REFUSALS = {
    "lrt": "the likelihood of several classes has no maximum",
    "compare-missing": "only categories can be|no cell is missing",
}


@dataclass(frozen=True)
class Case:
    """A table in a file, and what a person would say of it."""

    name: str
    folder: Path
    data: Path
    shape: Shape
    left_out: tuple[str, ...]  # columns that `fit` said to leave out

    @property
    def model(self):
        return self.folder / "model.json"

    @property
    def rest(self):
        return ("--exclude", ",".join(self.left_out)) if self.left_out else ()

    @property
    def few(self):
        return "--columns", ",".join(self.shape.items)

    def out(self, name):
        """A file that the command may write."""
        return next(path for k in count() if not (path := self.folder / f"{k}-{name}").exists())


def fit(case):
    beside = (case.shape.outcome, case.shape.covariate)
    left_out = "--exclude", ",".join((*case.left_out, *beside))
    outputs = ("--intervals", "--statistics", "--report", case.out("fit.html"))
    return (case.data, "--classes", 2, *left_out, *FAST, *outputs, "--tables", case.out("fit.md"))


def three_step(case):
    about = ("--outcomes", case.shape.outcome, "--covariates", case.shape.covariate)
    return case.data, "--model", case.model, *about, "--missing-covariates", "drop"


def assign(case):
    options = ("--impute", "--anomalies")
    return case.data, "--model", case.model, "-o", case.out("assigned.csv"), *options


def impute(case):
    more = ("--imputations", 2, "--probabilities", case.out("cells.csv"))
    return case.data, *case.few, "-o", case.out("filled.csv"), *more, *ONE


def learn(case):
    quick = ("--restarts", 0, "--probes", 0, "--threads", 1)
    return case.data, *case.rest, *quick, "--report", case.out("graph.html")


STEPS = {
    "fit": [fit],
    "select": [lambda c: (c.data, *c.rest, "--classes", "1:2", *FAST, "--quick")],
    "compare": [lambda c: (c.data, c.model, c.model, *FAST, "--quick")],
    "learn": [learn],
    "stack": [lambda c: (c.data, *c.few, "--folds", 2, "--save", c.out("stack.json"), *ONE)],
    "three-step": [three_step],
    "lrt": [
        lambda c: (c.data, *c.few, "--classes", 1, "--replicates", 2, *FAST),
        lambda c: (c.data, *c.few, "--classes", 1, "--replicates", 2, "--bin", 3, *FAST),
    ],
    "compare-missing": [
        lambda c: (c.data, *c.few, "--classes", 2, *FAST),
        lambda c: (c.data, *c.few, "--classes", 2, "--bin", 3, *FAST),
    ],
    "evidence": [lambda c: (c.data, *c.few, "--classes", 2, "--budget", 1, *ONE)],
    "score": [lambda c: (c.data, "--model", c.model, *ONE)],
    "assign": [assign],
    "impute": [impute],
    "query": [lambda c: (c.model, "--of", c.shape.items[0])],
    "simulate": [lambda c: ("--model", c.model, "--rows", 20, "-o", c.out("drawn.csv"))],
}


def run(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)


def prepared(name, folder, rows):
    """Write a table, leave out the columns that `fit` says to leave out, and fit a model."""
    data = folder / f"{name}.csv"
    table(name, rows).to_csv(data, index=False)
    left_out = []
    for _ in range(5):
        case = Case(name, folder, data, SHAPES[name], tuple(left_out))
        done = run("fit", *fit(case), "--save", case.model)
        if done.exit_code == 0:
            return case
        assert done.exit_code == 2, done
        left_out += ADVICE.search(done.stderr).groups()
    raise AssertionError(f"advice has no end: {left_out}")


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    made = {}

    def case(name, rows):
        if (name, rows) not in made:
            made[name, rows] = prepared(name, tmp_path_factory.mktemp(name), rows)
        return made[name, rows]

    return case


def check(command, case):
    """Run a command in all its ways; look at what is shown and written."""
    before = case.data.read_bytes()
    for step, form in ((s, f) for s in STEPS[command] for f in ("--json", "text")):
        if form == "text" and case.name not in TEXT_TOO:
            continue
        given = step(case)
        done = run(command, *given, *([form] if form == "--json" else []))
        assert "Warning" not in done.stderr, done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        if done.exit_code == 2 and command in REFUSALS:
            assert re.search(REFUSALS[command], done.stderr), done.stderr
            assert "--bin" not in given or "no cell is missing" in done.stderr
            continue
        assert done.exit_code == 0, done.stderr
        if form == "--json":
            assert json.loads(done.stdout, parse_constant=pytest.fail)
        else:
            assert not re.search(r"\b(nan|inf)\b", done.stdout), done.stdout
        for written in (Path(x) for x in given if str(x).endswith(".csv") and x != case.data):
            assert written.stat().st_size > 0
    assert case.data.read_bytes() == before


def test_every_command_that_takes_a_table_is_tried():
    commands = typer.main.get_command(app).commands
    takes = {n for n, c in commands.items() if {"data", "model"} & {p.name for p in c.params}}
    assert takes == {*STEPS}
    assert {*commands} == takes | WITHOUT_TABLE


@pytest.mark.slow
@pytest.mark.parametrize("command", STEPS)
@pytest.mark.parametrize("name", SHAPES)
def test_a_few_rows(cases, name, command):
    check(command, cases(name, FEW_ROWS))


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("command", STEPS)
@pytest.mark.parametrize("name", SHAPES)
def test_as_many_rows_as_the_original(cases, name, command):
    check(command, cases(name, None))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["autos", "penguins", "fires"])
def test_what_impute_fills_in_is_like_the_column(cases, name):
    case = cases(name, FEW_ROWS)
    given = impute(case)
    done = run("impute", *given)
    assert done.exit_code == 0, done.stderr
    filled, before = pd.read_csv(given[given.index("-o") + 1]), pd.read_csv(case.data)
    assert len(filled) == 2 * len(before)
    for column in case.shape.items:
        assert filled[column].notna().all()
        shown = before[column].dropna()
        assert {*filled[column]} <= {*shown}  # draws are values that the column shows
