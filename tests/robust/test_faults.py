"""Every way to write fails, for every command: a sentence, and nothing half-written."""

import errno
import os
import pathlib
import shutil
import tempfile

import numpy as np
import pytest
from typer.testing import CliRunner

from lacunet import api, write_model
from lacunet.cli.app import app

QUICK = ("--starts", "2", "--threads", "1")
TWO = ("select", "data.csv", "--states", "1:2", "--quick", *QUICK)
COMMANDS = {
    "fit": ("fit", "data.csv", "--states", "2", *QUICK, "--save", "new.json"),
    "select": (*TWO, "--save", "new"),
    "report": (*TWO, "--report", "new.html"),
    "learn": ("learn", "data.csv", "--sweeps", "1", "--save", "new.bif"),
    "assign": ("assign", "data.csv", "--model", "model.json", "-o", "new.csv"),
    "assign parquet": ("assign", "data.csv", "--model", "model.json", "-o", "new.parquet"),
    "simulate": ("simulate", "--model", "model.json", "--rows", "9", "-o", "new.arrow"),
    "random": ("random", "--classes", "2", "--leaves", "3", "-o", "new.json"),
}
FAULTS = {
    "sync": (os, "fsync"),
    "rename": (pathlib.Path, "replace"),
    "new file": (pathlib.Path, "touch"),
    "new folder": (tempfile, "mkdtemp"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    here = tmp_path_factory.mktemp("faults")
    (here / "data.csv").write_text("a,b,c\n" + "x,u,1\ny,v,2\nx,v,1\n" * 8)
    write_model(api.fit(here / "data.csv", 2, starts=2).model, here / "model.json")
    return here


class Fails:
    """Fails at one call, as a full disk does."""

    def __init__(self, function, place):
        self.function, self.place, self.calls = function, place, 0

    def __get__(self, instance, owner=None):  # as a method too
        return (
            self if instance is None else lambda *args, **options: self(instance, *args, **options)
        )

    def __call__(self, *args, **options):
        self.calls += 1
        if self.calls == self.place:
            raise OSError(errno.ENOSPC, "No space left on device")
        return self.function(*args, **options)


def run(command, folder, monkeypatch, fault, place):
    where, name = FAULTS[fault]
    door = Fails(getattr(where, name), place)
    with monkeypatch.context() as patched:
        patched.setattr(where, name, door)
        done = CliRunner().invoke(app, list(COMMANDS[command]))
    return done, door.calls >= place


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_ends_in_a_sentence_and_leaves_nothing(folder, monkeypatch, command, fault):
    monkeypatch.chdir(folder)
    before = {p.name for p in folder.iterdir()}
    for place in (1, 2):
        done, failed = run(command, folder, monkeypatch, fault, place)
        new = {p.name for p in folder.iterdir()} - before
        if failed:
            assert (done.exit_code, "No space left" in done.stderr) == (2, True), done.output
        assert failed or place > 1
        assert not [name for name in new if name.startswith(".")]
        for path in (folder / name for name in new):  # what is there is whole, old or new
            shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.mark.parametrize("command", ["fit", "select", "assign"])
def test_memory_that_does_not_suffice_ends_in_a_sentence(folder, monkeypatch, command):
    monkeypatch.chdir(folder)

    def too_large(*args, **options):
        raise MemoryError("Unable to allocate 298. GiB for an array")

    monkeypatch.setattr(np, "concatenate", too_large)
    done = CliRunner().invoke(app, list(COMMANDS[command]))
    assert (done.exit_code, done.stdout) == (2, "")
    assert "not enough memory. Unable to allocate 298. GiB" in done.stderr
