"""Independent Dirichlet priors, one for each family and parent configuration. CH96 eq. 3.

Priors to average over, and priors to compare the answer with: one grid for both.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from lacunet.errors import OptionError
from lacunet.likelihoods import ConjugatePrior
from lacunet.models import conjugacy
from lacunet.models.layout import Layout
from lacunet.models.network import Network
from lacunet.runtime.arrays import FloatArray

PAPER_ALPHA = 1.01  # CH96 §3: 1 + ε with ε = 0.01
AVERAGE = "average"  # over strengths of the prior: `prior_grid`
AUTOCLASS = "autoclass"  # 1 + 1/r of r states (Hanson, Stutz & Cheeseman 1991)
_NUMBER = r"(\d+\.?\d*(?:e[+-]?\d+)?|\.\d+)"
RANGE = re.compile(rf"bdeu:{_NUMBER}-{_NUMBER}")
LEAST, MOST = 1e-100, 1e100  # beyond, sums and quotients of exponents are no numbers any more


# One exponent for all; 'k2' (1 everywhere); 'bdeu:ESS' (an equivalent sample size, spread evenly);
# 'autoclass' (1 and 1 over the number of states); 'average' (over strengths, to choose by);
# or a table (or number) for each family, by child.
Alpha: TypeAlias = float | str | Mapping[str, Any]


def dirichlet(network: Network, alpha: Alpha) -> FloatArray:
    """Give the exponents α_ijk that a prior means for a network.

    >>> from lacunet.models.network import Variable
    >>> network = Network.build([Variable("a", (0, 1)), Variable("b", (0, 1))], [(), (0,)])
    >>> dirichlet(network, "bdeu:4").tolist()
    [2.0, 2.0, 1.0, 1.0, 1.0, 1.0]
    """
    layout = network.layout
    if isinstance(alpha, Mapping):
        exponents = layout.prior(_tables(network, alpha))
    elif alpha == AUTOCLASS:
        states = np.array([len(v.states) for v in network.variables])[layout.owner]
        exponents = layout.prior(1.0 + 1.0 / states)
    else:
        value, is_size = understand_alpha(alpha)
        sizes = np.diff(layout.offsets)  # 0: its parameters stand at another number of its block
        shares = np.repeat(value / np.maximum(sizes, 1) if is_size else [value] * len(sizes), sizes)
        exponents = layout.prior(shares)
    for i, v in enumerate(network.variables):
        table = layout.table(exponents, i)
        if not isinstance(v.family, ConjugatePrior):
            table[...] = 0.0
        elif v.prior:
            times = table.size / table.shape[-1] if table.size else 1.0
            table[...] = v.family.shared_out(np.array(v.prior), times)
    return exponents


def check_alpha(alpha: Alpha) -> None:
    """Refuse what is no prior."""
    if not isinstance(alpha, Mapping) and alpha not in (AUTOCLASS, AVERAGE):
        understand_values(alpha)


def base_alpha(alpha: Alpha) -> Alpha:
    """Give the prior that models are fitted with, where the answer averages over several."""
    return PAPER_ALPHA if alpha == AVERAGE else alpha


def same_whatever_the_number(alpha: Alpha) -> bool:
    """Whether states of a hidden variable have the same prior, however many there are."""
    if isinstance(alpha, Mapping) or alpha == AUTOCLASS:
        return False
    return not understand_alpha(alpha)[1]


def understand_alpha(alpha: float | str) -> tuple[float, bool]:
    """Give the number, and whether it is a sample size to be spread over a family."""
    elsewhere = {
        AUTOCLASS: f"{AUTOCLASS} is the prior of latent class models with a number of states each",
        AVERAGE: f"{AVERAGE} is for choosing among candidates, as select and compare do",
    }.get(str(alpha))
    if _range_of(alpha):
        elsewhere = (
            f"'{alpha}' averages over equivalent sample sizes, as only searches for a graph do"
        )
    if elsewhere:
        raise OptionError(f"alpha {elsewhere}. Give a number, k2 or bdeu:SIZE here.")
    kind, _, rest = str(alpha).strip().lower().partition(":")
    if kind == "k2" and not rest:
        return 1.0, False
    try:
        value = float(rest if kind == "bdeu" else alpha)
    except ValueError:
        raise OptionError(
            f"alpha '{alpha}' is not understood. Give a number above 0, k2, bdeu:SIZE, or "
            f"{AUTOCLASS}."
        ) from None
    if not LEAST <= value <= MOST:
        range_ = "above 0" if not value > 0 else f"from {LEAST:g} to {MOST:g}"
        raise OptionError(
            f"alpha {value:g} is not allowed: Dirichlet exponents must be {range_}. "
            f"The usual choice is {PAPER_ALPHA}."
        )
    return value, kind == "bdeu"


def understand_values(alpha: float | str) -> tuple[tuple[float, ...], bool]:
    """Give the numbers that the table of a family is averaged over, and whether they are sizes.

    From 'bdeu:LOW-HIGH' about one for each doubling; of any other prior its one number.

    >>> understand_values("bdeu:1-4"), understand_values("k2")
    (((1.0, 2.0, 4.0), True), ((1.0,), False))
    """
    if ends := _range_of(alpha):
        number = max(2, round(math.log2(ends[1] / ends[0])) + 1)
        return tuple(np.geomspace(*ends, number).tolist()), True
    value, is_size = understand_alpha(alpha)
    return (value,), is_size


def _range_of(alpha: float | str) -> tuple[float, float] | None:
    """Read 'bdeu:LOW-HIGH'; None of any other prior."""
    range_ = RANGE.fullmatch(str(alpha).strip().lower())
    if range_ is None:
        return None
    low, high = map(float, range_.groups())
    if not LEAST <= low < high <= MOST:
        raise OptionError(
            f"alpha '{alpha}' is not allowed: bdeu:LOW-HIGH averages over equivalent sample sizes "
            "from LOW, above 0, to a larger one. The usual choice is bdeu:0.5-10."
        )
    return low, high


def each_alpha(alpha: float | str) -> list[float | str]:
    """Give the priors that a family is averaged over, each as it would be asked for."""
    values, is_size = understand_values(alpha)
    return [f"bdeu:{value!r}" if is_size else value for value in values]


def scale_alpha(alpha: float | str, factor: float) -> float | str:
    """Give a prior with so many times the exponents.

    >>> scale_alpha("bdeu:10", 0.5), scale_alpha("k2", 2.0), scale_alpha("bdeu:0.5-10", 2.0)
    ('bdeu:5', 2.0, 'bdeu:1-20')
    """
    if ends := _range_of(alpha):
        return f"bdeu:{ends[0] * factor:g}-{ends[1] * factor:g}"
    value, is_size = understand_alpha(alpha)
    scaled = min(max(value * factor, LEAST), MOST)
    return f"bdeu:{scaled:g}" if is_size else scaled


def describe_alpha(alpha: float | str) -> str:
    """Say a prior in words.

    >>> describe_alpha("bdeu:10"), describe_alpha("k2")
    ('BDeu, equivalent sample size 10', 'every Dirichlet exponent 1')
    """
    if ends := _range_of(alpha):
        return f"BDeu, averaged over equivalent sample sizes from {ends[0]:g} to {ends[1]:g}"
    value, is_size = understand_alpha(alpha)
    what = "BDeu, equivalent sample size" if is_size else "every Dirichlet exponent"
    return f"{what} {value:g}"


def _tables(network: Network, alpha: Mapping[str, Any]) -> FloatArray:
    """Exponents that are given for each family, as a number or a table."""
    names = [v.name for v in network.variables]
    for name in alpha:
        if name not in names:
            raise OptionError(f"alpha names '{name}', which is no variable of the network.")
    layout, tables = network.layout, []
    for i, name in enumerate(names):
        if name not in alpha:
            raise OptionError(
                f"alpha says nothing of the family of '{name}'. Give a number or table."
            )
        table, shape = np.asarray(alpha[name], dtype=np.float64), tuple(layout.shape(i))
        if table.shape not in ((), shape):
            raise OptionError(
                f"alpha of '{name}' has shape {table.shape}; give a number, or {shape}."
            )
        tables.append(np.broadcast_to(table, shape))
        own = tables[i][layout.table(layout.learned, i)]  # what is known needs no exponent
        if not ((own >= LEAST) & (own <= MOST)).all():
            raise OptionError(
                f"alpha of '{name}': every exponent must be a number above 0, and from {LEAST:g} "
                f"to {MOST:g}."
            )
    return layout.flat(tables)


def uniform_alpha(layout: Layout, value: float) -> FloatArray:
    """Give every θ_ijk that is learned the same exponent."""
    return layout.prior(np.full(layout.size, understand_alpha(value)[0]))


SCALES = (0.25, 4.0)  # of the variances that classes are expected to have


@dataclass(frozen=True)
class PriorVariant:
    """The usual prior with factors."""

    profiles: float = 1.0  # of the exponents of variables that columns show
    classes: float = 1.0  # of those of hidden variables: the weights of classes
    scale: float = 1.0  # of the variances that numbers are expected to have

    def of(self, network: Network, alpha: FloatArray) -> FloatArray:
        """Hyperparameters; what is known, and what has a prior of its own, stays."""
        layout, factors = network.layout, np.ones(network.layout.size)
        for i, v in enumerate(network.variables):
            if v.family.tabular and not v.prior:
                layout.table(factors, i)[...] = self.classes if v.hidden else self.profiles
        changed = np.where(layout.learned, alpha * factors, alpha)
        return changed if self.scale == 1.0 else conjugacy.widened(changed, layout, self.scale)


@dataclass(frozen=True)
class Shift:
    """The same answer with a prior that says more or less: other weights of the variants."""

    what: str  # "strength" or "scale"
    factor: float
    weights: tuple[float, ...]  # (S,)


@dataclass(frozen=True)
class PriorGrid:
    """Variants of a prior, and how much each counts. S variants; `PriorVariant()` is one."""

    variants: tuple[PriorVariant, ...]
    weights: tuple[float, ...]  # (S,) in the answer, adding up to 1
    shifts: tuple[Shift, ...]

    @property
    def base(self) -> int:
        """The place of the prior under which models are fitted and scored."""
        return self.variants.index(PriorVariant())

    @property
    def averages(self) -> bool:
        """Whether the answer is more than that of the base."""
        return self.weights[self.base] < 1.0

    @property
    def log_weights(self) -> FloatArray:
        """Log of the weights, (S,)."""
        return log_of(self.weights)

    def of(self, network: Network, alpha: FloatArray) -> tuple[FloatArray, ...]:
        """Hyperparameters of each variant."""
        return tuple(variant.of(network, alpha) for variant in self.variants)


def log_of(weights: tuple[float, ...]) -> FloatArray:
    """Logs; −inf of 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.array(weights)))


def prior_grid(alpha: Alpha, network: Network) -> PriorGrid:
    """Give the grid of a prior: averaged over two strengths, or one with all exponents as given.

    Either is compared with half and twice its strength; numbers, with other variances besides.
    """
    if alpha == AVERAGE:
        strengths = [PriorVariant(profiles=s) for s in (0.25, 0.5, 1.0, 2.0)]
        half, own, twice = ([0.5, 0.5, 0.0, 0.0], [0.0, 0.5, 0.5, 0.0], [0.0, 0.0, 0.5, 0.5])
    else:
        strengths = [PriorVariant(s, s) for s in (0.5, 1.0, 2.0)]
        half, own, twice = np.eye(3).tolist()
    scales = SCALES if any(not v.family.tabular for v in network.variables) else ()
    variants = (*strengths, *(PriorVariant(scale=s) for s in scales))
    none = [0.0] * len(scales)
    shifts = [Shift("strength", 0.5, (*half, *none)), Shift("strength", 2.0, (*twice, *none))]
    shifts += [Shift("scale", s, tuple(float(v.scale == s) for v in variants)) for s in scales]
    return PriorGrid(variants, (*own, *none), tuple(shifts))
