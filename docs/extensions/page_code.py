"""The code on the pages of the documentation: taken apart, run, and held against what is shown.

- ``python`` and ``sh`` blocks are run.
- ``pycon`` (``>>>``) and ``console`` (``$``) blocks are run, and print what the page shows below
  each statement; ``...`` stands for anything, and a number may be shown with fewer digits, the
  last of which may be one off. Below a command nothing need be shown.
- In tables of ``docs/coming-from``, code of the last column is run after the blocks of the page.
- Python of one page shares one namespace, everything on it one folder.

The tests run every page; Sphinx those whose pictures it needs (`picture`). Where a page shows what
is printed no more, ``python docs/extensions/page_code.py docs/tutorial.md`` puts it right.
"""

import ast
import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer
from markdown_it import MarkdownIt
from markdown_it.token import Token
from typer.testing import CliRunner

from lacunet.cli.app import app

ROOT = Path(__file__).parents[2]
PROMPTS = {"pycon": (">>> ", "... "), "console": ("$ ", "> ")}  # of a statement; of its next lines
RUN = {"python", "sh", *PROMPTS}
SHOWN = {"text", "r", "json", "bif"}  # languages that nothing here runs
SHELL = set("|<>;&$`*")  # a line with one of these needs a shell
MINUTES = {"paper"}  # commands that take too long; tests of their own run them, smaller
DIGITS = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"
A_NUMBER = re.compile(rf"(?<![\w.]){DIGITS}(?![\w])")
SPECIAL = re.compile(rf"({A_NUMBER.pattern}|\.\.\.|\s+)")


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    language: str
    line: int  # of the page, from 0, where its text begins
    lines: tuple[str, ...]


@dataclass(frozen=True)
class Statement:
    """One thing to run."""

    language: str
    line: int  # of the page, from 0
    source: str
    shown: tuple[int, int]  # first line of what is shown below it, and the one after the last
    want: str | None  # None: nothing is said of what it prints


@dataclass
class Surprise:
    """What a statement printed, where the page shows something else."""

    page: Path
    statement: Statement
    got: str

    def __str__(self) -> str:
        where = f"{self.page.name}, line {self.statement.line + 1}"
        want = self.statement.want or ""
        return f"{where}: {self.statement.source}\n--- shown\n{want}\n--- printed\n{self.got}"


def markdown_pages() -> list[Path]:
    """All pages with code of ours."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path) -> Iterator[Block]:
    """Give the fenced blocks of a page; those of Sphinx ({toctree} and the like) are none."""
    for token in MarkdownIt().parse(page.read_text(encoding="utf-8")):
        language = token.info.strip()
        if token.type == "fence" and token.map and not language.startswith("{"):
            yield Block(language, token.map[0] + 1, tuple(token.content.splitlines()))


def statements(page: Path) -> Iterator[Statement]:
    """Give what is to be run, in order."""
    for block in blocks(page):
        if block.language == "python":
            end = (block.line + len(block.lines),) * 2
            yield Statement("python", block.line, "\n".join(block.lines), end, None)
        elif block.language == "sh":
            yield from _commands(block)
        elif block.language in PROMPTS:
            yield from _dialogue(block)
    if page.parent.name == "coming-from":
        yield from _last_column(page)


def _last_column(page: Path) -> Iterator[Statement]:
    """Give calls and commands in the last column of tables; words and options are not run."""
    cells: list[Token] = []
    for token in MarkdownIt().enable("table").parse(page.read_text(encoding="utf-8")):
        if token.type == "tr_open":
            cells = []
        elif token.type == "inline":
            cells.append(token)
        elif token.type == "tr_close":
            for child in cells[-1].children or ():
                code = child.content
                if child.type == "code_inline" and re.match(r"lacunet |(not )?\w+[.(\[]", code):
                    line = (cells[-1].map or [0])[0]
                    language = "sh" if code.startswith("lacunet ") else "python"
                    yield Statement(language, line, code, (line, line), None)


def _commands(block: Block) -> Iterator[Statement]:
    """Give the commands of a block; a backslash joins a line with the next."""
    first, source = 0, ""
    for n, line in enumerate(block.lines):
        first = n if not source else first
        source += line
        if source.endswith("\\"):
            source = source[:-1]
            continue
        if source.strip() and not source.lstrip().startswith("#"):
            here = block.line + first
            yield Statement("sh", here, source, (here + 1, here + 1), None)
        source = ""


def _dialogue(block: Block) -> Iterator[Statement]:
    """Give statements with what is shown below them: all until the next prompt."""
    prompt, more = PROMPTS[block.language]
    starts = [n for n, line in enumerate(block.lines) if line.startswith(prompt)]
    for n, end in zip(starts, [*starts[1:], len(block.lines)], strict=True):
        body = n + 1
        while body < end and f"{block.lines[body]} ".startswith(more):
            body += 1
        said = [block.lines[n][len(prompt) :], *(x[len(more) :] for x in block.lines[n + 1 : body])]
        python = block.language == "pycon"
        source = "\n".join(said) if python else "".join(s.rstrip("\\") for s in said)
        want = "\n".join(block.lines[body:end]).rstrip()
        silent = block.language == "console" and not want
        shown = (block.line + body, block.line + body + len(want.splitlines()))
        yield Statement(block.language, block.line + n, source, shown, None if silent else want)


@dataclass
class Session:
    """Runs the statements of one page, in a folder of its own."""

    page: Path
    folder: Path
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})

    def run(self) -> list[Surprise]:
        """Run all; what fails raises, what prints something else is given back."""
        surprises = []
        with contextlib.chdir(self.folder):
            for statement in statements(self.page):
                python = statement.language in ("python", "pycon")
                got = self._python(statement) if python else self._command(statement)
                if statement.want is not None and not same(statement.want, got):
                    surprises.append(Surprise(self.page, statement, got))
        return surprises

    def _python(self, statement: Statement) -> str:
        mode = "exec" if statement.language == "python" else "single"
        tree = ast.parse(statement.source, str(self.page), mode)
        code = compile(ast.increment_lineno(tree, statement.line), str(self.page), mode)
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            try:
                exec(code, self.names)
            except Exception as error:
                if "Traceback" not in (statement.want or ""):
                    raise
                lines = "".join(traceback.format_exception_only(error))
                out.write(f"Traceback (most recent call last):\n  ...\n{lines}")
        return out.getvalue().rstrip()

    def _command(self, statement: Statement) -> str:
        words = shlex.split(statement.source, comments=True)
        into = Path(words[-1]) if words[-2:-1] == [">"] else None
        words = words if into is None else words[:-2]
        plain = not SHELL & set("".join(words))
        if words[0] == "make":
            check_make(words[1:])
            words = ["lacunet", "demo"] if words[1:] == ["demo"] else []
        if not words or words[0] in ("source", "git", "cd"):
            return ""
        if "pip" in words[:3]:
            return check_extras(words)
        if words[:3] == ["python", "-m", "studies"]:  # hours; their tests run them, smaller
            sys.path.insert(0, str(ROOT))
            from studies.__main__ import parser

            parser().parse_args(words[3:])
            return ""
        if words[0] == "lacunet" and plain:
            got = self._lacunet(words[1:], statement.want or "")
            if into is not None:
                into.write_text(f"{got}\n", encoding="utf-8")
            return got
        return self._shell(statement.source)

    def _lacunet(self, words: Sequence[str], want: str) -> str:
        if words[0] in MINUTES:
            command = typer.main.get_command(app).commands[words[0]]  # type: ignore[attr-defined]
            command.make_context(words[0], list(words[1:]))  # are there such options?
            return ""
        done = CliRunner().invoke(app, list(words), catch_exceptions=False)
        if want.startswith("error:"):
            assert done.exit_code == 2, f"lacunet {shlex.join(words)} was meant to be refused"
            return done.stderr[done.stderr.index("error:") :].rstrip()
        assert done.exit_code == 0, f"lacunet {shlex.join(words)}: {done.stderr}"
        return done.stdout.rstrip()

    def _shell(self, source: str) -> str:
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", source],
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{source}: {done.stderr}"
        return done.stdout.rstrip()


def same(want: str, got: str) -> bool:
    """Compare, but for blanks, times, digits that are not shown, and what ... stands for."""
    want, got = timeless(want).strip(), timeless(got).strip()
    parts = SPECIAL.split(want)  # texts, with what is special between them
    match = re.fullmatch("".join(map(_pattern, parts)), got, re.DOTALL)
    shown = [part for part in parts if A_NUMBER.fullmatch(part)]
    return bool(match) and all(map(agrees, shown, match.groups()))


def _pattern(part: str) -> str:
    if A_NUMBER.fullmatch(part):
        return f"({DIGITS})"
    return ".*?" if part == "..." else r"\s+" if part.isspace() else re.escape(part)


def agrees(shown: str, printed: str) -> bool:
    """Whether a number is what is shown, to the last digit that is shown.

    Processors differ in how they round: a fraction may be one off in that digit, and nothing is
    said of what comes after nine.
    """
    digits, _, power = shown.partition("e")
    unit = 10.0 ** (int(power or 0) - len(digits.partition(".")[2]))
    if "." not in shown + printed:  # a whole number is what it is
        return shown == printed
    value = float(printed)
    return abs(float(shown) - value) <= max(1.001 * unit, 1e-9 * abs(value))


def timeless(text: str) -> str:
    """Leave times out: the column `seconds` of a table, and what ends in s."""
    lines, table = [], False
    for line in text.splitlines():
        table = line.endswith(" seconds") or (table and bool(A_NUMBER.search(line.split(" ")[-1])))
        lines.append(line.rpartition(" ")[0] if table else line)
    return re.sub(r"\d+\.\d s\b", "some s", "\n".join(lines))


def check_make(words: Sequence[str]) -> None:
    """Refuse a target that the Makefile does not have."""
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    unknown = [word for word in words if "=" not in word and word not in targets]
    assert not unknown, f"the Makefile has no target {unknown}"


def check_extras(words: Sequence[str]) -> str:
    """Refuse extras that the package does not have."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for extras in re.findall(r"(?:lacunet|\.)\[([\w,]+)\]", " ".join(words)):
        unknown = set(extras.split(",")) - set(project["optional-dependencies"])
        assert not unknown, f"there is no extra {unknown}"
    return ""


def update(page: Path) -> int:
    """Write what is printed now into a page; give the number of places."""
    with tempfile.TemporaryDirectory() as folder:
        surprises = Session(page, Path(folder)).run()
    lines = page.read_text(encoding="utf-8").splitlines()
    for surprise in reversed(surprises):
        first, end = surprise.statement.shown
        lines[first:end] = surprise.got.splitlines()
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(surprises)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        sys.stdout.write(f"{name}: {update(Path(name).resolve())} places written\n")
