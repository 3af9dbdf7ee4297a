"""What goes with classes that were fitted before: outcomes, and covariates, in three steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack, cast

from lacunet.api.describe import FitLike, fit_in
from lacunet.api.inputs import as_model, names_in, one_of, table_for
from lacunet.api.options import ReadOptions, ThreeStepOptions, divide, with_options
from lacunet.data import Table
from lacunet.data.kinds import understand_kinds
from lacunet.describe.three_step.assigned import Assigning, Correction, assign_rows
from lacunet.describe.three_step.class_predictors import predict_classes
from lacunet.describe.three_step.first_step import first_step
from lacunet.describe.three_step.three_steps import ThreeStep, outcome_of
from lacunet.errors import ModelError, OptionError, did_you_mean
from lacunet.inference.leaves import with_values
from lacunet.inference.problem import build_problem
from lacunet.inference.regression.design import build_design, shows_all
from lacunet.inference.regression.rows import MissingCovariates, with_covariates
from lacunet.learn.fit import Fit
from lacunet.learn.objective import Objective
from lacunet.model.network import Model
from lacunet.model.terms import CovariatesLike, Term, understand_terms
from lacunet.settings import DEFAULTS, Settings

OTHER_ROWS = (
    "the model is not at its maximum for these rows (fitted to others, or with another estimate), "
    "so standard errors take it for known."
)


@with_options
def three_step(
    data: object,
    fit: FitLike,
    *,
    outcomes: str | Sequence[str] = (),
    covariates: CovariatesLike = (),
    correction: str | None = None,
    assignment: str = Assigning.MODAL,
    settings: Settings = DEFAULTS,
    **options: Unpack[ThreeStepOptions],
) -> ThreeStep:
    """Relate classes to outcomes and covariates after they were fitted, in three steps.

    Rows are given classes by the model as it is; how often that is wrong is known from their
    posteriors, and made up for. Standard errors are robust (sandwich), and know that
    the classes themselves are estimates.

    Parameters
    ----------
    data
        The rows that the model was fitted to, with the columns of outcomes and covariates: a table,
        or anything that `read_table` reads.
    **fit
    outcomes
        Columns to compare between classes: means of numbers, shares of the states of categories.
    covariates
        Columns that predict classes, as for `class_regression`, which does it in one step.
    correction
        bch: rows count for classes by the inverse of the errors; ml: the likelihood with these
        errors known; none. By default bch for numbers, ml for categories and covariates.
    assignment
        modal: each row to its most probable class; proportional: to all, by their probabilities.
    **options

    Examples
    --------
    >>> import lacunet
    >>> path = lacunet.dataset_path("survey")
    >>> items = ["area", "cars", "commute", "travel time"]
    >>> fit = lacunet.fit(path, 2, columns=items, starts=4)
    >>> found = three_step(path, fit, outcomes="satisfied")
    >>> found.outcomes["satisfied"].titles
    ('no', 'yes')
    """
    settings, reading = divide(settings, options)
    how = one_of(Assigning, "assignment", assignment)
    wanted = None if correction is None else one_of(Correction, "correction", correction)
    fit = fit_in(fit)
    model = as_model(fit)
    terms, names, table = _read(data, model, outcomes, covariates, reading)
    known = with_values(model, table.columns)
    problem = build_problem(table, known.network, known.alpha)
    rows, level = assign_rows(problem, known.theta, how), settings.level
    estimate = fit.estimate if isinstance(fit, Fit) else settings.options.estimate
    first = first_step(Objective.build(problem, estimate), known.theta, how)
    coefficients, notes = None, table.notes if first else (*table.notes, OTHER_ROWS)
    if terms:
        missing = MissingCovariates(settings.missing_covariates)
        complete = with_covariates(table, terms, missing)
        notes = (*notes, *complete.notes[len(table.notes) :])
        design, shown = build_design(complete, terms), shows_all(table, terms)
        how_corrected = wanted or Correction.ML
        coefficients = predict_classes(rows, design, shown, how_corrected, level, first)
    found = {name: outcome_of(rows, table, name, wanted, level, first) for name in names}
    return ThreeStep(rows, how, found, coefficients, notes)


def _read(
    data: object,
    model: Model,
    outcomes: str | Sequence[str],
    covariates: CovariatesLike,
    reading: ReadOptions,
) -> tuple[tuple[Term, ...], list[str], Table]:
    """Read the columns of a model, and those of outcomes and covariates beside them."""
    network = model.network
    if len(network.hidden) != 1:
        raise ModelError(
            f"the model hides {len(network.hidden)} variables; three steps need one, the class."
        )
    there = names_in(data)
    names = [outcomes] if isinstance(outcomes, str) else list(outcomes)
    terms = understand_terms(covariates, there)
    if not names and not terms:
        raise OptionError("nothing to relate classes to. Give --outcomes, --covariates, or both.")
    also = list(dict.fromkeys([*names, *(term.name for term in terms)]))
    items = {v.name for v in network.variables}
    for name in also:
        if name not in there:
            near = did_you_mean(name, there)
            raise OptionError(
                f"the data have no column '{name}'.{near} Their columns are {', '.join(there)}."
            )
        if name in items:
            raise OptionError(
                f"'{name}' is an item of the model, which the classes were made of. Fit the model "
                f"without it (--exclude {name}), or take its profile as it is."
            )
    asked: dict[str, Any] = {**reading}
    categories = understand_kinds({t.name: "categorical" for t in terms if t.categories})
    kinds = understand_kinds(asked.get("kinds")).also(categories)
    asked["kinds"] = replace(kinds, wanted=frozenset(also))
    if isinstance(data, Table):
        return terms, names, table_for(data, network, reading, numbers=True)
    return terms, names, table_for(data, network, cast(ReadOptions, asked), numbers=True, also=also)
