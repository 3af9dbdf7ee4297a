"""Descriptions of a fit: intervals, fit statistics, EM traces, class matching, paper tables."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias, overload

from lacunet.api.engine import at_work
from lacunet.api.fitting import predicted_rows
from lacunet.api.inputs import as_model
from lacunet.api.options import DESIGN, READ, WORK, ReadSettings, SettingsLike, divide, with_options
from lacunet.api.structure import table_with_model
from lacunet.deprecation import renamed_parameter
from lacunet.errors import ModelError
from lacunet.fitting.fit import Fit
from lacunet.fitting.objective import Estimate
from lacunet.fitting.prepare import prepare
from lacunet.inference.leaves import with_values
from lacunet.inference.problem import Problem, build_problem
from lacunet.models.ensemble import ModelLike, check_kind
from lacunet.models.latent_class import find_classes
from lacunet.models.network import Model
from lacunet.runtime.executor import Serial
from lacunet.runtime.progress import Listener, ignore
from lacunet.selection.covariates import ClassRegression
from lacunet.selection.paper_tables import Criteria, FitTable, PaperTables, selection_criteria
from lacunet.selection.result import Selection
from lacunet.settings import DEFAULTS, Settings
from lacunet.summaries.bootstrap import bootstrap_intervals
from lacunet.summaries.em_traces import Traces
from lacunet.summaries.em_traces import em_traces as traces_of
from lacunet.summaries.intervals import Intervals, check_intervals, hessian_intervals, no_intervals
from lacunet.summaries.matching import matched, matched_fit
from lacunet.summaries.predicted import predicted_intervals
from lacunet.summaries.profiles import ItemTable, check_items, item_table
from lacunet.summaries.statistics import FitStatistics
from lacunet.summaries.statistics import fit_statistics as statistics_of

FitLike: TypeAlias = Fit | Selection | ClassRegression | ModelLike


@with_options(*READ, *WORK, *DESIGN, "level", "bootstrap", "missing_as_state", "missing_covariates")
def intervals(
    data: object,
    fit: FitLike,
    *,
    estimate: str | None = None,
    settings: SettingsLike = DEFAULTS,
    listener: Listener = ignore,
    **options: Any,
) -> Intervals:
    """Compute standard errors and confidence intervals of the parameters of a fit.

    Parameters
    ----------
    data
        The data that it was fitted to: a table, or anything that `read_table` reads.
    fit
        A fit, or a model (or its path) at its maximum for these data.
    estimate
        What the parameters maximise: 'map', 'ml' or 'softmax'. Not needed for a fit.
    settings, listener, **options
        By name, as level, bootstrap, seed, threads, strata, clusters, or as objects; see `select`.

    Examples
    --------
    >>> import lacunet
    >>> table = lacunet.load_dataset("carcinoma")
    >>> result = lacunet.intervals(table, lacunet.fit(table, 2))
    >>> result.table("class").low.round(2).tolist()
    [0.41, 0.41]
    """
    settings, reading = divide(settings, options)
    fit = fit_in(fit)
    known = estimate_of(fit) or settings.estimate
    settings = replace(settings, estimate=estimate or known, starts=1)  # from the fit itself
    return _intervals(*_problem(data, as_model(fit), settings, reading), settings, listener)


def intervals_of(
    fit: Fit | ClassRegression, settings: Settings, listener: Listener = ignore
) -> Intervals:
    """Compute `intervals` from the rows that a fit keeps."""
    settings = replace(settings, estimate=estimate_of(fit) or settings.estimate, starts=1)
    fit = fit.fit if isinstance(fit, ClassRegression) else fit
    return _intervals(fit.model, fit.problem, settings, listener)


def _intervals(model: Model, problem: Problem, settings: Settings, listener: Listener) -> Intervals:
    search, replicates, level = settings.options, settings.bootstrap, settings.level
    with at_work(settings, listener, model.network) as engine:
        if model.predictors is not None:
            request = search.estimate, level, replicates, search.seed, engine.executor
            return predicted_intervals(problem, model, *request)
        if not replicates:
            return hessian_intervals(problem, model, search.estimate, level)
        return bootstrap_intervals(
            problem, model, search, replicates, level, executor=engine.executor
        )


@with_options(*READ, "missing_as_state", "missing_covariates")
def fit_statistics(
    data: object,
    fit: FitLike,
    *,
    settings: SettingsLike = DEFAULTS,
    **options: Any,
) -> FitStatistics:
    """Compute fit statistics: AIC and its kin, entropy R², G², bivariate residuals.

    As in other programs, lower criteria are better.

    Parameters
    ----------
    data, fit
        As for `intervals`.
    settings, **options
        By name, as weights, missing, missing_as_state, or as objects; see `select`.
    """
    fit, (settings, reading) = fit_in(fit), divide(settings, options)
    model, problem = _problem(data, as_model(fit), settings, reading)
    return statistics_of(problem, model, estimate_of(fit))


@with_options(*READ, "missing_as_state")
def em_traces(
    data: object,
    fit: FitLike,
    *,
    starts: int | None = None,
    settings: SettingsLike = DEFAULTS,
    listener: Listener = ignore,
    **options: Any,
) -> Traces:
    """Rerun the search of a fit and record the objective after every EM step of every start.

    Parameters
    ----------
    data
        As for `intervals`.
    fit
        The fit, whose search options are used.
    starts
        Another number of random starts (default: as many as the fit had).
    settings, listener, **options
        By name, as weights, missing, missing_as_state, or as objects; see `select`.

    Examples
    --------
    >>> import lacunet
    >>> table = lacunet.load_dataset("carcinoma")
    >>> fit = lacunet.fit(table, 2, starts=8)
    >>> bool(abs(em_traces(table, fit).best.end - fit.log_posterior) < 1e-8)
    True
    """
    checked = check_kind(fit_in(fit), Fit, "fit", "what fit() returned")
    _, problem = _problem(data, checked.model, *divide(settings, options))
    search = checked.options if starts is None else replace(checked.options, starts=starts)
    prepare(Serial(listener), checked.model.network)
    return traces_of(problem, search, listener=listener)


def information_criteria(selection: Selection) -> Criteria:
    """Compute AIC and its kin, and the entropy, of every candidate; lower is better."""
    given = "what select() or compare() returned"
    return selection_criteria(check_kind(selection, Selection, "selection", given))


@overload
def match_classes(fit: Fit, like: FitLike) -> Fit: ...


@overload
def match_classes(fit: Model, like: FitLike) -> Model: ...


def match_classes(fit: FitLike, like: FitLike) -> Fit | Model:
    """Renumber the hidden states of a fit or model like the most similar ones of another.

    Examples
    --------
    >>> import lacunet
    >>> model = lacunet.random_model(3, 4, seed=1)
    >>> shuffled = model.permuted(0, [2, 0, 1])
    >>> bool((match_classes(shuffled, model).theta == model.theta).all())
    True
    """
    given, other = fit_in(fit), as_model(like)
    return matched_fit(given, other) if isinstance(given, Fit) else matched(as_model(given), other)


def fit_in(given: FitLike) -> Fit | ClassRegression | ModelLike:
    """Give the fit inside a selection or an estimator; else the argument itself."""
    if isinstance(given, Selection):
        return given.best.fit
    fitted = getattr(given, "fit_", None)
    return fitted if isinstance(fitted, Fit | ClassRegression) else given


def estimate_of(given: FitLike) -> Estimate | None:
    """Give the objective that a fit maximises; None for a model."""
    if isinstance(given, ClassRegression):
        return given.fit.estimate
    return given.estimate if isinstance(given, Fit) else None


def _problem(
    data: object, model: Model, settings: Settings, reading: ReadSettings
) -> tuple[Model, Problem]:
    """Read the data for a model, and build the estimation problem."""
    if model.predictors is not None:
        return model, predicted_rows(data, model, settings, reading)[1]
    table = table_with_model(data, model.network, settings, reading, numbers=True)
    known = with_values(model, table.columns)
    return known, build_problem(table, known.network, known.alpha)


@renamed_parameter("found", "result")
def paper_tables(result: object, intervals: Intervals | None = None) -> PaperTables:
    """Make the tables of a paper about latent classes; `write_tables` writes them.

    A selection gives a table of its candidates: log-likelihood, number of parameters, AIC, BIC,
    SABIC, entropy R², smallest class, log evidence and probability. The chosen model, or a fit,
    gives class sizes and items by class, with standard errors in parentheses.

    Parameters
    ----------
    result
        What `select`, `compare` or `fit` returned, or a fitted estimator.
    intervals
        Result of `intervals`, for example by the bootstrap (default: standard errors from the
        observed information).

    Examples
    --------
    >>> import lacunet
    >>> fit = lacunet.fit(lacunet.load_dataset("carcinoma"), 2)
    >>> lacunet.paper_tables(fit).items.grids()[0].rows[0]
    ('class size', '', '0.501 (0.046)', '0.499 (0.046)')
    """
    for name in ("selection_", "fit_"):  # of estimators
        result = getattr(result, name, result)
    if isinstance(result, Selection):
        fits = FitTable(selection_criteria(result))
        return PaperTables(
            fits, None if result.label is None else _items(result.best.fit, intervals)
        )
    expected = "what select(), compare() or fit() returned"
    fit = check_kind(result, Fit, "selection and no fit", expected)
    check_items(fit.model.network)
    return PaperTables(None, _items(fit, intervals))


def _items(fit: Fit, intervals: Intervals | None) -> ItemTable | None:
    if find_classes(fit.model.network) is None:
        return None
    if intervals is None:
        try:
            intervals = hessian_intervals(fit.problem, fit.model, fit.estimate)
        except ModelError as error:  # a search that ended early: estimates are still worth a table
            intervals = no_intervals(fit.model, fit.estimate, f"No standard errors: {error}")
    else:
        check_intervals(intervals, fit.model)
    return item_table(intervals)
