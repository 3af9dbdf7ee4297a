"""Have files of Parquet and Arrow read in another process first, which a forged one may end.

Polars trusts the lengths that stand inside of such files. One that was forged or damaged can make
it ask for more memory than there is, and that ends the process: no error could be caught here. So
a process that does nothing else reads the file first. It starts with the first such file, and waits
for more of them.
"""

import atexit
import functools
import json
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from lacunet.errors import DataError

TASTER = Path(__file__).with_name("taster.py")


class _Taster:
    """The other process, if it could be started."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None

    def survives(self, order: dict[str, object]) -> bool:
        """Whether it is still there after an order."""
        with self.lock:
            try:
                return self._answer(self._started(), order)
            except OSError:  # where no process can be started, nobody reads ahead
                return True
            except BaseException:  # also Ctrl-C: its answer would be taken for that of another
                self.end()
                raise

    def _answer(self, process: "subprocess.Popen[bytes]", order: dict[str, object]) -> bool:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(order).encode() + b"\n")
        process.stdin.flush()
        if process.stdout.readline():
            return True
        self.end()
        return False

    def _started(self) -> "subprocess.Popen[bytes]":
        if self.process is None or self.process.poll() is not None:
            self.end()
            self.process = subprocess.Popen(
                [sys.executable, "-P", str(TASTER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for this process, which ends that one
            )
        return self.process

    def end(self) -> None:
        """End it, if it is there."""
        process, self.process = self.process, None
        if process is not None:
            process.kill()
            with process:  # closes what leads there, and waits
                pass


_TASTER = _Taster()
atexit.register(_TASTER.end)


def taste(path: Path, scan: str, columns: Sequence[str] = ()) -> None:
    """Refuse a file that would end the process that reads these columns of it."""
    found = path.stat()
    _tasted(path.absolute(), found.st_mtime_ns, found.st_size, scan, tuple(columns))


@functools.lru_cache(maxsize=1 << 14)  # a table, maybe of many files, is read in several passes
def _tasted(path: Path, _time: int, _size: int, scan: str, columns: tuple[str, ...]) -> None:
    if not _TASTER.survives({"path": str(path), "scan": scan, "columns": list(columns)}):
        raise DataError(
            f"{path} cannot be read: it ended the process that tried. Lengths inside of it are "
            "damaged or forged: write it again."
        )
