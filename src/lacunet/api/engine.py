"""Who does the work: threads of this process, or the workers of a cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from lacunet import __version__
from lacunet.data.table import Table
from lacunet.inference.devices.device import DeviceName
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
    """Be in the cluster that settings name, for the time of a block: its workers read files too.

    Gives what is left to be said: the client is the one that one works in.
    """
    where = settings.cluster or settings.workers
    if where is None:
        yield settings
        return
    with client_of(where) as client, client.as_current():
        check_workers(client, __version__)
        yield replace(settings, cluster=None, workers=None)


@contextmanager
def at_work(settings: Settings, listener: Listener) -> Iterator[Engine]:
    """Give who works, for the time of a block: as settings say, or the Dask client one works in."""
    cluster = settings.cluster or settings.workers or current_client()
    if cluster is None:
        with on_threads(settings.threads, listener) as executor:
            yield Engine(executor)
        return
    with on_cluster(cluster, __version__, listener) as engine:
        yield engine


def described(settings: Settings, table: Table, seconds: float) -> tuple[str, int]:
    """Say who would do work with E steps so long, and how many of them side by side.

    A cluster must be there.
    """
    if settings.device != DeviceName.CPU:
        return f"device {settings.device}: E steps run there", 1
    cluster = settings.cluster or current_client()
    many = " hold parts of the rows" if Shared.many(_rows(table)) else ": fits are tasks"
    if settings.workers is not None:
        return f"Dask, {settings.workers} workers of this machine{many}", settings.workers
    if cluster is not None:
        with on_cluster(cluster, __version__) as engine:
            where = settings.cluster or "the client that one works in"
            return f"Dask, {engine.count} workers of {where}{many}", engine.count
    threads = settings.threads or cores()
    if table.memory is not None and Disk(table.memory).wants(_rows(table)):
        return f"disk, {threads} threads read parts of the rows from it", threads
    if threads > 1 and 1e9 * seconds < SHORT:
        return "one thread: E steps are too short to be shared", 1
    return f"{threads} threads of this process" if threads > 1 else "one thread", threads


def _rows(table: Table) -> SomeRows:
    return SomeRows(table.codes, table.counts)


def held_by(table: Table, engine: Engine) -> Table:
    """Let the rows of a table be held where they are worked on, if they are so many."""
    holder = engine.holder or (None if table.memory is None else Disk(table.memory))
    wanted = holder is not None and holder.wants(_rows(table))
    return replace(table, holder=holder) if wanted else table
