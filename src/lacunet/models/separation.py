"""d-separation: which independences a graph implies, whatever its parameters are."""

from collections.abc import Collection, Iterable

from lacunet.models.network import Network


def d_separated(
    network: Network, a: Collection[int], b: Collection[int], given: Collection[int] = ()
) -> bool:
    """Whether every path between two sets of variables is blocked by what is given.

    >>> from lacunet.models.network import Variable
    >>> x, y, both = (Variable(name, (0, 1)) for name in ("x", "y", "both"))
    >>> collider = Network.build([x, y, both], [(), (), (0, 1)])
    >>> d_separated(collider, [0], [1]), d_separated(collider, [0], [1], given=[2])
    (True, False)
    """
    return connected(network, a, given).isdisjoint(b)


def connected(network: Network, start: Iterable[int], given: Collection[int]) -> set[int]:
    """Variables that some path joins to the start, which what is given leaves open (Bayes ball).

    A path goes on through a variable that is not given, unless two arrows meet there; where they
    meet it goes on if the variable, or a descendant of it, is given.
    """
    children = [
        [i for i, pa in enumerate(network.parents) if v in pa] for v in range(len(network.parents))
    ]
    opening = _with_ancestors(network, given)
    todo = [(v, True) for v in start]  # a variable, and whether it was come to from a child
    seen: set[tuple[int, bool]] = set()
    while todo:
        step = v, upwards = todo.pop()
        if step in seen:
            continue
        seen.add(step)
        if v not in given:
            todo += [(c, False) for c in children[v]]
        if (upwards and v not in given) or (not upwards and v in opening):
            todo += [(p, True) for p in network.parents[v]]
    return {v for v, _ in seen if v not in given}


def _with_ancestors(network: Network, variables: Iterable[int]) -> set[int]:
    found: set[int] = set()
    todo = list(variables)
    while todo:
        v = todo.pop()
        if v not in found:
            found.add(v)
            todo += network.parents[v]
    return found
