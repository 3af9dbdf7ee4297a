"""A holder that keeps parts in this process: what plans ask of any holder, and nothing else."""

from lacunet.runtime.executor import SERIAL
from lacunet.runtime.rows import NotPicklableError, Partitions, RowStorage


class HeldHere(Partitions):
    def __init__(self, values):
        self.values = values

    def then(self, function):
        return HeldHere([function(value) for value in self.values])

    def each(self, function, executor=SERIAL):
        return executor.map(function, self.values)

    def __reduce__(self):
        raise NotPicklableError


class Here(RowStorage):
    open = True

    def wants(self, rows):
        return True

    def put(self, parts):
        return HeldHere(parts)
