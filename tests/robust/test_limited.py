"""With little address space (`ulimit -v`) a command ends in an answer or in a sentence."""

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from lacunet import dataset_path
from lacunet.runtime.executor import on_threads

resource = pytest.importorskip("resource", reason="Windows has no such limit")

GIGABYTE = 1_000_000 * 1024  # `ulimit -v 1000000`
FIT = ("-m", "lacunet", "fit", str(dataset_path("carcinoma")), "--states", "2")
CHILD = """
import os, signal, sys, time
from lacunet.cli import continue_within
continue_within(10**9)
print("work", flush=True)
"""


def start(words, limit=None):
    def limited():
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    return subprocess.Popen(
        [sys.executable, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
        preexec_fn=limited if limit else None,  # noqa: PLW1509 - it calls the system once
    )


def run(*words, limit=None):
    process = start(words, limit)
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


@pytest.mark.slow
def test_one_gigabyte_is_enough_for_the_same_answer():
    code, out, err = run(*FIT, limit=GIGABYTE)
    assert code == 0, err
    assert out == run(*FIT)[1]


def test_what_is_too_little_is_refused_before_any_library_is_loaded():
    code, out, err = run(*FIT, limit=GIGABYTE // 2)
    assert (code, out) == (2, "")
    assert err.startswith("error: the address space is limited to 512 MB (ulimit -v), and Lacunet")
    assert "ulimit -v unlimited" in err


@pytest.mark.parametrize("end", ["os.abort()", "sys.exit(1)", "os.kill(os.getpid(), 11)"])
def test_a_library_that_ends_the_process_is_a_sentence(end):
    code, out, err = run("-c", CHILD + end)
    assert (code, out) == (2, "work\n")
    assert "error: memory ran out: the address space is limited to 1 GB (ulimit -v)." in err


@pytest.mark.parametrize("code", [0, 2, 70, 130])
def test_other_exit_codes_are_kept(code):
    assert run("-c", CHILD + f"sys.exit({code})") == (code, "work\n", "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_reach_the_child(number):
    wait = "signal.signal(signal.SIGINT, signal.SIG_DFL)\ntime.sleep(60)"
    process = start(("-c", CHILD.replace('print("', wait.partition("\n")[0] + '\nprint("') + wait))
    assert process.stdout.readline() == "work\n"
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == -number


@pytest.mark.skipif(sys.platform != "linux", reason="prctl is Linux's")
def test_children_end_when_the_parent_is_killed():
    process = start(("-c", CHILD + "print(os.getpid(), flush=True)\ntime.sleep(600)"))
    assert process.stdout.readline() == "work\n"
    child = int(process.stdout.readline())
    process.kill()
    process.communicate(timeout=60)  # until the child, too, has let go of its end of the pipe
    ended = time.monotonic() + 60
    while runs(child) and time.monotonic() < ended:
        time.sleep(0.01)
    assert not runs(child)


def runs(process):
    """Whether a process is there; one that has ended stays as Z until its end is noted."""
    try:
        return ") Z" not in Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except OSError:
        return False


@pytest.mark.parametrize("most", [0, 1, 3])
def test_threads_that_cannot_be_started_are_done_without(most, monkeypatch):
    begin, begun = threading.Thread.start, []

    def limited(thread):
        if len(begun) == most:
            raise RuntimeError("can't start new thread")
        begun.append(thread)
        begin(thread)

    monkeypatch.setattr(threading.Thread, "start", limited)
    with on_threads(4) as executor:
        assert executor.map(abs, range(-5, 0)) == [5, 4, 3, 2, 1]
    assert len(begun) == most
