"""What bootstrap likelihood-ratio tests ask of data and networks, said before the work."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lacunet.data import Table
from lacunet.errors import OptionError
from lacunet.fitting.fit import Options
from lacunet.fitting.objective import Estimate
from lacunet.inference.devices.device import DeviceName
from lacunet.models.network import Network
from lacunet.selection.candidates import Proposal
from lacunet.settings import Settings
from lacunet.summaries.bootstrap_test import STARTS

INSTEAD = "lacunet select compares numbers of classes by their evidence."


def check_bounded(network: Network, instead: str = INSTEAD) -> None:
    """Refuse a test of likelihoods that have no maximum; say what to do instead."""
    for v in network.variables:
        if not v.family.bounded:
            raise OptionError(
                f"'{v.name}' is continuous: the likelihood of several classes has no maximum, so "
                f"that two of them cannot be compared. {instead}"
            )


def check_drawn(table: Table, proposals: Sequence[Proposal]) -> None:
    """Refuse tests beside a selection whose data cannot be drawn anew."""
    if any(not isinstance(p.label, int) for p in proposals):
        raise OptionError(
            "--blrt tests a number of states against one less, and several hidden variables vary "
            "here. Give all but one their number of states, as in --hidden NAME=STATES."
        )
    check_bounded(proposals[0].network, "Leave --blrt out: the evidence compares them.")
    if table.design is not None and table.design.told:
        raise OptionError(
            "--blrt draws rows one by one, and these were drawn in strata or clusters. Leave "
            "--blrt out: the evidence knows of weights."
        )
    fractional = table.counts[table.counts != np.round(table.counts)]
    if len(fractional):
        raise OptionError(
            f"--blrt: a row weighs {fractional[0]:g}, and the bootstrap draws whole rows. Leave "
            "--blrt out: the evidence knows of weights."
        )
    if table.memory is not None:
        raise OptionError(
            "--blrt draws tables as large as the data, in memory. Leave out --memory or --blrt."
        )


def with_one_less(numbers: Sequence[int]) -> list[int]:
    """Give the numbers of states that tests need: those that are tried, and one less of each.

    >>> with_one_less([2, 5])
    [1, 2, 4, 5]
    """
    return sorted({n for k in numbers for n in (k - 1, k) if n > 0 or n == k})


def bootstrap_search(settings: Settings) -> Options:
    """Give the search of every fit of such a test, of real and of drawn data alike."""
    starts = min(settings.starts, STARTS)
    return replace(settings.options, estimate=Estimate.ML, starts=starts, device=DeviceName.CPU)
