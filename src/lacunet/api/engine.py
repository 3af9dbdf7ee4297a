"""Who does the work: threads of this process, or the workers of a cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from lacunet import __version__
from lacunet.cluster.connecting import Engine, current_client, on_cluster
from lacunet.data.table import Table
from lacunet.executor import on_threads
from lacunet.holding import SomeRows
from lacunet.progress import Listener
from lacunet.settings import Settings


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


def held_by(table: Table, engine: Engine) -> Table:
    """Let the rows of a table be held where they are worked on, if they are so many."""
    holder, rows = engine.holder, SomeRows(table.codes, table.counts)
    return table if holder is None or not holder.wants(rows) else replace(table, holder=holder)
