"""Compute backends: threads of this process, or the workers of a Dask cluster."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from lacunet import __version__
from lacunet.data.table import Table
from lacunet.fitting.prepare import prepare
from lacunet.inference.devices.device import DeviceName
from lacunet.models.network import Network
from lacunet.runtime.cluster import Shared
from lacunet.runtime.connecting import (
    Engine,
    check_workers,
    client_of,
    current_client,
    on_cluster,
)
from lacunet.runtime.executor import SHORT, cores, on_threads
from lacunet.runtime.progress import Listener
from lacunet.runtime.rows import Disk, SomeRows
from lacunet.settings import Settings


@contextmanager
def in_cluster(settings: Settings) -> Iterator[Settings]:
    """Make the cluster of the settings the current Dask client; its workers also read the files.

    Yields the settings without the cluster.
    """
    where = settings.cluster or settings.workers
    if where is None:
        yield settings
        return
    with client_of(where) as client, client.as_current():
        check_workers(client, __version__)
        yield replace(settings, cluster=None, workers=None)


@contextmanager
def at_work(settings: Settings, listener: Listener, *networks: Network) -> Iterator[Engine]:
    """Open the backend of the settings, or that of the current Dask client.

    The kernels for these networks are compiled first.
    """
    cluster = settings.cluster or settings.workers or current_client()
    with ExitStack() as stack:
        if cluster is None:
            engine = Engine(stack.enter_context(on_threads(settings.threads, listener)))
        else:
            engine = stack.enter_context(on_cluster(cluster, __version__, listener))
        if networks:
            prepare(engine.executor, *networks)
        yield engine


def described(settings: Settings, table: Table, seconds: float) -> tuple[str, int]:
    """Describe the backend for E steps of this length, and give its number of workers.

    A named cluster must be running.
    """
    if settings.device != DeviceName.CPU:
        return f"device {settings.device}: E steps run there", 1
    cluster = settings.cluster or current_client()
    many = " hold parts of the rows" if Shared.wants(_rows(table)) else ": fits are tasks"
    if settings.workers is not None:
        return f"Dask, {settings.workers} workers of this machine{many}", settings.workers
    if cluster is not None:
        with on_cluster(cluster, __version__) as engine:
            where = settings.cluster or "the current Dask client"
            return f"Dask, {engine.count} workers of {where}{many}", engine.count
    threads = settings.threads or cores()
    if table.memory is not None and Disk(table.memory).wants(_rows(table)):
        return f"disk, {threads} threads read parts of the rows from it", threads
    if threads > 1 and 1e9 * seconds < SHORT:
        return "one thread: E steps are too short to be shared", 1
    return f"{threads} threads of this process" if threads > 1 else "one thread", threads


def _rows(table: Table) -> SomeRows:
    return SomeRows(table.codes, table.counts)


def placed_on(table: Table, engine: Engine) -> Table:
    """Partition the rows of a large table over the workers or the disk."""
    holder = engine.holder or (None if table.memory is None else Disk(table.memory))
    wanted = holder is not None and holder.wants(_rows(table))
    return replace(table, holder=holder) if wanted else table
