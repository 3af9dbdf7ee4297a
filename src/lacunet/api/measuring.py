"""The evidence itself, with an error bar: `log_evidence` and its bounds from both sides."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lacunet.api.checks import check_search
from lacunet.api.inputs import (
    Hidden,
    ModelLike,
    NetworkLike,
    as_model,
    table_for,
)
from lacunet.api.structure import table_and_structure
from lacunet.errors import OptionError
from lacunet.evidence.clock import Goal
from lacunet.evidence.measure import Measurement, Method, measure
from lacunet.evidence.prepare_sampling import prepare_sampling
from lacunet.evidence.sandwich import Sandwich, sandwich
from lacunet.executor import Executor, on_threads
from lacunet.inference.problem import Problem, build_problem
from lacunet.model.prior import Alpha, dirichlet
from lacunet.progress import Listener, ignore
from lacunet.search.calibration import best_few, measure_candidates
from lacunet.search.candidates import Selection


def check_method(method: str) -> Method:
    """Understand the name of a method."""
    try:
        return Method(method)
    except ValueError:
        raise OptionError(
            f"method '{method}' is not known. Choose from {', '.join(Method)}."
        ) from None


@dataclass(frozen=True)
class Measuring:
    """Whether a selection is to have the evidence itself: of all candidates, or of the best few."""

    every: bool = False
    best_few: bool = False
    target: float = Goal.target
    budget: float = Goal.budget

    def __post_init__(self) -> None:
        Goal(self.target, self.budget)

    def after(self, found: Selection, executor: Executor) -> Selection:
        """Measure what was asked for."""
        if not (self.every or self.best_few):
            return found
        labels = [c.label for c in found.candidates] if self.every else best_few(found)
        prepare_sampling(executor, *(c.proposal.network for c in found.candidates))
        return measure_candidates(
            found,
            labels,
            target=self.target,
            budget=self.budget,
            executor=executor,
        )


def log_evidence(
    data: object,
    states: int | None = None,
    *,
    network: NetworkLike | None = None,
    hidden: Hidden = (),
    alpha: Alpha = 1.0,
    method: str = "auto",
    target: float = 0.1,
    budget: float = 60.0,
    seed: int = 0,
    threads: int | None = None,
    listener: Listener = ignore,
    **reading: Any,
) -> Measurement:
    """Compute log p(D|S) itself, all labellings and empty states included, with an error bar.

    Parameters
    ----------
    data
        A table, or anything that `read_table` reads.
    states
        Number of classes of a latent class model.
    network, hidden
        Instead: a network (or the path of its file), and its hidden variables.
    alpha
        Prior, as for `select`; 1 is uniform.
    method
        'exact' (sum over all completions), 'smc' (particles that take in case after case), 'ais'
        (annealing from references at modes), or 'auto': the cheapest that does.
    target, budget
        Standard error to reach, in nats; seconds after which nothing new is begun.
    seed, threads
        The same seed gives the same numbers, for any number of threads, as long as the target is
        reached within the budget.
    listener
        Gets progress events.
    **reading
        `missing`, `weights`, `columns`, `exclude`, as for `read_table`.
    """
    chosen, goal = check_method(method), Goal(target, budget)
    check_search(alpha=alpha, seed=seed, threads=threads)
    table, structure = table_and_structure(data, states, network, hidden, **reading)
    problem = build_problem(table, structure, dirichlet(structure, alpha))
    with on_threads(threads, listener) as executor:
        prepare_sampling(executor, structure)
        goal = Goal(target, budget)  # the clock starts now
        return measure(problem, chosen, goal, seed=seed, executor=executor)


def log_evidence_bounds(
    data: object,
    model: ModelLike,
    *,
    hidden: Hidden = (),
    alpha: Alpha = 1.0,
    target: float = 0.1,
    budget: float = 60.0,
    seed: int = 0,
    threads: int | None = None,
    listener: Listener = ignore,
    **reading: Any,
) -> Sandwich:
    """Bound log p(D|S) of simulated data from both sides, given the model they came from.

    The model's parameters must have been drawn from the prior (alpha 1: `random_model` does that),
    and the data simulated from exactly them. Parameters as for `log_evidence`.
    """
    Goal(target, budget)
    check_search(alpha=alpha, seed=seed, threads=threads)
    given = as_model(model, hidden)
    table = table_for(data, given.network, **reading)
    problem: Problem = build_problem(table, given.network, dirichlet(given.network, alpha))
    with on_threads(threads, listener) as executor:
        prepare_sampling(executor, given.network)
        goal = Goal(target, budget)
        return sandwich(problem, given.theta, goal, seed=seed, executor=executor)
