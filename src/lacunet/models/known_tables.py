"""Known tables of a network as users and files describe them: fixed, tied, with zeros.

::

    {"fixed": [{"child": "test", "parents": ["ill"], "table": [[0.95, 0.05], [0.1, 0.9]]}],
     "tied": [["first", "second"]],
     "zeros": [{"child": "pregnant", "state": "yes", "given": {"sex": "male"}}]}

A table is nested by the states of its parents, in their order, then by those of the child. Each
level is a list in the order of the states, or an object by state name, {"no": {"negative": 0.95,
"positive": 0.05}, …}. A zero holds for all states of the parents that it does not name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lacunet.errors import ModelError, OptionError
from lacunet.models.known import KnownTable
from lacunet.models.network import Network, Variable
from lacunet.runtime.arrays import FloatArray

Zero = Mapping[str, Any]  # child, state, and the states of some parents as "given"


@dataclass(frozen=True)
class KnownTables:
    """Constraints on tables, by the names of variables."""

    fixed: Sequence[Mapping[str, Any]] = ()  # child, its parents, and its table
    tied: Sequence[Sequence[str]] = ()  # groups of children that share a table
    zeros: Sequence[Zero] = ()

    def __post_init__(self) -> None:
        for what, keys in (("fixed", ("child", "table")), ("zeros", ("child", "state"))):
            for entry in getattr(self, what):
                _check_entry(what, entry, keys)
        for group in self.tied:
            if len(set(group)) < max(2, len(group)):
                raise OptionError(
                    f"tied: {list(group)} is not a group. Name two variables or more."
                )
        tied = [name for group in self.tied for name in group]
        for name in tied:
            if tied.count(name) > 1:
                raise OptionError(f"tied: '{name}' is in two groups. Join them.")
        fixed = [entry["child"] for entry in self.fixed]
        for name in fixed:
            also = "twice" if fixed.count(name) > 1 else ""
            also = "and in zeros" if name in self._zeros_by_child else also
            also = "and in tied" if name in tied else also
            if also:
                raise OptionError(
                    f"fixed: '{name}' is also {also}. A fixed table is complete: remove the other "
                    "entry."
                )

    @property
    def _zeros_by_child(self) -> dict[str, list[Zero]]:
        children = dict.fromkeys(entry["child"] for entry in self.zeros)
        return {name: [e for e in self.zeros if e["child"] == name] for name in children}

    @property
    def names(self) -> Iterator[str]:
        """Names of all variables in the constraints."""
        for entry in (*self.fixed, *self.zeros):
            yield from (entry["child"], *entry.get("parents", ()), *entry.get("given", {}))
        yield from (name for group in self.tied for name in group)

    def of(self, network: Network) -> Network:
        """The network with these constraints on its tables."""
        if self == NOTHING:
            return network
        variables = list(network.variables)
        for entry in self.fixed:
            i = network.index(entry["child"])
            variables[i] = replace(variables[i], known=_fixed(network, i, entry))
        for name, zeros in self._zeros_by_child.items():
            i = network.index(name)
            parents = [network.variables[p] for p in network.parents[i]]
            variables[i] = replace(variables[i], known=zeros_of(variables[i], parents, zeros))
        for first, *others in self.tied:
            network.index(first)
            for name in others:
                i = network.index(name)
                variables[i] = replace(variables[i], tied_to=first)
        return Network.build(variables, network.parents)


NOTHING = KnownTables()


def _check_entry(what: str, entry: Any, keys: Sequence[str]) -> None:
    if not isinstance(entry, Mapping) or not all(key in entry for key in keys):
        raise OptionError(f"{what}: {entry!r} must have {' and '.join(map(repr, keys))}.")
    if not isinstance(entry["child"], str):
        raise OptionError(f"{what}: child {entry['child']!r} is not the name of a variable.")
    if not isinstance(entry.get("given", {}), Mapping):
        raise OptionError(f"{what}: given {entry['given']!r} must name states of parents.")


def zeros_of(child: Variable, parents: Sequence[Variable], zeros: Sequence[Zero]) -> KnownTable:
    """The table with these zeros."""
    names = [p.name for p in parents]
    table = np.full([len(v.states) for v in (*parents, child)], np.nan)
    for zero in zeros:
        given = zero.get("given", {})
        for name in given:
            if name not in names:
                has = ", ".join(map(repr, names)) or "none"
                raise ModelError(
                    f"a zero of '{child.name}' is given '{name}', which is none of its parents. It "
                    f"has {has}."
                )
        where = (p.code(given[p.name]) if p.name in given else slice(None) for p in parents)
        table[(*where, child.code(zero["state"]))] = 0.0
    return KnownTable.of(table)


def zeros_in(known: KnownTable, child: Variable, parents: Sequence[Variable]) -> list[Zero]:
    """List the zeros of a table."""
    return [
        {
            "state": child.states[k],
            "given": {p.name: p.states[s] for p, s in zip(parents, states, strict=True)},
        }
        for *states, k in np.argwhere(known.values == 0.0).tolist()
    ]


def _fixed(network: Network, i: int, entry: Mapping[str, Any]) -> KnownTable:
    """Parse a fixed table, with axes in the order of the network's parents."""
    child, names = network.variables[i], [network.variables[p].name for p in network.parents[i]]
    given = list(entry.get("parents", ()))
    if sorted(given) != sorted(names):
        raise ModelError(
            f"the fixed table of '{child.name}' has the parents {given}, the network gives it "
            f"{names}. They must be the same variables."
        )
    variables = [*(network.variables[network.index(name)] for name in given), child]
    table = nested_table(entry["table"], variables)
    shape = tuple(len(v.states) for v in variables)
    if table.shape != shape:
        raise ModelError(
            f"the fixed table of '{child.name}' has shape {table.shape}. It must be {shape}: the "
            f"states of {', '.join(repr(v.name) for v in variables)}."
        )
    return KnownTable.of(np.transpose(table, [*map(given.index, names), len(given)]))


def nested_table(table: Any, variables: Sequence[Variable]) -> FloatArray:
    """Parse a table that is nested by states, in lists or by name."""
    where = f"the fixed table of '{variables[-1].name}'"
    ordered = _ordered(table, variables, where)
    try:
        numbers = np.array(ordered, dtype=np.float64)
    except (TypeError, ValueError):
        raise ModelError(f"{where} is not a nested list of numbers of one shape.") from None
    if np.isnan(numbers).any():
        raise ModelError(f"{where} has a number missing. Give all of them.")
    return numbers


def _ordered(table: Any, variables: Sequence[Variable], where: str) -> Any:
    """Replace objects by state name with lists in the order of states, level by level."""
    if variables and isinstance(table, Mapping):
        first = variables[0]
        by_code: dict[int, Any] = {first.code(name): value for name, value in table.items()}
        if len(by_code) < len(first.states):
            missing = [text for k, text in enumerate(first.labels) if k not in by_code]
            raise ModelError(f"{where} has no entry for {first.name} = {', '.join(missing)}.")
        table = [by_code[k] for k in range(len(first.states))]
    if isinstance(table, str) or not isinstance(table, Sequence | np.ndarray):
        return table
    return [_ordered(x, variables[1:], where) for x in table]
