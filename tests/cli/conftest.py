"""The command as a user runs it (a process), and, for many cheap mistakes, in this process."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lacunet import api, dataset_path, write_model
from lacunet.cli.app import app


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self):
        """The one strict JSON object on stdout."""
        document = json.loads(self.out, parse_constant=pytest.fail)
        assert document.pop("format") == "lacunet-document/2"
        return document


def environment() -> dict[str, str]:
    drop = {"COLUMNS", "LINES", "FORCE_COLOR", "NO_COLOR"}
    kept = {k: v for k, v in os.environ.items() if k not in drop}
    return kept | {"PYTHONWARNINGS": "error"}  # a command that warns in Python's words fails


@pytest.fixture
def lacunet(tmp_path):
    """Run `python -m lacunet ...` in an empty folder."""

    def run(*arguments) -> Ran:
        done = subprocess.run(
            [sys.executable, "-m", "lacunet", *map(str, arguments)],
            capture_output=True,
            cwd=tmp_path,
            env=environment(),
            timeout=120,
            check=False,
        )
        return Ran(done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8"))

    return run


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    """Run the same command in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments) -> Ran:
        done = CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)
        return Ran(done.exit_code, done.stdout, done.stderr)

    return run


@pytest.fixture
def carcinoma() -> Path:
    return dataset_path("carcinoma")


@pytest.fixture
def model(tmp_path) -> Path:
    """A model file for the columns A .. G of the carcinoma data, with the states 0 and 1."""
    fitted = api.fit(dataset_path("carcinoma"), 2, starts=4, weights="count")
    path = tmp_path / "model.json"
    write_model(fitted.model, path)
    return path
