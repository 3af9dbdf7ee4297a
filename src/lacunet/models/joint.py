"""Variables that have their parameters together: a block of numbers, which stands at its first."""

from collections.abc import Mapping

import numpy as np

from lacunet.likelihoods.joint_normal import joint_statistics
from lacunet.models.network import Network
from lacunet.runtime.arrays import CodeArray, FloatArray


def members(network: Network, i: int) -> list[int]:
    """The variables whose parameters stand at one: itself, a block, or nothing of a block."""
    name, own = network.variables[i].name, network.variables[i].family.stands_at
    if own is None:
        return [i]
    return [j for j, v in enumerate(network.variables) if v.family.stands_at == own == name]


def statistics_of(network: Network, i: int, codes: Mapping[int, CodeArray]) -> FloatArray:
    """T(x) at variable i, (rows, width), of rows that show all its members."""
    if network.variables[i].family.stands_at is None:
        return network.variables[i].statistics_of(codes[i])
    values = [network.variables[j].values_of(codes[j]) for j in members(network, i)]
    return joint_statistics(np.stack(values, axis=1))


def table_of(network: Network, x: FloatArray, i: int) -> FloatArray:
    """What family i has of a flat vector; of a block, what stands at its first variable."""
    shared = network.variables[i].family.stands_at
    return network.layout.table(x, i if shared is None else network.index(shared))
