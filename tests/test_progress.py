"""Progress of long work."""

import io
import sys
from types import SimpleNamespace

import lacunet
from lacunet.fitting import prepare
from lacunet.runtime.progress import OneLine, PlainLines, Progress, in_notebook, shown


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_one_line_that_is_gone_at_the_end():
    screen = Terminal()
    with shown(screen) as listener:
        assert isinstance(listener, OneLine)
        listener(Progress("a long task", 0.25))
        assert screen.getvalue() == "\r 25%  a long task"
    assert screen.getvalue().endswith(f"\r{' ' * len(' 25%  a long task')}\r")


def test_a_line_at_every_quarter():
    file = io.StringIO()
    with shown(file) as listener:
        assert isinstance(listener, PlainLines)
        for done in range(11):
            listener(Progress("work", done / 10))
    assert [line.split()[0] for line in file.getvalue().splitlines()] == [
        "0%", "30%", "50%", "80%", "100%",
    ]  # fmt: skip


def test_short_work_is_silent():
    file = Terminal()
    with shown(file, after=60) as listener:
        listener(Progress("work", 0.5))
    assert file.getvalue() == ""


def test_functions_show_it_in_notebooks(monkeypatch, capsys):
    table = lacunet.load_dataset("values")
    lacunet.fit(table, 2, starts=2)
    assert capsys.readouterr().err == ""
    seen = Display()
    shell = SimpleNamespace(kernel=None)
    ipython = SimpleNamespace(get_ipython=lambda: shell, display=SimpleNamespace(display=seen))
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setattr("lacunet.api.options.PATIENCE", 0.0)
    assert in_notebook()
    lacunet.fit(table, 2, starts=2)
    assert seen.shown[0] == "<small>0% preparing</small>"
    assert seen.shown[-1] == ""
    assert capsys.readouterr().err == ""


class Display:
    """What a notebook has for outputs that change."""

    def __init__(self):
        self.shown = []

    def __call__(self, data, **_):
        self.update(data)
        return self

    def update(self, data, **_):
        self.shown.append(data["text/html"])


def test_a_word_while_kernels_compile(monkeypatch):
    heard = []
    table = lacunet.load_dataset("values")
    lacunet.fit(table, 2, starts=2, listener=heard.append)
    assert heard[0].task == "preparing"
    monkeypatch.setattr(prepare, "is_compiled", lambda kernel: kernel is prepare.TREES.kernel)
    lacunet.fit(table, 2, starts=2, listener=heard.append)
    seconds = prepare.CLASSES.seconds
    assert f"compiling kernels, once: about {seconds} s" in [event.task for event in heard]
