"""Independent work: order, errors, work within work, Ctrl-C, and what the listener hears."""

import pickle
import threading
import time
from functools import partial

import pytest

from lacunet.errors import OptionError
from lacunet.runtime.executor import SERIAL, Serial, Threads, on_threads
from lacunet.settings import Settings

COUNTS = (1, 2, 7)


def square(x):
    return x * x


def nested(executor, depth, n):
    """Work `depth` deep, each piece split into two."""
    if depth == 0:
        return n
    return sum(executor.map(partial(nested, executor, depth - 1), [n, n + 1]))


def fail_at(executor, depth, n):
    if depth == 0:
        if n == 3:
            raise ValueError("three")
        return n
    return sum(executor.map(partial(fail_at, executor, depth - 1), range(4)))


@pytest.mark.parametrize("count", COUNTS)
def test_results_are_in_order(count):
    with on_threads(count) as executor:
        assert executor.map(square, range(100)) == [x * x for x in range(100)]
        assert executor.map(square, []) == []
        assert sorted(executor.results(square, [3, 2, 1])) == [(0, 9), (1, 4), (2, 1)]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("depth", [1, 2, 3, 6])
def test_work_within_work(count, depth):
    with on_threads(count) as executor:
        result = executor.map(partial(nested, executor, depth), range(20))
    assert result == [nested(SERIAL, depth, n) for n in range(20)]


@pytest.mark.parametrize("count", [1, 2, 7])
def test_a_pool_of_any_size_gets_to_the_end_of_work_within_work(count):
    pool = Threads(count)
    assert pool.map(partial(nested, pool, 4), range(8)) == [nested(SERIAL, 4, n) for n in range(8)]
    pool.close(wait=True)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("depth", [0, 1, 3])
def test_the_first_error_comes_out(count, depth):
    with on_threads(count) as executor:
        with pytest.raises(ValueError, match="three"):
            executor.map(partial(fail_at, executor, depth), range(6))
        assert executor.map(square, [2]) == [4]  # and the threads go on
    with pytest.raises(ValueError, match="three"), on_threads(count) as executor:
        executor.map(partial(fail_at, executor, depth), range(6))


def test_an_idle_thread_takes_part_in_the_last_piece_of_work():
    """It is split when nothing else is left to do; both threads must meet in it."""
    meeting = threading.Barrier(2, timeout=60)
    with on_threads(2) as executor:
        executor.map(partial(meet_inside, executor, meeting), [0])


def test_a_thread_that_waits_takes_part_in_what_it_waits_for():
    """One waits for the piece that the other has; that is split, and both must meet in it."""
    inside, meeting = threading.Event(), threading.Barrier(2, timeout=60)
    with on_threads(2) as executor:
        executor.map(partial(outer, executor, inside, meeting), [0])


def outer(executor, inside, meeting, _):
    executor.map(partial(one_of_two, executor, inside, meeting), range(2))


def one_of_two(executor, inside, meeting, n):
    if n == 0:
        inside.wait(60)  # until the other piece is in other hands
    else:
        inside.set()
        time.sleep(0.05)
        meet_inside(executor, meeting, n)


def meet_inside(executor, meeting, _):
    executor.map(partial(meet, meeting), range(2))


def meet(meeting, _):
    meeting.wait()


def after_the_first(work, n):
    return None if n == 0 else work(n)


def interrupt_after_the_first(executor, work, number):
    for _ in executor.results(partial(after_the_first, work), range(number)):
        raise KeyboardInterrupt


def test_an_interrupt_starts_nothing_more_and_waits_for_nothing():
    release, started, ended = threading.Event(), [], []

    def task(n):
        started.append(n)
        release.wait(60)
        ended.append(n)

    with pytest.raises(KeyboardInterrupt), on_threads(2) as executor:
        interrupt_after_the_first(executor, task, 50)
    assert ended == []  # what is under way still waits
    release.set()
    time.sleep(0.1)
    assert len(started) <= 3


def test_unwanted_work_ends_at_its_next_step():
    release, ended = threading.Event(), threading.Event()

    def task(_):
        try:
            release.wait(60)
            executor.map(square, range(3))
        finally:
            ended.set()

    with pytest.raises(KeyboardInterrupt), on_threads(2) as executor:
        interrupt_after_the_first(executor, task, 2)
    release.set()
    assert ended.wait(60)


@pytest.mark.parametrize("threads", [0, -1])
def test_no_threads_are_refused(threads):
    with pytest.raises(OptionError, match=f"{threads} threads: there must be at least 1."):
        Settings(threads=threads)


# What the listener hears.


@pytest.mark.parametrize("count", COUNTS)
def test_parts_and_titles(count):
    events = []
    with on_threads(count, events.append) as executor:
        executor.report("all", 0.0)
        second = executor.part(0.5, 1.0, "second")
        second.report("half", 0.5)
        second.part(0.5, 1.0).report("end", 1.0)
        executor.silent().report("nothing", 0.3)
    assert [(e.task, e.done) for e in events] == [
        ("all", 0.0),
        ("second: half", 0.75),
        ("second: end", 1.0),
    ]


def steps(share_and_number):
    share, number = share_and_number
    for step in range(number + 1):
        share.report("a step", step / number)


@pytest.mark.parametrize("count", COUNTS)
def test_side_by_side_progress_only_grows_and_is_complete(count):
    events, weights = [], [1.0, 5.0, 2.0]
    with on_threads(count, events.append) as executor:
        shares = executor.beside(["one", "two", "three"], weights)
        executor.map(steps, list(zip(shares, [4, 9, 2], strict=True)))
    done = [e.done for e in events]
    assert done == sorted(done)
    assert done[-1] == 1.0
    assert {e.task for e in events} == {"one", "two", "three"}
    assert len(events) == 5 + 10 + 3


@pytest.mark.parametrize("count", COUNTS)
def test_counted_work(count):
    events = []
    with on_threads(count, events.append) as executor:
        assert executor.count(square, [1, 2], "task", 3, 5) == [1, 4]
    assert [(e.task, e.done) for e in events] == [("task 4 of 5", 0.8), ("task 5 of 5", 1.0)]


@pytest.mark.parametrize("count", [1, 2])
def test_work_stops_when_its_check_raises(count):
    calls = []

    def enough():
        calls.append(True)
        if len(calls) == 3:
            raise TimeoutError

    with on_threads(count) as executor:
        within = executor.silent().until(enough).part(0.0, 0.5)
        assert within.map(abs, [-1, -2]) == [1, 2]
        with pytest.raises(TimeoutError):
            within.map(abs, [-1, -2])


def test_an_executor_is_pickled_as_the_serial_one():
    with on_threads(2) as executor:
        for each in (executor, executor.part(0.0, 0.5), *executor.beside(["a"], [1.0])):
            assert pickle.loads(pickle.dumps(each)) is SERIAL
    assert pickle.loads(pickle.dumps(Serial(print))) is SERIAL


def spin(executor, begun, ended):
    """A task without an end, which checks between its steps whether to go on."""
    try:
        while True:
            begun.set()
            executor.check()
    finally:
        ended.set()


def test_an_interrupt_ends_what_is_under_way():
    begun, ended = threading.Event(), threading.Event()
    with pytest.raises(KeyboardInterrupt), on_threads(2) as executor:
        executor.map(partial(interrupt_while_spinning, executor, begun, ended), range(2))
    assert ended.wait(60)


def interrupt_while_spinning(executor, begun, ended, n):
    if n == 0:
        spin(executor, begun, ended)
    begun.wait(60)
    raise KeyboardInterrupt
