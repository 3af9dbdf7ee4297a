"""Write a file whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from lacunet.errors import OutputError


@contextlib.contextmanager
def atomic_path(target: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary path beside `target`; rename it to `target` only if the block succeeds.

    The temporary file lives in the same folder, because a rename is atomic only inside one file
    system. Missing folders are made.
    """
    path = Path(target)
    if path.is_dir():
        raise OutputError(f"{path} is a folder. Give the name of a file inside it.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise OutputError(
            f"{path} cannot be written: {error.strerror or error}. "
            "Choose a folder that you may write to."
        ) from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        # mkstemp makes private files; give the result the permissions of any other new file.
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(path)
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror or error}.") from error
    finally:
        temporary.unlink(missing_ok=True)


def write_text(target: str | os.PathLike[str], text: str) -> None:
    """Write `text` as UTF-8, atomically."""
    with atomic_path(target) as path:
        path.write_text(text, encoding="utf-8")
