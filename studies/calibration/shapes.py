"""Networks with hidden variables, of many shapes and sizes, drawn at random."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from lacunet.models.latent_class import latent_class
from lacunet.models.network import Network, Variable
from lacunet.models.surgery import with_hidden
from studies.calibration.known_networks import KNOWN

Range = tuple[int, int]  # fewest and most


def between(limits: Range, rng: np.random.Generator) -> int:
    """Draw a whole number, its logarithm evenly, so that small ones are not rare."""
    low, high = limits
    return int(np.exp(rng.uniform(np.log(low), np.log(high + 1))))


def _leaves(number: int, rng: np.random.Generator) -> list[Variable]:
    return [Variable(f"x{i}", tuple(range(rng.integers(2, 4)))) for i in range(number)]


def _hidden(name: str, states: int) -> Variable:
    return Variable(name, tuple(range(1, states + 1)), hidden=True)


def classes(number: Range, leaves: Range, rng: np.random.Generator) -> Network:
    """A latent class model."""
    columns = [(v.name, v.states) for v in _leaves(between(leaves, rng), rng)]
    return latent_class(columns, between(number, rng))


def chain(length: Range, states: Range, rng: np.random.Generator) -> Network:
    """Hidden variables in a row, each the parent of the next and of two leaves."""
    steps, k = between(length, rng), between(states, rng)
    hidden = [_hidden(f"h{i}", k) for i in range(steps)]
    links = [(), *((i,) for i in range(steps - 1))]
    owners = [(i,) for i in range(steps) for _ in range(2)]
    return Network.build([*hidden, *_leaves(2 * steps, rng)], [*links, *owners])


def factorial(causes: Range, states: Range, leaves: Range, rng: np.random.Generator) -> Network:
    """Hidden causes, independent of each other, each a parent of every leaf."""
    number, k = between(causes, rng), between(states, rng)
    hidden = [_hidden(f"h{i}", k) for i in range(number)]
    seen = _leaves(between(leaves, rng), rng)
    every = tuple(range(number))
    return Network.build([*hidden, *seen], [*([()] * number), *([every] * len(seen))])


def known(name: str, most_hidden: int, rng: np.random.Generator) -> Network:
    """A network of the literature, some variables that have children hidden."""
    network = KNOWN[name]
    inner = sorted({p for parents in network.parents for p in parents})
    chosen = rng.choice(inner, size=rng.integers(1, most_hidden + 1), replace=False)
    return with_hidden(network, {network.variables[i].name: None for i in chosen})


Shape = Callable[[np.random.Generator], Network]

SHAPES: Mapping[str, Shape] = {
    "classes": partial(classes, (2, 6), (4, 12)),
    "many-classes": partial(classes, (8, 32), (16, 64)),
    "chain": partial(chain, (2, 5), (2, 3)),
    "factorial": partial(factorial, (2, 3), (2, 3), (4, 10)),
    "asia": partial(known, "asia", 2),
    "child": partial(known, "child", 3),
    "insurance": partial(known, "insurance", 3),
}
