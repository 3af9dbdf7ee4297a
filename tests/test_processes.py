"""Work on other processes: order, errors, what a task splits, and processes that are killed."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from lacunet.errors import DataError, LacunetError, WorkerError
from lacunet.runtime import processes
from lacunet.runtime.executor import SERIAL, Serial
from lacunet.runtime.processes import on_processes
from test_executor import nested, square


def process_of(_):
    return os.getpid()


def blas_threads(_):
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def fail(n):
    if n == 3:
        raise DataError("row 3: no.")
    return n


def end(n):
    if n == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return n


@pytest.fixture
def two():
    """Two processes: they are the same for all, until one who asks for them fails."""
    with on_processes(2) as executor:
        yield executor


def test_results_are_in_order_and_made_elsewhere(two):
    assert two.map(square, range(20)) == [x * x for x in range(20)]
    assert two.map(square, []) == []
    assert os.getpid() not in two.map(process_of, range(4))


def test_work_within_work_is_done_where_it_is(two):
    result = two.map(partial(nested, two, 3), range(4))
    assert result == [nested(SERIAL, 3, n) for n in range(4)]


def test_blas_has_one_thread_in_each(two):
    assert all(set(threads) == {1} for threads in two.map(blas_threads, range(4)))


def test_steps_are_never_too_short_for_processes(two):
    assert two.if_worth(1.0) is two


def test_errors_come_out_as_they_are(two):
    with pytest.raises(DataError, match=r"^row 3: no\.$"):
        two.map(fail, range(6))
    assert two.map(square, [2]) == [4]


def test_a_killed_process_is_an_error_with_advice():
    with pytest.raises(WorkerError, match="threads=1") as raised, on_processes(2) as executor:
        executor.map(end, range(3))
    assert isinstance(raised.value, LacunetError)


def test_one_process_is_this_one():
    heard = []
    with on_processes(1, heard.append) as executor:
        assert isinstance(executor, Serial)
        assert executor.count(process_of, [0], "task", 0, 1) == [os.getpid()]
    assert heard[-1].done == 1.0


def test_processes_stay_for_the_next_block_and_end_without_work(monkeypatch):
    with on_processes(2) as executor:
        first = {*executor.map(process_of, range(8))}
    with on_processes(2) as executor:
        assert {*executor.map(process_of, range(8))} & first
        monkeypatch.setattr("lacunet.runtime.processes.UNUSED", 0.05)
    pool = processes._STAYING._pool
    processes._STAYING._timer.join(60)
    assert processes._STAYING._pool is None
    assert pool._flags.shutdown
    with on_processes(2) as executor:  # and new ones come when they are needed
        assert not {*executor.map(process_of, range(8))} & first


def grow(megabytes):
    """Keep memory, as a larger task does; two of them, further apart than loky looks."""
    time.sleep(1.1)
    KEPT.append(np.ones(megabytes * 125_000))
    return os.getpid()


KEPT = []


@pytest.mark.slow
def test_a_task_that_takes_memory_is_not_a_leak(two):
    """Else loky warns, which is an error here, and starts another process."""
    pytest.importorskip("psutil")
    assert len({*two.map(grow, [1, 1, 400, 400, 1, 1])}) <= 2


INTERRUPTED = """
import os
from lacunet.runtime.processes import forget_shared, on_processes
from test_executor import square
try:
    with on_processes(2) as executor:
        executor.map(square, range(4))
        raise KeyboardInterrupt
except KeyboardInterrupt:
    forget_shared()
    os._exit(130)
"""


def test_nothing_is_printed_after_an_interrupt():
    """Python's own end is skipped, and loky's resource tracker would tell of what is left."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
