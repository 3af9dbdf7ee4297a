"""What to say of a fit: how precise it is, how well it fits, how its classes are numbered."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, overload

from lacunet.api.checks import check_search
from lacunet.api.inputs import ModelLike, as_model
from lacunet.api.missing import table_with_model
from lacunet.describe.intervals import (
    LEVEL,
    Intervals,
    bootstrap_intervals,
    check_level,
    hessian_intervals,
)
from lacunet.describe.matching import matched, matched_fit
from lacunet.describe.statistics import FitStatistics
from lacunet.describe.statistics import fit_statistics as statistics_of
from lacunet.executor import on_threads
from lacunet.inference.problem import Problem, build_problem
from lacunet.learn.fit import Fit, Options
from lacunet.learn.objective import Estimate
from lacunet.learn.prepare import prepare
from lacunet.model.network import Model
from lacunet.progress import Listener, ignore
from lacunet.search.candidate_criteria import Criteria, selection_criteria
from lacunet.search.candidates import Selection


def intervals(
    data: object,
    fit: Fit | ModelLike,
    *,
    level: float = LEVEL,
    bootstrap: int = 0,
    estimate: str | None = None,
    seed: int = 0,
    threads: int | None = None,
    listener: Listener = ignore,
    missing_as_state: bool = False,
    **reading: Any,
) -> Intervals:
    """Give every probability of a fit its standard error and its confidence interval.

    Parameters
    ----------
    data
        The data that it was fitted to: a table, or anything that `read_table` reads.
    fit
        A fit, or a model (or its path) at its maximum for these data.
    level
        Of confidence.
    bootstrap
        Replicates of the parametric bootstrap; 0: from the observed information (Hessian).
    estimate
        What the parameters maximise, 'map' or 'ml'; known of a fit.
    seed, threads, listener
        Of the bootstrap; the numbers do not depend on the threads.
    missing_as_state
        Whether it was fitted with `missing_as_state`.
    **reading
        `missing`, `weights`, as for `read_table`.

    Examples
    --------
    >>> import lacunet
    >>> table = lacunet.load_dataset("carcinoma")
    >>> found = lacunet.intervals(table, lacunet.fit(table, 2))
    >>> found.table("class").low.round(2).tolist()
    [0.41, 0.41]
    """
    check_level(level)
    options = _options(fit, estimate, seed, threads)
    model = _model(fit)
    problem = _problem(data, model, missing_as_state, **reading)
    with on_threads(threads, listener) as executor:
        prepare(executor, model.network)
        if not bootstrap:
            return hessian_intervals(problem, model, options.estimate, level)
        return bootstrap_intervals(problem, model, options, bootstrap, level, executor=executor)


def fit_statistics(
    data: object,
    fit: Fit | ModelLike,
    *,
    missing_as_state: bool = False,
    **reading: Any,
) -> FitStatistics:
    """Give what other programs print: AIC and its kin, entropy R², G², bivariate residuals.

    The criteria follow their convention: lower is better. Parameters as for `intervals`.
    """
    model = _model(fit)
    problem = _problem(data, model, missing_as_state, **reading)
    return statistics_of(problem, model, fit.options.estimate if isinstance(fit, Fit) else None)


def information_criteria(selection: Selection) -> Criteria:
    """Give AIC and its kin, and the entropy, of every candidate; lower is better."""
    return selection_criteria(selection)


@overload
def match_classes(fit: Fit, like: Fit | ModelLike) -> Fit: ...


@overload
def match_classes(fit: Model, like: Fit | ModelLike) -> Model: ...


def match_classes(fit: Fit | Model, like: Fit | ModelLike) -> Fit | Model:
    """Number the hidden states of a fit or model like those that they resemble in another one.

    Examples
    --------
    >>> import lacunet
    >>> model = lacunet.random_model(3, 4, seed=1)
    >>> shuffled = model.permuted(0, [2, 0, 1])
    >>> bool((match_classes(shuffled, model).theta == model.theta).all())
    True
    """
    other = _model(like)
    return matched_fit(fit, other) if isinstance(fit, Fit) else matched(fit, other)


def _model(fit: Fit | ModelLike) -> Model:
    return fit.model if isinstance(fit, Fit) else as_model(fit)


def _options(fit: Fit | ModelLike, estimate: str | None, seed: int, threads: int | None) -> Options:
    known = fit.options.estimate if isinstance(fit, Fit) else Estimate.MAP
    return replace(check_search(estimate or known, seed=seed, threads=threads), starts=1)


def _problem(data: object, model: Model, missing_as_state: bool, **reading: Any) -> Problem:
    table = table_with_model(data, model.network, missing_as_state=missing_as_state, **reading)
    return build_problem(table, model.network, model.alpha)
