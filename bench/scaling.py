"""(g): ten times the distinct rows, in time."""

from __future__ import annotations

from collections.abc import Iterator

from bench import cases
from bench.ours import make_ready
from bench.peer import Peers
from bench.report import Line, as_long
from bench.timing import alternate, clock
from lacunet.inference.classes import expect

LIMIT = 11.0  # times as long for ten times the rows


def run(_peers: Peers, quick: bool) -> Iterator[Line]:
    one, ten = make_ready(cases.G_ONE), make_ready(cases.G_TEN)
    rows = [ready.table.distinct_rows for ready in (one, ten)]

    def e_step(which: str) -> float:
        ready = ten if which == "ten" else one
        return clock(lambda: expect(ready.problem, ready.start))

    e_step("one"), e_step("ten")
    times = alternate(
        {"ten": lambda: e_step("ten"), "one": lambda: min(e_step("one") for _ in range(3))},
        5 if quick else 20,
    )
    yield as_long(
        "g",
        f"E step: {rows[1]:,} distinct rows against {rows[0]:,} (both ours)",
        min(times["ten"]),
        min(times["one"]),
        LIMIT * rows[1] / (10 * rows[0]),
        ours_trials=times["ten"],
        their_trials=times["one"],
    )
    for name, part in (("distinct rows", "counting"), ("plan", "planning")):
        yield as_long(
            "g",
            f"  once, before EM: {name}, the same rows",
            getattr(ten, part),
            getattr(one, part),
            None,
        )
