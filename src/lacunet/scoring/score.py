"""What a score is, and for which problems it is defined."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from lacunet.flags import Flag, Kind
from lacunet.inference.classes import exchangeable
from lacunet.inference.problem import Problem
from lacunet.model.latent_class import is_latent_class
from lacunet.scoring.score_input import Evidence, ScoreInput


@dataclass(frozen=True)
class Domain:
    """The problems for which a score is defined."""

    holds: Callable[[Problem], bool]
    words: str  # what to say of a score where it is not


EVERYWHERE = Domain(lambda _: True, "")
NOTHING_HIDDEN = Domain(
    lambda problem: problem.exact, "is exact, so defined only where nothing is hidden"
)
LATENT_CLASSES = Domain(
    lambda problem: is_latent_class(problem.network), "is defined only for latent class models"
)
EXCHANGEABLE = Domain(
    exchangeable,
    "is defined only for latent class models whose prior does not tell the classes apart",
)


@dataclass(frozen=True)
class Score:
    """One way to approximate the evidence. Each lives in a file of its own."""

    name: str  # as on the command line
    title: str  # as in sentences
    source: str  # where it is defined
    evaluate: Callable[[ScoreInput], Evidence]
    column: str = ""  # as the head of a column, where the title is too long for one
    domain: Domain = EVERYWHERE
    usual: bool = True  # whether it runs without being named: cheap, and worth a column
    fits_fewer: bool = False  # whether it needs fits with fewer classes, which candidates can share
    every_labelling: bool = False  # whether all equal labellings are in its value already

    def __call__(self, at: ScoreInput) -> Evidence:
        """Evaluate, and note the time."""
        began = time.perf_counter()
        if self.only_exact or np.isfinite(at.log_lik):
            found = self.evaluate(at)
        else:
            found = Evidence(self.name, {}, (Flag(Kind.IMPOSSIBLE_DATA),))
        return replace(found, seconds=time.perf_counter() - began)

    def applies(self, problem: Problem) -> bool:
        """Whether the score is defined for a problem."""
        return self.domain.holds(problem)

    @property
    def only_exact(self) -> bool:
        """Whether it is defined only where nothing is hidden."""
        return self.domain is NOTHING_HIDDEN
