"""What families of a JSON model file say of their tables: fixed, tied to another, with zeros."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lacunet.errors import ModelError
from lacunet.models.formats.assembly import Family
from lacunet.models.known import KnownTable
from lacunet.models.known_tables import zeros_in, zeros_of
from lacunet.models.network import Network, Variable
from lacunet.runtime.arrays import FloatArray


def write(child: Variable, parents: Sequence[Variable]) -> dict[str, Any]:
    """Say what is known of a table whatever the data say."""
    entry: dict[str, Any] = {} if child.tied_to is None else {"tied_to": child.tied_to}
    if child.known is None:
        return entry
    if child.known.fixed:
        return {**entry, "fixed": True}
    return {**entry, "zeros": zeros_in(child.known, child, parents)}


def read(
    network: Network,
    families: Sequence[tuple[Family, Sequence[Variable]]],
    tables: Sequence[FloatArray],
) -> Network:
    """Tell a network what its families say of their tables."""
    variables = []
    for (family, (*parents, child)), table in zip(families, tables, strict=True):
        entry = family.entry
        _check(family.where, entry)
        known = KnownTable.of(table) if entry.get("fixed") else None
        if entry.get("zeros"):
            known = zeros_of(child, parents, entry["zeros"])
        variables.append(replace(child, known=known, tied_to=entry.get("tied_to")))
    return Network.build(variables, network.parents)


def _check(where: str, entry: dict[str, Any]) -> None:
    fixed, tied_to, zeros = entry.get("fixed", False), entry.get("tied_to"), entry.get("zeros", [])
    if "tied" in entry:
        raise ModelError(f'{where} is "tied". Say "tied_to": the variable whose table it shares.')
    if not isinstance(fixed, bool):
        raise ModelError(f'{where}: "fixed" is {fixed!r}. It must be true or false.')
    if not isinstance(tied_to, str | None):
        raise ModelError(f'{where}: "tied_to" is {tied_to!r}. It must be the name of a variable.')
    if not isinstance(zeros, list) or not all(map(_is_zero, zeros)):
        raise ModelError(
            f'{where}: "zeros" must be a list of objects with a "state", and the states of some '
            'parents as "given".'
        )
    if fixed and zeros:
        raise ModelError(f'{where} is "fixed" and has "zeros". Write them into its table.')


def _is_zero(zero: Any) -> bool:
    return isinstance(zero, dict) and "state" in zero and isinstance(zero.get("given", {}), dict)


def check_kept(network: Network, theta: FloatArray) -> None:
    """Refuse parameters that are not as is known: zeros that are none, tied tables that differ."""
    layout = network.layout
    given = theta if layout.given is None else layout.given
    kept = np.where(layout.learned, theta == theta[layout.slots], theta == given)
    for i, v in enumerate(network.variables):
        if layout.table(kept, i).all():
            continue
        if v.tied_to is not None:
            what = f"differs from that of '{v.tied_to}', which it is tied to"
        else:
            what = "has a probability where its zeros leave none"
        raise ModelError(f"family '{v.name}': its table {what}. Correct one of the two.")
