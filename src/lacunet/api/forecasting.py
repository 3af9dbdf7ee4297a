"""What work would take, before it starts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Unpack

from lacunet.api.engine import described, held_by
from lacunet.api.inputs import Hidden, KnowledgeLike
from lacunet.api.missing import with_answers
from lacunet.api.options import SelectOptions, divide, with_options
from lacunet.api.selecting import proposed, structures, told
from lacunet.api.structure import EdgesLike, check_no_edges, whole_numbers
from lacunet.fitting.prepare import prepare
from lacunet.inference.problem import build_problem
from lacunet.models.holders import NetworkLike
from lacunet.models.prior import base_alpha, dirichlet
from lacunet.runtime.connecting import Engine
from lacunet.runtime.executor import on_threads
from lacunet.runtime.progress import Listener, ignore
from lacunet.selection.forecast_measuring import forecast_measuring
from lacunet.selection.forecasting import Forecast, forecast_fits
from lacunet.settings import DEFAULTS, Settings


@with_options
def forecast(
    data: object,
    states: int | Iterable[int] = range(1, 9),
    *,
    network: NetworkLike | None = None,
    networks: Sequence[NetworkLike] | Mapping[str, NetworkLike] | None = None,
    hidden: Hidden = (),
    knowledge: KnowledgeLike | None = None,
    edges: EdgesLike = (),
    settings: Settings = DEFAULTS,
    listener: Listener = ignore,
    **options: Unpack[SelectOptions],
) -> Forecast:
    """Say what `select`, `fit` or `compare` would take: memory, time, and who would do the work.

    The table is read, components are made, and a step of EM of each candidate is measured, and a
    Hessian of some rows where several candidates are scored; nothing is fitted. Times are
    estimates: how many steps a fit needs differs from table to table. What measuring the evidence
    takes at most follows from the rules that decide whether it is measured.

    Parameters
    ----------
    **data
    states
        Numbers of hidden states to try; one, for `fit`.
    network, hidden
        A network with hidden variables, as for `select`.
    networks
        Networks to compare, as for `compare`.
    **knowledge; edges; options

    Examples
    --------
    >>> import lacunet
    >>> found = lacunet.forecast(lacunet.load_dataset("carcinoma"), [2, 3], starts=8)
    >>> found.distinct_rows, [fit.parameters for fit in found.fits]
    (20, [15, 23])
    """
    settings, reading = divide(settings, options)
    if networks is None:
        numbers = whole_numbers(states)
        given = proposed(data, numbers, network, hidden, edges, reading, settings.numbers)
    else:
        check_no_edges(edges)
        given = structures(data, networks, hidden, reading, settings.numbers)
    table, proposals = given[0], told(given[1], knowledge)
    if settings.missing_as_state:
        table, answered = with_answers(table, *(p.network for p in proposals))
        proposals = [replace(p, network=n) for p, n in zip(proposals, answered, strict=True)]
    with on_threads(1, listener) as executor:
        prepare(executor, *(p.network for p in proposals))
        held = held_by(table, Engine(executor))  # as far as that is on disk
        problems = [
            build_problem(held, p.network, dirichlet(p.network, base_alpha(settings.alpha)))
            for p in proposals
        ]
        labels = [p.label for p in proposals]
        several = len(proposals) > 1  # one alone is fitted
        fits = forecast_fits(problems, labels, settings.options, scored=several)
        engine, workers = described(settings, table, max(fit.step for fit in fits))
        measuring = None
        if not settings.quick:
            measuring = forecast_measuring(
                problems,
                labels,
                each=settings.evidence or settings.calibrate,
                budget=settings.goal.budget,
                workers=workers,
            )
    return Forecast(
        source=table.source,
        rows=table.rows,
        distinct_rows=table.distinct_rows,
        columns=len(table.columns),
        table_bytes=table.codes.nbytes + table.counts.nbytes,
        fits=fits,
        engine=engine,
        workers=workers,
        measuring=measuring,
        reading=table.seconds,
        drawn=2 * settings.blrt * sum(fit.label != 1 for fit in fits),
    )
