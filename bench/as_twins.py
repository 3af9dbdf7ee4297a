"""`PYTHONPATH=tests python -m bench.as_twins`, where an NVIDIA device and CuPy are: E steps.

E steps of numbers on the device beside their twin of the tests.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.gpu import numbers_of
from lacunet.inference.devices import cuda
from lacunet.models.conjugacy import natural, random_theta


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
    numbers(device, twin)


if __name__ == "__main__":
    main()
