"""What docstrings in this project leave to comments: fields of dataclasses, values of enums.

In the code each field has its shape and meaning behind it, in a comment on its line. Here that
becomes a list below the docstring of the class, and so do the values of an enum. Classes that only
functions make (results) are shown without the arguments of their constructors.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import textwrap
import tokenize
from collections.abc import Iterator
from enum import Enum
from io import StringIO
from typing import Any

from sphinx.application import Sphinx
from sphinx.util.inspect import TypeAliasForwardRef

MADE_BY_HAND = {"Column", "Variable", "Network", "Model", "Options", "Interval"}
BEFORE_NAPOLEON, AFTER_NAPOLEON = 400, 600

kept: dict[str, list[str]] = {}  # docstrings that napoleon would misread


def keep(_app: Sphinx, what: str, name: str, _thing: Any, _options: Any, lines: list[str]) -> None:
    """Keep the docstring of a property: napoleon takes what stands before a colon for its type."""
    if what == "property":
        kept[name] = lines.copy()


def finish(_app: Sphinx, what: str, name: str, thing: Any, _options: Any, lines: list[str]) -> None:
    """Put back what was kept, and append fields or values to the docstring of a class."""
    if name in kept:
        lines[:] = kept.pop(name)
    if what == "class" and leaves_to_comments(thing):
        lines_of_options = [f"    * {line}" for line in described(thing)]
        heading = "Values" if issubclass(thing, Enum) else "Fields"
        lines += ["", f":{heading}:", *lines_of_options, ""] if lines_of_options else []


def leaves_to_comments(kind: type) -> bool:
    """Whether a class is an enum, or a dataclass whose docstring does not list its parameters."""
    listed = "Parameters\n" in (kind.__doc__ or "")
    return issubclass(kind, Enum) or (dataclasses.is_dataclass(kind) and not listed)


def described(kind: type) -> Iterator[str]:
    """Give the public fields of a dataclass, or the values of an enum, as the source has them."""
    source = textwrap.dedent(inspect.getsource(kind))
    comments = {
        token.start[0]: f" – {plain(token.string.lstrip('# '))}"
        for token in tokenize.generate_tokens(StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    (definition,) = ast.parse(source).body
    for line in definition.body:  # type: ignore[attr-defined]
        comment = comments.get(line.end_lineno, "")
        match line:
            case ast.AnnAssign(target=ast.Name(id=name)) if not name.startswith("_"):
                yield f"**{name}** (``{ast.unparse(line.annotation)}``){comment}"
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=value)) if (
                name != "KEYS"
            ):
                yield f"**{name}** (``{value!r}``){comment}"


def plain(comment: str) -> str:
    """Stars and bars of a comment are meant."""
    return comment.replace("*", r"\*").replace("|", r"\|")


def show_signature(
    _app: Sphinx, what: str, name: str, thing: Any, _options: Any, signature: str | None, back: Any
) -> tuple[str | None, Any] | None:
    """Show a result without its constructor, and a default that is a function by its name."""
    made_by_hand = name.rpartition(".")[2] in MADE_BY_HAND or name.endswith("Settings")
    if what == "class" and leaves_to_comments(thing) and not made_by_hand:
        return "", None
    if signature and "<function ignore>" in signature:
        return signature.replace("<function ignore>", "ignore"), back
    return None


def setup(app: Sphinx) -> dict[str, bool]:
    """Listen on both sides of napoleon, and name aliases of types as the code does."""
    TypeAliasForwardRef.__repr__ = lambda alias: alias.name  # type: ignore[method-assign]
    app.connect("autodoc-process-docstring", keep, priority=BEFORE_NAPOLEON)
    app.connect("autodoc-process-docstring", finish, priority=AFTER_NAPOLEON)
    app.connect("autodoc-process-signature", show_signature)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
