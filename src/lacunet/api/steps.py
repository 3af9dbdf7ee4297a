"""Three-step analysis: outcomes and covariates of classes that were fitted before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lacunet.api.describe import FitLike, fit_in
from lacunet.api.fitting import covariate_kinds, predicted_rows
from lacunet.api.inputs import as_model, covariates_of, listed, names_in, one_of, table_of
from lacunet.api.options import DESIGN, READ, ReadSettings, SettingsLike, divide, with_options
from lacunet.data.table import Table
from lacunet.errors import ModelError, OptionError, did_you_mean
from lacunet.fitting.objective import Estimate, Objective
from lacunet.inference.covariates import (
    MissingCovariates,
    build_design,
    shows_all,
    with_covariates,
)
from lacunet.inference.leaves import with_values
from lacunet.inference.predicted import PredictedClasses
from lacunet.inference.problem import build_problem
from lacunet.models.latent_class import named_apart
from lacunet.models.network import Model
from lacunet.models.predictors import CovariatesLike, CovariateTerm, understand_terms
from lacunet.settings import DEFAULTS, Settings
from lacunet.summaries.coefficients import Coefficients
from lacunet.summaries.first_step import (
    AssignedRows,
    Assigning,
    Correction,
    FirstStep,
    assign_rows,
    first_step,
)
from lacunet.summaries.three_steps import ThreeStep, outcome_of, predict_classes

OTHER_ROWS = (
    "the model is not at its maximum for these rows (fitted to others, or with another prior), "
    "so standard errors ignore its uncertainty."
)
BY_COVARIATES = (
    "covariates influence the assigned classes: outcomes are assumed not to depend on covariates "
    "within a class."
)


@with_options(*READ, *DESIGN, "kinds", "level", "missing_covariates")
def three_step(
    data: object,
    fit: FitLike,
    *,
    outcomes: str | Sequence[str] = (),
    covariates: CovariatesLike = (),
    correction: str | None = None,
    assignment: str = Assigning.MODAL,
    settings: SettingsLike = DEFAULTS,
    **options: Any,
) -> ThreeStep:
    """Relate classes to outcomes and covariates after they were fitted, in three steps.

    Errors of classification are corrected for; standard errors (sandwich) account for the fit.

    Parameters
    ----------
    data, fit
        The rows that the model was fitted to, with the columns of outcomes and covariates; and the
        fit, or a model (or its path) at its maximum for these data.
    outcomes, covariates
        Columns to compare between classes: means of numbers, shares of states; columns that predict
        classes, as for `class_regression`, which does it in one step.
    correction
        bch (inverse of the errors; for numbers), ml (likelihood with known errors), or none.
    assignment
        modal: each row to its most probable class; proportional: to all by their probabilities.
    settings, **options
        By name, as level, weights, strata; see `select`.

    Examples
    --------
    >>> import lacunet
    >>> path = lacunet.dataset_path("survey")
    >>> fit = lacunet.fit(path, 2, columns=["area", "cars", "commute", "travel time"], starts=4)
    >>> found = three_step(path, fit, outcomes="satisfied")
    >>> found.outcomes["satisfied"].titles
    ('no', 'yes')
    """
    settings, reading = divide(settings, options)
    assigning, model = one_of(Assigning, "assignment", assignment), as_model(fit_in(fit))
    wanted = None if correction is None else one_of(Correction, "correction", correction)
    terms, names = _understood(data, model, outcomes, covariates)
    also = list(dict.fromkeys([*names, *(term.name for term in terms)]))
    model = named_apart(model, also)
    if not isinstance(data, Table):
        kinds = replace(covariate_kinds(reading.kinds, terms), wanted=frozenset(also))
        reading = replace(reading, kinds=kinds)
    table, rows, first = _first_steps(data, model, settings, assigning, reading, also)
    notes = table.notes if first else (*table.notes, OTHER_ROWS)
    if model.predictors is not None:
        notes = (*notes, BY_COVARIATES)
    level, coefficients = settings.level, None
    if terms:
        missing, by = MissingCovariates(settings.missing_covariates), wanted or Correction.ML
        complete = with_covariates(table, [term.name for term in terms], missing)
        notes = (*notes, *complete.notes[len(table.notes) :])
        coefficients = _coefficients(table, complete, terms, rows, by, level, first)
    compared = {name: outcome_of(rows, table, name, wanted, level, first) for name in names}
    return ThreeStep(rows, assigning, compared, coefficients, notes)


def _coefficients(
    table: Table,
    complete: Table,
    terms: Sequence[CovariateTerm],
    rows: AssignedRows,
    by: Correction,
    level: float,
    first: FirstStep | None,
) -> Coefficients:
    """Regress classes on covariates, over the rows with complete covariates."""
    shown = shows_all(table, [term.name for term in terms])
    return predict_classes(rows, build_design(complete, terms), shown, by, level, first)


def _first_steps(
    data: object,
    model: Model,
    settings: Settings,
    assigning: Assigning,
    reading: ReadSettings,
    also: Sequence[str],
) -> tuple[Table, AssignedRows, FirstStep | None]:
    """Read and assign rows; give the first step if the model is at its maximum for them.

    A model does not record its estimate, so each kind is tried.
    """
    if model.predictors is not None:
        table, problem = predicted_rows(data, model, settings, reading, also)
        theta = PredictedClasses(problem).parameters_of(model)
    else:
        table, theta = table_of(data, model, reading, also), model.theta
        network = with_values(model, table.columns).network
        problem = build_problem(table, network, model.alpha)
    rows, first = assign_rows(problem, theta, assigning), None
    for estimate in Estimate:
        first = first or first_step(Objective.build(problem, estimate), theta, assigning)
    return table, rows, first


def _understood(
    data: object, model: Model, outcomes: str | Sequence[str], covariates: CovariatesLike
) -> tuple[tuple[CovariateTerm, ...], list[str]]:
    """Check the covariates and the names of outcomes."""
    network, predictors = model.network, covariates_of(model).names
    if len(network.hidden) != 1:
        raise ModelError(
            f"the model hides {len(network.hidden)} variables; three steps need one, the class."
        )
    columns = names_in(data)
    names = [outcomes] if isinstance(outcomes, str) else list(outcomes)
    terms = understand_terms(covariates, columns)
    if not names and not terms:
        raise OptionError("nothing to relate classes to. Give --outcomes, --covariates, or both.")
    if terms and predictors:
        raise OptionError(
            f"--covariates: the model predicts its classes from {listed(predictors)} already, so "
            "classification errors depend on covariates and cannot be corrected. Fit a model "
            "without covariates first, or use one step: lacunet fit --covariates."
        )
    items = {network.variables[i].name for i in network.observed}
    for name in (*names, *(term.name for term in terms)):
        if name not in columns:
            near = did_you_mean(name, columns)
            raise OptionError(
                f"the data have no column '{name}'.{near} Their columns are {', '.join(columns)}."
            )
        if name in predictors:
            raise OptionError(
                f"'{name}' predicts the classes of the model, so it is not an outcome. Leave it "
                "out."
            )
        if name in items:
            raise OptionError(
                f"'{name}' is an item of the model, so it defines the classes. Fit the model "
                f"without it (--exclude {name}), or take its profile as it is."
            )
    return terms, names
