"""Rows that the workers of a cluster hold, in parts: parameters go out, statistics come back."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from lacunet.cluster.luggage import quiet_blas
from lacunet.cluster.workers import ATTEMPTS, in_our_words, lost_too_often, results_of
from lacunet.executor import SERIAL, Executor
from lacunet.holding import Held, Holder, MadeHere, SomeRows, StaysHereError, cut

if TYPE_CHECKING:
    from distributed import Client, Future

# From so many bytes of rows on, workers share them. Of fewer each has all, and does whole fits.
MANY = 1 << 26

A = TypeVar("A")
B = TypeVar("B")


class HeldByWorkers(Held[A]):
    """A value for each part, in bundles that a worker has each; made anew where one is lost.

    A bundle is asked at once: to ask takes longer than an E step over few rows. When the work is
    over and the workers are gone, what is asked for is made here, part by part.
    """

    def __init__(
        self, shared: Shared, bundles: int, there: Callable[[int], Future], here: MadeHere[A]
    ) -> None:
        """Make bundles there, or at last values here."""
        self._shared, self._bundles, self._there, self._here = shared, bundles, there, here
        self._futures: dict[int, Future] = {}
        self._asked: list[Future] = []  # the last time
        self._lock = threading.Lock()
        shared.held.add(self)

    def then(self, function: Callable[[A], B]) -> HeldByWorkers[B]:
        """Apply to every value on the worker that has it."""
        there = partial(self.ask, function)
        return HeldByWorkers(self._shared, self._bundles, there, self._here.then(function))

    def each(self, function: Callable[[A], B], executor: Executor = SERIAL) -> list[B]:
        """Apply to every value on the worker that has it; what is lost is asked for again."""
        if not self._shared.open:
            return self._here.each(function, executor)
        found: dict[int, list[B]] = {}
        for _ in range(ATTEMPTS):
            left = [bundle for bundle in range(self._bundles) if bundle not in found]
            told = results_of(self._shared.client, self._ask_all(function, left))
            found |= {b: one for b, one in zip(left, told, strict=True) if one is not None}
            if len(found) == self._bundles:
                return [one for bundle in range(self._bundles) for one in found[bundle]]
        raise lost_too_often()

    def ask(self, function: Callable[[A], Any], bundle: int) -> Future:
        """Have a function applied to the values of a bundle."""
        client, values = self._shared.client, self._future(bundle)
        with in_our_words(client):
            return client.submit(_apply, function, values, pure=False)

    def _ask_all(self, function: Callable[[A], Any], bundles: Sequence[int]) -> list[Future]:
        """Do the same for several, in one message.

        A client sends its messages at least 10 ms apart. To forget what was asked before is one
        too: it is done after this, and not before, where whoever asks would wait.
        """
        client, values = self._shared.client, [self._future(bundle) for bundle in bundles]
        with in_our_words(client):
            asked = client.map(_apply, [function] * len(values), values, pure=False)
        self._asked = asked
        return list(asked)

    def _future(self, bundle: int) -> Future:
        with self._lock:
            known = self._futures.get(bundle)
            if known is None or known.status == "cancelled":
                known = self._futures[bundle] = self._there(bundle)
            return known

    def let_go(self) -> None:
        """Let workers forget the values."""
        self._futures.clear()
        self._asked = []

    def __reduce__(self) -> tuple[type[MadeHere[A]], tuple[int, Callable[[int], A]]]:
        """Refuse to travel as long as workers hold it."""
        if self._shared.open:
            raise StaysHereError
        return MadeHere, (self._here.count, self._here.make)


def _apply(function: Callable[[A], B], values: Sequence[A]) -> list[B]:
    quiet_blas()
    return [function(value) for value in values]


class Shared(Holder):
    """The workers of a cluster, for rows that are many."""

    def __init__(self, client: Client) -> None:
        self.client, self._open = client, True
        self.held: weakref.WeakSet[HeldByWorkers[Any]] = weakref.WeakSet()
        self._rows: list[tuple[Any, HeldByWorkers[SomeRows]]] = []

    @property
    def open(self) -> bool:
        """Whether workers hold anything."""
        return self._open

    def wants(self, rows: SomeRows) -> bool:
        """Whether each worker had better hold a part."""
        return self.many(rows)

    @staticmethod
    def many(rows: SomeRows) -> bool:
        """Whether rows are too many for each worker to hold all of them."""
        return rows.codes.nbytes + rows.counts.nbytes >= MANY

    def hold(self, rows: SomeRows) -> HeldByWorkers[SomeRows]:
        """Hand parts out: a bundle of neighbours to each thread of the workers."""
        for codes, held in self._rows:
            if codes is rows.codes:
                return held
        parts = cut(rows)
        number = min(len(parts), sum(self.client.nthreads().values()))
        bundles = np.array_split(np.arange(len(parts)), number)

        def there(bundle: int) -> Future:
            with in_our_words(self.client):
                return self.client.scatter([[parts[i] for i in bundles[bundle]]], hash=False)[0]

        held = HeldByWorkers(self, number, there, MadeHere(len(parts), parts.__getitem__))
        self._rows.append((rows.codes, held))
        return held

    def close(self) -> None:
        """Let workers forget everything; what is asked for from now on is made here."""
        self._open = False
        self._rows.clear()
        for held in list(self.held):
            held.let_go()
