"""(m): one large fit on two threads against one: its starts, climbs and walks are shared out."""

from __future__ import annotations

from collections.abc import Iterator

import lacunet
from bench import cases
from bench.ours import make_ready
from bench.peer import Peers
from bench.report import Line, faster
from bench.timing import alternate, clock

WANTED = 1.7  # times as fast


def run(_peers: Peers, quick: bool) -> Iterator[Line]:
    case = cases.M
    table = make_ready(case).table

    def select(threads: int) -> float:
        return clock(lambda: lacunet.select(table, [case.classes], scores="cs", threads=threads))

    times = alternate({"two": lambda: select(2), "one": lambda: select(1)}, 2 if quick else 5)
    yield faster(
        case.name,
        f"one candidate on two threads against one (both ours): {case.title}",
        min(times["two"]),
        min(times["one"]),
        WANTED,
        ours_trials=times["two"],
        their_trials=times["one"],
    )
