"""`PYTHONPATH=tests python -m bench.as_twins`, where an NVIDIA device and CuPy are: the same draws.

Kernels of the device beside their twins of the tests: chains, particles, walks, E steps of numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.chains import no_notes, path_of, problem_of, travelled, walkers_of
from bench.gpu import numbers_of
from lacunet.evidence.particle_run import run_there
from lacunet.inference.devices import cuda
from lacunet.inference.devices.chains import Journey
from lacunet.model.conjugacy import natural, random_theta

SIZES = ((6, 2, 3, 20), (64, 2, 32, 40), (5, 4, 7, 30), (20, 3, 40, 25), (300, 3, 40, 12))


def chains(device: Any, twin: Any) -> None:
    for sizes in SIZES:
        path = path_of(problem_of(*sizes, missing=0.1))
        N, weights = travelled(path, device, 5, Journey.upwards(6))
        other, same = travelled(path, twin, 5, Journey.upwards(6))
        apart, off = np.abs(N - other).sum(), np.abs(weights - same).max()
        print(f"{sizes}: counts differ by {apart:g} cases of {N.sum():g}, weights by {off:.1e}")


def particles(device: Any, twin: Any) -> None:
    for sizes in SIZES[:4]:
        problem = problem_of(*sizes, missing=0.1)
        seeds = [(1, 1, 48, n) for n in range(3)]
        one, other = (run_there(problem, 48, who, seeds) for who in (device, twin))
        pairs = list(zip(one, other, strict=True))
        off = max(abs(a.log_evidence - b.log_evidence) for a, b in pairs)
        apart = max(float(np.abs(a.exponents - b.exponents).max()) for a, b in pairs)
        print(f"{sizes}: log evidences of runs differ by {off:.1e}, exponents by {apart:g}")


def walks(device: Any, twin: Any) -> None:
    for sizes in ((64, 2, 32, 400), (6, 2, 3, 60), (20, 3, 40, 150)):
        there, walkers, levels = walkers_of(sizes, 4, device)
        here, _, _ = walkers_of(sizes, 4, twin)
        seen, also = no_notes(4, levels), no_notes(4, levels)
        one, other = there.walk(walkers, levels, 30, seen), here.walk(walkers, levels, 30, also)
        same = (one.blocks == other.blocks).all(axis=1) & (one.drawn == other.drawn)
        used = one.blocks.max(axis=1) + 1
        print(f"{sizes}: {same.sum()} of 4 walks are the same, {used} blocks;")
        there_, here_ = seen.energy[also.energy != 0], also.energy[also.energy != 0]
        rates, energies = np.abs(seen.rates - also.rates).max(), np.abs(there_ / here_ - 1).max()
        print(f"    sums of rates differ by {rates:.1e}, energies relatively by {energies:.1e}")


def numbers(device: Any, twin: Any) -> None:
    for missing in (0.0, 0.2):
        problem = numbers_of(5_000, 7, 4, missing=missing)
        one, other = (problem.on(who).components.plans[0] for who in (device, twin))
        rngs = [np.random.default_rng(n) for n in range(3)]
        thetas = [random_theta(problem.layout, rng, problem.alpha) for rng in rngs]
        cells = problem.components.cells
        x = np.stack([cells.weights(natural(theta, problem.layout)) for theta in thetas])
        found, wanted = np.zeros((2, *x.shape))
        off = np.abs(one.expect(x, found) / other.expect(x, wanted) - 1).max()
        apart = np.abs(found - wanted).max() / np.abs(wanted).max()
        print(f"numbers, {missing:.0%} missing: log p differs by {off:.1e}, statistics {apart:.1e}")


def main() -> None:
    from devices import Twin  # of the tests

    device, twin = cuda.open_cuda(), Twin()
    for compared in (chains, particles, walks, numbers):
        compared(device, twin)


if __name__ == "__main__":
    main()
