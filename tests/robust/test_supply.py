"""Nothing in the package runs text as code, starts a shell, or talks to a network."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import lacunet

SOURCES = sorted(Path(lacunet.__file__).parent.rglob("*.py"))
MODULES = {
    "asyncio", "cloudpickle", "dill", "ftplib", "http", "marshal", "pickle", "requests", "shelve",
    "smtplib", "socketserver", "ssl", "subprocess", "telnetlib", "urllib", "webbrowser", "yaml",
}  # fmt: skip
CALLS = {"eval", "exec", "compile", "__import__"}
METHODS = {("os", "system"), ("os", "popen"), ("socket", "socket"), ("socket", "create_connection")}


def imported(node):
    if isinstance(node, ast.Import):
        return {alias.name.partition(".")[0] for alias in node.names}
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return {node.module.partition(".")[0]}
    return set()


def unwanted(tree):
    """What a source loads or runs that it should not."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from imported(node) & MODULES
        elif isinstance(node, ast.Call):
            yield from {getattr(node.func, "id", "")} & CALLS
            yield from ("shell" for k in node.keywords if k.arg == "shell")
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            yield from {(node.value.id, node.attr)} & METHODS


def test_no_source_loads_or_runs_what_it_should_not():
    assert len(SOURCES) > 100
    trees = {p.name: ast.parse(p.read_text(encoding="utf-8")) for p in SOURCES}
    result = {(name, what) for name, tree in trees.items() for what in unwanted(tree)}
    assert result == {
        ("cluster.py", "pickle"),  # tasks of a cluster that a person named: Dask's own way
        ("connecting.py", ("socket", "create_connection")),  # to that address alone
        ("rows.py", "pickle"),  # a file without a name, which only its writer can read
    }


def test_what_is_unwanted_is_found():
    lines = ["import pickle", "eval('1')", "os.system('x')", "run('x', shell=True)"]
    result = set(unwanted(ast.parse("\n".join([*lines, "from urllib.request import y"]))))
    assert result == {"pickle", "eval", ("os", "system"), "shell", "urllib"}


BLOCKED = """
import importlib, pkgutil, socket, subprocess, sys
import numpy.testing  # an old one asks which processor this is
def refuse(*args, **options):
    raise SystemExit(f"{args} was asked for")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse
subprocess.Popen.__init__ = refuse
import lacunet
for module in pkgutil.walk_packages(lacunet.__path__, "lacunet."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
print("all of it")
"""


def test_everything_loads_with_network_and_processes_blocked():
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED],
        capture_output=True,
        text=True,
        timeout=120,
        env=dict(os.environ),
        check=False,
    )
    assert done.stdout == "all of it\n", done.stderr[-2000:]
