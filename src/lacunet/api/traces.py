"""How the search for the maximum went."""

from __future__ import annotations

from dataclasses import replace
from typing import Unpack

from lacunet.api.missing import table_with_model
from lacunet.api.options import ModelOptions, divide, with_options
from lacunet.describe.em_traces import Traces
from lacunet.describe.em_traces import em_traces as traces_of
from lacunet.executor import Serial
from lacunet.inference.problem import build_problem
from lacunet.learn.fit import Fit
from lacunet.learn.prepare import prepare
from lacunet.progress import Listener, ignore
from lacunet.settings import DEFAULTS, Settings


@with_options
def em_traces(
    data: object,
    fit: Fit,
    *,
    starts: int | None = None,
    settings: Settings = DEFAULTS,
    listener: Listener = ignore,
    **options: Unpack[ModelOptions],
) -> Traces:
    """Give the objective after every step of every start: the search of a fit, run once more.

    Parameters
    ----------
    data
        The data that it was fitted to: a table, or anything that `read_table` reads.
    fit
        The fit; its options say how to search.
    starts
        Another number of random starts (default: as many as the fit had).
    **options

    Examples
    --------
    >>> import lacunet
    >>> table = lacunet.load_dataset("carcinoma")
    >>> fit = lacunet.fit(table, 2, starts=8)
    >>> bool(abs(em_traces(table, fit).best.end - fit.log_posterior) < 1e-8)
    True
    """
    model = fit.model
    table = table_with_model(data, model.network, *divide(settings, options))
    search = fit.options if starts is None else replace(fit.options, starts=starts)
    prepare(Serial(listener), model.network)
    problem = build_problem(table, model.network, model.alpha)
    return traces_of(problem, search, listener=listener)
