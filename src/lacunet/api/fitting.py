"""Fit one model, and score one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lacunet.api.checks import (
    check_dimension,
    check_search,
)
from lacunet.api.inputs import (
    Hidden,
    ModelLike,
    NetworkLike,
    as_model,
)
from lacunet.api.missing import (
    table_with_model,
    with_answers,
)
from lacunet.api.results import Scores
from lacunet.api.structure import table_and_structure
from lacunet.executor import on_threads
from lacunet.inference.asking.effective_dimension import effective_dimension
from lacunet.inference.problem import build_problem
from lacunet.learn.fit import DEFAULT_STARTS, Fit, learn
from lacunet.learn.prepare import prepare
from lacunet.model.network import Model
from lacunet.model.prior import PAPER_ALPHA, Alpha, dirichlet
from lacunet.progress import Listener, ignore
from lacunet.scores import ScoreInput, applicable, choose_scores
from lacunet.scoring.evaluation import score_at


def fit(
    data: object,
    states: int | None = None,
    *,
    network: NetworkLike | None = None,
    hidden: Hidden = (),
    estimate: str = "map",
    alpha: Alpha = PAPER_ALPHA,
    starts: int = DEFAULT_STARTS,
    schedule: str = "default",
    seed: int = 0,
    threads: int | None = None,
    missing_as_state: bool = False,
    listener: Listener = ignore,
    **reading: Any,
) -> Fit:
    """Fit a latent class model with `states` classes, or a network. Parameters as for `select`."""
    options = check_search(estimate, alpha, starts, schedule, seed, threads)
    table, structure = table_and_structure(data, states, network, hidden, **reading)
    if missing_as_state:
        table, (structure,) = with_answers(table, structure)
    problem = build_problem(table, structure, dirichlet(structure, alpha))
    with on_threads(threads, listener) as executor:
        prepare(executor, structure)
        return learn(problem, options, executor=executor)


def score(
    data: object,
    model: ModelLike,
    *,
    hidden: Sequence[str] = (),
    scores: str | Sequence[str] = "usual",
    refit: bool = False,
    estimate: str = "map",
    dimension: str = "parameters",
    threads: int | None = None,
    missing_as_state: bool = False,
    listener: Listener = ignore,
    **reading: Any,
) -> Scores:
    """Score a model at exactly its parameters; with `refit`, after EM started from them.

    Scores that are defined at a mode of their own (csl, laplace-phi) climb to it from there; those
    that need models with fewer classes fit them.

    Parameters
    ----------
    data
        A table, or anything that `read_table` reads.
    model
        A model, or the path of its file.
    hidden
        Variables that no column shows, besides those that are hidden in the model.
    refit, estimate
        Whether to climb to a maximum first, and of what: 'map' or 'ml'.
    missing_as_state
        Whether the model was fitted with it.
    scores, dimension, threads, listener, **reading
        As for `select`.
    """
    chosen = choose_scores(scores)
    rank = check_dimension(dimension)
    options = check_search(estimate, starts=1, threads=threads)
    given = as_model(model, hidden)
    table = table_with_model(data, given.network, missing_as_state=missing_as_state, **reading)
    problem = build_problem(table, given.network, given.alpha)
    usable = applicable(chosen, problem)
    with on_threads(threads, listener) as executor:
        prepare(executor, given.network)
        refitted = learn(problem, options, start=given, executor=executor) if refit else None
        theta = refitted.model.theta if refitted else given.theta
        at = ScoreInput(
            problem,
            theta,
            effective_dimension(given.network) if rank else None,
            replace(options, starts=DEFAULT_STARTS),
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
