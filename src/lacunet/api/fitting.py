"""Fit or score one model, optionally with covariates or direct effects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, overload

from lacunet.api.engine import at_work, in_cluster, placed_on
from lacunet.api.inputs import (
    Hidden,
    KnowledgeLike,
    as_model,
    as_table,
    check_unpredicted,
    names_in,
    table_of,
)
from lacunet.api.options import (
    FIT,
    READ,
    REGRESSION,
    SAMPLE,
    ReadSettings,
    SettingsLike,
    divide,
    with_options,
)
from lacunet.api.results import Scores
from lacunet.api.structure import (
    EdgesLike,
    one_number,
    table_and_structure,
    table_with_model,
)
from lacunet.data.kinds import Kinds, KindsLike, understand_kinds
from lacunet.data.table import Table
from lacunet.data.transform import missing_as_state, with_missing_states
from lacunet.errors import OptionError
from lacunet.fitting.fit import Fit, learn, learn_posterior
from lacunet.fitting.prepare import prepare
from lacunet.inference.covariates import (
    MissingCovariates,
    with_covariates,
    without_covariates,
)
from lacunet.inference.devices.device import DeviceName
from lacunet.inference.leaves import with_values
from lacunet.inference.predicted import predicted_problem
from lacunet.inference.problem import Problem, build_problem
from lacunet.inference.queries.most_probable import effective_dimension
from lacunet.models.ensemble import ModelLike, NetworkLike
from lacunet.models.network import Model, Network
from lacunet.models.predictors import CovariatesLike, CovariateTerm, understand_terms
from lacunet.models.prior import dirichlet, one_alpha
from lacunet.runtime.executor import on_threads
from lacunet.runtime.progress import Listener, ignore
from lacunet.scores import ScoreInput, applicable
from lacunet.scores.evaluation import score_at
from lacunet.selection.comparing import latent_classes
from lacunet.selection.covariates import ClassRegression, CovariateModels
from lacunet.selection.effects import DirectEffects, NestedFitter, direct_effects
from lacunet.settings import DEFAULTS, Settings
from lacunet.summaries.bootstrap import check_possible_replicates
from lacunet.summaries.predicted import class_replicates
from lacunet.summaries.predictive_checks import misfit_flags


@with_options(*FIT, *REGRESSION)
def class_regression(
    data: object,
    states: int,
    covariates: CovariatesLike,
    *,
    settings: SettingsLike = DEFAULTS,
    listener: Listener = ignore,
    **options: Any,
) -> ClassRegression:
    """Fit a latent class regression in one step: covariates predict the classes.

    The log odds of classes are linear in the covariates. Items depend on the class alone, and may
    be missing. `evidence` measures the evidence with and without each covariate; without it the
    Bayes factors are approximations (CSL). `bootstrap` takes standard errors and intervals from
    refits to rows drawn from the fit, or to resampled units of a survey.

    Parameters
    ----------
    data, states, covariates
        As for `fit`.
    settings, listener, **options
        By name, as alpha, starts, seed, threads, evidence, bootstrap, or as objects; see `select`.

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
    models = _covariate_models(table, [term.name for term in terms], k, settings)
    replicates, drawn = settings.bootstrap, None
    if replicates:  # refused before the fit
        check_possible_replicates(models.plain, replicates)
    with at_work(settings, listener, models.plain.network) as engine:
        executor = engine.executor
        whole = models.model(terms, executor=executor)
        worth = models.worth(whole, executor)
        if replicates:
            request = settings.level, settings.options.seed, replicates
            drawn = class_replicates(
                whole.fit.objective, whole.fit.point, *request, executor=executor
            )
    return ClassRegression(models.table, whole, worth, settings.level, drawn)


def _covariate_models(
    table: Table, names: Sequence[str], k: int, settings: Settings
) -> CovariateModels:
    """Build the models of k classes with subsets of these covariates."""
    table = with_covariates(table, names, MissingCovariates(settings.missing_covariates))
    items = without_covariates(table, names)
    if settings.missing_as_state:
        items = missing_as_state(items, merged=False)  # rows beside their covariates
    (proposal,) = latent_classes(items, [k], settings.numbers)
    alpha = dirichlet(proposal.network, one_alpha(settings.alpha))
    plain = build_problem(items, proposal.network, alpha)
    return CovariateModels(
        table,
        plain,
        coefficient_sd=settings.coefficient_sd,
        options=settings.options,
        goal=settings.goal if settings.evidence else None,
    )


def predicted_rows(
    data: object, model: Model, settings: Settings, reading: ReadSettings, also: Sequence[str] = ()
) -> tuple[Table, Problem]:
    """Read the data for a model with covariates; give the rows used, and its problem."""
    known = model.predictors
    assert known is not None
    table = table_of(data, model, reading, also)
    if settings.missing_as_state:
        table = with_missing_states(table)
    table = with_covariates(table, known.names, MissingCovariates(settings.missing_covariates))
    return table, predicted_problem(with_values(model, table.columns), table)


def read_covariates(
    data: object, covariates: CovariatesLike, reading: ReadSettings
) -> tuple[tuple[CovariateTerm, ...], Table]:
    """Read the terms of the covariates, and a table of items and covariates."""
    terms = understand_terms(covariates, names_in(data))
    if isinstance(data, Table):
        return terms, as_table(data, reading, numbers=True)
    columns = reading.columns
    if columns:  # `columns` names items
        columns = list(dict.fromkeys([*columns, *(term.name for term in terms)]))
    options = replace(reading, columns=columns, kinds=covariate_kinds(reading.kinds, terms))
    return terms, as_table(data, options, numbers=True)


def covariate_kinds(kinds: KindsLike, terms: Sequence[CovariateTerm]) -> Kinds:
    """Add the kinds of the covariate columns to those that the user gives."""
    categories = {term.name: "categorical" for term in terms if term.categories}
    given = understand_kinds(kinds)
    wanted = frozenset((*given.wanted, *(term.name for term in terms)))
    return replace(given, wanted=wanted).also(understand_kinds(categories))


@overload
def fit(
    data: object, states: int | None = None, *, covariates: None = None, **options: Any
) -> Fit: ...


@overload
def fit(
    data: object, states: int, *, covariates: CovariatesLike, **options: Any
) -> ClassRegression: ...


@with_options(*FIT, *REGRESSION)
def fit(
    data: object,
    states: int | None = None,
    *,
    network: NetworkLike | None = None,
    hidden: Hidden = (),
    knowledge: KnowledgeLike | None = None,
    edges: EdgesLike = (),
    covariates: CovariatesLike | None = None,
    settings: SettingsLike = DEFAULTS,
    listener: Listener = ignore,
    **options: Any,
) -> Fit | ClassRegression:
    """Fit a latent class model with `states` classes, or a network.

    With covariates, this calls `class_regression`. Some options are for covariates alone.

    Parameters
    ----------
    data
        A table, or anything that `read_table` reads.
    states
        Number of classes of a latent class model.
    network, hidden
        Instead: a network (or the path of its file, or a graph as a text, 'class[3] -> A B C'), and
        its hidden variables.
    knowledge
        Constraints on the tables: a `Knowledge`, or the path of its JSON file. Fixed tables are
        not learned, tied ones are learned together, zeros stay zero.
    edges
        Direct effects between items of a latent class model: 'PARENT:CHILD', or pairs of names.
    covariates
        Columns that predict classes and are not items: a list of names, or a formula such as '~ age
        + C(region)'. C() makes categories of numbers; C(region, ref=North) names the reference.
    settings, listener, **options
        By name, as alpha, starts, seed, threads, weights, kinds, or as objects; see `select`.
    """
    if covariates is not None:
        if states is None or network is not None or hidden or knowledge is not None or edges:
            raise OptionError(
                "covariates predict the classes of a latent class model: give a number of states, "
                "and neither a network, hidden variables, edges nor knowledge."
            )
        return class_regression(
            data, states, covariates, settings=settings, listener=listener, **options
        )
    _check_covariates_meant(options)
    settings, reading = divide(settings, options)
    with in_cluster(settings) as settings:
        specification = network, hidden, edges, knowledge
        given = table_and_structure(data, states, reading, settings, *specification)
        return _fit(*given, settings, listener)


def _fit(table: Table, structure: Network, settings: Settings, listener: Listener) -> Fit:
    with at_work(settings, listener, structure) as engine:
        alpha = dirichlet(structure, settings.alpha)
        problem = build_problem(placed_on(table, engine), structure, alpha)
        fitted = learn_posterior(problem, settings.options, engine.executor)
        return replace(fitted, flags=(*fitted.flags, *misfit_flags(fitted)))


def _check_covariates_meant(options: Mapping[str, Any]) -> None:
    """Refuse options that need covariates."""
    elsewhere = dict.fromkeys(("level", "bootstrap"), "lacunet.intervals")
    elsewhere |= dict.fromkeys(("evidence", *SAMPLE), "lacunet.log_evidence")
    for name in options:
        if name in REGRESSION:
            other = f" ({elsewhere[name]} has it for other models)" if name in elsewhere else ""
            raise OptionError(f"{name} is about covariates{other}. Give covariates too.")


@with_options(*FIT)
def add_direct_effects(
    data: object,
    states: int,
    *,
    edges: EdgesLike = (),
    settings: SettingsLike = DEFAULTS,
    listener: Listener = ignore,
    **options: Any,
) -> DirectEffects:
    """Fit a latent class model, and add direct effects between items while the evidence grows.

    Bivariate residuals rank the pairs of columns that the classes do not explain. Each step tries
    the worst and keeps the effect that raises the evidence (approximated, csl) most.

    Parameters
    ----------
    data, states
        As for `fit`.
    edges
        Direct effects to start from: 'PARENT:CHILD', or pairs of names.
    settings, listener, **options
        By name, as alpha, starts, seed, threads, or as objects; see `select`.

    Examples
    --------
    >>> import lacunet
    >>> found = add_direct_effects(lacunet.load_dataset("carcinoma"), 2, starts=4)
    >>> found.edges, len(found.trials)
    (('B:E', 'B:G', 'D:F'), 13)
    """
    settings, reading = divide(settings, options)
    table, structure = table_and_structure(data, states, reading, settings, edges=edges)
    with at_work(settings, listener, structure) as engine:
        fitter = NestedFitter(table, one_alpha(settings.alpha), settings.options, engine.executor)
        return direct_effects(fitter, structure)


@with_options(*READ, "missing_as_state", "scores", "estimate", "dimension", "threads")
def score(
    data: object,
    model: ModelLike,
    *,
    hidden: Sequence[str] = (),
    refit: bool = False,
    settings: SettingsLike = DEFAULTS,
    listener: Listener = ignore,
    **options: Any,
) -> Scores:
    """Score a model at exactly its parameters; with `refit`, after EM started from them.

    Scores that are defined at their own mode (csl) search for it from there; scores that need
    models with fewer classes fit them.

    Parameters
    ----------
    data
        A table, or anything that `read_table` reads.
    model
        A model, or the path of its file.
    hidden
        Hidden variables, besides those of the model.
    refit
        Whether to run EM to a maximum first.
    settings, listener, **options
        By name, as scores, estimate, dimension, threads, weights, or as objects; see `select`.
    """
    settings, reading = divide(settings, options)
    given = check_unpredicted(as_model(model, hidden), "these scores")
    table = table_with_model(data, given.network, settings, reading, numbers=True)
    given = with_values(given, table.columns)
    problem = build_problem(table, given.network, given.alpha)
    usable = applicable(settings.chosen_scores, problem)
    with on_threads(settings.threads, listener) as executor:
        prepare(executor, given.network)
        one = replace(settings.options, starts=1)  # which is the model
        refitted = learn(problem, one, start=given, executor=executor) if refit else None
        theta = refitted.model.theta if refitted else given.theta
        at = ScoreInput(
            problem,
            theta,
            effective_dimension(given.network) if settings.rank else None,
            settings.options,
            executor,
        )
        evidence = score_at(at, usable)
    return Scores(
        Model(given.network, theta, given.alpha),
        at.dimension,
        at.log_lik,
        at.log_prior,
        evidence,
        refitted,
    )
