"""Write files whole or not at all, also where the machine dies meanwhile."""

import contextlib
import ctypes
import errno
import os
import re
import shutil
import socket
import sys
import tempfile
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import TypeAlias

from lacunet.errors import OutputError

try:
    import fcntl
except ImportError:  # Windows: there two processes on one file are not told apart
    fcntl = None  # type: ignore[assignment]

StrPath: TypeAlias = str | os.PathLike[str]

PRIVATE = ".lacunet"  # how the names of private folders begin: machine and process follow
AT_CWD, EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux


def check_file(target: StrPath) -> None:
    """Say now, before the work, why a file could not be written; nothing is made yet."""
    path = Path(target)
    with _said(target):
        if path.is_dir():
            raise OutputError(f"{path} is a folder. Give the name of a file inside it.")
        if path.exists() and not path.is_file():
            raise OutputError(f"{path} is not an ordinary file. Give the name of one.")
        if path.exists() and not os.access(path, os.W_OK):
            raise OutputError(f"{path} is protected from writing. Give another name.")
        _check_place(path, Path(os.path.realpath(path)).parent)


def check_ending(target: StrPath, endings: Sequence[str], what: str) -> None:
    """Say now, before the work, why a file could not be written, perhaps for its ending."""
    check_file(target)
    ending = Path(target).suffix.lower()
    if ending not in endings:
        raise OutputError(
            f"{os.fspath(target)}: the ending '{ending}' is not allowed for {what}. Give a name "
            f"that ends in {' or '.join(endings)}."
        )


def check_not_read(target: StrPath, source: str) -> None:
    """Refuse to replace the file that a result is of; `source` need not be the name of a file."""
    try:
        same = Path(target).samefile(source)
    except (OSError, ValueError):
        return
    if same:
        raise OutputError(
            f"{os.fspath(target)} is the table that was read, and would be replaced. Choose "
            "another name."
        )


def check_folder(target: StrPath) -> None:
    """Say now, before the work, why a folder could not be made or used; nothing is made yet."""
    path = Path(target)
    with _said(target):
        if path.exists() and not path.is_dir():
            raise OutputError(f"{path} is a file, and a folder is needed. Give another name.")
        _check_place(path, path.absolute())


def _check_place(path: Path, folder: Path) -> None:
    """Check the nearest folder that is there already: the others would be made in it."""
    path.exists()  # a name that is too long is found out here
    folder = next(p for p in (folder, *folder.parents) if os.path.lexists(p))
    if not folder.is_dir():
        raise _refused(path, f"{folder} is a file, not a folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _refused(path, f"the folder {folder} is protected")


@contextlib.contextmanager
def _said(target: StrPath) -> Iterator[None]:
    """Turn what the system refuses into a sentence."""
    if "\0" in os.fspath(target):
        raise OutputError(f"{os.fspath(target)!r} is no name of a file: it has a zero byte.")
    try:
        yield
    except OutputError:
        raise
    except OSError as error:
        raise _refused(target, error) from error


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
        sync(temporary)
        temporary.replace(path)
        sync(path.parent)


@contextlib.contextmanager
def atomic_folder(target: StrPath) -> Iterator[Path]:
    """Give a temporary folder beside `target`, which takes its place if the block succeeds.

    Other files that are in `target` already stay there. Old and new are exchanged in one step; in
    the current folder, and in those above it, files are replaced one by one.
    """
    check_folder(target)
    with _beside(target) as (temporary, path):
        temporary.mkdir()
        yield temporary
        for file in sorted(temporary.iterdir()):
            sync(file)
        if not path.exists():
            sync(temporary)
            temporary.replace(path)
        elif path in (here := Path(os.path.realpath(Path.cwd())), *here.parents):
            for file in sorted(temporary.iterdir()):  # where we are stays the same folder
                file.replace(path / file.name)
        else:
            whole = temporary.with_name("whole")
            shutil.copytree(path, whole, symlinks=True, copy_function=_link_or_copy)
            for file in sorted(temporary.iterdir()):
                file.replace(whole / file.name)  # the old file is another, linked from there
            sync(whole)
            _exchange(whole, path)
        sync(path.parent)


def sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on disk and not only on their way."""
    flags = os.O_RDONLY if path.is_dir() else os.O_RDWR
    try:
        handle = os.open(path, flags)
    except PermissionError:
        return  # folders that cannot be opened: Windows, which has the names on disk by itself
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # file systems that know no sync
            raise
    finally:
        os.close(handle)


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)


def _exchange(new: Path, old: Path) -> None:
    """Let two folders change their names: at once on Linux, elsewhere in two steps."""
    if sys.platform == "linux":
        rename = getattr(ctypes.CDLL(None), "renameat2", None)
        names = AT_CWD, os.fsencode(new), AT_CWD, os.fsencode(old), EXCHANGE
        if rename is not None and rename(*names) == 0:
            return
    aside = new.with_name("old")
    old.replace(aside)
    new.replace(old)


@contextlib.contextmanager
def _beside(target: StrPath) -> Iterator[tuple[Path, Path]]:
    """Give a name in a private folder beside `target`, thrown away at the end, and `target` itself.

    It is beside it, because a rename is atomic only inside one file system. Missing folders are
    made; a link is followed, not replaced. Folders that processes left when they died go too.
    """
    with _said(target):
        path = Path(os.path.realpath(target))
        path.parent.mkdir(parents=True, exist_ok=True)
        _clear_away(path.parent)
        with tempfile.TemporaryDirectory(
            dir=path.parent, prefix=f"{_ours()}{os.getpid()}.", ignore_cleanup_errors=True
        ) as private:
            yield Path(private) / path.name, path


def _ours() -> str:
    """How the private folders of this machine begin: other machines may use the same disk."""
    return f"{PRIVATE}.{socket.gethostname().partition('.')[0]}."


def _clear_away(folder: Path) -> None:
    """Remove the private folders of processes of this machine that are no more."""
    for stale in folder.glob(f"{_ours()}*.*"):
        number = stale.name.removeprefix(_ours()).partition(".")[0]
        if number.isdecimal():
            try:
                os.kill(int(number), 0)
            except ProcessLookupError:
                shutil.rmtree(stale, ignore_errors=True)
            except OSError:
                continue  # a process of another user


def hold(path: Path, owner: object) -> Callable[[], object]:
    """Keep a file from all others, until its owner is gone or the returned function is called."""
    with _said(path):
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    if fcntl is not None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            raise OutputError(
                f"{path}: another process is writing to it. Wait until it has ended, or choose "
                "another name."
            ) from None
    return weakref.finalize(owner, os.close, handle)


def write_text(target: StrPath, text: str) -> None:
    """Write `text` as UTF-8, atomically; what is no text (parts of names) becomes a mark."""
    with atomic_path(target) as path:
        path.write_text(text, encoding="utf-8", errors="replace")


# Control characters but for line ends and tabs, and marks that turn the direction of writing.
_ACTIVE = re.compile(
    "[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
# Whether tables of text are written for spreadsheets that anybody may open (`--safe-csv`).
SAFE_CSV: ContextVar[bool] = ContextVar("safe_csv", default=False)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def harmless(text: str) -> str:
    r"""Put a mark in place of every character that a terminal or a page would act upon.

    >>> harmless("a\x1b[2Jb") == "a\ufffd[2Jb"
    True
    """
    return _ACTIVE.sub("\ufffd", text)


def inert(cell: str) -> str:
    """Put an apostrophe before what a spreadsheet would compute, where that was asked for.

    >>> asked = SAFE_CSV.set(True)
    >>> inert("=1+1"), inert("-0.5"), inert("- none")
    ("'=1+1", '-0.5', "'- none")
    >>> SAFE_CSV.reset(asked)
    """
    if SAFE_CSV.get() and cell.startswith(_FORMULA):
        try:
            float(cell)
        except ValueError:
            return f"'{cell}"
    return cell
