"""Several models of the same columns that speak together, each for a share of every row."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from lacunet.errors import ModelError
from lacunet.models.network import Model, Network, Variable
from lacunet.models.sampling import Drawn, check_rows, coded, sample_shown
from lacunet.runtime.arrays import FloatArray
from lacunet.tabular import Columns, Framed, transposed

SLACK = 1e-9  # of the sum of all weights: what is lost where numbers are written


@dataclass(frozen=True, eq=False)
class Member:
    """A model, and its share."""

    name: str
    weight: float
    model: Model


@dataclass(frozen=True, eq=False, repr=False)
class Ensemble(Framed):
    """p(row) = Σ weight · p(row | member). Variables that a member hides are its own affair.

    What a row does not show is told by each member with the share that it has of p(row); or, where
    shares are fixed, with its weight, however well it knows the row.
    """

    members: tuple[Member, ...]
    fixed: bool = False
    seen: str = ""  # digest of the rows that members were learned from: see `rows_digest`

    def __post_init__(self) -> None:
        weights = self.weights
        if not (len(weights) and (weights >= 0).all() and abs(weights.sum() - 1.0) < SLACK):
            raise ModelError("the weights of a stack must be 0 or more, and sum to 1.")
        for member in self.members:
            if shown(member.model.network) != self.variables:
                raise ModelError(
                    f"'{member.name}' is not about the same columns as '{self.members[0].name}'. "
                    "All models of a stack have the same observed variables, in the same order."
                )

    @property
    def weights(self) -> FloatArray:
        """(members,) they sum to 1."""
        return np.array([member.weight for member in self.members])

    def brief(self) -> str:
        """Say how many models speak, and of what."""
        return f"{len(self.members)} models of {len(self.variables)} columns"

    def tidy(self) -> Columns:
        """Give a row for each model."""
        rows = ((member.name, member.weight) for member in self.members)
        return transposed(("model", "weight"), rows)

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """The columns, in their order."""
        return shown(self.members[0].model.network)

    @cached_property
    def network(self) -> Network:
        """The columns without any edge: all that is true of every member."""
        return Network.build(self.variables, [()] * len(self.variables))


def shown(network: Network) -> tuple[Variable, ...]:
    """Give the variables of a network that data can show, without what is known of tables."""
    found = (network.variables[i] for i in network.observed)
    return tuple(
        replace(v, family=v.family.by_itself, hidden=False, known=None, tied_to=None, prior=())
        for v in found
    )


def sample_rows(
    speaker: Model | Ensemble, rows: int, rng: np.random.Generator, missing_rate: float = 0.0
) -> Drawn:
    """Draw rows of what can be seen; of an ensemble, first who speaks."""
    if isinstance(speaker, Model):
        return coded(shown(speaker.network), sample_shown(speaker, rows, rng, missing_rate))
    check_rows(rows)
    weights = speaker.weights
    who = rng.choice(len(weights), size=rows, p=weights / weights.sum())
    cells = np.empty((rows, len(speaker.variables)))
    for k in np.unique(who).tolist():
        own = np.flatnonzero(who == k)
        cells[own] = sample_shown(speaker.members[k].model, len(own), rng, missing_rate)
    return coded(speaker.variables, cells)
