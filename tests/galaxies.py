"""Two mixtures of normal distributions whose evidence others have published, or summed."""

from pathlib import Path

import numpy as np

from lacunet.inference.problem import problem_of_codes
from lacunet.likelihoods import GAUSSIAN
from lacunet.likelihoods.gaussian import hyperparameters
from lacunet.likelihoods.unit import Unit
from lacunet.models.network import Network, Variable
from lacunet.models.prior import dirichlet

# An independent sum over all labellings: m = 20, κ = 0.1, σ² inverse gamma (2, 5), uniform weights.
TEN = (9.172, 9.350, 9.483, 16.084, 18.419, 19.052, 20.166, 26.960, 32.065, 34.279)
TRUTH = {1: -43.330367355113, 2: -42.391662256959, 3: -39.570234221353}


def classes_of_numbers(x, classes, prior, unit=None):
    """A mixture of normal distributions; x are different numbers."""
    leaf = Variable("x", tuple(x), family=GAUSSIAN, unit=unit, prior=hyperparameters(*prior))
    root = Variable("class", tuple(range(classes)), hidden=True)
    network = Network.build([root, leaf], [(), (0,)])
    codes = np.arange(len(x), dtype=np.int16)[:, None]
    return problem_of_codes(codes, np.ones(len(x)), network, dirichlet(network, 1.0))


def ten(classes, size=1.0):
    """The same numbers and prior, seen in another unit."""
    prior = (0.0, 0.1, 2.0, 5.0 / size**2)
    return classes_of_numbers(TEN, classes, prior, Unit(origin=20.0, size=size))


def galaxies(classes):
    """82 velocities of galaxies in 1000 km/s, with a prior for which others give the evidence."""
    x = np.loadtxt(Path(__file__).parent / "evidence" / "galaxies.csv", skiprows=1)
    spread = np.ptp(x)
    prior = (0.0, 2.6 / spread, 1.28, 0.36)
    unit = Unit(x.mean(), x.std())
    values, codes = np.unique(x, return_inverse=True)
    problem = classes_of_numbers(values.tolist(), classes, prior, unit)
    return problem_of_codes(
        codes[:, None].astype(np.int16), np.ones(len(x)), problem.network, problem.alpha
    )


# By independent sequential importance sampling over all labellings, with standard errors.
GALAXIES = {
    2: (-231.511, 0.013),
    3: (-227.078, 0.011),
    4: (-226.435, 0.007),
    5: (-226.269, 0.006),
    6: (-226.339, 0.006),
    8: (-226.787, 0.006),
}
