"""Write files whole or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from lacunet.errors import OutputError


def check_file(target: str | os.PathLike[str]) -> None:
    """Say now, before the work, why a file could not be written; nothing is made yet."""
    path = Path(target)
    if path.is_dir():
        raise OutputError(f"{path} is a folder. Give the name of a file inside it.")
    if path.exists() and not path.is_file():
        raise OutputError(f"{path} is not an ordinary file. Give the name of one.")
    _check_place(path, path.absolute().parent)


def check_folder(target: str | os.PathLike[str]) -> None:
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


def _refused(path: str | os.PathLike[str], why: object) -> OutputError:
    reason = (why.strerror or why) if isinstance(why, OSError) else why
    return OutputError(
        f"{os.fspath(path)} cannot be written: {reason}. Choose a folder that you may write to."
    )


@contextlib.contextmanager
def atomic_path(target: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside `target`; rename it to `target` only if the block succeeds.

    The temporary file lives in the same folder, because a rename is atomic only inside one file
    system. Missing folders are made; a link is followed, not replaced.
    """
    check_file(target)
    path = Path(os.path.realpath(target))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise _refused(target, error) from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as error:
        raise _refused(target, error) from error
    finally:
        temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def atomic_folder(target: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary folder beside `target`; move what is in it there if the block succeeds.

    Other files that are in `target` already stay there.
    """
    check_folder(target)
    path = Path(os.path.realpath(target))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
    except OSError as error:
        raise _refused(target, error) from error
    try:
        yield temporary
        if path.exists():
            for file in sorted(temporary.iterdir()):
                file.replace(path / file.name)
        else:
            temporary.chmod(0o777 & ~_umask())
            temporary.replace(path)
    except OSError as error:
        raise _refused(target, error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _umask() -> int:
    """Temporary files are private; what they become gets the permissions of any new file."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_text(target: str | os.PathLike[str], text: str) -> None:
    """Write `text` as UTF-8, atomically."""
    with atomic_path(target) as path:
        path.write_text(text, encoding="utf-8")
