"""Fit one model, and score one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Unpack, overload

from lacunet.api.engine import at_work, held_by, in_cluster
from lacunet.api.inputs import (
    Hidden,
    KnowledgeLike,
    as_knowledge,
    as_model,
    check_unpredicted,
    one_alpha,
)
from lacunet.api.missing import table_with_model, with_answers
from lacunet.api.options import (
    FitOptions,
    RegressionOptions,
    ScoreOptions,
    divide,
    with_options,
)
from lacunet.api.regression import class_regression
from lacunet.api.results import Scores
from lacunet.api.structure import EdgesLike, one_number, table_and_structure
from lacunet.data import Table
from lacunet.errors import OptionError
from lacunet.fitting.fit import Fit, learn
from lacunet.fitting.predictive import learn_posterior
from lacunet.fitting.prepare import prepare
from lacunet.inference.leaves import with_values
from lacunet.inference.problem import build_problem
from lacunet.inference.queries.dimension import effective_dimension
from lacunet.models.holders import ModelLike, NetworkLike
from lacunet.models.network import Model, Network
from lacunet.models.prior import dirichlet
from lacunet.models.terms import CovariatesLike
from lacunet.runtime.executor import on_threads
from lacunet.runtime.progress import Listener, ignore
from lacunet.scores import ScoreInput, applicable
from lacunet.scores.evaluation import score_at
from lacunet.selection.effects.direct import DirectEffects, direct_effects
from lacunet.selection.effects.fitted import Workshop
from lacunet.selection.regression.class_regression import ClassRegression
from lacunet.settings import DEFAULTS, Settings
from lacunet.summaries.predictive_checks import misfit_flags


@overload
def fit(
    data: object,
    states: int | None = None,
    *,
    network: NetworkLike | None = None,
    hidden: Hidden = (),
    knowledge: KnowledgeLike | None = None,
    edges: EdgesLike = (),
    covariates: None = None,
    settings: Settings = DEFAULTS,
    listener: Listener = ignore,
    **options: Unpack[FitOptions],
) -> Fit: ...


@overload
def fit(
    data: object,
    states: int,
    *,
    covariates: CovariatesLike,
    settings: Settings = DEFAULTS,
    listener: Listener = ignore,
    **options: Unpack[RegressionOptions],
) -> ClassRegression: ...


@with_options
def fit(
    data: object,
    states: int | None = None,
    *,
    network: NetworkLike | None = None,
    hidden: Hidden = (),
    knowledge: KnowledgeLike | None = None,
    edges: EdgesLike = (),
    covariates: CovariatesLike | None = None,
    settings: Settings = DEFAULTS,
    listener: Listener = ignore,
    **options: Unpack[RegressionOptions],
) -> Fit | ClassRegression:
    """Fit a latent class model with `states` classes, or a network.

    With covariates, they predict the classes: see `class_regression`, which this then calls. Some
    options are for covariates alone.

    Parameters
    ----------
    **data; states; network, hidden; knowledge; edges; covariates; options
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
    told = network, hidden, reading, settings.numbers, edges
    with in_cluster(settings) as settings:
        table, structure = table_and_structure(data, states, *told)
        structure = as_knowledge(knowledge).of(structure)
        if settings.missing_as_state:
            table, (structure,) = with_answers(table, structure)
        return _fit(table, structure, settings, listener)


def _fit(table: Table, structure: Network, settings: Settings, listener: Listener) -> Fit:
    with at_work(settings, listener) as engine:
        prepare(engine.executor, structure)
        alpha = dirichlet(structure, settings.alpha)
        problem = build_problem(held_by(table, engine), structure, alpha)
        found = learn_posterior(problem, settings.options, engine.executor)
        return replace(found, flags=(*found.flags, *misfit_flags(found)))


def _check_covariates_meant(options: RegressionOptions) -> None:
    """Refuse options that only covariates give a meaning."""
    elsewhere = dict.fromkeys(("level", "bootstrap"), "lacunet.intervals")
    elsewhere |= dict.fromkeys(("evidence", "target", "budget"), "lacunet.log_evidence")
    for name in options:
        if name in RegressionOptions.__annotations__ and name not in FitOptions.__annotations__:
            where = elsewhere.get(name)
            other = f" ({where} has it for other models)" if where else ""
            raise OptionError(f"{name} is about covariates{other}. Give covariates too.")


@with_options
def add_direct_effects(
    data: object,
    states: int,
    *,
    edges: EdgesLike = (),
    settings: Settings = DEFAULTS,
    listener: Listener = ignore,
    **options: Unpack[FitOptions],
) -> DirectEffects:
    """Fit a latent class model, and add direct effects between answers as long as they pay.

    Bivariate residuals say which pairs of columns go together beyond their classes. The worst are
    tried, and the effect by which the evidence (approximated, csl) grows most is kept; and so on,
    until it grows by none.

    Parameters
    ----------
    **data; states; edges; options

    Examples
    --------
    >>> import lacunet
    >>> found = add_direct_effects(lacunet.load_dataset("carcinoma"), 2, starts=4)
    >>> found.edges, len(found.trials)
    (('B:E', 'B:G', 'D:F'), 13)
    """
    settings, reading = divide(settings, options)
    k = one_number(states)
    table, structure = table_and_structure(data, k, None, (), reading, settings.numbers, edges)
    if settings.missing_as_state:
        table, (structure,) = with_answers(table, structure)
    with at_work(settings, listener) as engine:
        prepare(engine.executor, structure)
        workshop = Workshop(table, one_alpha(settings), settings.options, engine.executor)
        return direct_effects(workshop, structure)


@with_options
def score(
    data: object,
    model: ModelLike,
    *,
    hidden: Sequence[str] = (),
    refit: bool = False,
    settings: Settings = DEFAULTS,
    listener: Listener = ignore,
    **options: Unpack[ScoreOptions],
) -> Scores:
    """Score a model at exactly its parameters; with `refit`, after EM started from them.

    Scores that are defined at a mode of their own (csl) climb to it from there; those that need
    models with fewer classes fit them.

    Parameters
    ----------
    **data; model; hidden
    refit
        Whether to climb to a maximum first.
    **options
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
        found = score_at(at, usable)
    return Scores(
        Model(given.network, theta, given.alpha),
        at.dimension,
        at.log_lik,
        at.log_prior,
        found,
        refitted,
    )
