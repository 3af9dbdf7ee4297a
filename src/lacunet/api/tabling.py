"""Tables for a paper, of a selection or of a fit."""

from __future__ import annotations

from lacunet.errors import ModelError
from lacunet.fitting.fit import Fit
from lacunet.models.holders import check_kind
from lacunet.models.latent_class import find_classes
from lacunet.selection.candidate_criteria import selection_criteria
from lacunet.selection.candidates import Selection
from lacunet.selection.paper_tables import FitTable, PaperTables
from lacunet.summaries.given_intervals import check_intervals
from lacunet.summaries.intervals import Intervals, hessian_intervals, no_intervals
from lacunet.summaries.item_table import ItemTable, check_items, item_table


def paper_tables(found: object, intervals: Intervals | None = None) -> PaperTables:
    """Give the tables that papers about latent classes print; `write_tables` writes them.

    Of a selection: every number of classes with its log-likelihood, number of parameters, AIC, BIC,
    SABIC, entropy R², smallest class, log evidence and probability. Of its answer, or of a fit:
    class sizes and items by class, with standard errors in parentheses.

    Parameters
    ----------
    found
        What `select`, `compare` or `fit` returned, or a fitted estimator.
    intervals
        Standard errors that `intervals` gave, by the bootstrap for example (default: from the
        observed information).

    Examples
    --------
    >>> import lacunet
    >>> fit = lacunet.fit(lacunet.load_dataset("carcinoma"), 2)
    >>> lacunet.paper_tables(fit).items.grids()[0].rows[0]
    ('class size', '', '0.501 (0.046)', '0.499 (0.046)')
    """
    for name in ("selection_", "fit_"):  # of estimators
        found = getattr(found, name, found)
    if isinstance(found, Selection):
        fits = FitTable(selection_criteria(found))
        return PaperTables(fits, None if found.label is None else _items(found.best.fit, intervals))
    told = "what select(), compare() or fit() returned"
    fit = check_kind(found, Fit, "selection and no fit", told)
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
