"""Write files whole or not at all."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from lacunet.errors import OutputError

StrPath: TypeAlias = str | os.PathLike[str]


def check_file(target: StrPath) -> None:
    """Say now, before the work, why a file could not be written; nothing is made yet."""
    path = Path(target)
    if path.is_dir():
        raise OutputError(f"{path} is a folder. Give the name of a file inside it.")
    if path.exists() and not path.is_file():
        raise OutputError(f"{path} is not an ordinary file. Give the name of one.")
    _check_place(path, path.absolute().parent)


def check_folder(target: StrPath) -> None:
    """Say now, before the work, why a folder could not be made or used; nothing is made yet."""
    path = Path(target)
    if path.exists() and not path.is_dir():
        raise OutputError(f"{path} is a file, and a folder is needed. Give another name.")
    _check_place(path, path.absolute())


def _check_place(path: Path, folder: Path) -> None:
    """Check the nearest folder that is there already: the others would be made in it."""
    folder = next(p for p in (folder, *folder.parents) if p.exists())
    if not folder.is_dir():
        raise _refused(path, f"{folder} is a file, not a folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _refused(path, f"the folder {folder} is protected")


def _refused(path: StrPath, why: object) -> OutputError:
    reason = (why.strerror or why) if isinstance(why, OSError) else why
    return OutputError(
        f"{os.fspath(path)} cannot be written: {reason}. Choose a folder that you may write to."
    )


@contextlib.contextmanager
def atomic_path(target: StrPath) -> Iterator[Path]:
    """Give a temporary path beside `target`; rename it to `target` only if the block succeeds."""
    check_file(target)
    with _beside(target) as (temporary, path):
        temporary.touch()
        yield temporary
        temporary.replace(path)


@contextlib.contextmanager
def atomic_folder(target: StrPath) -> Iterator[Path]:
    """Give a temporary folder beside `target`; move what is in it there if the block succeeds.

    Other files that are in `target` already stay there.
    """
    check_folder(target)
    with _beside(target) as (temporary, path):
        temporary.mkdir()
        yield temporary
        if path.exists():
            for file in sorted(temporary.iterdir()):
                file.replace(path / file.name)
        else:
            temporary.replace(path)


@contextlib.contextmanager
def _beside(target: StrPath) -> Iterator[tuple[Path, Path]]:
    """Give a name in a private folder beside `target`, thrown away at the end, and `target` itself.

    It is beside it, because a rename is atomic only inside one file system. Missing folders are
    made; a link is followed, not replaced.
    """
    path = Path(os.path.realpath(target))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(
            dir=path.parent, prefix=f".{path.name}.", ignore_cleanup_errors=True
        ) as private:
            yield Path(private) / path.name, path
    except OSError as error:
        raise _refused(target, error) from error


def write_text(target: StrPath, text: str) -> None:
    """Write `text` as UTF-8, atomically."""
    with atomic_path(target) as path:
        path.write_text(text, encoding="utf-8")
