"""Classes that covariates predict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack, cast

from lacunet.api.engine import at_work
from lacunet.api.inputs import as_table, names_in, one_alpha, table_of
from lacunet.api.options import ReadOptions, RegressionOptions, divide, with_options
from lacunet.api.structure import one_number
from lacunet.data import Table
from lacunet.data.kinds import Kinds, KindsLike, understand_kinds
from lacunet.data.missing_state import missing_as_state, with_missing_states
from lacunet.errors import OptionError
from lacunet.fitting.prepare import prepare
from lacunet.fitting.regression.objective import ClassParameters, parameters_of
from lacunet.inference.devices.device import DeviceName
from lacunet.inference.leaves import with_values
from lacunet.inference.problem import build_problem
from lacunet.inference.regression.known import class_problem_of
from lacunet.inference.regression.rows import (
    MissingCovariates,
    with_covariates,
    without_covariates,
)
from lacunet.models.latent_class import classes_of
from lacunet.models.network import Model
from lacunet.models.prior import dirichlet
from lacunet.models.terms import CovariatesLike, Term, understand_terms
from lacunet.runtime.progress import Listener, ignore
from lacunet.selection.proposals import latent_classes
from lacunet.selection.regression.class_regression import ClassRegression
from lacunet.selection.regression.covariate_worth import Recipe, worth_of_covariates
from lacunet.settings import DEFAULTS, Settings
from lacunet.summaries.regression.resampled import check_replicates_of, class_replicates


@with_options
def class_regression(
    data: object,
    states: int,
    covariates: CovariatesLike,
    *,
    settings: Settings = DEFAULTS,
    listener: Listener = ignore,
    **options: Unpack[RegressionOptions],
) -> ClassRegression:
    """Fit classes together with what predicts them: latent class regression, in one step.

    The log odds of classes are linear in the covariates; items depend on the class alone, and may
    have holes. `evidence` measures the evidence with and without each covariate; without it the
    Bayes factors are approximations (CSL). With `bootstrap`, standard errors and intervals are
    those of so many refits: to rows drawn from the fit with the covariates of the data, or of a
    survey to units drawn anew.

    Parameters
    ----------
    **data; states; covariates; options

    Examples
    --------
    >>> import lacunet
    >>> table = lacunet.load_dataset("carcinoma")
    >>> found = class_regression(table, 2, ["A"], starts=4)
    >>> found.coefficients.titles
    ('(intercept)', 'A')
    """
    settings, reading = divide(settings, options)
    k = one_number(states)
    if k < 2:
        raise OptionError(f"{k} classes: covariates predict which one, so there must be 2 or more.")
    if settings.options.device is not DeviceName.CPU:
        raise OptionError("--device cuda is not for classes with covariates. Use --device cpu.")
    terms, table = read_covariates(data, covariates, reading)
    names = [term.name for term in terms]
    table = with_covariates(table, names, MissingCovariates(settings.missing_covariates))
    items = without_covariates(table, names)
    if settings.missing_as_state:
        items = missing_as_state(items, merged=False)  # rows beside their covariates
    (proposal,) = latent_classes(items, [k], settings.numbers)
    alpha = dirichlet(proposal.network, one_alpha(settings))
    plain = build_problem(items, proposal.network, alpha)
    if settings.bootstrap:  # it comes after the work, so what stands in its way is said before
        check_replicates_of(plain, settings.bootstrap)
    root = classes_of(proposal.network).root
    recipe = Recipe(
        table,
        plain,
        exponent=float(plain.layout.table(alpha, root)[0]),
        coefficient_sd=settings.coefficient_sd,
        options=settings.options,
        goal=settings.goal if settings.evidence else None,
    )
    with at_work(settings, listener) as engine:
        executor = engine.executor
        prepare(executor, proposal.network)
        whole = recipe.weighed(terms, executor=executor)
        worth = worth_of_covariates(recipe, whole, executor)
        drawn, replicates = None, settings.bootstrap
        if replicates:
            drawn = class_replicates(whole.fit, settings.options, replicates, executor=executor)
    return ClassRegression(table, whole, worth, settings.level, drawn)


def parameters_for(
    data: object, model: Model, settings: Settings, reading: ReadOptions, also: Sequence[str] = ()
) -> tuple[Table, ClassParameters]:
    """Join a model with predictors and data: the rows that were used, and its parameters there."""
    known = model.predictors
    assert known is not None
    table = table_of(data, model, reading, also)
    if settings.missing_as_state:
        table = with_missing_states(table)
    table = with_covariates(table, known.names, MissingCovariates(settings.missing_covariates))
    valued = with_values(model, table.columns)
    given = class_problem_of(valued, table)
    return table, parameters_of(valued, given, settings.options.estimate)


def read_covariates(
    data: object, covariates: CovariatesLike, reading: ReadOptions
) -> tuple[tuple[Term, ...], Table]:
    """Read a table with its items and covariates, and what is said of these."""
    terms = understand_terms(covariates, names_in(data))
    if isinstance(data, Table):
        return terms, as_table(data, reading, numbers=True)
    asked: dict[str, Any] = {**reading}
    if asked.get("columns"):  # which name items
        listed = [asked["columns"]] if isinstance(asked["columns"], str) else asked["columns"]
        asked["columns"] = list(dict.fromkeys([*listed, *(term.name for term in terms)]))
    asked["kinds"] = covariate_kinds(asked.get("kinds"), terms)
    return terms, as_table(data, cast(ReadOptions, asked), numbers=True)


def covariate_kinds(kinds: KindsLike, terms: Sequence[Term]) -> Kinds:
    """Say what columns of covariates are, beside what a person says."""
    categories = {term.name: "categorical" for term in terms if term.categories}
    told = understand_kinds(kinds)
    wanted = frozenset((*told.wanted, *(term.name for term in terms)))
    return replace(told, wanted=wanted).also(understand_kinds(categories))
