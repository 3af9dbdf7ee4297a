"""Small latent class models with families of any kind, and their evidence by plain enumeration.

Closed forms are written here once more, of values and not of statistics.
"""

import itertools
import math

import numpy as np
import polars as pl
from scipy import stats
from scipy.special import betaln, gammaln, logsumexp

from lacunet import read_table
from lacunet.inference.leaves import leaves_of
from lacunet.inference.problem import build_problem, problem_of_codes
from lacunet.likelihoods import GAUSSIAN, POISSON, Binomial, Gaussian
from lacunet.likelihoods.gaussian import hyperparameters
from lacunet.likelihoods.unit import Unit
from lacunet.models.latent_class import over_leaves
from lacunet.models.network import Network, Variable
from lacunet.models.number_prior import Covariance, NumberPrior
from lacunet.models.prior import dirichlet
from toy_families import Exponential, Geometric

MOST = 12  # the highest of all counts
FAMILIES = {
    "poisson": POISSON,
    "gaussian": GAUSSIAN,
    "common": Gaussian(common=True),  # one variance for all classes
    "binomial": Binomial(most=MOST),
    "geometric": Geometric(),
    "exponential": Exponential(),
}
ALPHA = 1.5
NORMAL = (0.3, 0.2, 2.0, 0.8)  # m, κ, a, b
NORMALS = ("gaussian", "common")
UNIT = Unit(origin=4.0, size=3.0)  # of numbers


def mixture(name, rows, *, classes=2, seed=0, missing=0.0):
    """A hidden root over a number, a category, and a number: a mixed table with missing values."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, classes, rows)
    numbers = [_drawn(name, np.array(rates)[z], rng) for rates in ((1, 6, 9), (5, 1, 9))]
    colour = (rng.random(rows) < np.array([0.2, 0.8, 0.5])[z]).astype(int)
    values = [np.unique(x) for x in numbers]
    first, second = (np.searchsorted(v, x) for v, x in zip(values, numbers, strict=True))
    codes = np.stack([first, colour, second], axis=1).astype(np.int16)
    codes[rng.random(codes.shape) < missing] = -1
    leaves = [leaf(name, title, v) for title, v in zip(("first", "second"), values, strict=True)]
    root = Variable("class", tuple(range(1, classes + 1)), hidden=True)
    network = Network.build(
        [root, leaves[0], Variable("colour", ("red", "blue")), leaves[1]], [(), (0,), (0,), (0,)]
    )
    return problem_of_codes(codes, np.ones(rows), network, dirichlet(network, ALPHA))


def leaf(name, title, values):
    """A number with a prior of its own."""
    of_numbers = {"unit": UNIT, "prior": hyperparameters(*NORMAL)} if name in NORMALS else {}
    return Variable(title, tuple(values.tolist()), family=FAMILIES[name], **of_numbers)


def _drawn(name, rates, rng):
    if name in NORMALS:
        return np.round(rng.normal(rates, 1.0), 2)
    if name == "exponential":
        return np.round(rng.exponential(rates), 2)
    return np.minimum(rng.poisson(rates), MOST)


def log_marginals(name, groups):
    """Log probability of the values of all classes, parameters integrated out."""
    if name != "common":
        return sum(log_marginal(name, x) for x in groups)
    m, kappa, a, b = NORMAL
    total, wide, shape = a * math.log(b) - gammaln(a), b, a
    for x in groups:  # a mean of each class, shrunk to m; what is left around them adds up
        z = (np.asarray(x, dtype=float) - UNIT.origin) / UNIT.size
        n = len(z)
        mean = (kappa * m + z.sum()) / (kappa + n)
        wide += 0.5 * (((z - mean) ** 2).sum() + kappa * (mean - m) ** 2)
        shape += n / 2
        total += 0.5 * math.log(kappa / (kappa + n))
        total -= n * (0.5 * math.log(2 * math.pi) + math.log(UNIT.size))
    return total + gammaln(shape) - shape * math.log(wide)


def log_marginal(name, x):
    """Log probability of values of one class, parameters integrated out."""
    n, total = len(x), float(np.sum(x))
    if name == "poisson":
        return _gamma(total, n) - gammaln(np.asarray(x) + 1.0).sum()
    if name == "exponential":
        return _gamma(n, total)
    if name == "geometric":
        return betaln(ALPHA + n, ALPHA + total) - betaln(ALPHA, ALPHA)
    if name == "binomial":
        ways = sum(math.log(math.comb(MOST, int(one))) for one in x)
        return ways + betaln(ALPHA + MOST * n - total, ALPHA + total) - betaln(ALPHA, ALPHA)
    m, kappa, a, b = NORMAL
    z = (np.asarray(x, dtype=float) - UNIT.origin) / UNIT.size
    mean = (kappa * m + z.sum()) / (kappa + n)
    wide = b + 0.5 * (kappa * m**2 + (z**2).sum() - (kappa + n) * mean**2)
    shape = a + n / 2
    return (
        gammaln(shape) - gammaln(a) + a * math.log(b) - shape * math.log(wide)
        + 0.5 * math.log(kappa / (kappa + n)) - n / 2 * math.log(2 * math.pi)
        - n * math.log(UNIT.size)
    )  # fmt: skip


def _gamma(events, time):
    a = ALPHA + events
    return gammaln(a) - gammaln(ALPHA) + ALPHA * math.log(ALPHA) - a * math.log(ALPHA + time)


def exact_evidence(name, problem):
    """The sum over all ways to put the rows into classes, by closed forms alone."""
    k, variables, terms = problem.layout.cards[0], problem.network.variables, []
    for world in itertools.product(range(k), repeat=len(problem.codes)):
        sizes = np.bincount(world, minlength=k)
        total = gammaln(k * ALPHA) - gammaln(k * ALPHA + len(world))
        total += np.sum(gammaln(ALPHA + sizes) - gammaln(ALPHA))
        for column in (0, 2):
            states = variables[column + 1].states
            values = [problem.codes[np.array(world) == c, column] for c in range(k)]
            total += log_marginals(name, [[states[x] for x in mine if x >= 0] for mine in values])
        for c in range(k):
            mine = problem.codes[np.array(world) == c]
            N = np.array([np.sum(mine[:, 1] == 0), np.sum(mine[:, 1] == 1)])
            total += gammaln(2 * ALPHA) - gammaln(2 * ALPHA + N.sum())
            total += np.sum(gammaln(ALPHA + N) - gammaln(ALPHA))
        terms.append(total)
    return float(logsumexp(terms))


def log_lik(name, problem, theta):
    """The likelihood of a mixture, row by row."""
    layout, total = problem.layout, 0.0
    tables = [layout.table(theta, i) for i in range(4)]
    for row in problem.codes:
        p = tables[0].copy()
        for i, x in enumerate(row, start=1):
            if x >= 0 and i == 2:
                p = p * tables[2][:, x]
            elif x >= 0:
                p = p * density(name, problem.network.variables[i].states[x], tables[i].T)
        total += math.log(p.sum())
    return total


def density(name, x, theta):
    """p(x) in each class, by SciPy."""
    if name in NORMALS:
        scale = UNIT.size * np.sqrt(theta[2])
        return stats.norm.pdf(x, UNIT.origin + UNIT.size * theta[0], scale)
    if name == "poisson":
        return stats.poisson.pmf(x, theta[0])
    if name == "binomial":
        return stats.binom.pmf(x, MOST, theta[1])
    if name == "geometric":
        return theta[0] * theta[1] ** x
    return stats.expon.pdf(x, scale=1.0 / theta[0])


def mixed_rows(seed, states, **forms):
    """Eleven rows of two measurements and a category, incomplete; the problem of so many states."""
    rng = np.random.default_rng(seed)
    x = rng.normal(0.0, 1.0, (11, 2)).round(1)
    x[rng.random(x.shape) < 0.15] = np.nan
    frame = pl.DataFrame({"x": x[:, 0], "y": x[:, 1], "c": rng.choice(["a", "b"], 11)})
    table = read_table(frame.fill_nan(None), kinds={"x": "gaussian", "y": "gaussian"})
    prior = NumberPrior(scale=0.3, covariance=Covariance(**forms))
    network = over_leaves(leaves_of(table, prior), states)
    return build_problem(table, network, dirichlet(network, 1.0))
