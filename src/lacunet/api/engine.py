"""Compute backends: threads of this process, or the workers of a Dask cluster.

Also the requirements of bootstrap likelihood-ratio tests, checked before the computation.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from lacunet import __version__
from lacunet.data.table import Table
from lacunet.errors import OptionError
from lacunet.fitting.fit import Options
from lacunet.fitting.objective import Estimate
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
from lacunet.selection.candidates import Proposal
from lacunet.settings import Settings
from lacunet.summaries.ratio_tests import STARTS


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
def at_work(settings: Settings, listener: Listener) -> Iterator[Engine]:
    """Open the backend of the settings, or that of the current Dask client."""
    cluster = settings.cluster or settings.workers or current_client()
    if cluster is None:
        with on_threads(settings.threads, listener) as executor:
            yield Engine(executor)
        return
    with on_cluster(cluster, __version__, listener) as engine:
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


def placed_on(table: Table, engine: Engine) -> Table:
    """Partition the rows of a large table over the workers or the disk."""
    holder = engine.holder or (None if table.memory is None else Disk(table.memory))
    wanted = holder is not None and holder.wants(_rows(table))
    return replace(table, holder=holder) if wanted else table


INSTEAD = "lacunet select compares numbers of classes by their evidence."


def check_bounded(network: Network, instead: str = INSTEAD) -> None:
    """Refuse likelihood-ratio tests of models with unbounded likelihood."""
    for v in network.variables:
        if not v.family.bounded:
            raise OptionError(
                f"'{v.name}' is continuous: the likelihood of several classes has no maximum, so "
                f"that two of them cannot be compared. {instead}"
            )


def check_drawn(table: Table, proposals: Sequence[Proposal]) -> None:
    """Refuse bootstrap tests of data that cannot be simulated."""
    if any(not isinstance(p.label, int) for p in proposals):
        raise OptionError(
            "--blrt tests a number of states against one less, and several hidden variables vary "
            "here. Give all but one their number of states, as in --hidden NAME=STATES."
        )
    check_bounded(proposals[0].network, "Leave --blrt out: the evidence compares them.")
    if table.design is not None and table.design.declared:
        raise OptionError(
            "--blrt draws rows one by one, and these were drawn in strata or clusters. Leave "
            "--blrt out: the evidence accounts for weights."
        )
    fractional = table.counts[table.counts != np.round(table.counts)]
    if len(fractional):
        raise OptionError(
            f"--blrt: a row weighs {fractional[0]:g}, and the bootstrap draws whole rows. Leave "
            "--blrt out: the evidence accounts for weights."
        )
    if table.memory is not None:
        raise OptionError(
            "--blrt draws tables as large as the data, in memory. Leave out --memory or --blrt."
        )


def with_one_less(numbers: Sequence[int]) -> list[int]:
    """Give the numbers of states that the tests need: each candidate, and one less.

    >>> with_one_less([2, 5])
    [1, 2, 4, 5]
    """
    return sorted({n for k in numbers for n in (k - 1, k) if n > 0 or n == k})


def bootstrap_search(settings: Settings) -> Options:
    """Give the search options for the real and the simulated data of a bootstrap test."""
    starts = min(settings.starts, STARTS)
    return replace(settings.options, estimate=Estimate.ML, starts=starts, device=DeviceName.CPU)
