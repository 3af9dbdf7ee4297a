"""Model assembly for all network formats: structure, tables, and types of states.

A format parses variables, and parents and numbers of each child. `connect` builds the structure,
`check_table` validates a table, and `assemble` does both. `where` is the place in the file, for
messages: ``family 'a'``, ``line 12: probability block 'a'``.

BIF, XMLBIF, XDSL and pyAgrum have states as texts only. A state is written as its label, and the
states of one variable are read by one rule:

- all of them ``true`` or ``false``: bools;
- all of them canonical whole numbers (``1``, ``-20``; not ``01``, ``+1``): ints;
- all of them canonical numbers, not all whole (``0.5``, ``2``): floats;
- anything else: texts.

If the rule does not restore the states (the texts ``"1"``, ``"2"``; the floats 1.0, 2.0; a
mixture), the file also has a property ``types = text`` or, one for each state, ``types =
int-text``. Hidden variables have the property ``hidden = true``; other programs skip both. Bins of
numbers have ``edges``, and a ``typical`` number each. Latent variables of pgmpy, with ``roles =
{'latents'}``, are also hidden.
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
DIGITS = 1e-6  # tolerance per state: common programs print at least six digits
FLOAT_NOISE = 1e-12  # sums this close to one differ by arithmetic rounding only


@dataclass(frozen=True)
class Family:
    """A child with its parents, by name."""

    child: str
    parents: tuple[str, ...]
    where: str
    entry: Any = None  # the format's element with its numbers


def connect(
    variables: Sequence[Variable], families: Sequence[Family], kind: str
) -> tuple[Network, list[Family]]:
    """Build the structure; also order families by variable. Messages call a family `kind`."""
    index: dict[str, int] = {}
    for i, v in enumerate(variables):
        if v.name in index:
            raise ModelError(f"variable '{v.name}' occurs twice. Names must differ.")
        index[v.name] = i
    names = ", ".join(map(repr, index))
    chosen: dict[str, Family] = {}
    for family in families:
        if family.child not in index:
            raise ModelError(
                f"{family.where}: no variable has this name. The variables are {names}."
            )
        if family.child in chosen:
            raise ModelError(f"{family.where} occurs twice. Each variable has one {kind}.")
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
                raise ModelError(f"{family.where}: its parent '{parent}' occurs twice.")
    return Network.build(variables, [[index[p] for p in f.parents] for f in ordered]), ordered


def members(network: Network) -> list[list[Variable]]:
    """List the variables of each table: parents in their order, then the child."""
    return [[network.variables[v] for v in family] for family in network.layout.families]


def shape(variables: Sequence[Variable]) -> tuple[int, ...]:
    """Shape of a table of these variables."""
    return tuple(len(v.states) for v in variables)


def tables(model: Model) -> list[tuple[list[Variable], FloatArray]]:
    """List the variables of each table with the table."""
    return list(zip(members(model.network), model.tables, strict=True))


def check_table(
    table: FloatArray, where: str, variables: Sequence[Variable] = (), *, rounded: bool = False
) -> FloatArray:
    """Raise ModelError unless a table (..., r) holds conditional distributions.

    With `rounded`, for formats with few printed digits, row sums may differ from 1 by 1e-6 a state;
    such rows are normalised. Rows that sum to 1 within 1e-12 are unchanged. Messages name states if
    `variables` are given.
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
    """The table with its parents in reverse order."""
    last = table.ndim - 1
    return np.transpose(table, [*reversed(range(last)), last])


def check_shape(array: FloatArray, what: str, where: str, needed: tuple[int, ...]) -> FloatArray:
    """Raise ModelError unless an array has the shape of parents and states."""
    if array.shape != needed:
        raise ModelError(
            f"{where}: its {what} has shape {array.shape}, but its parents and states require "
            f"{needed}."
        )
    return array


def check_exponents(given: FloatArray, where: str, what: str = "alpha") -> FloatArray:
    """Raise ModelError unless all exponents of a prior or posterior are positive."""
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
    """Build a model with the same α everywhere; `read` parses the table of each family."""
    network, ordered = connect(variables, families, kind)
    cards = [len(v.states) for v in network.variables]
    check_table_sizes([v.name for v in network.variables], cards, network.parents)
    both = list(zip(ordered, members(network), strict=True))
    given = [read(family, its) for family, its in both]
    # All rows at once, for speed: `check_table` runs only for tables with a bad or rounded row.
    flat = np.concatenate([table.reshape(-1) for table in given])
    rows = [table.size // table.shape[-1] for table in given]
    widths = np.repeat([table.shape[-1] for table in given], rows)
    starts = np.cumsum(widths) - widths
    with np.errstate(invalid="ignore"):  # sums of NaN and infinity are bad rows
        sums = np.add.reduceat(flat, starts)
    bad = ~(np.abs(sums - 1.0) <= FLOAT_NOISE) | (np.minimum.reduceat(flat, starts) < 0.0)
    for k in np.unique(np.repeat(np.arange(len(given)), rows)[bad]).tolist():
        family, its = both[k]
        given[k] = check_table(given[k], family.where, its, rounded=True)
    layout = network.layout
    return Model(network, layout.flat(given), uniform_alpha(layout, alpha))


def numbers(words: Sequence[str], variables: Sequence[Variable], where: str) -> FloatArray:
    """Parse printed numbers into a table of the given variables."""
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
    """Parse one printed number."""
    try:
        return float(word)
    except ValueError:
        raise ModelError(
            f"{where}: '{word}' is not a number. Write probabilities as 0.25 or 1e-05."
        ) from None


# States as texts, and their types

HIDDEN, TYPES = "hidden", "types"
EDGES, TYPICAL = "edges", "typical"
PGMPY_LATENT = "'latents'"


def to_properties(variable: Variable) -> dict[str, str]:
    """Properties of a variable in a file, besides its name and labels."""
    extra = {HIDDEN: "true"} if variable.hidden else {}
    kinds = [_kind(s) for s in variable.states]
    if kinds != [_kind(s) for s in guess(variable.labels)]:
        extra[TYPES] = kinds[0] if len(set(kinds)) == 1 else "-".join(kinds)
    if variable.bins is not None:
        extra[EDGES] = ":".join(map(repr, variable.bins.edges))
        extra[TYPICAL] = ":".join(map(repr, variable.bins.typical))
    return extra


def properties(texts: Iterable[str]) -> dict[str, str]:
    """Parse properties written as ``key = value``."""
    pairs = [text.partition("=") for text in texts]
    return {key.strip(): value.strip() for key, _, value in pairs}


def variable(name: str, labels: Sequence[str], extra: Mapping[str, str], where: str) -> Variable:
    """Make a variable from labels and properties; properties of other programs are ignored."""
    hidden = extra.get(HIDDEN, "true" if PGMPY_LATENT in extra.get("roles", "") else "false")
    if hidden not in ("true", "false"):
        raise ModelError(f"{where}: its property hidden is '{hidden}'. It must be true or false.")
    states = _typed(labels, extra[TYPES], where) if TYPES in extra else guess(labels)
    bins = None
    if EDGES in extra:
        try:
            bins = Bins(
                *(tuple(map(float, extra.get(key, "").split(":"))) for key in (EDGES, TYPICAL))
            )
        except (ValueError, OptionError):
            raise ModelError(
                f"{where}: its properties {EDGES} and {TYPICAL} must be numbers with ':' between, "
                "rising edges and one number for each bin."
            ) from None
    return Variable(name, states, hidden=hidden == "true", bins=bins)


def guess(labels: Sequence[str]) -> tuple[State, ...]:
    """Infer the types of states by the rule above.

    >>> guess(["1", "2"]), guess(["1", "2.5"]), guess(["true", "false"]), guess(["1", "two"])
    ((1, 2), (1.0, 2.5), (True, False), ('1', 'two'))
    """
    if labels and set(labels) <= {"true", "false"}:
        return tuple(text == "true" for text in labels)
    if not labels or not labels[0][-1:].isdigit():  # a printed number ends in a digit
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
    """Convert labels to the types in a file."""
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
                f"{where}: its property 'types' declares that the state '{text}' is of type {kind}."
            ) from None
    return tuple(states)
