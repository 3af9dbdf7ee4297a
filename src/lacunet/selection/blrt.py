"""Bootstrap likelihood-ratio tests of the candidates of a selection, and what these demand."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lacunet.data.table import Table
from lacunet.errors import OptionError
from lacunet.fitting.fit import Fit, learn
from lacunet.fitting.objective import Estimate
from lacunet.inference.devices.device import DeviceName
from lacunet.inference.problem import build_problem
from lacunet.models.network import Network
from lacunet.models.prior import PAPER_ALPHA, dirichlet
from lacunet.runtime.checkpoint import Checkpoint
from lacunet.runtime.executor import Executor
from lacunet.selection.candidates import Proposal
from lacunet.selection.grids import STOP_AFTER
from lacunet.selection.result import Selection
from lacunet.settings import Settings
from lacunet.summaries.ratio_tests import STARTS, ratio_of_fits

INSTEAD = "lacunet select compares numbers of classes by their evidence."


def check_bounded(network: Network, instead: str = INSTEAD) -> None:
    """Refuse likelihood-ratio tests of models with unbounded likelihood."""
    for v in network.variables:
        if not v.family.bounded:
            raise OptionError(
                f"'{v.name}' is continuous: the likelihood of several classes has no maximum, so "
                f"that two of them cannot be compared. {instead}"
            )


def check_drawn(table: Table, proposals: Sequence[Proposal]) -> None:
    """Refuse bootstrap tests of data that cannot be simulated."""
    if any(not isinstance(p.label, int) for p in proposals):
        raise OptionError(
            "--blrt tests a number of states against one less, and several hidden variables vary "
            "here. Give all but one their number of states, as in --hidden NAME=STATES."
        )
    check_bounded(proposals[0].network, "Leave --blrt out: the evidence compares them.")
    if table.design is not None and table.design.declared:
        raise OptionError(
            "--blrt draws rows one by one, and these were drawn in strata or clusters. Leave "
            "--blrt out: the evidence accounts for weights."
        )
    fractional = table.counts[table.counts != np.round(table.counts)]
    if len(fractional):
        raise OptionError(
            f"--blrt: a row weighs {fractional[0]:g}, and the bootstrap draws whole rows. Leave "
            "--blrt out: the evidence accounts for weights."
        )
    if table.memory is not None:
        raise OptionError(
            "--blrt draws tables as large as the data, in memory. Leave out --memory or --blrt."
        )


def with_one_less(numbers: Sequence[int]) -> list[int]:
    """Give the numbers of states that the tests need: each candidate, and one less.

    >>> with_one_less([2, 5])
    [1, 2, 4, 5]
    """
    return sorted({n for k in numbers for n in (k - 1, k) if n > 0 or n == k})


def with_ratio_tests(
    selection: Selection,
    table: Table,
    proposals: Sequence[Proposal],
    settings: Settings,
    executor: Executor,
    checkpoint: Checkpoint,
) -> Selection:
    """Add bootstrap likelihood-ratio tests of each number of states against one less.

    `proposals` are the networks of these numbers, and of those that only the tests need.
    """
    networks = {p.label: p.network for p in proposals if isinstance(p.label, int)}
    tried = (c.label for c in selection.candidates if isinstance(c.label, int))
    numbers = [k for k in tried if k - 1 in networks]
    starts, fits = min(settings.starts, STARTS), dict[int, Fit]()
    ml = replace(settings.options, estimate=Estimate.ML, starts=starts, device=DeviceName.CPU)
    for k in sorted({n for pair in numbers for n in (pair - 1, pair)}):
        # ML fits do not use the prior.
        problem = build_problem(table, networks[k], dirichlet(networks[k], PAPER_ALPHA))
        quiet = executor.if_worth(problem.components.nanoseconds).silent()
        fits[k] = learn(problem, ml, executor=quiet)
    tests = {}
    for i, k in enumerate(numbers):
        part = executor.part(i / len(numbers), (i + 1) / len(numbers), f"{k} against {k - 1}")
        tests[k] = ratio_of_fits(
            fits[k - 1],
            fits[k],
            settings.blrt,
            stop_after=STOP_AFTER,
            executor=part,
            checkpoint=checkpoint,
        )
    return replace(selection, ratio_tests=tests)
