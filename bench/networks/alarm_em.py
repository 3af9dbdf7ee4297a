"""(i): ALARM with holes, from one start: an EM iteration and a whole fit, against pyAgrum."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import xlogy

from bench.cases import FloatArray, IntArray
from bench.networks.alarm import alarm, draw, hand_over, table, uniform
from bench.peer import Peers
from bench.report import Line, faster, same_log_lik, skipped
from bench.timing import clock
from lacunet.fitting.ascent import relative_change
from lacunet.fitting.fit import Fit, Options, learn
from lacunet.fitting.objective import Estimate, Objective, Point, em
from lacunet.fitting.prepare import prepare
from lacunet.inference.classes import complete_counts, expect
from lacunet.inference.problem import Problem, build_problem, problem_of_codes
from lacunet.models.network import Model
from lacunet.models.prior import PAPER_ALPHA, uniform_alpha
from lacunet.runtime.executor import SERIAL

ROWS, QUICK_ROWS = 5_000, 1_000
MISSING = 0.1
ITERATION_WANTED, FIT_WANTED = 1_000, 200  # times as fast as pyAgrum
SAME = 1e-9  # relative, log-likelihoods of the same parameters
EPSILON = 1e-4  # pyAgrum takes seconds for an iteration: a smaller one would take minutes
SHORT = 2  # iterations of its short run, the fewest that it takes
CHECKED_ROWS = 200
AT_MOST = 240.0  # seconds for one of its runs
TRIALS, ITERATIONS = 15, 20  # ours


def run(peers: Peers, quick: bool) -> Iterator[Line]:
    rows = QUICK_ROWS if quick else ROWS
    title = f"ALARM, {rows:,} rows, {MISSING:.0%} missing; pyAgrum"
    network = alarm(peers)
    if isinstance(network, str):
        yield skipped("i", title, network)
        return
    ours = Ours(network, rows)
    path = hand_over(peers.folder / "alarm.npz", network.network, ours.start, ours.codes)
    iteration = ours.iteration()
    short = peers.pyagrum("em", path, "--iterations", str(SHORT), limit=AT_MOST)
    whole = peers.pyagrum("em", path, "--epsilon", str(EPSILON), limit=AT_MOST)
    iteration += ours.iteration()
    for answer in (short, whole):
        if "skipped" in answer:
            yield skipped("i", f"EM iteration: {title}", answer["skipped"], min(iteration))
            return
    more = whole["iterations"] - SHORT
    # Each is one trial: the smaller of two ways to tell the time of an iteration is kind to it.
    theirs = min(
        (whole["seconds"] - short["seconds"]) / more, whole["seconds"] / whole["iterations"]
    )
    yield faster(
        "i",
        f"EM iteration: {title}",
        min(iteration),
        theirs,
        None if quick else ITERATION_WANTED,
        ours_trials=iteration,
        their_answers=[_brief(short), _brief(whole)],
        their_note=f"time of {whole['iterations']} iterations less that of {SHORT}, over {more}; or"
        " of all over their number, if that is less",
    )
    yield faster(
        "i",
        "  the same; ours with every missing cell filled in, as pyAgrum does it",
        min(clock(lambda: ours.filled_em(ITERATIONS)) for _ in range(TRIALS)) / ITERATIONS,
        theirs,
        None,
    )
    theta = ours.problem.layout.flat(whole["tables"])
    yield from _same(peers, ours, theta, whole)
    yield from _fits(ours, theta, whole, title, quick)


class Ours:
    """Our side: the rows, the problem, and the start."""

    def __init__(self, model: Model, rows: int) -> None:
        self.network = model.network
        self.alpha = uniform_alpha(model.network.layout, PAPER_ALPHA)
        self.codes: IntArray = draw(model, rows, MISSING)
        self.start = uniform(model.network.layout)
        prepare(SERIAL, model.network)
        self.problem = self.build()
        _ = self.problem.filled  # built on first use: not to be timed
        self.objective = Objective.build(self.problem, Estimate.ML)

    def build(self) -> Problem:
        return build_problem(table(self.network, self.codes), self.network, self.alpha)

    def iteration(self) -> list[float]:
        """Seconds of one EM iteration, in each trial."""
        point = em(self.objective, self.objective.at(self.start), iterations=2)
        return [
            clock(lambda: em(self.objective, point, iterations=ITERATIONS)) / ITERATIONS
            for _ in range(TRIALS)
        ]

    def fit_by_em(self) -> tuple[Point, int]:
        """Distinct rows, components, and EM until the relative change is below EPSILON."""
        objective = Objective.build(self.build(), Estimate.ML)
        point, iterations, change = objective.at(self.start), 0, np.inf
        while change >= EPSILON:
            before, point = point, objective.em_step(point)
            iterations, change = iterations + 1, relative_change(before, point)
        return point, iterations

    def fit_to_the_end(self) -> Fit:
        """The same, as `lacunet.fit` ends: no component of the gradient above its tolerance."""
        start = Model(self.network, self.start, self.alpha)
        return learn(self.build(), Options(estimate=Estimate.ML), start=start)

    def log_lik(self, theta: FloatArray) -> float:
        return expect(self.problem, theta).log_lik

    def filled_em(self, iterations: int) -> tuple[FloatArray, list[float]]:
        """EM with every missing cell filled in, as pyAgrum does it; and what it calls log-lik."""
        layout, theta, history = self.problem.layout, self.start, []
        for _ in range(iterations):
            N = complete_counts(self.problem, theta)
            total = layout.spread(layout.sum_k(N))
            theta = np.where(total > 0, N / np.where(total > 0, total, 1.0), theta)
            history.append(float(np.sum(xlogy(N, theta))))
        return theta, history


def _same(peers: Peers, ours: Ours, theta: FloatArray, whole: dict[str, Any]) -> Iterator[Line]:
    """Do both say the same of the same parameters, and do the same in an iteration?"""
    codes = ours.codes[:CHECKED_ROWS]
    path = hand_over(peers.folder / "alarm-rows.npz", ours.network, theta, codes)
    answer = peers.pyagrum("rows", path, limit=AT_MOST)
    compared = f"  log p of {len(codes)} rows, same parameters; the largest difference"
    if "skipped" in answer:
        yield skipped("i", compared, answer["skipped"])
    else:
        theirs = np.array(answer["log_p"])
        one = np.ones(1)
        mine = np.array(
            [
                expect(problem_of_codes(row[None], one, ours.network, ours.alpha), theta).log_lik
                for row in codes
            ]
        )
        worst = int(np.argmax(np.abs(mine - theirs) / np.abs(theirs)))
        yield same_log_lik(
            "i", compared, float(mine[worst]), float(theirs[worst]), tolerance=SAME, row=worst
        )
    again, history = ours.filled_em(whole["iterations"])
    yield same_log_lik(
        "i",
        f"  log-likelihood after its {whole['iterations']} iterations, done again by ours",
        ours.log_lik(again),
        ours.log_lik(theta),
        tolerance=SAME,
        largest_difference_of_a_parameter=float(np.abs(again - theta).max()),
        our_history=history,
        their_history=whole["history"],
    )


def _fits(
    ours: Ours, theta: FloatArray, whole: dict[str, Any], title: str, quick: bool
) -> Iterator[Line]:
    wanted = None if quick else FIT_WANTED
    point, iterations = ours.fit_by_em()
    fit = ours.fit_to_the_end()
    end = f"to {EPSILON:g}: {iterations} iterations against {whole['iterations']}"
    yield faster(
        "i",
        f"fit from one start {end}; {title}",
        *_timed(ours.fit_by_em, whole),
        wanted,
        epsilon=EPSILON,
        iterations=iterations,
    )
    yield faster(
        "i",
        f"  the same, but ours to its maximum ({fit.iterations} E steps)",
        *_timed(ours.fit_to_the_end, whole),
        wanted,
        status=str(fit.status),
        largest_gradient=fit.gradient,
        building=min(clock(ours.build) for _ in range(TRIALS)),
    )
    for what, found in ((f"at {EPSILON:g}", point.log_lik), ("at our maximum", fit.log_lik)):
        compared = f"  log-likelihood at the end, ours {what}"
        yield same_log_lik("i", compared, found, ours.log_lik(theta), asked=False)


def _timed(work: Any, whole: dict[str, Any]) -> tuple[float, float]:
    return min(clock(work) for _ in range(TRIALS)), whole["seconds"]


def _brief(answer: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in answer.items() if key != "tables"}
