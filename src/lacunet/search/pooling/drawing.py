"""Parameters drawn from their posterior, for imputations that are as unsure as they should be.

Data augmentation: what the table does not show is drawn given the parameters, these given all of
it, in turns. Every chain starts at the posterior means, and each gives one draw.
"""

from dataclasses import replace

import numpy as np

from lacunet.data.table import Table
from lacunet.evidence.roundings import nearest_whole
from lacunet.inference.problem import build_problem
from lacunet.inference.sampling.draws import Draws
from lacunet.model import conjugacy
from lacunet.model.ensemble import Ensemble
from lacunet.model.network import Model
from lacunet.runtime.arrays import FloatArray

SWEEPS = 30  # until a chain has left its start: holes of a table are coupled weakly


def draw_parameters(
    ensemble: Ensemble, table: Table, number: int, rng: np.random.Generator
) -> tuple[Ensemble, ...]:
    """Give ensembles whose members have parameters that were drawn, given the table."""
    drawn = [_drawn(member.model, table, number, rng) for member in ensemble.members]
    return tuple(_with(ensemble, thetas) for thetas in zip(*drawn, strict=True))


def _with(ensemble: Ensemble, thetas: tuple[FloatArray, ...]) -> Ensemble:
    members = (
        replace(member, model=Model(member.model.network, theta, member.model.alpha))
        for member, theta in zip(ensemble.members, thetas, strict=True)
    )
    return replace(ensemble, members=tuple(members))


def _drawn(model: Model, table: Table, chains: int, rng: np.random.Generator) -> list[FloatArray]:
    """θ of each chain, (size,) each."""
    problem = nearest_whole(build_problem(table, model.network, model.alpha))
    draws = Draws(problem, rng)
    natural = np.tile(conjugacy.natural(model.theta, problem.layout), (chains, 1))
    for _ in range(1 if problem.exact else SWEEPS):
        natural = draws.natural(problem.prior + draws.hidden(natural))
    return [conjugacy.parameters(one, problem.layout) for one in natural]
