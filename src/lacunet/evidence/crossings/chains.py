"""Crossing step by step: annealing, forwards and backwards."""

from collections.abc import Sequence

import numpy as np

from lacunet.evidence.annealing import Annealing, expected
from lacunet.evidence.clock import Means
from lacunet.evidence.crossings.crossing import Sent
from lacunet.evidence.partitions.posterior import Snapshot
from lacunet.evidence.path import Path, Reference
from lacunet.inference.problem import Problem
from lacunet.inference.sampling.draws import Draws
from lacunet.runtime.arrays import FloatArray, IntArray

STEPS = 64  # in the first round
WIDE = 1.5  # nats: where forward chains differ by more, longer ones help better than more of them


class ByChains(Sent):
    """Annealing, step by step."""

    def __init__(
        self, problem: Problem, around: Reference, seed: Sequence[int], steps: int = STEPS
    ) -> None:
        super().__init__(problem, around, seed)
        self._steps = steps
        self.annealing = Annealing(Path(problem, around), self.allowed)

    @property
    def steps(self) -> int:
        return self._steps

    @property
    def wide(self) -> bool:
        home = self.up[self.up > -np.inf]
        return len(home) < 2 or float(home.std(ddof=1)) > WIDE

    def lengthened(self) -> "ByChains":
        """Twice the steps: an average of chains that differ much means little."""
        longer = ByChains(self.problem, self.reference, self.seed, 2 * self.steps)
        longer.first = self.groups
        return longer

    def _forwards(self, groups: range, means: Means) -> tuple[FloatArray, FloatArray]:
        ended = self.annealing.forwards(self.steps, groups, self.seed, means)
        return ended.log_weights, ended.ends

    def _backwards(self, samples: Sequence[Snapshot], means: Means) -> tuple[FloatArray, IntArray]:
        draws = Draws(self.problem, np.random.default_rng([*self.seed, self.sent]))
        drawn = expected(self.annealing.path, np.stack([s.N for s in samples]), draws)
        placed = [self.regions.bring_home(x) for x in drawn]
        starts = np.stack([home.apply(s.N) for home, s in zip(placed, samples, strict=True)])
        seed = (*self.seed, self.sent)
        new = self.annealing.backwards(starts, self.steps, seed, means)
        return new, np.arange(len(samples))
