"""Things that several threads may want, each made once, by whoever asks first."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Hashable
from typing import Any


class Once:
    """A store that makes what it does not have yet; whoever asks meanwhile waits for it.

    What is made may itself ask for other things, as long as these never ask back.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._locks: defaultdict[Hashable, threading.Lock] = defaultdict(threading.Lock)
        self._made: dict[Hashable, Any] = {}

    def get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Give what stands under a key, making it first if nothing does."""
        with self._lock:
            mine = self._locks[key]
        with mine:
            if key not in self._made:
                self._made[key] = make()
            return self._made[key]
