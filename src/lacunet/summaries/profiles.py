"""How the states of a hidden variable differ in what can be seen, and what tells them apart."""

from dataclasses import dataclass

import numpy as np
from scipy.special import rel_entr

from lacunet.inference.queries.query import marginal
from lacunet.models.latent_class import is_latent_class
from lacunet.models.network import Model, Network
from lacunet.runtime.arrays import FloatArray
from lacunet.summaries.number_profiles import NumberProfile, number_profile

MOST_ASKED = 150  # variables that are asked of a network: each is an inference of its own


@dataclass(frozen=True, eq=False)
class Answers:
    """One variable that can be seen, in each state of a hidden one."""

    name: str
    states: tuple[str, ...]  # r labels
    given: FloatArray  # (K, r) p(answer | hidden state)
    overall: FloatArray  # (r,) p(answer)
    information: float  # mutual information with the hidden variable, nats


@dataclass(frozen=True, eq=False)
class Profiles:
    """What each state of one hidden variable makes of the variables that can be seen."""

    name: str
    states: tuple[str, ...]  # K labels
    sizes: FloatArray  # (K,) their probabilities
    answers: tuple[Answers, ...]  # categories: what tells the states apart most comes first
    numbers: tuple[NumberProfile, ...]  # the same of numbers
    left_out: int  # variables that were not asked, because they are so many


def profiles(model: Model) -> list[Profiles]:
    """Give the profiles of every hidden variable, at the parameters of a model."""
    return [profile(model, h) for h in model.network.hidden]


def profile(model: Model, h: int) -> Profiles:
    """Give the profiles of the states of a hidden variable.

    >>> from lacunet.api import random_model
    >>> [round(a.information, 3) for a in profile(random_model(2, 3, seed=1), 0).answers]
    [0.322, 0.141, 0.007]
    """
    network, asked = model.network, _asked(model.network, h)
    sizes = sizes_of(model, h)
    names = [i for i in asked if network.variables[i].family.tabular]
    answers = sorted((_answers(model, h, i) for i in names), key=lambda a: -a.information)
    numbers = sorted(
        (number_profile(model, h, i, sizes) for i in asked if i not in names),
        key=lambda n: -n.information,
    )
    hidden, left_out = network.variables[h], len(network.observed) - len(asked)
    told = tuple(answers), tuple(numbers)
    return Profiles(hidden.name, hidden.labels, sizes, *told, left_out)


def sizes_of(model: Model, h: int) -> FloatArray:
    """(K,) probabilities of the states of a hidden variable."""
    root = not model.network.parents[h]
    return model.network.layout.table(model.theta, h) if root else marginal(model, (h,))


def _asked(network: Network, h: int) -> list[int]:
    """All that can be seen; of very many, those that share a table with the hidden variable."""
    observed = [i for i in network.shown if not network.variables[i].hidden]
    if is_latent_class(network) or len(observed) <= MOST_ASKED:
        return observed
    near = {v for family in network.layout.families if h in family for v in family}
    return [i for i in observed if i in near]


def _answers(model: Model, h: int, i: int) -> Answers:
    network, layout = model.network, model.network.layout
    if network.parents[i] == (h,) and not network.parents[h]:
        sizes, given = layout.table(model.theta, h), layout.table(model.theta, i)
        joint = sizes[:, None] * given
    else:
        joint = marginal(model, (h, i))
        sizes = joint.sum(axis=1)
        # A state that nobody is in tells nothing: it answers as everybody does.
        somebody, members = sizes[:, None] > 0, np.where(sizes > 0, sizes, 1.0)[:, None]
        given = np.where(somebody, joint / members, joint.sum(axis=0))
    overall = joint.sum(axis=0)
    information = float(rel_entr(joint, np.outer(sizes, overall)).sum())
    variable = network.variables[i]
    return Answers(variable.heading, variable.labels, given, overall, max(information, 0.0))
