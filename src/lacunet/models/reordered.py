"""A network or a model with its variables in another order: that of work, or that of people."""

from collections.abc import Sequence
from dataclasses import replace

from lacunet.models.ensemble import Ensemble
from lacunet.models.network import Model, Network
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.states import by_name, kept


def work_order(network: Network) -> list[int]:
    """Hidden variables, then the others, each by name: as the columns of a table that is worked on.

    >>> from lacunet.models.network import Variable
    >>> leaves = [Variable("b", (0, 1)), Variable("a", (0, 1))]
    >>> work_order(Network.build([*leaves, Variable("h", (0, 1), hidden=True)], [(2,), (2,), ()]))
    [2, 1, 0]
    """
    order = by_name([v.name for v in network.variables])
    return sorted(order, key=lambda i: not network.variables[i].hidden)


def in_work_order(network: Network) -> Network:
    """Give a network its order of work; each variable keeps the place that it had."""
    order = work_order(network)
    return network if order == sorted(order) else _reordered(_placed(network), order)


def model_in_work_order(model: Model) -> Model:
    """Do the same for a model; parents of a variable stay in their order, so do its numbers."""
    order = work_order(model.network)
    placed = replace(model, network=_placed(model.network))
    return model if order == sorted(order) else _moved(placed, order)


def all_in_work_order(speaker: Model | Ensemble) -> Model | Ensemble:
    """Do the same for all that an ensemble speaks for."""
    if isinstance(speaker, Model):
        return model_in_work_order(speaker)
    members = (replace(m, model=model_in_work_order(m.model)) for m in speaker.members)
    return replace(speaker, members=tuple(members))


def model_as_shown(model: Model) -> Model:
    """Give a model the order in which people see its variables."""
    order = model.network.shown
    return model if list(order) == sorted(order) else _moved(model, order)


def _placed(network: Network) -> Network:
    """Write down where each variable stands, unless that was done."""
    places = kept([v.place for v in network.variables])
    variables = (replace(v, place=i) for v, i in zip(network.variables, places, strict=True))
    return replace(network, variables=tuple(variables))


def _reordered(network: Network, order: Sequence[int]) -> Network:
    new = {old: i for i, old in enumerate(order)}
    parents = [tuple(new[p] for p in network.parents[i]) for i in order]
    return Network(tuple(network.variables[i] for i in order), tuple(parents))


def _moved(model: Model, order: Sequence[int]) -> Model:
    network, old = _reordered(model.network, order), model.network.layout

    def moved(x: FloatArray) -> FloatArray:
        return network.layout.flat([old.table(x, i) for i in order])

    return model.moved(network, moved)
