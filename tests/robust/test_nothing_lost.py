"""Files are whole or not there, also where a process dies or a disk is full."""

import json
import os
import subprocess
import sys

import pytest

from lacunet.errors import OutputError
from lacunet.paper.experiments import RESULTS, Task
from lacunet.runtime import files
from lacunet.runtime.checkpoint import Ledger
from lacunet.runtime.files import atomic_folder, atomic_path, write_text


def names(folder):
    return sorted(p.name for p in folder.iterdir())


def test_files_are_on_disk_before_they_get_their_name(tmp_path, monkeypatch):
    order = []
    sync, replace = os.fsync, files.Path.replace
    monkeypatch.setattr(os, "fsync", lambda h: (order.append("sync"), sync(h))[1])
    monkeypatch.setattr(
        files.Path, "replace", lambda a, b: (order.append("rename"), replace(a, b))[1]
    )
    write_text(tmp_path / "a.txt", "new")
    assert order == ["sync", "rename", "sync"]  # its content, its name, the folder that has it


def test_a_folder_is_replaced_in_one_step(tmp_path, monkeypatch):
    """A reader sees, at any moment, all the old files or all the new ones."""
    target = tmp_path / "saved"
    for text in ("old", "new"):
        with atomic_folder(target) as folder:
            for name in ("a", "b"):
                (folder / name).write_text(text)
        if text == "old":
            (target / "mine.txt").write_text("kept")
    assert {n: (target / n).read_text() for n in names(target)} == {
        "a": "new",
        "b": "new",
        "mine.txt": "kept",
    }
    assert names(tmp_path) == ["saved"]

    def stopped(new, old):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "_swap", stopped)
    with pytest.raises(OutputError, match="No space left"), atomic_folder(target) as folder:
        (folder / "a").write_text("newer")
    assert (target / "a").read_text() == "new"
    assert names(tmp_path) == ["saved"]


def test_folders_change_names_where_the_system_cannot_do_it_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", "other")
    for text in ("old", "new"):
        with atomic_folder(tmp_path / "saved") as folder:
            (folder / "a").write_text(text)
    assert (tmp_path / "saved" / "a").read_text() == "new"


def test_what_dead_processes_left_is_cleared_away(tmp_path):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    stale = tmp_path / f"{files._ours()}{dead.pid}.abc"
    alive = tmp_path / f"{files._ours()}{os.getpid()}.abc"
    elsewhere = tmp_path / f"{files.PRIVATE}.another-machine.{dead.pid}.abc"
    for folder in (stale, alive, elsewhere):
        folder.mkdir()
        (folder / "half").write_text("")
    write_text(tmp_path / "a.txt", "text")
    assert names(tmp_path) == sorted([alive.name, elsewhere.name, "a.txt"])


@pytest.mark.parametrize("fails", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch, fails):
    path = tmp_path / "a.txt"
    write_text(path, "old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os if fails == "fsync" else files.Path, fails, full)
    with pytest.raises(OutputError, match=r"cannot be written: No space left on device"):
        write_text(path, "new")
    monkeypatch.undo()
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.txt"]


def test_an_interrupt_while_writing_leaves_nothing(tmp_path):
    with pytest.raises(KeyboardInterrupt), atomic_path(tmp_path / "a.txt"):
        raise KeyboardInterrupt
    assert names(tmp_path) == []


def test_names_that_are_no_text_are_written_with_a_mark(tmp_path):
    write_text(tmp_path / "a.txt", "lone \udcff")
    assert (tmp_path / "a.txt").read_text() == "lone ?"


def ledger(path):
    return Ledger(path, RESULTS, {"seed": 0}, Task)


def test_two_processes_cannot_write_one_ledger(tmp_path):
    path = tmp_path / "r.jsonl"
    first = ledger(path)
    with pytest.raises(OutputError, match=r"another process is writing to it\. Wait until"):
        ledger(path)
    del first
    ledger(path)


def test_a_header_cut_off_is_written_again(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_text('{"format": "lacu')
    ledger(path)
    assert json.loads(path.read_text())["format"] == "lacunet-paper/1"
    assert names(tmp_path) == ["r.jsonl"]


@pytest.mark.parametrize("damaged", [b"\0\0\0\0\n{}\n", b"\xff\xfe{\n", b"[1]\n", b"\n\n"])
def test_a_damaged_first_line_is_set_aside_with_a_word(tmp_path, damaged):
    path = tmp_path / "r.jsonl"
    path.write_bytes(damaged)
    with pytest.warns(UserWarning, match=r"its first line is damaged\. It was set aside as"):
        ledger(path)
    assert (tmp_path / "r.jsonl.damaged").read_bytes() == damaged
    assert len(path.read_text().splitlines()) == 1
