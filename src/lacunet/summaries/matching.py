"""Label matching: renumber hidden states to resemble those of another model."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy.optimize import linear_sum_assignment

from lacunet.errors import ModelError
from lacunet.fitting.fit import Fit, describe
from lacunet.models.known import Relabelling
from lacunet.models.network import Model
from lacunet.runtime.arrays import FloatArray

ROUNDS = 10  # most passes over several hidden variables


def matched(model: Model, like: Model) -> Model:
    """Renumber hidden states so that they resemble those of another model as much as possible.

    The cost is the squared distance of square roots of probabilities (Hellinger), summed over all
    tables with a hidden variable. The optimum is exact for one hidden variable, and coordinate-wise
    for several. If the numbers of states differ, unmatched states come last.
    """
    return model.relabelled(_relabelling(model, like))


def matched_fit(fit: Fit, like: Model) -> Fit:
    """Renumber the hidden states of a fit to resemble those of a model."""
    return relabelled_fit(fit, _relabelling(fit.model, like))


def relabelled_fit(fit: Fit, by: Relabelling) -> Fit:
    """Renumber the hidden states of a fit, in its parameters, counts and flags."""
    within = replace(by, layout=fit.problem.layout)  # not the model's if covariates predict classes
    problem = replace(fit.problem, alpha=within.apply(fit.problem.alpha))
    theta, counts = within.apply(fit.point.theta), within.apply(fit.point.N)
    point = replace(fit.point, theta=theta, N=counts)
    stateless = [flag for flag in fit.flags if not flag.where]  # the others contain state numbers
    return replace(
        fit,
        problem=problem,
        model=fit.model.relabelled(by),
        point=point,
        largest_mass=None if fit.largest_mass is None else relabelled_fit(fit.largest_mass, by),
        flags=(*stateless, *describe(problem, point)[1]),
    )


def _relabelling(model: Model, like: Model) -> Relabelling:
    """Compute the renumbering of the hidden variables, one at a time until nothing changes."""
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
            # Keep the order if a known table fixes the meanings of the states.
            if Relabelling(layout, orders=turned).keeps(np.zeros(layout.size)):
                orders = turned
        if orders == before:
            break
    return Relabelling(layout, orders=orders)


def check_comparable(model: Model, like: Model) -> None:
    """Refuse models with different variables or structures."""
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
            continue
        if mine.labels != its.labels:
            raise ModelError(
                f"'{names[i]}' has the states {list(one.variables[i].labels)} here and "
                f"{list(other.variables[i].labels)} in the other model. They must be the same."
            )


def cheapest_order(cost: FloatArray) -> list[int]:
    """Solve the assignment problem: the row for each column of `cost`; unmatched rows come last.

    >>> cheapest_order(np.array([[0.9, 0.1], [0.2, 0.8]]))
    [1, 0]
    """
    mine, theirs = linear_sum_assignment(cost)
    order = [int(k) for k in mine[np.argsort(theirs)]]
    return order + [k for k in range(len(cost)) if k not in order]


def profile_distances(model: Model, like: Model, h: int) -> FloatArray:
    """Compute the mean distance between states of h in two models, (K, K′), over its children.

    For categories it is the squared Hellinger distance: 0 if equal, 1 if disjoint.
    """
    distances = list(_distances(model, like, h, but=h))
    return np.asarray(0.5 * sum(distances) / len(distances))


def _distances(model: Model, like: Model, h: int, but: int | None = None) -> Iterator[FloatArray]:
    """Yield squared distances between states of h in two models, (K, K′), for each table.

    The table of the variable `but` is skipped.
    """
    mine, theirs = model.network.layout, like.network.layout
    for i, family in enumerate(mine.families):
        others = [v for v in family if v != h]
        if i == but or h not in family or any(mine.cards[v] != theirs.cards[v] for v in others):
            continue
        if not mine.widths[i]:  # another variable has its parameters
            continue
        root = np.sqrt if mine.kinds[i].tabular else np.asarray
        a, b = (
            root(np.moveaxis(layout.table(m.theta, i), family.index(h), 0))
            for layout, m in ((mine, model), (theirs, like))
        )
        a, b = a.reshape(len(a), 1, -1), b.reshape(1, len(b), -1)
        yield ((a - b) ** 2).sum(axis=-1)
