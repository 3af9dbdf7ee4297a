"""Hidden states have no names of their own: number them as in another model."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy.optimize import linear_sum_assignment

from lacunet.errors import ModelError
from lacunet.fitting.diagnose import diagnose
from lacunet.fitting.fit import Fit
from lacunet.models.known import Relabelling
from lacunet.models.network import Model
from lacunet.runtime.arrays import FloatArray

ROUNDS = 10  # over several hidden variables, whose numberings depend on each other


def matched(model: Model, like: Model) -> Model:
    """Renumber hidden states so that they resemble those of another model as much as possible.

    What is compared are square roots of probabilities (Hellinger's distance), summed over all
    tables that a hidden variable stands in; the assignment with the least sum is found exactly for
    one hidden variable, and one variable at a time for several. Where the numbers of states differ,
    states that resemble none come last.
    """
    return model.relabelled(_relabelling(model, like))


def matched_fit(fit: Fit, like: Model) -> Fit:
    """Renumber the hidden states of a fit in the same way, in its parameters, counts and flags."""
    return relabelled_fit(fit, _relabelling(fit.model, like))


def relabelled_fit(fit: Fit, by: Relabelling) -> Fit:
    """Renumber hidden states of a fit, in its parameters, counts and flags."""
    model, counts = fit.model.relabelled(by), by.apply(fit.point.N)
    problem = replace(fit.problem, alpha=model.alpha)
    kept = [flag for flag in fit.flags if not flag.where]  # the others name states by number
    return replace(
        fit,
        problem=problem,
        model=model,
        point=replace(fit.point, theta=model.theta, N=counts),
        heaviest=None if fit.heaviest is None else relabelled_fit(fit.heaviest, by),
        flags=(*kept, *diagnose(problem, model.theta, counts)),
    )


def _relabelling(model: Model, like: Model) -> Relabelling:
    """How to renumber the hidden variables: one after the other, until nothing changes."""
    check_comparable(model, like)
    layout = model.network.layout
    orders = {h: list(range(layout.cards[h])) for h in model.network.hidden}
    for _ in range(ROUNDS):
        before = dict(orders)
        for h, old in before.items():
            now = model.relabelled(Relabelling(layout, orders=orders))
            cost = np.zeros((layout.cards[h], like.network.layout.cards[h]))
            cost = sum(_distances(now, like, h), start=cost)
            turned = {**orders, h: [old[k] for k in cheapest_order(cost)]}
            # Where a table is known its states have meanings, which are not a matter of number.
            if Relabelling(layout, orders=turned).keeps(np.zeros(layout.size)):
                orders = turned
        if orders == before:
            break
    return Relabelling(layout, orders=orders)


def check_comparable(model: Model, like: Model) -> None:
    """Refuse models that are not about the same variables in the same structure."""
    one, other = model.network, like.network
    names = [v.name for v in one.variables]
    if names != [v.name for v in other.variables] or one.hidden != other.hidden:
        theirs = ", ".join(f"'{v.name}'" for v in other.variables)
        raise ModelError(
            f"the other model has other variables: {theirs}. Classes can be matched only between "
            "models of the same variables, in the same order."
        )
    if one.parents != other.parents:
        raise ModelError("the other model has other edges. Match models of the same structure.")
    for i in one.observed:
        mine, its = one.variables[i], other.variables[i]
        if not mine.family.tabular and (mine.family, mine.unit) == (its.family, its.unit):
            continue  # numbers may be any
        if mine.labels != its.labels:
            raise ModelError(
                f"'{names[i]}' has the states {list(one.variables[i].labels)} here and "
                f"{list(other.variables[i].labels)} in the other model. They must be the same."
            )


def cheapest_order(cost: FloatArray) -> list[int]:
    """Which state here, by its number, each state there is; (here, there) what each pair costs.

    States here that are left over come last.

    >>> cheapest_order(np.array([[0.9, 0.1], [0.2, 0.8]]))
    [1, 0]
    """
    mine, theirs = linear_sum_assignment(cost)
    order = [int(k) for k in mine[np.argsort(theirs)]]
    return order + [k for k in range(len(cost)) if k not in order]


def profile_distances(model: Model, like: Model, h: int) -> FloatArray:
    """How far answers differ between states of h here and there, (K, K′), on average.

    0: the same; of categories at most 1, where no answer is given in both (Hellinger, squared).
    What h itself depends on has no part in it.
    """
    found = list(_distances(model, like, h, but=h))
    return np.asarray(0.5 * sum(found) / len(found))


def _distances(model: Model, like: Model, h: int, but: int | None = None) -> Iterator[FloatArray]:
    """Squared distances between states of h here and there, (K, K′), one for each table.

    All but that of one variable.
    """
    here, there = model.network.layout, like.network.layout
    for i, family in enumerate(here.families):
        others = [v for v in family if v != h]
        if i == but or h not in family or any(here.cards[v] != there.cards[v] for v in others):
            continue
        if not here.widths[i]:  # its parameters stand elsewhere
            continue
        root = np.sqrt if here.kinds[i].tabular else np.asarray  # numbers are as they are
        a, b = (
            root(np.moveaxis(layout.table(m.theta, i), family.index(h), 0))
            for layout, m in ((here, model), (there, like))
        )
        a, b = a.reshape(len(a), 1, -1), b.reshape(1, len(b), -1)
        yield ((a - b) ** 2).sum(axis=-1)
