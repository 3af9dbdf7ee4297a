"""`python -m bench.chains`, where an NVIDIA device and CuPy are: chains there, beside their twin.

It asks for no other package than NumPy, SciPy, Numba and CuPy. Results stand in the documentation.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

from bench.cases import FloatArray
from lacunet.evidence.clock import Clock, Goal
from lacunet.evidence.estimate import log_mean
from lacunet.evidence.measure import measure
from lacunet.evidence.particle_run import Run, run_particles, run_there
from lacunet.evidence.partitions.cases import leaves_of, renumbered
from lacunet.evidence.partitions.chains import no_notes as nothing_noted
from lacunet.evidence.partitions.walk import walk_numbers
from lacunet.evidence.path import Path, Reference
from lacunet.evidence.travellers import There, anything
from lacunet.inference.devices import cuda
from lacunet.inference.devices.chains import Journey
from lacunet.inference.devices.walks import WalkedCases, Walkers, WalksThere
from lacunet.inference.kernels.blocks import Levels
from lacunet.inference.kernels.walking import Notes
from lacunet.inference.problem import Problem, problem_of_codes
from lacunet.model.latent_class import latent_class
from lacunet.model.prior import uniform_alpha
from lacunet.runtime.executor import on_threads

CHAINS, SWEEPS = 1024, 200


def problem_of(
    leaves: int, states: int, classes: int, rows: int, *, seed: int = 5, missing: float = 0.0
) -> Problem:
    """Rows from classes with random tables."""
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(classes))
    tables = rng.dirichlet(np.ones(states), (leaves, classes)).cumsum(axis=2)
    drawn = rng.choice(classes, rows, p=weights)
    u = rng.random((rows, leaves, 1))
    codes = (u > tables[:, drawn].transpose(1, 0, 2)[:, :, :-1]).sum(axis=2).astype(np.int8)
    codes[rng.random(codes.shape) < missing] = -1
    distinct, counts = np.unique(codes, axis=0, return_counts=True)
    names = [(f"x{j}", tuple(range(states))) for j in range(leaves)]
    network = latent_class(names, classes)
    alpha = uniform_alpha(network.layout, 1.0)
    return problem_of_codes(np.ascontiguousarray(distinct), counts * 1.0, network, alpha)


def path_of(problem: Problem) -> Path:
    N = np.random.default_rng(0).gamma(2.0, 1.0, problem.layout.size)
    return Path(problem, Reference.around(problem, N))


def travelled(path: Path, device: Any, chains: int, journey: Journey) -> tuple[FloatArray, ...]:
    there = There(path, anything, device, Clock(Goal()), (1,), np.arange(chains))
    return there.go(there.start(chains), journey)


def speed(device: Any) -> None:
    for sizes in ((64, 2, 32, 400), (6, 2, 2, 400), (20, 4, 8, 2000), (64, 2, 32, 4000)):
        path = path_of(problem_of(*sizes))
        for name, journey in (
            ("Gibbs sweeps", Journey.staying(1.0, SWEEPS)),
            ("annealing steps", Journey.upwards(SWEEPS)),
        ):
            there = There(path, anything, device, Clock(Goal()), (1,), np.arange(CHAINS))
            N = there.start(CHAINS)
            there.go(N, Journey.staying(1.0, 2))
            best = np.inf
            for _ in range(3):
                began = time.perf_counter()
                there.go(N, journey)
                best = min(best, time.perf_counter() - began)
            print(f"{sizes}: {CHAINS * SWEEPS / best / 1e6:.3f} million {name} a second")
            sys.stdout.flush()


def walks(device: Any) -> None:
    """Walks over partitions, in which splits and merges are tried."""
    for sizes in ((64, 2, 32, 400), (6, 2, 3, 60), (20, 3, 40, 150)):
        there, walkers, levels = walkers_of(sizes, CHAINS, device)
        walkers = there.walk(walkers, levels, 20)
        for notes in (None, no_notes(CHAINS, levels)):
            began = time.perf_counter()
            there.walk(walkers, levels, 50, notes)
            rate = CHAINS * 50 / (time.perf_counter() - began)
            how = "without notes" if notes is None else "with notes"
            print(f"{sizes}: {rate:.0f} sweeps a second, {how}")
        sys.stdout.flush()


def walkers_of(
    sizes: tuple[int, int, int, int], chains: int, device: Any
) -> tuple[WalksThere, Walkers, Levels]:
    """Chains at random places, weights, and who walks."""
    problem = problem_of(*sizes)
    cases, rng = leaves_of(problem), np.random.default_rng(0)
    most = min(sizes[2], len(cases.row))
    rise = np.maximum(most - np.arange(most + 2.0), 0.0)
    levels = Levels(rise, rng.gamma(2.0, 1.0, len(rise)))
    starts = [renumbered(rng.integers(0, most, len(cases.row))) for _ in range(chains)]
    walkers = Walkers.start(starts, [[1, n] for n in range(chains)])
    return device.walk_over(WalkedCases(cases, most)), walkers, levels


def no_notes(chains: int, levels: Levels) -> Notes:
    numbers = len(levels.rise)
    return nothing_noted(numbers, 1, chains)


def particles(device: Any) -> None:
    """Runs of particles: here, and by a device."""
    for leaves, states, classes, rows in ((6, 2, 3, 60), (16, 2, 4, 400), (64, 2, 16, 400)):
        problem = problem_of(leaves, states, classes, rows, missing=0.1)
        seeds = [(1, 1, 64, n) for n in range(128)]
        for runs in (seeds[:1], seeds):  # compiled at first
            run_particles(problem, 64, seeds[0])
            began = time.perf_counter()
            found = run_there(problem, 64, device, runs)
            there = time.perf_counter() - began
        began = time.perf_counter()
        here = [run_particles(problem, 64, seed) for seed in seeds[:4]]
        one = (time.perf_counter() - began) / len(here)
        print(f"{(leaves, classes, rows)}: {len(seeds)} runs in {there:.2f} s,", end=" ")
        print(f"one on one core {one:.2f} s; {told(found)}, here {told(here)}")
        sys.stdout.flush()


def told(runs: list[Run]) -> str:
    found = log_mean(np.array([run.log_evidence for run in runs]))
    return f"{found.value:.2f} ± {found.stderr:.2f}"


def numbers_of_classes(device: Any) -> None:
    """All numbers of classes at once: here, and by a device."""
    for leaves, classes, rows in ((10, 4, 300), (64, 16, 400), (20, 6, 5000)):
        problem = problem_of(leaves, 2, classes, rows)
        numbers = range(1, classes + 5)
        for who in (None, device):
            began = time.perf_counter()
            with on_threads(16) as executor:
                walk = walk_numbers(
                    problem, numbers, fits={}, guesses={}, executor=executor, device=who
                )
            seconds = time.perf_counter() - began
            where = "16 cores" if who is None else "device"
            error, top = walk.posterior_errors.max(), int(np.argmax(walk.posterior))
            print(
                f"{(leaves, classes, rows)}, {where}: {seconds:.1f} s, {walk.details}, "
                f"p({walk.numbers[top]}) = {walk.posterior[top]:.3f} ± {error:.4f}, {walk.verdict}"
            )
            sys.stdout.flush()


def whole(device: Any, threads: int, target: float, budget: float, seed: int) -> None:
    """From rows to the evidence of n = 64, c = 32, N = 400."""
    problem = problem_of(64, 2, 32, 400).on(device)
    with on_threads(threads) as executor:
        began = time.perf_counter()
        found = measure(problem, goal=Goal(target, budget), seed=seed, executor=executor)
    where = "cpu" if device is None else "device"
    print(f"{where}, {threads} threads: {time.perf_counter() - began:.1f} s\n{found}")
    sys.stdout.flush()


def main() -> None:
    device = cuda.open_cuda()
    speed(device)
    walks(device)
    particles(device)
    numbers_of_classes(device)
    for threads in (1, 16):
        whole(device, threads, 0.1, 30.0, 0)


if __name__ == "__main__":
    main()
