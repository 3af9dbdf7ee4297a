"""One more class? The bootstrap likelihood-ratio test."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

from lacunet.api.drawn_tests import check_bounded
from lacunet.api.engine import at_work
from lacunet.api.inputs import Hidden, as_table, to_vary
from lacunet.api.options import RatioOptions, divide, with_options
from lacunet.api.sketched import structured
from lacunet.api.structure import one_number
from lacunet.errors import OptionError
from lacunet.fitting.prepare import prepare
from lacunet.inference.problem import build_problem
from lacunet.models.holders import NetworkLike
from lacunet.models.network import Network
from lacunet.models.prior import PAPER_ALPHA, dirichlet
from lacunet.runtime.progress import Listener, ignore
from lacunet.selection.proposals import latent_classes, sizes_of_hidden
from lacunet.settings import Settings
from lacunet.summaries.bootstrap_test import REPLICATES, STARTS, RatioTest, ratio_test

# Every fit, of real and of drawn data alike, has few starts; ML fits have no prior.
BOOTSTRAP = Settings(estimate="ml", starts=STARTS)


@with_options
def likelihood_ratio_test(
    data: object,
    states: int,
    *,
    network: NetworkLike | None = None,
    hidden: Hidden = (),
    replicates: int = REPLICATES,
    stop_after: int | None = None,
    settings: Settings = BOOTSTRAP,
    listener: Listener = ignore,
    **options: Unpack[RatioOptions],
) -> RatioTest:
    """Test `states` hidden states against one more, by the parametric bootstrap of ML fits.

    Parameters
    ----------
    data
        A table, or anything that `read_table` reads. Weights must be whole numbers. Of columns of
        numbers, counts and ordered answers can be; continuous ones have no greatest likelihood.
    states
        The number k that is tested; the alternative is k + 1.
    network, hidden
        A network and its hidden variable, whose states are in question; without it, a latent class
        model.
    replicates
        Data sets to draw from the fit with k states, with the holes of the real data.
    stop_after
        Stop as soon as so many of them reach the statistic of the real data.
    **options

    Examples
    --------
    >>> import lacunet
    >>> table = lacunet.load_dataset("values")
    >>> lacunet.likelihood_ratio_test(table, 1, replicates=19, starts=4).p_value
    0.05
    """
    k = one_number(states)
    if k < 1:
        raise OptionError(f"{k} hidden states: there must be at least 1.")
    settings, reading = divide(replace(settings, estimate="ml"), options)
    if network is None:
        table = as_table(data, reading, numbers=True)
        small, large = (p.network for p in latent_classes(table, [k, k + 1]))
    else:
        found = structured(data, network, hidden, reading, settings.numbers)
        table, structure = found.table, found.network
        name = the_one(structure, found.hidden)
        small, large = (p.network for p in sizes_of_hidden(structure, {name: [k, k + 1]}, table))
    check_bounded(small)
    # The prior has no part in ML fits.
    null, wider = (build_problem(table, n, dirichlet(n, PAPER_ALPHA)) for n in (small, large))
    with at_work(settings, listener) as engine:
        executor = engine.executor
        prepare(executor, small)
        search = settings.options
        return ratio_test(null, wider, search, replicates, stop_after=stop_after, executor=executor)


def the_one(structure: Network, hidden: Hidden) -> str:
    """Give the hidden variable that a test is about; refuse several."""
    names = to_vary(structure, hidden)
    if len(names) > 1:
        raise OptionError(
            f"{len(names)} hidden variables without a number of states: {', '.join(names)}. "
            "A test is about one: give the others theirs, as in --hidden NAME=STATES."
        )
    return names[0]
