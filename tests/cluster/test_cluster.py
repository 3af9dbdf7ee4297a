"""Work on a real cluster of processes: the same numbers, and workers that are really killed."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import psutil
import pytest

import lacunet
from lacunet.data import dask_rows
from lacunet.errors import DataError, OptionError, WorkerError
from lacunet.fitting.fit import Options, learn
from lacunet.inference.classes import expect
from lacunet.inference.problem import problem_of_codes
from lacunet.runtime.checkpoint import Checkpoint
from lacunet.runtime.connecting import on_cluster
from lacunet.runtime.executor import SERIAL
from problems import make_case
from test_executor import nested, square

pytestmark = pytest.mark.slow
CASE = make_case([3, 2, 4, 2], 2, 300, missing=0.1, seed=4)
NEAR = {"rtol": 1e-10, "atol": 1e-10}


def process_of(_):
    return os.getpid()


def fail(n):
    if n == 3:
        raise DataError("row 3: no.")
    return n


def end_once(mark, n):
    """Kill the worker that comes here first, as one is killed that has no memory left."""
    if n == 2:
        try:
            Path(mark).touch(exist_ok=False)
        except FileExistsError:
            return n
        os.kill(os.getpid(), signal.SIGKILL)
    return n


def end_always(_):
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture(scope="module")
def cluster():
    """Two workers, for all tests; those that are killed are started again."""
    with on_cluster(2, lacunet.__version__) as engine:
        yield engine


@pytest.fixture
def client(cluster):
    return cluster.executor.client


@pytest.fixture
def parts(monkeypatch):
    """Let few rows be many."""
    monkeypatch.setattr("lacunet.runtime.rows.PART", 64)
    monkeypatch.setattr("lacunet.runtime.cluster.MANY", 0)


def test_results_are_in_order_and_made_elsewhere(cluster):
    executor = cluster.executor
    assert executor.map(square, range(20)) == [x * x for x in range(20)]
    assert executor.map(square, []) == []
    assert os.getpid() not in executor.map(process_of, range(4))
    assert executor.map(partial(nested, executor, 3), [1, 2]) == [
        nested(SERIAL, 3, n) for n in (1, 2)
    ]
    assert executor.if_worth(1.0) is executor
    with pytest.raises(DataError, match=r"^row 3: no\.$"):
        executor.map(fail, range(6))


def test_fits_on_workers_are_identical(cluster):
    here = learn(CASE.problem, Options(starts=4))
    remote = learn(CASE.problem, Options(starts=4), executor=cluster.executor)
    assert remote.log_lik == here.log_lik
    np.testing.assert_array_equal(remote.model.theta, here.model.theta)


def test_large_arrays_are_sent_once_and_returned_unchanged(cluster):
    large = np.arange(100_000.0)
    (result,) = cluster.executor.map(partial(_pair, large), [1])
    assert result[0] is large
    assert result[1] == large.sum() + 1


def _pair(array, n):
    return array, float(array.sum()) + n


def test_rows_that_workers_hold_give_the_same_numbers(cluster, parts):
    given = CASE.codes, CASE.counts, CASE.network, CASE.alpha
    held, here = problem_of_codes(*given, cluster.holder), CASE.problem
    one, other = expect(held, CASE.theta), expect(here, CASE.theta)
    np.testing.assert_allclose([one.log_lik, *one.N], [other.log_lik, *other.N], **NEAR)
    one_start = Options(starts=1)
    fit = learn(held, one_start, executor=cluster.executor)
    alone = learn(here, one_start)
    np.testing.assert_allclose(fit.log_lik, alone.log_lik, **NEAR)


def test_a_killed_worker_costs_its_tasks_alone(cluster, tmp_path):
    mark = tmp_path / "mark"
    assert cluster.executor.map(partial(end_once, mark), range(6)) == list(range(6))
    assert mark.exists()


def test_rows_of_a_killed_worker_are_held_by_another(cluster, parts):
    client = cluster.executor.client
    held = problem_of_codes(CASE.codes, CASE.counts, CASE.network, CASE.alpha, cluster.holder)
    before = expect(held, CASE.theta)
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
    after = expect(held, CASE.theta)
    assert after.log_lik == before.log_lik
    np.testing.assert_array_equal(after.N, before.N)


def test_rows_survive_the_workers(client, parts):
    with on_cluster(client, lacunet.__version__) as cluster:
        held = problem_of_codes(CASE.codes, CASE.counts, CASE.network, CASE.alpha, cluster.holder)
        before = expect(held, CASE.theta)
    for problem in (held, pickle.loads(pickle.dumps(held))):
        np.testing.assert_array_equal(expect(problem, CASE.theta).N, before.N)


FRAME = pd.DataFrame(
    {
        "a": [0.0, 1.0, np.nan, 1.0] * 30,
        "b": ["no", "yes", "yes", None] * 30,
        "c": pd.Categorical(["low", "high", "low", "low", "high", "low"] * 20, ["low", "high"]),
        "w": [1.0, 2.0, 1.0] * 40,
    }
)


@pytest.mark.parametrize("partitions", [1, 7])
def test_equal_rows_are_counted_where_partitions_are(client, partitions):
    frame = dd.from_pandas(FRAME, npartitions=partitions)
    expected = lacunet.read_table(FRAME, weights="w")
    with client.as_current():
        remote = lacunet.read_table(frame, weights="w")
    for result in (remote, lacunet.read_table(frame, weights="w")):  # also without a cluster
        np.testing.assert_array_equal(result.codes, expected.codes)
        np.testing.assert_array_equal(result.counts, expected.counts)
        assert result.columns == expected.columns
        assert (result.rows, result.notes) == (expected.rows, expected.notes)


@pytest.fixture
def worth(monkeypatch):
    """Let workers read small files, in parts of some rows."""
    monkeypatch.setattr("lacunet.data.dask_rows.WORTH", 0)
    monkeypatch.setattr("lacunet.data.dask_rows.ROWS", 25)


def write_parts(folder, ending):
    """Write the frame into files whose columns stand in another order each."""
    folder.mkdir()
    for k in range(3):
        part = FRAME.iloc[40 * k : 40 * (k + 1)].drop(columns="c")
        part = part[[*part.columns[k:], *part.columns[:k]]]
        path = folder / f"part-{k}.{ending}"
        part.to_csv(path, index=False) if ending == "csv" else part.to_parquet(path, index=False)
    return folder


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_files_are_read_by_workers_and_the_table_is_the_same(client, worth, tmp_path, ending):
    folder = write_parts(tmp_path / "data", ending)
    expected = lacunet.read_table(folder, weights="w")
    with client.as_current():
        read = []
        grouped = dask_rows.grouped
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(dask_rows, "grouped", lambda *a: read.append(len(a[0])) or grouped(*a))
            table = lacunet.read_table(folder, weights="w")
    assert read == [6 if ending == "parquet" else 3]  # files of 40 rows, in parts of 25
    np.testing.assert_array_equal(table.codes, expected.codes)
    np.testing.assert_array_equal(table.counts, expected.counts)
    assert table.columns == expected.columns
    assert (table.rows, table.notes) == (expected.rows, expected.notes)


def test_small_files_are_read_here(client, tmp_path, monkeypatch):
    folder = write_parts(tmp_path / "data", "parquet")
    monkeypatch.setattr(dask_rows, "grouped", None)
    with client.as_current():
        assert lacunet.read_table(folder).rows == 120


def test_a_file_with_other_columns_or_none_is_named(client, worth, tmp_path):
    folder = write_parts(tmp_path / "data", "parquet")
    FRAME[["a", "w"]].to_parquet(folder / "part-9.parquet")
    with client.as_current(), pytest.raises(DataError, match=r"part-9.parquet has no column 'b'"):
        lacunet.read_table(folder)
    gone = dask_rows.FilePart(str(tmp_path / "gone.parquet"))
    with pytest.raises(DataError, match=r"gone\.parquet does not exist for the worker on"):
        list(dask_rows.grouped([gone], partial(dask_rows._split, ("a",), ("a",)), list))


def test_inside_a_client_its_workers_select(client):
    frame = FRAME.drop(columns="w")
    options = {"starts": 2, "quick": True, "scores": "cs,laplace"}
    alone = lacunet.select(frame, [1, 2], **options)
    with client.as_current():
        selection = lacunet.select(dd.from_pandas(frame, npartitions=3), [1, 2], **options)
    for one, other in zip(selection.candidates, alone.candidates, strict=True):
        values = [
            [c.scores[name].value for name in alone.candidates[0].scores] for c in (one, other)
        ]
        np.testing.assert_allclose(*values, **NEAR)


def test_many_rows_are_held_by_workers_through_the_whole_of_select(client, parts):
    frame = pd.DataFrame(CASE.codes, columns=list("abcd")).replace(-1, np.nan)
    options = {"starts": 1, "scores": "bic,cs", "quick": True}
    alone = lacunet.select(frame, [1, 2], **options)
    with client.as_current():
        selection = lacunet.select(frame, [1, 2], **options)
    assert selection.table.holder is not None
    for one, other in zip(selection.candidates, alone.candidates, strict=True):
        values = [[c.scores[name].value for name in ("bic", "cs")] for c in (one, other)]
        # Climbs stop at a small gradient, so maxima agree to its square, not to rounding.
        np.testing.assert_allclose(*values, rtol=0.0, atol=1e-5)
    assert pickle.loads(pickle.dumps(selection)).table.holder is None


def test_a_partition_with_other_columns_is_named(client):
    halves = [dask.delayed(FRAME.iloc[:60]), dask.delayed(FRAME.iloc[60:].drop(columns="b"))]
    frame = dd.from_delayed(halves, meta=FRAME.iloc[:0], verify_meta=False)
    with client.as_current(), pytest.raises(DataError, match=r"partition 2 .* has no column 'b'"):
        lacunet.read_table(frame)


def test_workers_with_another_version_or_without_the_program_are_refused(client, monkeypatch):
    with (
        pytest.raises(WorkerError, match=r"has lacunet .*, and this process has 0\.0"),
        on_cluster(client, "0.0"),
    ):
        pass
    monkeypatch.setattr("lacunet.runtime.connecting.VERSION", "__import__('no_such_package')")
    with pytest.raises(WorkerError, match="has no lacunet"), on_cluster(client, "0.0"):
        pass


@pytest.mark.parametrize(
    ("address", "message"),
    [("tcp://127.0.0.1:9", "no scheduler answers"), ("nonsense", "is not an address")],
)
def test_an_unreachable_cluster_is_reported_first(address, message):
    with pytest.raises(OptionError, match=message), on_cluster(address, "0.0"):
        pass


@contextmanager
def scheduler(folder):
    """A scheduler and a worker, each a process of its own."""
    address, command = folder / "scheduler.json", [sys.executable, "-m"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    quiet["env"] = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    one = ["distributed.cli.dask_scheduler", "--port", "0", "--scheduler-file", str(address)]
    two = [
        "distributed.cli.dask_worker",
        "--scheduler-file",
        str(address),
        "--no-nanny",
        "--nthreads",
        "1",
    ]
    started = [
        subprocess.Popen([*command, *args, "--no-dashboard"], **quiet) for args in (one, two)
    ]
    try:
        while not address.exists():
            time.sleep(0.05)
        yield started[0].pid, json.loads(address.read_text())["address"]
    finally:
        for process in started:
            process.kill()
            process.wait()


def end_scheduler(pid, kept, n):
    if n == 1 and pid is not None:
        while kept.read_bytes().count(b"\n") < 2:  # a header and the first result
            time.sleep(0.05)
        os.kill(pid, signal.SIGKILL)
    return n


def test_a_lost_scheduler_is_an_error_and_what_was_kept_is_not_done_again(tmp_path):
    checkpoint = Checkpoint(tmp_path / "kept")
    with (
        scheduler(tmp_path) as (pid, address),
        pytest.raises(WorkerError, match="resume"),
        on_cluster(address, lacunet.__version__) as engine,
    ):
        checkpoint.map(partial(end_scheduler, pid, tmp_path / "kept"), range(4), engine.executor)
    checkpoint.close()
    again = Checkpoint(tmp_path / "kept")
    assert len(again.ledger.records) == 1
    assert again.map(partial(end_scheduler, None, None), range(4), SERIAL) == [0, 1, 2, 3]
    again.close()


def test_a_cluster_that_is_started_ends_with_the_work():
    before = set(psutil.Process().children(recursive=True))
    with pytest.raises(ZeroDivisionError), on_cluster(1, lacunet.__version__):
        raise ZeroDivisionError
    left = set(psutil.Process().children(recursive=True)) - before
    assert [p.cmdline() for p in left if "spawn_main" in " ".join(p.cmdline())] == []
