"""(s): which starts reach the mode of the generating parameters, and what that takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

from bench.peer import Peers
from bench.report import Line, seconds
from bench.timing import clock
from lacunet.fitting.fit import learn
from lacunet.fitting.maxima import ESTIMATE, HIGHEST, LARGEST_MASS, best_of
from lacunet.fitting.objective import Estimate, Objective
from lacunet.fitting.prepare import prepare
from lacunet.fitting.schedules import (
    SEARCHERS,
    Schedule,
    Search,
    climb_from_starts,
    finish,
)
from lacunet.models.network import Model
from lacunet.paper.experiments import EPSILON, PAPER, Experimenter, Task
from lacunet.runtime.executor import SERIAL

LEAVES, ROWS, STARTS = 64, 400, 64
CLASSES = (8, 16, 32)
DATA_SETS = 10
WANTED, WANTED_OF = 9, 10  # data sets on which the best schedule should get there,
AT_MOST = 10.0  # times as long as the random starts
NEAR = 1e-4  # nats: as near to a maximum as it can be told


def random_starts(objective: Objective, starts: int, seed: int) -> Search:
    """What all schedules but the paper's begin with, and nothing else."""
    climbs = climb_from_starts(objective, starts, seed, merged=0, ranks=ESTIMATE).climbs
    _, winner = best_of(objective, climbs, HIGHEST)
    return finish(objective, climbs, [winner], ESTIMATE)[0]


def _estimate(schedule: Schedule, objective: Objective, starts: int, seed: int) -> Search:
    return SEARCHERS[schedule](objective, starts, seed, ESTIMATE)[0]


SIDES = {
    f"{STARTS} random starts": random_starts,
    **{f"schedule '{s}'": partial(_estimate, s) for s in Schedule if s is not Schedule.PAPER},
}
JUDGED = f"schedule '{Schedule.THOROUGH}'"


@dataclass
class Trials:
    """What one side did with each data set, against EM from the generating parameters."""

    times: list[float] = field(default_factory=list)
    above: list[float] = field(default_factory=list)  # nats of log p(D|θ) + log p(θ)
    mass_above: list[float] = field(default_factory=list)  # nats of Cheeseman–Stutz

    @property
    def reached(self) -> int:
        return sum(x >= -NEAR for x in self.above)


def run(_peers: Peers, quick: bool) -> Iterator[Line]:
    prepare(SERIAL)
    for classes in CLASSES:
        yield from _lines(classes, 3 if quick else DATA_SETS)


def _lines(classes: int, data_sets: int) -> Iterator[Line]:
    trials = {side: Trials() for side in SIDES}
    for i in range(data_sets):
        _one_data_set(classes, i, trials)
    usual = sum(trials[f"{STARTS} random starts"].times)
    title = f"mode of the generating parameters, {LEAVES} leaves, {classes} classes, {ROWS} rows"
    for side, t in trials.items():
        ratio, share = sum(t.times) / usual, t.reached / data_sets
        judged = side == JUDGED
        yield Line(
            "s",
            f"{title}: {side}",
            f"{t.reached} of {data_sets}, {seconds(sum(t.times) / data_sets)}",
            f"{min(t.above):+.1f} to {max(t.above):+.1f} nats",
            f"{ratio:.3g} × as long",
            f"≥ {WANTED} of {WANTED_OF}, ≤ {AT_MOST:g} ×" if judged else "",
            share >= WANTED / WANTED_OF and ratio <= AT_MOST if judged else None,
            {"ours_trials": t.times, "nats_above": t.above, "mass_above": t.mass_above},
        )


def _one_data_set(classes: int, number: int, trials: dict[str, Trials]) -> None:
    experimenter = Experimenter(PAPER, seed=0, starts=STARTS)
    task = Task("fit", LEAVES, classes, ROWS, number, 0, classes, EPSILON)
    problem = experimenter.problem(experimenter.table(task), classes, EPSILON)
    truth = experimenter.generator(LEAVES, classes, number).theta
    wanted = learn(problem, start=Model(problem.network, truth, problem.alpha)).point
    objective = Objective.build(problem, Estimate.MAP)
    for side, search in SIDES.items():
        found: list[Search] = []
        work = partial(search, objective, STARTS, 0)
        trials[side].times.append(clock(lambda: found.append(work())))  # noqa: B023
        point = found[0].climb.point
        trials[side].above.append(point.g - wanted.g)
        trials[side].mass_above.append(
            LARGEST_MASS(objective, point) - LARGEST_MASS(objective, wanted)
        )
