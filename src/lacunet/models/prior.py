"""Independent Dirichlet priors, one for each family and parent configuration. CH96 eq. 3.

`PriorGrid` has the priors to average over, and those of the sensitivity analysis.
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
LEAST, MOST = 1e-100, 1e100  # beyond, sums and quotients of exponents overflow

# One exponent for all; 'k2' (1 everywhere); 'bdeu:ESS' (an equivalent sample size, spread evenly);
# 'autoclass' (1 and 1 over the number of states); 'average' (over strengths, for model choice);
# or a table or number for each family, by child.
Alpha: TypeAlias = float | str | Mapping[str, Any]


def dirichlet(network: Network, alpha: Alpha) -> FloatArray:
    """The exponents α_ijk of a prior for a network.

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
        sizes = np.diff(layout.offsets)  # 0: another variable has the parameters of its block
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
    """Raise OptionError if a value is not a prior."""
    if not isinstance(alpha, Mapping) and alpha not in (AUTOCLASS, AVERAGE):
        understand_values(alpha)


def base_alpha(alpha: Alpha) -> Alpha:
    """The prior that models are fitted with; scores may average over several."""
    return PAPER_ALPHA if alpha == AVERAGE else alpha


def one_alpha(alpha: Alpha) -> float | str:
    """Return a prior of all families; refuse one for each family, which needs a graph."""
    if isinstance(alpha, Mapping):
        raise OptionError("a prior for each family needs a graph. Give a number, k2 or bdeu:SIZE.")
    return alpha


def same_whatever_the_number(alpha: Alpha) -> bool:
    """Whether the prior of hidden states does not depend on their number."""
    if isinstance(alpha, Mapping) or alpha == AUTOCLASS:
        return False
    return not understand_alpha(alpha)[1]


def understand_alpha(alpha: float | str) -> tuple[float, bool]:
    """The number, and whether it is an equivalent sample size to spread over a family."""
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
    """The numbers to average a family's score over, and whether they are sample sizes.

    'bdeu:LOW-HIGH' has about one for each doubling; other priors have one number.

    >>> understand_values("bdeu:1-4"), understand_values("k2")
    (((1.0, 2.0, 4.0), True), ((1.0,), False))
    """
    if ends := _range_of(alpha):
        number = max(2, round(math.log2(ends[1] / ends[0])) + 1)
        return tuple(np.geomspace(*ends, number).tolist()), True
    value, is_size = understand_alpha(alpha)
    return (value,), is_size


def _range_of(alpha: float | str) -> tuple[float, float] | None:
    """Parse 'bdeu:LOW-HIGH'; None for other priors."""
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
    """The priors to average a family's score over, each in the option's syntax."""
    values, is_size = understand_values(alpha)
    return [f"bdeu:{value!r}" if is_size else value for value in values]


def scale_alpha(alpha: float | str, factor: float) -> float | str:
    """Multiply the exponents of a prior by a factor.

    >>> scale_alpha("bdeu:10", 0.5), scale_alpha("k2", 2.0), scale_alpha("bdeu:0.5-10", 2.0)
    ('bdeu:5', 2.0, 'bdeu:1-20')
    """
    if ends := _range_of(alpha):
        return f"bdeu:{ends[0] * factor:g}-{ends[1] * factor:g}"
    value, is_size = understand_alpha(alpha)
    scaled = min(max(value * factor, LEAST), MOST)
    return f"bdeu:{scaled:g}" if is_size else scaled


def describe_alpha(alpha: float | str) -> str:
    """Describe a prior in words.

    >>> describe_alpha("bdeu:10"), describe_alpha("k2")
    ('BDeu, equivalent sample size 10', 'every Dirichlet exponent 1')
    """
    if ends := _range_of(alpha):
        return f"BDeu, averaged over equivalent sample sizes from {ends[0]:g} to {ends[1]:g}"
    value, is_size = understand_alpha(alpha)
    what = "BDeu, equivalent sample size" if is_size else "every Dirichlet exponent"
    return f"{what} {value:g}"


def _tables(network: Network, alpha: Mapping[str, Any]) -> FloatArray:
    """Exponents from a number or a table for each family."""
    names = [v.name for v in network.variables]
    for name in alpha:
        if name not in names:
            raise OptionError(f"alpha names '{name}', which is not a variable of the network.")
    layout, tables = network.layout, []
    for i, name in enumerate(names):
        if name not in alpha:
            raise OptionError(
                f"alpha has no entry for the family of '{name}'. Give a number or table."
            )
        table, shape = np.asarray(alpha[name], dtype=np.float64), tuple(layout.shape(i))
        if table.shape not in ((), shape):
            raise OptionError(
                f"alpha of '{name}' has shape {table.shape}; give a number, or {shape}."
            )
        tables.append(np.broadcast_to(table, shape))
        learned = tables[i][layout.table(layout.learned, i)]  # known cells need no exponent
        if not ((learned >= LEAST) & (learned <= MOST)).all():
            raise OptionError(
                f"alpha of '{name}': every exponent must be a number above 0, and from {LEAST:g} "
                f"to {MOST:g}."
            )
    return layout.flat(tables)


def uniform_alpha(layout: Layout, value: float) -> FloatArray:
    """The same exponent for every learned θ_ijk."""
    return layout.prior(np.full(layout.size, understand_alpha(value)[0]))


SCALES = (0.25, 4.0)  # factors of the expected variances within classes


@dataclass(frozen=True)
class PriorVariant:
    """The default prior multiplied by factors."""

    profiles: float = 1.0  # for exponents of observed variables
    classes: float = 1.0  # for exponents of hidden variables: class weights
    scale: float = 1.0  # for expected variances of numbers

    def of(self, network: Network, alpha: FloatArray) -> FloatArray:
        """Hyperparameters; known cells and explicit priors stay unchanged."""
        layout, factors = network.layout, np.ones(network.layout.size)
        for i, v in enumerate(network.variables):
            if v.family.tabular and not v.prior:
                layout.table(factors, i)[...] = self.classes if v.hidden else self.profiles
        changed = np.where(layout.learned, alpha * factors, alpha)
        return changed if self.scale == 1.0 else conjugacy.widened(changed, layout, self.scale)


@dataclass(frozen=True)
class Shift:
    """A sensitivity analysis: other weights of the prior variants."""

    what: str  # "strength" or "scale"
    factor: float
    weights: tuple[float, ...]  # (S,)


@dataclass(frozen=True)
class PriorGrid:
    """S variants of a prior with weights; `PriorVariant()` is one of them."""

    variants: tuple[PriorVariant, ...]
    weights: tuple[float, ...]  # (S,) of the average, with sum 1
    shifts: tuple[Shift, ...]

    @property
    def base(self) -> int:
        """Index of the prior that models are fitted and scored with."""
        return self.variants.index(PriorVariant())

    @property
    def averages(self) -> bool:
        """Whether other variants than the base have weight."""
        return self.weights[self.base] < 1.0

    @property
    def log_weights(self) -> FloatArray:
        """Log of the weights, (S,)."""
        return log_of(self.weights)

    def of(self, network: Network, alpha: FloatArray) -> tuple[FloatArray, ...]:
        """Hyperparameters of each variant."""
        return tuple(variant.of(network, alpha) for variant in self.variants)


def log_of(weights: tuple[float, ...]) -> FloatArray:
    """Log weights; −inf for 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.array(weights)))


def prior_grid(alpha: Alpha, network: Network) -> PriorGrid:
    """The grid of a prior: an average over two strengths, or one strength.

    The sensitivity analysis halves and doubles the strength; numbers also get other variances.
    """
    if alpha == AVERAGE:
        strengths = [PriorVariant(profiles=s) for s in (0.25, 0.5, 1.0, 2.0)]
        half, base, twice = ([0.5, 0.5, 0.0, 0.0], [0.0, 0.5, 0.5, 0.0], [0.0, 0.0, 0.5, 0.5])
    else:
        strengths = [PriorVariant(s, s) for s in (0.5, 1.0, 2.0)]
        half, base, twice = np.eye(3).tolist()
    scales = SCALES if any(not v.family.tabular for v in network.variables) else ()
    variants = (*strengths, *(PriorVariant(scale=s) for s in scales))
    none = [0.0] * len(scales)
    shifts = [Shift("strength", 0.5, (*half, *none)), Shift("strength", 2.0, (*twice, *none))]
    shifts += [Shift("scale", s, tuple(float(v.scale == s) for v in variants)) for s in scales]
    return PriorGrid(variants, (*base, *none), tuple(shifts))
