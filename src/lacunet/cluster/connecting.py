"""Find a cluster, or start one on this machine; refuse workers that cannot do the work."""

from __future__ import annotations

import logging
import socket
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lacunet.cluster.holding import Shared
from lacunet.cluster.workers import Workers
from lacunet.errors import OptionError, WorkerError
from lacunet.executor import Executor, one_blas_thread
from lacunet.holding import Holder
from lacunet.optional import find, require
from lacunet.progress import Listener, ignore

if TYPE_CHECKING:
    from distributed import Client

PATIENCE = 5.0  # seconds to wait for an answer from an address
FIRST = 60.0  # and for the first worker of a cluster that is starting
VERSION = "__import__('lacunet').__version__"  # as a text: it is asked where there may be none


@dataclass(frozen=True)
class Engine:
    """Who does the work, and who may hold rows for it."""

    executor: Executor
    holder: Holder | None = None
    count: int = 1  # threads of workers, where these are a cluster's


def current_client() -> Client | None:
    """Give the Dask client that whoever calls works in, if there is one."""
    loaded: Any = sys.modules.get("distributed")
    if loaded is None:  # who has one has loaded it
        return None
    try:
        client: Client = loaded.Client.current()
    except ValueError:
        return None
    return client if client.asynchronous is False else None


@contextmanager
def on_cluster(
    where: str | int | Client, version: str, listener: Listener = ignore
) -> Iterator[Engine]:
    """Work on the cluster at an address, on so many processes of this machine, or of a client.

    All workers must have this version of the program. What is started here ends here.
    """
    with ExitStack() as stack, one_blas_thread():
        client = stack.enter_context(client_of(where)) if isinstance(where, int | str) else where
        check_workers(client, version)
        workers, shared = Workers(client, listener), Shared(client)
        stack.callback(shared.close)
        try:
            yield Engine(workers, shared, sum(client.nthreads().values()))
        except BaseException:  # also Ctrl-C: nobody wants what is under way
            workers.close(wait=False)
            raise
        workers.close(wait=True)


@contextmanager
def client_of(where: str | int) -> Iterator[Client]:
    """Be the client of a cluster at an address, or of so many processes that are started here."""
    with _without_words(), _started(where) if isinstance(where, int) else _connected(where) as own:
        yield own


@contextmanager
def _without_words() -> Iterator[None]:
    """Keep Dask from writing of what it does."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextmanager
def _connected(address: str) -> Iterator[Client]:
    distributed = _dask()
    from distributed.comm.addressing import get_address_host_port

    example = "Give it as Dask prints it, for example --cluster tcp://192.168.0.5:8786."
    try:
        host, port = get_address_host_port(address, strict=True)
    except (ValueError, TypeError):
        raise OptionError(f"--cluster '{address}' is no address. {example}") from None
    try:
        socket.create_connection((host, port), PATIENCE).close()
        client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError) as error:
        raise OptionError(
            f"--cluster {address}: nobody answers there ({error}). Start a scheduler with `dask "
            "scheduler`, or leave --cluster out and give --workers for processes of this machine."
        ) from None
    with client:
        yield client


@contextmanager
def _started(workers: int) -> Iterator[Client]:
    distributed = _dask()
    dask: Any = find("dask")
    # Nobody looks at where workers spend their time: the profiler of Dask would take some of it.
    quiet = dask.config.set({"distributed.worker.profile.enabled": False})
    with quiet, warnings.catch_warnings():  # of the ports of pages that nobody asked for
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
    # Results come from workers themselves, which are near: the scheduler need not hand them on.
    told = {"set_as_default": False, "direct_to_workers": True}
    with cluster, distributed.Client(cluster, **told) as client:
        yield client


def _dask() -> Any:
    return require("distributed", extra="dask", what="a cluster")


def check_workers(client: Client, version: str) -> None:
    """Refuse a cluster without workers, and workers that have not this program."""
    try:
        client.wait_for_workers(1, timeout=FIRST if _is_new(client) else PATIENCE)
    except TimeoutError:
        raise OptionError(
            "the cluster has no workers. Start some with `dask worker ADDRESS`, where lacunet is "
            "installed."
        ) from None
    told: dict[str, Any] = client.run(eval, VERSION, on_error="return")
    for worker, found in told.items():
        if isinstance(found, ImportError):
            raise WorkerError(
                f"the worker at {worker} has no lacunet ({found}). Install lacunet {version} "
                "where workers run, with what it needs."
            )
        if found != version:
            raise WorkerError(
                f"the worker at {worker} has lacunet {found}, and this is {version}: they could "
                "come to different numbers. Install the same version everywhere."
            )


def _is_new(client: Client) -> bool:
    """Whether the cluster was started here."""
    return client.cluster is not None
