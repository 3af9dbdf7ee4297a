"""States as texts, and back with their types.

BIF, XMLBIF, XDSL and pyAgrum know only texts. A state is written as its label, and the states of
one variable are read by one rule:

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

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from lacunet.errors import ModelError, OptionError
from lacunet.models.network import Variable
from lacunet.runtime.states import Bins, State, label

HIDDEN, TYPES = "hidden", "types"
EDGES, TYPICAL = "edges", "typical"
PGMPY_LATENT = "'latents'"


def to_properties(variable: Variable) -> dict[str, str]:
    """What a file must say of a variable beside its name and labels."""
    properties = {HIDDEN: "true"} if variable.hidden else {}
    kinds = [_kind(s) for s in variable.states]
    if kinds != [_kind(s) for s in guess(variable.labels)]:
        properties[TYPES] = kinds[0] if len(set(kinds)) == 1 else "-".join(kinds)
    if variable.bins is not None:
        properties[EDGES] = ":".join(map(repr, variable.bins.edges))
        properties[TYPICAL] = ":".join(map(repr, variable.bins.typical))
    return properties


def properties(texts: Iterable[str]) -> dict[str, str]:
    """Read properties that are written as ``key = value``."""
    pairs = [text.partition("=") for text in texts]
    return {key.strip(): value.strip() for key, _, value in pairs}


def variable(name: str, labels: Sequence[str], told: Mapping[str, str], where: str) -> Variable:
    """Make the variable of a file; properties that are not ours are other programs' business."""
    hidden = told.get(HIDDEN, "true" if PGMPY_LATENT in told.get("roles", "") else "false")
    if hidden not in ("true", "false"):
        raise ModelError(f"{where}: its property hidden is '{hidden}'. It must be true or false.")
    types = told.get(TYPES)
    states = guess(labels) if types is None else _told(labels, types, where)
    return Variable(name, states, hidden=hidden == "true", bins=_bins(told, where))


def _bins(told: Mapping[str, str], where: str) -> Bins | None:
    if EDGES not in told:
        return None
    try:
        edges, typical = (
            tuple(float(x) for x in told.get(key, "").split(":")) for key in (EDGES, TYPICAL)
        )
        return Bins(edges, typical)
    except (ValueError, OptionError):
        raise ModelError(
            f"{where}: its properties {EDGES} and {TYPICAL} must be numbers with ':' between, "
            "rising edges and one number for each bin."
        ) from None


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


def _told(labels: Sequence[str], types: str, where: str) -> tuple[State, ...]:
    kinds = types.split("-")
    kinds = kinds * len(labels) if len(kinds) == 1 else kinds
    if len(kinds) != len(labels) or not set(kinds) <= {"text", "bool", "int", "float"}:
        raise ModelError(
            f"{where}: its property types is '{types}'. It must be text, bool, int or float, "
            f"or {len(labels)} of these joined by '-'."
        )
    return tuple(_as(text, kind, where) for text, kind in zip(labels, kinds, strict=True))


def _as(text: str, kind: str, where: str) -> State:
    try:
        if kind == "bool":
            return {"true": True, "false": False}[text]
        return text if kind == "text" else int(text) if kind == "int" else float(text)
    except (KeyError, ValueError):
        raise ModelError(
            f"{where}: its property types says that the state '{text}' is of type {kind}."
        ) from None
