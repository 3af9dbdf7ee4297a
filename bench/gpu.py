"""`python -m bench.gpu`, where an NVIDIA device and CuPy are: an EM iteration there and here.

It asks for no other package than NumPy, SciPy, Numba and CuPy. Results stand in the documentation.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.cases import Case, FloatArray
from lacunet.fitting.fit import Options, learn
from lacunet.fitting.objective import Estimate, Objective, race
from lacunet.inference.classes import expect
from lacunet.inference.devices import cuda
from lacunet.inference.problem import Problem, problem_of_codes
from lacunet.likelihoods import GAUSSIAN
from lacunet.likelihoods.gaussian import hyperparameters
from lacunet.likelihoods.unit import Unit
from lacunet.models.conjugacy import random_theta
from lacunet.models.latent_class import latent_class
from lacunet.models.network import Network, Variable
from lacunet.models.prior import PAPER_ALPHA, dirichlet, uniform_alpha
from lacunet.runtime.states import Numbers

CASES = (
    Case("million", leaves=50, states=4, classes=10, rows=1_000_000),
    Case("holes", leaves=50, states=4, classes=10, rows=1_000_000, missing=0.2),
    Case("binary", leaves=64, states=2, classes=32, rows=1_000_000),
    Case("few", leaves=20, states=3, classes=5, rows=10_000_000),
)
TRIALS = 50


def problem_of(case: Case) -> Problem:
    names = [(f"x{j}", tuple(range(case.states))) for j in range(case.leaves)]
    network = latent_class(names, case.classes)
    alpha = uniform_alpha(network.layout, PAPER_ALPHA)
    codes = np.ascontiguousarray(case.codes.astype(np.int8))
    return problem_of_codes(codes, np.ones(len(codes)), network, alpha)


def median(work: Callable[[], Any], trials: int = TRIALS) -> float:
    """Seconds on the wall."""
    times = []
    for _ in range(trials):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return float(np.median(times))


def kernels_alone(rows: Any, x: FloatArray) -> float:
    """Seconds by the device's clock: the kernels of an E step whose weights are there already."""
    cp = rows.device.cupy
    rows.expect(x[None])
    times = []
    for _ in range(TRIALS + 5):
        first, last = cp.cuda.Event(), cp.cuda.Event()
        first.record()
        rows.launch(rows.room)
        last.record()
        last.synchronize()
        times.append(cp.cuda.get_elapsed_time(first, last) / 1e3)
    return float(np.median(times[5:]))


def measure(case: Case, device: Any) -> None:
    here = problem_of(case)
    there = here.on(device)
    start = here.layout.flat([case.weights, *case.tables])
    one, other = expect(here, start), expect(there, start)
    (plan,) = there.components.plans
    x = np.log(start)[plan.places]
    em = [Objective.build(problem, Estimate.MAP) for problem in (here, there)]
    points = [objective.at(start) for objective in em]
    lines = {
        "log-likelihood, relative difference": abs(other.log_lik / one.log_lik - 1),
        "expected counts, largest difference in cases": np.abs(one.N - other.N).max(),
        "E step on one core, ms": 1e3 * median(lambda: expect(here, start), 3),
        "kernels of the device alone, ms": 1e3 * kernels_alone(plan.there, x),
        "EM iteration on one core, from Python, ms": 1e3
        * median(lambda: em[0].em_step(points[0]), 3),
        "EM iteration on the device, from Python, ms": 1e3
        * median(lambda: em[1].em_step(points[1])),
        "16 E steps at once, from Python, ms each": 1e3
        * median(
            lambda: plan.expect(np.tile(np.log(start), (16, 1)), np.zeros((16, len(start)))), 10
        )
        / 16,
        "EM iterations of 16 starts in step, from Python, ms each": 1e3
        * median(lambda: race(em[1], [points[1]] * 16, 1), 10)
        / 16,
        "tangent on the device, from Python, ms": 1e3
        * median(lambda: plan.tangent(np.log(start))(start)),
    }
    print(f"{case.title}, {len(plan.there.packed.bytes)} bytes a row")
    for name, value in lines.items():
        print(f"  {name}: {value:.4g}")
    sys.stdout.flush()


def fit(case: Case, device: Any) -> None:
    """A whole fit from 4 starts, on one core and with the device."""
    for name, problem in (("core", problem_of(case)), ("device", problem_of(case).on(device))):
        began = time.perf_counter()
        found = learn(problem, Options(starts=4))
        seconds = time.perf_counter() - began
        print(f"fit of {case.title} from 4 starts, {name}: {seconds:.1f} s, {found.log_lik:.6f}")
        sys.stdout.flush()


def numbers_of(rows: int, columns: int, classes: int, *, missing: float = 0.0) -> Problem:
    """Numbers of classes that lie apart, each with many values; a category beside them."""
    rng = np.random.default_rng(0)
    z = rng.integers(0, classes, rows)
    centres = 2.0 * rng.standard_normal((classes, columns))
    x = centres[z] + rng.standard_normal((rows, columns))
    variables, codes = [], np.empty((rows, columns + 1), dtype=np.int32)
    codes[:, 0] = (z + rng.integers(0, 2, rows)) % classes
    for j in range(columns):
        values, codes[:, j + 1] = np.unique(x[:, j], return_inverse=True)
        unit = Unit(float(x[:, j].mean()), float(x[:, j].std()))
        prior = hyperparameters(0.0, 0.01, 1.5, 0.5)
        own = Variable(f"x{j}", Numbers(values), family=GAUSSIAN, unit=unit, prior=prior)
        variables.append(own)
    codes[:, 1:][rng.random((rows, columns)) < missing] = -1
    root = Variable("class", tuple(range(classes)), hidden=True)
    kind = Variable("kind", tuple(range(classes)))
    parents = [(), *((0,) for _ in range(columns + 1))]
    network = Network.build([root, kind, *variables], parents)
    return problem_of_codes(codes, np.ones(rows), network, dirichlet(network, 1.0))


def measure_numbers(rows: int, columns: int, classes: int, device: Any) -> None:
    here = numbers_of(rows, columns, classes)
    there = here.on(device)
    theta = random_theta(here.layout, np.random.default_rng(1), here.alpha)
    one, other = expect(here, theta), expect(there, theta)
    em = [Objective.build(problem, Estimate.MAP) for problem in (here, there)]
    points = [objective.at(theta) for objective in em]
    apart = np.abs(one.N - other.N).max() / np.abs(one.N).max()
    print(f"{rows} rows, {columns} numbers and a category, {classes} classes")
    print(f"  log-likelihood, relative difference: {abs(other.log_lik / one.log_lik - 1):.2g}")
    print(f"  statistics, largest difference to the largest: {apart:.2g}")
    seconds = [median(lambda: expect(here, theta), 3), median(lambda: expect(there, theta))]
    print(f"  E step, one core: {1e3 * seconds[0]:.4g} ms; device: {1e3 * seconds[1]:.4g} ms")
    seconds = [median(lambda e=e, p=p: e.em_step(p), 5) for e, p in zip(em, points, strict=True)]
    print(f"  EM iteration, one core: {1e3 * seconds[0]:.4g} ms; device: {1e3 * seconds[1]:.4g} ms")
    sys.stdout.flush()


def main() -> None:
    device = cuda.open_cuda()
    for case in CASES:
        measure(case, device)
    for rows, columns, classes in ((100_000, 50, 10), (1_000_000, 50, 10), (1_000_000, 10, 5)):
        measure_numbers(rows, columns, classes, device)
    fit(Case("fit", leaves=50, states=4, classes=4, rows=100_000), device)


if __name__ == "__main__":
    main()
