"""The directive `command-line`: every command with its options, from the program itself.

It reads what `--help` reads, so it is never older than the program.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Any

import typer
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from lacunet.cli.app import app as program

WORDS = {str: "TEXT", int: "NUMBER", float: "NUMBER", Path: "PATH"}
AN_OPTION = re.compile(r"(?<![\w`-])--?[a-z][a-z-]*")


class CommandLine(SphinxDirective):
    """One section for each command."""

    def run(self) -> list[nodes.Node]:
        """Write the sections as Markdown, and have it read."""
        text = StringList(list(all_commands()), source=__file__)
        section = nodes.section()
        section.document = self.state.document
        self.state.nested_parse(text, 0, section, match_titles=True)
        return section.children


def all_commands() -> Iterator[str]:
    """Give the lines of all sections."""
    for name, command in typer.main.get_command(program).commands.items():  # type: ignore[attr-defined]
        title = f"lacunet {name}"
        yield from (f"(command-{name})=", f"## {title}", "")
        yield from (f":::{{program}} {title}", ":::", "")
        arguments = [p for p in command.params if p.param_type_name == "argument"]
        usage = " ".join([title, *(p.metavar or p.name.upper() for p in arguments), "[OPTIONS]"])
        yield from ("```text", usage, "```", "")
        yield from (*marked(inspect.cleandoc(command.help or "")).splitlines(), "")
        types = inspect.signature(command.callback).parameters
        for p in command.params:
            if p.name != "help":
                yield from option(p, types[p.name].annotation)


def option(p: Any, kind: Any) -> Iterator[str]:
    """Give the lines of one option or argument."""
    argument, value = p.param_type_name == "argument", value_of(p, kind)
    names = [] if argument else [f"{name} {value}".rstrip() for name in p.opts]
    text = marked(p.help or "").replace("*", r"\*")
    if p.required and not argument:
        text += " Required."
    default = p.default.value if isinstance(p.default, Enum) else p.default
    if p.show_default and default not in (None, False):
        text += f" Default: `{default}`."
    yield from (f":::{{option}} {', '.join(names) or value}", text, ":::", "")


def marked(text: str) -> str:
    """Show options in sentences as code: two hyphens would become a dash."""
    return AN_OPTION.sub(r"`\g<0>`", text)


def value_of(p: Any, kind: Any) -> str:
    """Say what a value looks like: its name, or the choices."""
    if p.metavar:
        return str(p.metavar)
    kind = typing.get_args(kind)[0]  # what the option is annotated with comes second
    union = typing.get_origin(kind) in (typing.Union, UnionType)
    first = next(k for k in (typing.get_args(kind) if union else [kind]) if k is not NoneType)
    if first is bool:
        return ""
    if isinstance(first, type) and issubclass(first, Enum):
        return "|".join(str(choice.value) for choice in first)
    return WORDS[first]


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive."""
    app.add_directive("command-line", CommandLine)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
