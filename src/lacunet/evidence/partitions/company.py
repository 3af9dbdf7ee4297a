"""Chains that walk over partitions, one after the other or side by side."""

from functools import partial

import numpy as np

from lacunet.evidence.partitions.chains import WHERE_CHAINS_STAND, Stretch, walk_on
from lacunet.evidence.partitions.starts import Starts
from lacunet.inference.kernels.splitting import Notes
from lacunet.runtime.checkpoint import Kept
from lacunet.runtime.executor import Executor

CHAINS = 16


class Company:
    """Chains under way."""

    def __init__(self, starts: Starts, executor: Executor, kept: Kept) -> None:
        """Put chains where they start."""
        self.chains = [starts.chain(n) for n in range(CHAINS)]
        self.executor, self.kept = executor, kept

    def walk(self, stretch: Stretch) -> Notes:
        """Walk on with every chain; what each has seen, chains before all other axes."""
        go_on = partial(walk_on, stretch)
        walked = self.kept.map(go_on, self.chains, self.executor, packing=WHERE_CHAINS_STAND)
        self.chains = [chain for chain, _ in walked]
        seen = [notes for _, notes in walked]
        return Notes(*map(np.array, zip(*seen, strict=True)))
