"""Paths in options: no output may replace an input.

Each path parameter of a command has a role in its annotation, `Reads` or `Writes`. All paths of a
command line are compared before the computation.
"""

import fnmatch
import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, get_args

from typer.models import ArgumentInfo, ParameterInfo

from lacunet.data.source import MANY, files_of, is_pattern
from lacunet.errors import LacunetError, OptionError


@dataclass(frozen=True)
class Reads:
    """An input: a file, for tables also a folder or a pattern, for graphs also a text."""


@dataclass(frozen=True)
class Writes:
    """An output: a file or a folder."""

    check: Callable[[Path], object]  # refuses a bad ending, place or package
    inside: tuple[str, ...] = ()  # name patterns of files written in a folder
    never_inputs: bool = False  # even with --overwrite


Role: TypeAlias = Reads | Writes
READS = Reads()


@dataclass(frozen=True)
class PathGiven:
    """One path of a command line."""

    option: str  # --save, or DATA
    path: Path
    role: Role

    @property
    def inside(self) -> tuple[str, ...]:
        """Name patterns of files written in a folder; empty for a file."""
        return self.role.inside if isinstance(self.role, Writes) else ()

    def replaces(self, other: Path) -> bool:
        """Whether this output replaces another file, through links too."""
        if _same(self.path, other):
            return True
        real = _real(other)
        if self._writes(real.name) and _same(self.path, real.parent):
            return True
        files = self.path.iterdir() if self.inside and self.path.is_dir() else ()
        return any(_same(path, other) for path in files if self._writes(path.name))

    def _writes(self, name: str) -> bool:
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in self.inside)


def role_of(parameter: inspect.Parameter) -> Role | None:
    """Give the role of a parameter of a command; None unless it is a path."""
    roles = [x for x in getattr(parameter.annotation, "__metadata__", ()) if isinstance(x, Role)]
    if len(roles) != _is_path(parameter.annotation):
        raise TypeError(f"{parameter}: a path needs one role, READS or Writes(...)")
    return roles[0] if roles else None


def _is_path(kind: Any) -> bool:
    """Whether a type is, or contains, a path."""
    return kind is Path or any(map(_is_path, get_args(kind)))


def last_output(parameters: Iterable[inspect.Parameter]) -> str | None:
    """Give the last output that may replace an input, if any."""
    roles = {parameter.name: role_of(parameter) for parameter in parameters}
    if not any(isinstance(role, Reads) for role in roles.values()):
        return None
    may = (n for n, role in roles.items() if isinstance(role, Writes) and not role.never_inputs)
    return next(reversed(list(may)), None)


def check_paths(
    parameters: Iterable[inspect.Parameter], given: Mapping[str, Any], overwrite: bool
) -> None:
    """Refuse outputs that cannot be written or that replace another path."""
    places = [
        PathGiven(_option(parameter), path, role)
        for parameter in parameters
        if (role := role_of(parameter)) is not None
        for path in _listed(given[parameter.name])
    ]
    written: list[PathGiven] = []
    for place in places:
        if isinstance(place.role, Writes):
            place.role.check(place.path)
            _check_apart(place, written)
            written.append(place)
    for place in places:
        if isinstance(place.role, Reads):
            for output in written:
                _check_checkpoint(output, place, overwrite)


def _check_apart(place: PathGiven, others: Iterable[PathGiven]) -> None:
    """Refuse two outputs that would replace or block each other."""
    for other in others:
        if place.replaces(other.path) or other.replaces(place.path):
            raise OptionError(
                f"{other.option} and {place.option} both write {place.path}. Give two names."
            )
        for outer, inner in ((place, other), (other, place)):
            if not outer.inside and _real(outer.path) in _real(inner.path).parents:
                raise OptionError(
                    f"{outer.option} writes a file {outer.path}, and {inner.option} needs a folder "
                    "of that name. Give two names."
                )


def _check_checkpoint(output: PathGiven, place: PathGiven, overwrite: bool) -> None:
    """Refuse an output that would replace an input, unless `overwrite` allows it."""
    files = _files(place.path)
    for file in files:
        if not output.replaces(file):
            continue
        never = isinstance(output.role, Writes) and output.role.never_inputs
        never = never or len(files) > 1  # the other files of a table are not replaced
        if never or not overwrite:
            raise OptionError(
                f"{output.option} would replace {file}, which {place.option} reads. Give another "
                f"name{'' if never else ', or --overwrite to replace it'}."
            )


def _files(path: Path) -> list[Path]:
    """List the files of an input; none if it cannot be read, which its reader reports."""
    try:
        path = path.expanduser()
        if path.is_dir() or is_pattern(path):
            return [path, *files_of(path, MANY)]
        return [path] if path.exists() else []
    except (LacunetError, OSError, RuntimeError, ValueError):
        return []


def _listed(value: Path | Sequence[Path] | None) -> Sequence[Path]:
    return [] if value is None else [value] if isinstance(value, Path) else value


def _same(one: Path, other: Path) -> bool:
    """Whether two paths are one file or folder, through any links."""
    try:
        return _real(one) == _real(other) or one.samefile(other)
    except OSError:  # one of them does not exist
        return False


def _real(path: Path) -> Path:
    """Resolve links of files and folders."""
    return Path(os.path.normcase(os.path.realpath(path)))


def _option(parameter: inspect.Parameter) -> str:
    """Give the name of an option on the command line."""
    declared = (x for x in parameter.annotation.__metadata__ if isinstance(x, ParameterInfo))
    info = next(declared)
    if isinstance(info, ArgumentInfo):
        return (info.metavar or parameter.name.upper()).rstrip(".")
    names = [name for name in info.param_decls or () if name.startswith("--")]
    return names[0] if names else f"--{parameter.name.replace('_', '-')}"
