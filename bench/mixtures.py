"""(w): columns of numbers, against scikit-learn and, where cells are missing, StepMix."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

import lacunet
from bench.ours import compile_kernels
from bench.peer import Peers
from bench.report import Line, faster, same_log_lik, skipped, within
from bench.timing import alternate, clock
from lacunet.fitting.objective import Estimate, Objective, em, random_start
from lacunet.inference.classes import expect
from lacunet.inference.leaves import leaves_of
from lacunet.inference.problem import Problem, build_problem
from lacunet.models.latent_class import over_leaves
from lacunet.models.number_prior import NumberPrior, understand_covariance
from lacunet.models.prior import PAPER_ALPHA, dirichlet

FloatArray = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class NumberCase:
    """Rows drawn from a mixture of normal classes."""

    rows: int
    columns: int
    classes: int
    missing: float = 0.0
    seed: int = 2017

    @property
    def title(self) -> str:
        holes = f", {self.missing:.0%} missing" if self.missing else ""
        return f"{self.rows:,} rows, {self.columns} numbers, {self.classes} classes{holes}"

    @cached_property
    def numbers(self) -> FloatArray:
        """(rows, columns), NaN where a cell is missing."""
        rng = np.random.default_rng(self.seed)
        member = rng.integers(0, self.classes, self.rows)
        means = rng.normal(0.0, 1.5, (self.classes, self.columns))
        spread = rng.uniform(0.6, 1.4, (self.classes, self.columns))
        x: FloatArray = means[member] + spread[member] * rng.normal(size=(self.rows, self.columns))
        x[rng.random(x.shape) < self.missing] = np.nan
        return x


LARGE = NumberCase(100_000, 50, 5)
HOLES = NumberCase(100_000, 50, 5, missing=0.2)
SMALL = NumberCase(10_000, 10, 5)
BLOCK = NumberCase(100_000, 20, 5)


def run(peers: Peers, quick: bool) -> Iterator[Line]:
    warnings.simplefilter("ignore", ConvergenceWarning)
    compile_kernels()
    trials = 2 if quick else 5
    for case, wanted in ((LARGE, 3.0), (SMALL, None)):
        yield from _iterations(case, wanted, trials)
    yield from _full(BLOCK, trials)
    yield from _with_holes(HOLES, peers, trials)
    yield from _whole_fits(SMALL if quick else LARGE, trials)


def _problem(case: NumberCase, covariance: str = "diagonal") -> tuple[Problem, float]:
    """A problem, and the seconds that it takes to read the numbers."""
    tables: list[lacunet.Table] = []
    seconds = clock(lambda: tables.append(lacunet.read_table(case.numbers, kinds="auto")))
    prior = NumberPrior(covariance=understand_covariance(covariance))
    network = over_leaves(leaves_of(tables[0], prior), case.classes)
    return build_problem(tables[0], network, dirichlet(network, PAPER_ALPHA)), seconds


class _Ours:
    """EM iterations of ours."""

    def __init__(self, problem: Problem, iterations: int) -> None:
        self.objective, self.iterations = Objective.build(problem, Estimate.MAP), iterations
        self.start = em(self.objective, random_start(self.objective, 0, 0), iterations=2)

    def __call__(self) -> float:
        return clock(lambda: em(self.objective, self.start, iterations=self.iterations)) / (
            self.iterations
        )


def _sklearn(case: NumberCase, iterations: int, kind: str = "diag") -> float:
    """Seconds of one of its iterations: those of several, less those of one."""

    def fit(most: int) -> float:
        model = GaussianMixture(
            case.classes,
            covariance_type=kind,
            init_params="random",
            max_iter=most,
            tol=0.0,
            random_state=0,
        )
        return clock(lambda: model.fit(case.numbers))

    return (fit(1 + iterations) - fit(1)) / iterations


def _iterations(case: NumberCase, wanted: float | None, trials: int) -> Iterator[Line]:
    problem, reading = _problem(case)
    times = alternate({"ours": _Ours(problem, 5), "theirs": lambda: _sklearn(case, 5)}, trials)
    ours, theirs = min(times["ours"]), min(times["theirs"])
    title = f"EM iteration: {case.title}; scikit-learn, diagonal"
    yield faster("w", title, ours, theirs, wanted, trials=times)
    yield _same_likelihood(case, problem)
    yield within("w", f"once, before EM: reading {case.title}", reading, None)


def _full(case: NumberCase, trials: int) -> Iterator[Line]:
    problem, _ = _problem(case, "full")
    sides = {"ours": _Ours(problem, 5), "theirs": lambda: _sklearn(case, 5, "full")}
    times = alternate(sides, trials)
    title = f"EM iteration: {case.title}; scikit-learn, full"
    yield faster("w", title, min(times["ours"]), min(times["theirs"]), 1.5, trials=times)


def _same_likelihood(case: NumberCase, problem: Problem) -> Line:
    """Ours at its parameters."""
    model = GaussianMixture(case.classes, covariance_type="diag", max_iter=5, random_state=0)
    model.fit(case.numbers)
    units = [v.unit for v in problem.network.variables[1:]]
    tables = [model.weights_]
    for j, unit in enumerate(units):
        assert unit is not None
        mean = (model.means_[:, j] - unit.origin) / unit.size
        variance = model.covariances_[:, j] / unit.size**2
        tables.append(np.stack([mean, mean, variance, variance], axis=1))
    ours = expect(problem, problem.layout.flat(tables)).log_lik
    theirs = float(model.score(case.numbers)) * case.rows
    title = "  log-likelihood at its parameters; scikit-learn"
    return same_log_lik("w", title, ours, theirs, tolerance=1e-9)


def _with_holes(case: NumberCase, peers: Peers, trials: int) -> Iterator[Line]:
    problem, _ = _problem(case)
    ours = min(_Ours(problem, 5)() for _ in range(trials))
    title = f"EM iteration: {case.title}; StepMix"
    path = peers.folder / "numbers.npz"
    np.savez(path, numbers=case.numbers, classes=case.classes, iterations=2)
    answer = peers.numbers(path, limit=600.0)
    if "skipped" in answer:
        yield skipped("w", title, answer["skipped"], ours)
    else:
        yield faster("w", title, ours, answer["seconds_per_iteration"], 10.0, answer=answer)


def _whole_fits(case: NumberCase, trials: int) -> Iterator[Line]:
    """From several starts to convergence, each by its own defaults."""

    def ours() -> float:
        kinds = {f"x{j + 1}": "gaussian" for j in range(case.columns)}
        return clock(
            lambda: lacunet.fit(case.numbers, case.classes, kinds=kinds, starts=8, threads=1)
        )

    def theirs() -> float:
        model = GaussianMixture(case.classes, covariance_type="diag", n_init=8, random_state=0)
        return clock(lambda: model.fit(case.numbers))

    times = alternate({"ours": ours, "theirs": theirs}, 1 if case is LARGE else trials)
    title = f"whole fit, 8 starts, reading included: {case.title}; scikit-learn"
    yield faster("w", title, min(times["ours"]), min(times["theirs"]), None, trials=times)
