"""Dataframes of Dask: what is done to their partitions where these are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from lacunet.cluster.connecting import current_client
from lacunet.cluster.workers import in_our_words
from lacunet.optional import find

HEAPS = 8  # for each thread of the workers: all of one heap is in memory at once


def is_dask_frame(thing: object) -> bool:
    """Whether something is a dataframe of Dask, without loading Dask for it."""
    module = type(thing).__module__
    return module.startswith(("dask.", "dask_expr.")) and hasattr(thing, "to_delayed")


def partitions(frame: Any) -> list[Any]:
    """Give the partitions of a dataframe, not made yet."""
    return list(frame.to_delayed())


def grouped(
    parts: Sequence[Any],
    split: Callable[[Any, int, int], Sequence[Any]],
    join: Callable[[Sequence[Any]], Any],
) -> Iterator[Any]:
    """Split each part into heaps, join the heaps of one number, and give what comes of each.

    `split` gets a part, its number and the number of heaps. Parts stay where they are; of the heaps
    one after the other comes here.
    """
    dask: Any = find("dask")
    client = current_client()
    threads = 1 if client is None else sum(client.nthreads().values())
    heaps = min(len(parts), HEAPS * threads)
    split_, join_ = dask.delayed(split, pure=False), dask.delayed(join, pure=False)
    divided = [split_(part, number, heaps) for number, part in enumerate(parts)]
    joined = [join_([heap[number] for heap in divided]) for number in range(heaps)]
    if client is None:
        yield from dask.compute(*joined)
        return
    with in_our_words(client):
        futures = client.compute(joined)
    while futures:
        future = futures.pop(0)  # what is done with is let go there
        with in_our_words(client):
            found = future.result()
        yield found
