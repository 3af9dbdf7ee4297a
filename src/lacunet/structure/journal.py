"""How far a search for a graph is, in a file: it may stop at any moment, and goes on from there.

Every piece of a search (a climb with its shakes, the rounds of data with holes) has a name and says
where it stands; it draws from a generator of its own. So a search that goes on ends as one that was
never stopped.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lacunet.errors import OutputError
from lacunet.runtime.arrays import BoolArray
from lacunet.runtime.files import StrPath, check_file, hold_name, write_text

FORMAT = "lacunet-learn/1"


class Journal:
    """Where the pieces of a search stand; without a file, nothing is kept."""

    def __init__(self, path: StrPath | None = None, about: Mapping[str, Any] | None = None) -> None:
        self.path = None if path is None else Path(path)
        self.header = {"format": FORMAT, **(about or {})}
        self.pieces: dict[str, Any] = {}
        self.lock = threading.Lock()  # pieces may be done side by side
        if self.path is not None:
            check_file(self.path)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._let_go = hold_name(self.path.resolve(), self)
            try:
                if self.path.exists() and self.path.stat().st_size:
                    self._read(self.path)
            except BaseException:
                self._let_go()
                raise

    def close(self) -> None:
        """Let others have the file."""
        if self.path is not None:
            self._let_go()

    def get(self, piece: str) -> dict[str, Any] | None:
        """Where a piece stood when it was stopped."""
        return self.pieces.get(piece)

    def put(self, piece: str, **stand: Any) -> None:
        """Keep where a piece stands, on disk at once."""
        if self.path is not None:
            with self.lock:
                self.pieces[piece] = stand
                text = json.dumps({**self.header, "pieces": self.pieces}, allow_nan=False)
                write_text(self.path, text)

    def chapter(self, name: str) -> Journal:
        """Give a journal for one of several like searches, whose pieces stand in this one."""
        return _Chapter(self, name)

    def __reduce__(self) -> tuple[type[Journal], tuple[()]]:
        """Travel as one that keeps nothing: where a task ends up, there is no such file."""
        return Journal, ()

    def _read(self, path: Path) -> None:
        try:
            found = json.loads(path.read_text(encoding="utf-8"))
        except (ValueError, OSError, RecursionError):
            raise _refused(path, "it cannot be read as JSON") from None
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise _refused(path, "it is no file of a search that was stopped")
        for name, value in self.header.items():
            if found.get(name) != value:
                raise _refused(path, f"it belongs to a search with other {name}")
        self.pieces = found["pieces"]


class _Chapter(Journal):
    """Pieces of another journal whose names begin alike."""

    def __init__(self, whole: Journal, name: str) -> None:
        """Take the journal that holds the pieces, and what their names begin with."""
        super().__init__()
        self.whole, self.name = whole, name

    def get(self, piece: str) -> dict[str, Any] | None:
        """Where a piece of this chapter stood."""
        return self.whole.get(f"{self.name}: {piece}")

    def put(self, piece: str, **stand: Any) -> None:
        """Keep where a piece of this chapter stands."""
        self.whole.put(f"{self.name}: {piece}", **stand)


FORGETFUL = Journal()


def edges_of_graph(parents: BoolArray) -> list[list[int]]:
    """Give the edges of a graph as pairs (child, parent) that JSON can hold."""
    return np.argwhere(parents).tolist()


def graph_of_edges(edges: Sequence[Sequence[int]], n: int) -> BoolArray:
    """Give the graph over n variables with these pairs (child, parent)."""
    parents = np.zeros((n, n), dtype=np.bool_)
    for child, parent in edges:
        parents[child, parent] = True
    return parents


def _refused(path: Path, why: str) -> OutputError:
    return OutputError(
        f"{path}: {why}. It was left as it is: move it away, or give --resume another name."
    )
