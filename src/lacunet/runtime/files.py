"""Write files atomically, even if the machine crashes."""

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
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]

StrPath: TypeAlias = str | os.PathLike[str]

PRIVATE = ".lacunet"  # prefix of private folders; host and process follow
AT_CWD, SWAP = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux


def check_file(target: StrPath) -> None:
    """Check before the computation that a file can be written; create nothing."""
    path = Path(target)
    with _translated_errors(target):
        if path.is_dir():
            raise OutputError(f"{path} is a folder. Give the name of a file inside it.")
        if path.exists() and not path.is_file():
            raise OutputError(f"{path} is not an ordinary file. Give the name of one.")
        if path.exists() and not os.access(path, os.W_OK):
            raise OutputError(f"{path} is protected from writing. Give another name.")
        _check_place(path, Path(os.path.realpath(path)).parent)


def check_ending(target: StrPath, endings: Sequence[str], what: str) -> None:
    """Check before the computation that a file can be written and has an allowed ending."""
    check_file(target)
    ending = Path(target).suffix.lower()
    if ending not in endings:
        raise OutputError(
            f"{os.fspath(target)}: the ending '{ending}' is not allowed for {what}. Give a name "
            f"that ends in {' or '.join(endings)}."
        )


def check_not_read(target: StrPath, source: str) -> None:
    """Refuse to replace the input file; `source` need not be the name of a file."""
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
    """Check before the computation that a folder can be made or used; create nothing."""
    path = Path(target)
    with _translated_errors(target):
        if path.exists() and not path.is_dir():
            raise OutputError(f"{path} is a file, and a folder is needed. Give another name.")
        _check_place(path, path.absolute())


def _check_place(path: Path, folder: Path) -> None:
    """Check the nearest existing folder, in which missing ones would be created."""
    path.exists()  # raises an error if the name is too long
    folder = next(p for p in (folder, *folder.parents) if os.path.lexists(p))
    if not folder.is_dir():
        raise _refused(path, f"{folder} is a file, not a folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise _refused(path, f"the folder {folder} is protected")


@contextlib.contextmanager
def _translated_errors(target: StrPath) -> Iterator[None]:
    """Translate OSError to `OutputError`."""
    if "\0" in os.fspath(target):
        raise OutputError(f"{os.fspath(target)!r} is not a name of a file: it has a zero byte.")
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

    Other files in `target` stay. Old and new folders are exchanged in one step. In the current
    folder, and in those above it, files are replaced one by one.
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
        elif path in (current := Path(os.path.realpath(Path.cwd())), *current.parents):
            for file in sorted(temporary.iterdir()):  # keeps the current folder
                file.replace(path / file.name)
        else:
            whole = temporary.with_name("whole")
            shutil.copytree(path, whole, symlinks=True, copy_function=_link_or_copy)
            for file in sorted(temporary.iterdir()):
                file.replace(whole / file.name)  # replaces the link, not the old file
            sync(whole)
            _swap(whole, path)
        sync(path.parent)


def sync(path: Path) -> None:
    """Flush a file, or the names in a folder, to disk."""
    flags = os.O_RDONLY if path.is_dir() else os.O_RDWR
    try:
        handle = os.open(path, flags)
    except PermissionError:
        return  # Windows cannot open folders, and flushes names by itself
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # file systems without sync
            raise
    finally:
        os.close(handle)


def _link_or_copy(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)


def _swap(new: Path, old: Path) -> None:
    """Exchange the names of two folders: atomically on Linux, elsewhere in two steps."""
    if sys.platform == "linux":
        rename = getattr(ctypes.CDLL(None), "renameat2", None)
        names = AT_CWD, os.fsencode(new), AT_CWD, os.fsencode(old), SWAP
        if rename is not None and rename(*names) == 0:
            return
    aside = new.with_name("old")
    old.replace(aside)
    new.replace(old)


@contextlib.contextmanager
def _beside(target: StrPath) -> Iterator[tuple[Path, Path]]:
    """Give a path in a temporary folder beside `target`, and the resolved `target`.

    A rename is atomic only inside one file system. Missing folders are created, links are followed,
    and temporary folders of dead processes are removed.
    """
    with _translated_errors(target):
        path = Path(os.path.realpath(target))
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_stale(path.parent)
        with tempfile.TemporaryDirectory(
            dir=path.parent, prefix=f"{_ours()}{os.getpid()}.", ignore_cleanup_errors=True
        ) as private:
            yield Path(private) / path.name, path


def _ours() -> str:
    """Give the prefix of private folders of this machine; others may share the disk."""
    return f"{PRIVATE}.{socket.gethostname().partition('.')[0]}."


def _remove_stale(folder: Path) -> None:
    """Remove the private folders of dead processes of this machine."""
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
    """Lock a file until its owner is deleted or the returned function is called."""
    with _translated_errors(path):
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
    """Write `text` as UTF-8, atomically; invalid characters are replaced."""
    with atomic_path(target) as path:
        path.write_text(text, encoding="utf-8", errors="replace")


# Control characters except line ends and tabs, and marks of the direction of writing.
_ACTIVE = re.compile(
    "[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)
# Whether text cells are made inert for spreadsheets (`--safe-csv`).
SAFE_CSV: ContextVar[bool] = ContextVar("safe_csv", default=False)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def harmless(text: str) -> str:
    r"""Replace every control character that a terminal or a page would interpret.

    >>> harmless("a\x1b[2Jb") == "a\ufffd[2Jb"
    True
    """
    return _ACTIVE.sub("\ufffd", text)


def inert(cell: str) -> str:
    """Put an apostrophe before a spreadsheet formula, if `SAFE_CSV` is set.

    >>> token = SAFE_CSV.set(True)
    >>> inert("=1+1"), inert("-0.5"), inert("- none")
    ("'=1+1", '-0.5', "'- none")
    >>> SAFE_CSV.reset(token)
    """
    if SAFE_CSV.get() and cell.startswith(_FORMULA):
        try:
            float(cell)
        except ValueError:
            return f"'{cell}"
    return cell
