"""The door to Numba."""

import os
import subprocess
import sys
from types import SimpleNamespace
from unittest import mock

import pytest
from numba.core import caching

import lacunet
from lacunet.errors import OptionError
from lacunet.runtime.jit import NOTICE, _Compiling, drop_outdated, kernel


def compiled_for(seconds, module="lacunet.anything", announcer=None):
    """What is said of kernels whose compiling takes so long, one inside the other."""
    announcer = announcer or _Compiling()
    dispatcher = SimpleNamespace(py_func=SimpleNamespace(__module__=module))
    happening = SimpleNamespace(data={"dispatcher": dispatcher})
    with mock.patch("time.monotonic", return_value=100.0):
        announcer.on_start(happening)
        announcer.on_start(happening)
    with mock.patch("time.monotonic", return_value=100.0 + seconds):
        announcer.on_end(happening)
        announcer.on_end(happening)


@pytest.mark.parametrize(
    ("seconds", "terminal", "module", "message"),
    [
        (1.5, True, "lacunet.anything", 1),
        (0.1, True, "lacunet.anything", 0),
        (1.5, False, "lacunet.anything", 0),
        (1.5, True, "somebody.else", 0),
    ],
)
def test_compilation_is_announced_once(seconds, terminal, module, message, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    announcer = _Compiling()
    for _ in range(2):
        compiled_for(seconds, module, announcer)
    assert capsys.readouterr().err.count(NOTICE) == message


def test_seconds_of_many_kernels_add_up(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    announcer = _Compiling()
    for _ in range(8):
        compiled_for(0.2, announcer=announcer)
    assert capsys.readouterr().err.count(NOTICE) == 1


def test_where_no_folder_can_be_written_kernels_are_compiled_each_time(monkeypatch):
    def nowhere(self, function):
        raise RuntimeError("no locator available")

    monkeypatch.setattr(caching.CompileResultCacheImpl, "__init__", nowhere)
    assert kernel(twice)(3) == 6


def twice(x):
    return 2 * x


def test_warm_up_lists_its_tasks():
    with pytest.raises(
        OptionError, match=r"unknown task 'sing' to warm up\. Choose from 'fit', 'sel"
    ):
        lacunet.warm_up(["sing"])


@pytest.mark.slow
def test_after_a_warm_up_nothing_is_compiled(tmp_path):
    """In a process of its own, with the caches that another one wrote."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    words = [sys.executable, "-m", "lacunet", "warm-up", "fit"]
    subprocess.run(words, env=environment, check=True, capture_output=True, timeout=600)
    code = (
        "from numba.core import event\n"
        "recorder = event.RecordingListener(); event.register('numba:compile', recorder)\n"
        "import lacunet\n"
        "lacunet.fit(lacunet.load_dataset('carcinoma'), 3, threads=1)\n"
        "print(len(recorder.buffer))"
    )
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, env=environment, check=True, capture_output=True, timeout=600)
    assert done.stdout.strip() == b"0"


def test_compiled_kernels_are_dropped_when_a_kernel_changes(tmp_path):
    """As after an upgrade over an older installation."""
    source = tmp_path / "inference" / "kernels" / "rows.py"
    index = tmp_path / "structure" / "__pycache__" / "moves.gain-1.py311.nbi"
    for path in (source, index, tmp_path / "runtime" / "jit.py"):
        path.parent.mkdir(parents=True)
        path.write_text("old")
    assert drop_outdated(tmp_path)
    assert not index.exists()
    index.write_text("new")
    assert not drop_outdated(tmp_path)
    assert index.exists()
    source.write_text("a kernel that has changed")
    assert drop_outdated(tmp_path)
    assert not index.exists()
