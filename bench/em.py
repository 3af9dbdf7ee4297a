"""(a) to (d): one EM iteration from the same start, against the faster of StepMix and polca."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bench import cases
from bench.ours import Ready, make_ready
from bench.peer import NAMES, PEERS, Peers, best
from bench.report import Line, faster, same_log_lik, skipped, within
from bench.timing import clock
from lacunet.fitting.objective import em

COMPARED_AFTER = 10  # iterations: later StepMix, which clips probabilities, may leave the path


@dataclass(frozen=True)
class Task:
    """A case, what is wanted of it, and how long to look."""

    case: cases.Case
    wanted: float  # times as fast as the faster peer
    iterations: int  # of one trial
    rounds: int  # ours, StepMix, polca, ours, StepMix, polca, ...
    repeats: int  # trials in one round, on every side


TASKS = (
    Task(cases.A, 5, iterations=100, rounds=4, repeats=5),
    Task(cases.B, 50, iterations=100, rounds=4, repeats=5),
    Task(cases.C, 10, iterations=10, rounds=3, repeats=1),
    Task(cases.D, 10, iterations=10, rounds=2, repeats=1),
)


def run(peers: Peers, quick: bool) -> Iterator[Line]:
    for task in TASKS:
        yield from _case(task, peers, 1 if quick else task.rounds)


def _case(task: Task, peers: Peers, rounds: int) -> Iterator[Line]:
    case, name = task.case, task.case.name
    ready = make_ready(case)
    mine: list[float] = []
    theirs: dict[str, list[dict[str, Any]]] = {peer: [] for peer in PEERS}
    for _ in range(rounds):
        mine += _ours(ready, task)
        for peer in PEERS:
            theirs[peer].append(peers.iterations(peer, case, task.iterations, repeats=task.repeats))
    ours = min(mine)
    fastest = best(theirs, "seconds_per_iteration")
    title = f"EM iteration: {case.title}"
    for peer in PEERS:
        compared = f"{title}; {NAMES[peer]}"
        if peer not in fastest:
            yield skipped(name, compared, theirs[peer][0]["skipped"], ours)
            continue
        wanted = task.wanted if fastest[peer] == min(fastest.values()) else None
        raw = {"ours_trials": mine, "their_answers": theirs[peer]}
        yield faster(name, compared, ours, fastest[peer], wanted, **raw)
    if case.states > 2 and "stepmix" in fastest:
        yield _its_default(task, peers, ours)
    yield from _log_liks(task, peers, ready, theirs)
    yield within(
        name,
        f"once, before EM: distinct rows {ready.counting * 1e3:.3g} ms,"
        f" plan {ready.planning * 1e3:.3g} ms",
        ready.counting + ready.planning,
        None,
        counting=ready.counting,
        planning=ready.planning,
        distinct_rows=ready.table.distinct_rows,
    )


def _ours(ready: Ready, task: Task) -> list[float]:
    """Seconds of one iteration, E step and M step, in each trial."""
    objective = ready.objective()
    point = objective.at(ready.start)
    em(objective, point, iterations=2)  # so that caches are warm again
    return [
        clock(lambda: em(objective, point, iterations=task.iterations)) / task.iterations
        for _ in range(task.repeats)
    ]


def _its_default(task: Task, peers: Peers, ours: float) -> Line:
    """StepMix as it comes, encoding the data again in every step: shown, not judged."""
    answer = peers.iterations("stepmix", task.case, 2, repeats=1, integer_codes=True)
    compared = "  the same; StepMix by default, encoding in every step"
    if "skipped" in answer:
        return skipped(task.case.name, compared, answer["skipped"])
    theirs = answer["seconds_per_iteration"]
    return faster(task.case.name, compared, ours, theirs, None, their_answers=[answer])


def _log_liks(
    task: Task, peers: Peers, ready: Ready, theirs: dict[str, list[dict[str, Any]]]
) -> Iterator[Line]:
    objective = ready.objective()
    mine = em(objective, objective.at(ready.start), iterations=COMPARED_AFTER).log_lik
    for peer in PEERS:
        answer = theirs[peer][0]
        if "skipped" not in answer and answer["iterations"] != COMPARED_AFTER:
            answer = peers.iterations(peer, task.case, COMPARED_AFTER, repeats=1)
        if "skipped" in answer:
            continue
        compared = f"  log-likelihood after {COMPARED_AFTER} iterations; {NAMES[peer]}"
        yield same_log_lik(task.case.name, compared, mine, answer["log_likelihood"])
