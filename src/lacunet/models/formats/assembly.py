"""From named pieces to a checked model: what every network format shares.

A format finds variables, and for each child its parents and its numbers. `connect` makes the
structure of the names, `check_table` judges one table, and `assemble` does it all. `where` is
always the place as the user knows it: ``family 'a'``, ``line 12: probability block 'a'``.

BIF, XMLBIF, XDSL and pyAgrum know states only as texts. A state is written as its label, and the
states of one variable are read by one rule:

- all of them ``true`` or ``false``: bools;
- all of them canonical whole numbers (``1``, ``-20``; not ``01``, ``+1``): ints;
- all of them canonical numbers, not all whole (``0.5``, ``2``): floats;
- anything else: texts.

Where the rule would not give the states back (the texts ``"1"``, ``"2"``; the floats 1.0, 2.0; a
mixture), the file also says their types, as a property ``types = text`` or, one for each state,
``types = int-text``. Hidden variables carry the property ``hidden = true``; other programs skip
both. States that are bins of numbers have their ``edges`` and a ``typical`` number for each. pgmpy
marks its latent variables as ``roles = {'latents'}``, and these are hidden too.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lacunet.errors import ModelError, OptionError
from lacunet.models.latent_class import check_table_sizes
from lacunet.models.network import Model, Network, Variable
from lacunet.models.prior import PAPER_ALPHA, uniform_alpha
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.states import Bins, State, label

SUM_TOLERANCE = 1e-9  # rows of a table must sum to one to this
DIGITS = 1e-6  # per state: six printed digits, the fewest that common programs write
FLOAT_NOISE = 1e-12  # a sum this close to one is rounding of arithmetic, not of printed digits


@dataclass(frozen=True)
class Family:
    """A child with its parents, by name."""

    child: str
    parents: tuple[str, ...]
    where: str
    entry: Any = None  # what holds its numbers, in the words of the format


def connect(
    variables: Sequence[Variable], families: Sequence[Family], kind: str
) -> tuple[Network, list[Family]]:
    """Make the structure; also give the family of each variable, which the format calls `kind`."""
    index: dict[str, int] = {}
    for i, v in enumerate(variables):
        if v.name in index:
            raise ModelError(f"variable '{v.name}' stands twice. Names must differ.")
        index[v.name] = i
    names = ", ".join(map(repr, index))
    chosen: dict[str, Family] = {}
    for family in families:
        if family.child not in index:
            raise ModelError(
                f"{family.where}: no variable has this name. The variables are {names}."
            )
        if family.child in chosen:
            raise ModelError(f"{family.where} stands twice. Each variable has one {kind}.")
        chosen[family.child] = family
    for name in index:
        if name not in chosen:
            raise ModelError(f"variable '{name}' has no {kind}. Add its table.")
    ordered = [chosen[v.name] for v in variables]
    for family in ordered:
        for parent in family.parents:
            if parent not in index:
                raise ModelError(
                    f"{family.where}: its parent '{parent}' is not a variable of the file. "
                    f"These are {names}."
                )
            if family.parents.count(parent) > 1:
                raise ModelError(f"{family.where}: its parent '{parent}' stands twice.")
    return Network.build(variables, [[index[p] for p in f.parents] for f in ordered]), ordered


def members(network: Network) -> list[list[Variable]]:
    """List the variables of each table: parents in their order, then the child."""
    return [[network.variables[v] for v in family] for family in network.layout.families]


def shape(variables: Sequence[Variable]) -> tuple[int, ...]:
    """Shape of a table of these variables."""
    return tuple(len(v.states) for v in variables)


def tables(model: Model) -> list[tuple[list[Variable], FloatArray]]:
    """List the variables of each table, and the table."""
    return list(zip(members(model.network), model.tables, strict=True))


def check_table(
    table: FloatArray, where: str, variables: Sequence[Variable] = (), *, rounded: bool = False
) -> FloatArray:
    """Refuse what is no table of conditional distributions (..., r), of these variables, if named.

    With `rounded`, for formats in which programs print few digits, a row may miss the sum 1 by
    1e-6 for each state, and is then divided by its sum. Nothing else is ever changed: a row that
    sums to 1 within 1e-12 stays as it is, and one that is further off is an error.
    """

    def place(at: list[int]) -> str:
        named = zip(variables, at, strict=False)  # at the parents of a row, or at one cell
        return ", ".join(repr(v.labels[k]) for v, k in named) if variables else str(at)

    for wrong, bad in (("not a finite number", ~np.isfinite(table)), ("negative", table < 0)):
        if bad.any():
            at = place(np.argwhere(bad)[0].tolist())
            raise ModelError(
                f"{where}: its table is {wrong} at {at}. Each entry must be a probability."
            )
    sums = table.sum(axis=-1)
    off = np.abs(sums - 1.0)
    too_far = off > (DIGITS * table.shape[-1] if rounded else SUM_TOLERANCE)
    if too_far.any():
        row = np.argwhere(too_far)[0].tolist()
        at = f" at parent states {place(row)}" if row else ""
        hint = f" (printed digits may miss it by {DIGITS:g} per state)" if rounded else ""
        raise ModelError(
            f"{where}: its table sums to {sums[tuple(row)]:.12g}{at}. "
            f"Each distribution must sum to 1{hint}."
        )
    if not rounded:
        return table
    return np.where((off > FLOAT_NOISE)[..., None], table / sums[..., None], table)


def parents_reversed(table: FloatArray) -> FloatArray:
    """The same table with its parents in the opposite order."""
    last = table.ndim - 1
    return np.transpose(table, [*reversed(range(last)), last])


def check_shape(array: FloatArray, what: str, where: str, needed: tuple[int, ...]) -> FloatArray:
    """Refuse numbers that are not as many as parents and states ask for."""
    if array.shape != needed:
        raise ModelError(
            f"{where}: its {what} has shape {array.shape}, but its parents and states "
            f"ask for {needed}."
        )
    return array


def check_exponents(given: FloatArray, where: str, what: str = "alpha") -> FloatArray:
    """Refuse what is no prior, or posterior, of a family."""
    if not (np.isfinite(given).all() and (given > 0).all()):
        raise ModelError(f"{where}: every {what} must be a number above 0.")
    return given


def assemble(
    variables: Sequence[Variable],
    families: Sequence[Family],
    kind: str,
    read: Callable[[Family, Sequence[Variable]], FloatArray],
    alpha: float = PAPER_ALPHA,
) -> Model:
    """Connect the families, and `read` and check the table of each, as printed, by its variables.

    The model has the same α everywhere.
    """
    network, ordered = connect(variables, families, kind)
    cards = [len(v.states) for v in network.variables]
    check_table_sizes([v.name for v in network.variables], cards, network.parents)
    both = list(zip(ordered, members(network), strict=True))
    given = [read(family, its) for family, its in both]
    # All rows at once: only tables with a row that is not a distribution as it is are judged
    flat = np.concatenate([table.reshape(-1) for table in given])
    rows = [table.size // table.shape[-1] for table in given]
    widths = np.repeat([table.shape[-1] for table in given], rows)
    starts = np.cumsum(widths) - widths
    with np.errstate(invalid="ignore"):  # NaN and infinity have no sum near 1
        sums = np.add.reduceat(flat, starts)
    bad = ~(np.abs(sums - 1.0) <= FLOAT_NOISE) | (np.minimum.reduceat(flat, starts) < 0.0)
    for k in np.unique(np.repeat(np.arange(len(given)), rows)[bad]).tolist():
        family, its = both[k]
        given[k] = check_table(given[k], family.where, its, rounded=True)
    layout = network.layout
    return Model(network, layout.flat(given), uniform_alpha(layout, alpha))


def numbers(words: Sequence[str], variables: Sequence[Variable], where: str) -> FloatArray:
    """Read printed numbers into the table of some variables; their count must be right."""
    values = [number(word, where) for word in words]
    sizes = shape(variables)
    needed = int(np.prod(sizes, dtype=np.int64))
    if len(values) != needed:
        product = " × ".join(map(str, sizes))
        raise ModelError(
            f"{where}: its table has {len(values)} numbers. It needs {product} = {needed}: the "
            "states of its parents, then its own."
            if sizes[1:]
            else f"{where}: its table has {len(values)} numbers. It needs {needed}, one per state."
        )
    return np.array(values).reshape(sizes)


def number(word: str, where: str) -> float:
    """Read one printed number."""
    try:
        return float(word)
    except ValueError:
        raise ModelError(
            f"{where}: '{word}' is not a number. Write probabilities as 0.25 or 1e-05."
        ) from None


# States as texts, and back with their types

HIDDEN, TYPES = "hidden", "types"
EDGES, TYPICAL = "edges", "typical"
PGMPY_LATENT = "'latents'"


def to_properties(variable: Variable) -> dict[str, str]:
    """Properties of a variable that a file must hold beside its name and labels."""
    own = {HIDDEN: "true"} if variable.hidden else {}
    kinds = [_kind(s) for s in variable.states]
    if kinds != [_kind(s) for s in guess(variable.labels)]:
        own[TYPES] = kinds[0] if len(set(kinds)) == 1 else "-".join(kinds)
    if variable.bins is not None:
        own[EDGES] = ":".join(map(repr, variable.bins.edges))
        own[TYPICAL] = ":".join(map(repr, variable.bins.typical))
    return own


def properties(texts: Iterable[str]) -> dict[str, str]:
    """Read properties that are written as ``key = value``."""
    pairs = [text.partition("=") for text in texts]
    return {key.strip(): value.strip() for key, _, value in pairs}


def variable(name: str, labels: Sequence[str], own: Mapping[str, str], where: str) -> Variable:
    """Make the variable of a file, with its own properties; those of other programs are skipped."""
    hidden = own.get(HIDDEN, "true" if PGMPY_LATENT in own.get("roles", "") else "false")
    if hidden not in ("true", "false"):
        raise ModelError(f"{where}: its property hidden is '{hidden}'. It must be true or false.")
    states = _typed(labels, own[TYPES], where) if TYPES in own else guess(labels)
    bins = None
    if EDGES in own:
        try:
            bins = Bins(
                *(tuple(map(float, own.get(key, "").split(":"))) for key in (EDGES, TYPICAL))
            )
        except (ValueError, OptionError):
            raise ModelError(
                f"{where}: its properties {EDGES} and {TYPICAL} must be numbers with ':' between, "
                "rising edges and one number for each bin."
            ) from None
    return Variable(name, states, hidden=hidden == "true", bins=bins)


def guess(labels: Sequence[str]) -> tuple[State, ...]:
    """Give states their types by the rule above.

    >>> guess(["1", "2"]), guess(["1", "2.5"]), guess(["true", "false"]), guess(["1", "two"])
    ((1, 2), (1.0, 2.5), (True, False), ('1', 'two'))
    """
    if labels and set(labels) <= {"true", "false"}:
        return tuple(text == "true" for text in labels)
    if not labels or not labels[0][-1:].isdigit():  # a number that is written out ends in a digit
        return tuple(labels)
    for kind in (int, float):
        try:
            values = tuple(kind(text) for text in labels)
            if all(label(v) == text for v, text in zip(values, labels, strict=True)):
                return values if np.isfinite(values).all() else tuple(labels)
        except (ValueError, OverflowError, TypeError):
            continue
    return tuple(labels)


def _kind(state: State) -> str:
    if isinstance(state, str):
        return "text"
    if isinstance(state, bool | np.bool_):
        return "bool"
    return "int" if isinstance(state, int | np.integer) else "float"


def _typed(labels: Sequence[str], types: str, where: str) -> tuple[State, ...]:
    """Give states the types that a file names."""
    read: dict[str, Callable[[str], State]] = {
        "text": str, "bool": {"true": True, "false": False}.__getitem__, "int": int, "float": float
    }  # fmt: skip
    kinds = types.split("-")
    kinds = kinds * len(labels) if len(kinds) == 1 else kinds
    if len(kinds) != len(labels) or not set(kinds) <= set(read):
        raise ModelError(
            f"{where}: its property types is '{types}'. It must be text, bool, int or float, "
            f"or {len(labels)} of these joined by '-'."
        )
    states = []
    for text, kind in zip(labels, kinds, strict=True):
        try:
            states.append(read[kind](text))
        except (KeyError, ValueError):
            raise ModelError(
                f"{where}: its property types says that the state '{text}' is of type {kind}."
            ) from None
    return tuple(states)
