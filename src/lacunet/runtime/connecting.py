"""Connect to a Dask cluster, or start a local one; aggregate Dask dataframes."""

from __future__ import annotations

import logging
import socket
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lacunet.errors import OptionError, WorkerError
from lacunet.optional import require
from lacunet.runtime.cluster import Shared, Workers, translated_errors
from lacunet.runtime.executor import Executor, one_blas_thread
from lacunet.runtime.progress import Listener, ignore
from lacunet.runtime.rows import RowStorage

if TYPE_CHECKING:
    from distributed import Client


PATIENCE = 5.0  # seconds to wait for an answer from an address
FIRST = 60.0  # and for the first worker of a cluster that is starting
VERSION = "__import__('lacunet').__version__"  # evaluated by workers, which may lack the package
HEAPS = 8  # for each worker thread; one whole heap is in memory at a time


@dataclass(frozen=True)
class Engine:
    """An executor, and a holder of rows."""

    executor: Executor
    holder: RowStorage | None = None
    count: int = 1  # worker threads of a cluster


def current_client() -> Client | None:
    """Give the current Dask client, if there is one."""
    loaded: Any = sys.modules.get("distributed")  # imported by any client
    try:
        client: Client | None = loaded and loaded.Client.current()
    except ValueError:
        return None
    return client if client is not None and client.asynchronous is False else None


@contextmanager
def on_cluster(
    where: str | int | Client, version: str, listener: Listener = ignore
) -> Iterator[Engine]:
    """Give an engine on the cluster of an address or a client, or on a number of local processes.

    All workers must have this version of the program. A cluster started here ends with the block.
    """
    with ExitStack() as stack, one_blas_thread():
        client = stack.enter_context(client_of(where)) if isinstance(where, int | str) else where
        check_workers(client, version)
        workers, shared = Workers(client, listener), Shared(client)
        stack.callback(shared.close)
        try:
            yield Engine(workers, shared, sum(client.nthreads().values()))
        except BaseException:  # also Ctrl-C: running tasks are cancelled
            workers.close(wait=False)
            raise
        workers.close(wait=True)


def _dask(package: str = "distributed") -> Any:
    return require(package, extra="dask", what="a cluster")


@contextmanager
def client_of(where: str | int) -> Iterator[Client]:
    """Give a client of the cluster at an address, or of new local processes."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        with _started(where) if isinstance(where, int) else _connected(where) as client:
            yield client
    finally:
        logger.setLevel(before)


def _connected(address: str) -> Client:
    distributed = _dask()
    from distributed.comm.addressing import get_address_host_port

    example = "Give it as Dask prints it, for example --cluster tcp://192.168.0.5:8786."
    try:
        host, port = get_address_host_port(address, strict=True)
    except (ValueError, TypeError):
        raise OptionError(f"--cluster '{address}' is not an address. {example}") from None
    try:
        socket.create_connection((host, port), PATIENCE).close()
        client: Client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise OptionError(
            f"--cluster {address}: no scheduler answers ({error}). Start a scheduler with `dask "
            "scheduler`, or leave --cluster out and give --workers for processes of this machine."
        ) from None
    return client


@contextmanager
def _started(workers: int) -> Iterator[Client]:
    distributed, dask = _dask(), _dask("dask")
    # The profiler of Dask takes time, and its port warnings concern pages that are not served.
    quiet = dask.config.set({"distributed.worker.profile.enabled": False})
    with quiet, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cluster = distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
            host="127.0.0.1",
            memory_limit=0,
        )
    # Local workers send results directly, not through the scheduler.
    direct = {"set_as_default": False, "direct_to_workers": True}
    with cluster, distributed.Client(cluster, **direct) as client:
        yield client


def check_workers(client: Client, version: str) -> None:
    """Refuse a cluster without workers, or with another version of the program."""
    patience = PATIENCE if client.cluster is None else FIRST  # it was started here
    try:
        client.wait_for_workers(1, timeout=patience)
    except TimeoutError:
        raise OptionError(
            "the cluster has no workers. Start some with `dask worker ADDRESS`, where lacunet is "
            "installed."
        ) from None
    versions: dict[str, Any] = client.run(eval, VERSION, on_error="return")
    for worker, installed in versions.items():
        if isinstance(installed, ImportError):
            raise WorkerError(
                f"the worker at {worker} has no lacunet ({installed}). Install lacunet {version} "
                "and its dependencies on the workers."
            )
        if installed != version:
            raise WorkerError(
                f"the worker at {worker} has lacunet {installed}, and this process has {version}: "
                "results could differ. Install the same version everywhere."
            )


def is_dask_frame(thing: object) -> bool:
    """Whether an object is a Dask dataframe, without importing Dask."""
    module = type(thing).__module__
    return module.startswith(("dask.", "dask_expr.")) and hasattr(thing, "to_delayed")


def partitions(frame: Any) -> list[Any]:
    """Give the delayed partitions of a dataframe."""
    return list(frame.to_delayed())


def grouped(
    parts: Sequence[Any],
    split: Callable[[Any, int, int], Sequence[Any]],
    join: Callable[[Sequence[Any]], Any],
) -> Iterator[Any]:
    """Split each part into heaps, join the heaps of equal number, and yield the results in turn.

    `split` gets a part, its number and the number of heaps. Parts stay on their workers.
    """
    dask, client = _dask("dask"), current_client()
    threads = 1 if client is None else sum(client.nthreads().values())
    heaps = min(len(parts), HEAPS * threads)
    split_, join_ = dask.delayed(split, pure=False), dask.delayed(join, pure=False)
    divided = [split_(part, number, heaps) for number, part in enumerate(parts)]
    joined = [join_([heap[number] for heap in divided]) for number in range(heaps)]
    if client is None:
        yield from dask.compute(*joined)
        return
    with translated_errors(client):
        futures = client.compute(joined)
    while futures:
        future = futures.pop(0)  # a used result is released on its worker
        with translated_errors(client):
            result = future.result()
        yield result
