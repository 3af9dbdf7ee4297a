"""Row-wise inference with a model: class posteriors, likelihoods, anomalies; simulation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lacunet.api.inputs import (
    check_ordered,
    columns_of,
    notes_on_columns,
    observed_columns,
    read_predictive,
    rows_for,
)
from lacunet.api.options import SettingsLike, divide, with_options
from lacunet.api.results import Assigned, AssignedNumber, Assignment, Unusual
from lacunet.data import Column
from lacunet.data.transform import put_missing_states
from lacunet.data.write import Support
from lacunet.errors import ModelError, OptionError
from lacunet.inference.queries.answers import (
    DRAWS,
    draw_open,
    expected_numbers,
    in_units,
    log_lik_of,
    most_probable_state,
    posterior_of,
    tail_probabilities,
)
from lacunet.models.conjugacy import random_theta
from lacunet.models.ensemble import Ensemble, PredictiveModel, PredictiveModelLike, sample_rows
from lacunet.models.latent_class import latent_class
from lacunet.models.network import Model, Network
from lacunet.models.prior import dirichlet
from lacunet.runtime.arrays import CodeArray, FloatArray
from lacunet.runtime.states import alike, as_shown
from lacunet.selection.held_out import rows_digest
from lacunet.settings import DEFAULTS
from lacunet.tabular import library_of

SEEN_ROWS = (
    "the stack was learned from these rows, so too few look unusual. lacunet stack --output and "
    "held_out_scores_ of StackedModel use models learned without each row"
)
NOTHING = {  # by whether cells are to be filled in
    True: "nothing to assign: the model has no hidden variable, and no cell is missing.",
    False: "nothing to assign: the model has no hidden variable. "
    "Use --impute to fill in missing cells, --anomalies to find unusual rows.",
}


@with_options("missing", "missing_as_state", "plug_in", "seed")
def assign(
    data: object,
    model: PredictiveModelLike,
    *,
    hidden: Sequence[str] = (),
    impute: bool = False,
    draw: bool = False,
    anomalies: bool = False,
    settings: SettingsLike = DEFAULTS,
    **options: Any,
) -> Assignment:
    """Compute the posterior of the hidden variables of each row, in the order of the input.

    Unless `plug_in`, it is averaged over the posterior of the parameters (posterior predictive).

    Parameters
    ----------
    data
        The path of a file, a dataframe or an array: anything with an order of rows. Absent columns
        are treated as missing.
    model, hidden
        A model, a stack, or the path of its file; further hidden variables.
    impute
        Also impute every variable with missing cells. Numbers get their mean, rounded to the
        decimals of the column and within its range.
    draw
        Fill in one joint draw for each row; each seed gives another (multiple imputation).
    anomalies
        Also compute log p(row) and its tail probability (see `lacunet.anomalies`).
    settings, **options
        `seed`, `plug_in`; `missing`: markers of a missing cell; `missing_as_state`.

    Examples
    --------
    >>> import lacunet
    >>> path = lacunet.dataset_path("carcinoma")
    >>> model = lacunet.fit(path, 2, weights="count", starts=4).model
    >>> lacunet.assign(path, model).best[:4].tolist()  # numbers of the states, from 0
    [1, 1, 1, 1]
    """
    settings, reading = divide(settings, options)
    check_ordered(data)
    predictive = read_predictive(model, settings, hidden)
    given, codes = rows_for(data, predictive, reading)
    network, rng = given.network, np.random.default_rng(settings.seed)
    if settings.missing_as_state:
        put_missing_states(codes, observed_columns(network))
    wanted = _wanted(network, codes, impute=impute)
    if not wanted and not anomalies:
        raise ModelError(NOTHING[impute])
    assignment = assignment_of(given, codes, wanted)
    notes = tuple(notes_on_columns(data, predictive))
    assignment = replace(assignment, library=library_of(data), notes=notes)
    if anomalies:
        tail = tail_probabilities(given, codes, DRAWS, rng)
        unusual = Unusual(log_lik_of(given, codes), tail, seen_rows(given, codes))
        assignment = replace(assignment, unusual=unusual)
    if draw:
        assignment = _drawn(assignment, network, draw_open(given, codes, rng))
    return _supported(assignment, predictive.network, network)


def _supported(assignment: Assignment, *networks: Network) -> Assignment:
    """Round imputed numbers to the decimals and the range of the observed values."""

    def of(n: AssignedNumber) -> AssignedNumber:
        states = [network.variables[network.index(n.name)].states for network in networks]
        support = Support.of(*states)
        return replace(n, best=support.near(n.best), whole=n.whole or support.whole)

    return replace(assignment, numbers=tuple(map(of, assignment.numbers)))


def seen_rows(predictive_model: PredictiveModel, codes: CodeArray) -> str:
    """Give a warning if a stack was learned from these very rows; else an empty text."""
    if not isinstance(predictive_model, Ensemble) or not predictive_model.seen:
        return ""
    shown = predictive_model.variables
    digest = rows_digest([v.name for v in shown], [v.states for v in shown], codes)
    return SEEN_ROWS if digest == predictive_model.seen else ""


def _wanted(network: Network, codes: CodeArray, *, impute: bool) -> list[int]:
    """List the hidden variables, and with `impute` those with missing cells."""
    holed = {v for j, v in enumerate(network.observed) if impute and (codes[:, j] < 0).any()}
    hidden = [v for v in network.shown if network.variables[v].hidden]
    return [*hidden, *(v for v in network.shown if v in holed)]


def assignment_of(given: PredictiveModel, codes: CodeArray, wanted: Sequence[int]) -> Assignment:
    """Compute the posterior of some variables: probabilities of categories, means of numbers."""
    variables = given.network.variables
    column = {v: codes[:, j] for j, v in enumerate(given.network.observed)}
    names = [v for v in wanted if variables[v].family.tabular]
    numbers = [v for v in wanted if v not in names]
    assigned, expected = [], []
    for i, p in zip(names, posterior_of(given, codes, [(v,) for v in names]), strict=True):
        v, best = variables[i], most_probable_state(p)
        probabilities = np.where(p.sum(axis=1)[:, None] > 0, p, np.nan)
        missing = column[i] < 0 if i in column else np.full(len(codes), True)
        described = v.labels, probabilities, best, missing, alike(v.states)
        assigned.append(Assigned(v.name, *described, hidden=v.hidden))
    for i, moments in zip(numbers, expected_numbers(given, codes, numbers), strict=True):
        v, x = variables[i], in_units(variables[i], moments, column[i])
        missing, whole = column[i] < 0, v.family.whole
        expected.append(AssignedNumber(v.name, x.best, x.mean, x.spread, missing, x.titles, whole))
    return Assignment(tuple(assigned), tuple(expected))


def _drawn(assignment: Assignment, network: Network, cells: FloatArray) -> Assignment:
    """Replace the most probable and expected values by draws."""
    columns = {v.name: cells[:, network.index(v.name)] for v in network.variables}
    states = (
        replace(v, best=np.nan_to_num(columns[v.name], nan=-1.0).astype(np.int64))
        for v in assignment.variables
    )
    numbers = (replace(n, best=columns[n.name]) for n in assignment.numbers)
    return replace(assignment, variables=tuple(states), numbers=tuple(numbers))


@with_options("missing", "plug_in", "seed")
def anomalies(
    data: object,
    model: PredictiveModelLike,
    *,
    draws: int = DRAWS,
    settings: SettingsLike = DEFAULTS,
    **options: Any,
) -> FloatArray:
    """Compute the tail probability of each row, in the order of the input: small is unusual.

    It is the probability that a row drawn from the model, with the same cells missing, is at most
    as probable. Unlike log p(row), it is comparable between rows with different missing cells.

    Parameters
    ----------
    data, model
        As for `assign`.
    draws
        Rows to draw from the model if the observed cells have more configurations than that; else
        the result is exact. The smallest sampled value is 1 / (draws + 1).
    settings, **options
        `seed`; `plug_in`: use the point estimate, not its posterior; `missing`: markers of a
        missing cell.

    Examples
    --------
    >>> import lacunet
    >>> path = lacunet.dataset_path("carcinoma")
    >>> model = lacunet.fit(path, 2, weights="count", starts=4).model
    >>> lacunet.anomalies(path, model)[:2].round(2)
    array([1.  , 0.39])
    """
    settings, reading = divide(settings, options)
    given = read_predictive(model, settings)
    check_ordered(data)
    predictive, codes = rows_for(data, given, reading)
    return tail_probabilities(predictive, codes, draws, np.random.default_rng(settings.seed))


@with_options("missing", "plug_in")
def log_likelihoods(
    data: object,
    model: PredictiveModelLike,
    *,
    settings: SettingsLike = DEFAULTS,
    **options: Any,
) -> FloatArray:
    """Compute log p(observed cells) of each row, in the order of the input, in nats.

    Parameters
    ----------
    data, model
        As for `assign`.
    settings, **options
        `plug_in`: use the point estimate, not its posterior; `missing`: markers of a missing cell.

    Examples
    --------
    >>> import lacunet
    >>> path = lacunet.dataset_path("carcinoma")
    >>> model = lacunet.fit(path, 2, weights="count", starts=4).model
    >>> lacunet.log_likelihoods(path, model)[:2].round(1)
    array([-1.6, -3.1])
    """
    settings, reading = divide(settings, options)
    given = read_predictive(model, settings)
    check_ordered(data)
    return log_lik_of(*rows_for(data, given, reading))


@with_options("seed", "plug_in")
def simulate(
    model: PredictiveModelLike,
    rows: int,
    *,
    missing_rate: float = 0.0,
    settings: SettingsLike = DEFAULTS,
    **options: Any,
) -> Any:
    """Draw rows from a model, as a Polars dataframe; cells are missing completely at random.

    Categories are labels, numbers are numbers. Unless `plug_in`, rows are drawn from the posterior
    predictive distribution. A model with covariates draws classes by their sizes over the rows
    that it was fitted to.

    Parameters
    ----------
    model
        A model or a stack, or the path of its file. Hidden variables are left out.
    rows
        Number of rows.
    missing_rate
        Share of the cells to leave empty.
    settings, **options
        `seed`; `plug_in`: use the point estimate, not its posterior.
    """
    from lacunet.data.write import labelled_frame

    settings, _ = divide(settings, options)
    given = read_predictive(model, settings)
    return labelled_frame(*draw(given, rows, settings.seed, missing_rate))


def draw(
    model: PredictiveModel, rows: int, seed: int, missing_rate: float
) -> tuple[list[Column], CodeArray]:
    """Draw rows: their columns, and codes (rows, columns), -1 = missing."""
    drawn = sample_rows(model, rows, np.random.default_rng(seed), missing_rate)
    order = list(as_shown([v.place for v in drawn.variables]))
    return columns_of([drawn.variables[j] for j in order]), drawn.codes[:, order]


@with_options("alpha", "seed")
def random_model(
    classes: int,
    leaves: int,
    *,
    leaf_states: int = 2,
    settings: SettingsLike = DEFAULTS,
    **options: Any,
) -> Model:
    """Draw a naive-Bayes model as in the paper: each distribution from a uniform Dirichlet.

    Parameters
    ----------
    classes
        States of the hidden root.
    leaves, leaf_states
        Observed variables, and the states of each.
    settings, **options
        `seed`; `alpha`: the prior of the model.
    """
    settings, _ = divide(settings, options)
    if leaves < 1:
        raise OptionError(f"{leaves} leaves: there must be at least 1.")
    if leaf_states < 2:
        raise OptionError(f"{leaf_states} states of each leaf: there must be at least 2.")
    columns = [(f"x{i}", tuple(range(leaf_states))) for i in range(1, leaves + 1)]
    network = latent_class(columns, classes)
    theta = random_theta(network.layout, np.random.default_rng(settings.seed))
    return Model(network, theta, dirichlet(network, settings.alpha))
