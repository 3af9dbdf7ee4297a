"""Commands where address space is limited (`ulimit -v`): an answer or a sentence, never a crash.

Libraries that cannot get memory end the process without an exception. So there the work is done in
a child process, and this one says how it ended.
"""

import ctypes
import os
import signal
import sys
from contextlib import suppress

from lacunet.runtime.memory import in_bytes, save_address_space

LEAST = 850_000_000  # bytes that the libraries take before any data is read, and some to work with
OUT_OF_SPACE = 2  # exit code: that of what cannot be done as it was asked for
CRASHES = frozenset({signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGSEGV, signal.SIGTRAP})
PARENT_DIES = 1  # of prctl: the signal that a child gets when its parent is gone
NEXT = (
    "Raise the limit (ulimit -v unlimited; the memory limit of a container counts only what is "
    "used)"
)


def continue_within(limit: int) -> None:
    """Come back in a child process that takes little address space; the parent ends here."""
    if limit < LEAST:
        _end(
            f"the address space is limited to {in_bytes(limit)} (ulimit -v), and Lacunet needs at "
            f"least {in_bytes(LEAST)}. {NEXT}."
        )
    save_address_space()
    parent, child = os.getpid(), os.fork()
    if child:
        _end_as(child, limit)
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PARENT_DIES, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(OUT_OF_SPACE)


def _end_as(child: int, limit: int) -> None:
    """Wait for a child, and end as it does; say what a library could not."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda got, _: os.kill(child, got))
    if sys.stdin is not None and sys.stdin.isatty():
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to the child too
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if -code in CRASHES or code == 1:  # 1: OpenBLAS
        _end(
            f"memory ran out: the address space is limited to {in_bytes(limit)} (ulimit -v). "
            f"{NEXT}, or give fewer rows, columns or states."
        )
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _end(message: str) -> None:
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"error: {message}\n")
        sys.stderr.flush()
    os._exit(OUT_OF_SPACE)
