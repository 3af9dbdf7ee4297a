"""The evidence itself, with an error bar: `log_evidence` and its bounds from both sides."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import Unpack

from lacunet import __version__
from lacunet.api.engine import at_work
from lacunet.api.inputs import (
    Hidden,
    KnowledgeLike,
    as_knowledge,
    as_model,
    check_unpredicted,
    table_for,
)
from lacunet.api.options import BoundOptions, EvidenceOptions, divide, with_options
from lacunet.api.structure import table_and_structure
from lacunet.data.sampling_design import flags_of
from lacunet.evidence.measure import measure
from lacunet.evidence.measurement import Measurement, Method
from lacunet.evidence.prepare_sampling import prepare_sampling
from lacunet.evidence.sandwich import Sandwich, sandwich
from lacunet.inference.devices.device import open_device
from lacunet.inference.problem import Problem, build_problem
from lacunet.models.holders import ModelLike, NetworkLike
from lacunet.models.prior import dirichlet
from lacunet.runtime.checkpoint import Kept
from lacunet.runtime.files import StrPath
from lacunet.runtime.progress import Listener, ignore
from lacunet.settings import Settings

UNIFORM = Settings(alpha=1.0)  # the prior for which most published evidence is


@with_options
def log_evidence(
    data: object,
    states: int | None = None,
    *,
    network: NetworkLike | None = None,
    hidden: Hidden = (),
    knowledge: KnowledgeLike | None = None,
    resume: StrPath | None = None,
    settings: Settings = UNIFORM,
    listener: Listener = ignore,
    **options: Unpack[EvidenceOptions],
) -> Measurement:
    """Compute log p(D|S) itself, all labellings and empty states included, with an error bar.

    The same seed gives the same numbers as long as the target is reached within the budget.

    Parameters
    ----------
    **data; states; network, hidden; knowledge
    resume
        A file that keeps what was sampled. If it is there, the work goes on from it, with the whole
        budget; it may be removed at the end.
    **options
    """
    settings, reading = divide(settings, options)
    table, structure = table_and_structure(data, states, network, hidden, reading, settings.numbers)
    structure = as_knowledge(knowledge).of(structure)
    problem = build_problem(table, structure, dirichlet(structure, settings.alpha))
    problem = problem.on(open_device(settings.options.device))
    with (
        at_work(settings, listener) as engine,
        closing(_kept(resume, problem, settings)) as kept,
    ):
        prepare_sampling(engine.executor, structure)
        found = measure(
            problem,
            Method(settings.method),
            settings.goal,
            seed=settings.seed,
            executor=engine.executor,
            kept=kept,
        )
    return replace(found, notes=(*found.notes, *flags_of(table.design)))


def _kept(resume: StrPath | None, problem: Problem, settings: Settings) -> Kept:
    """Open the file of work that may have been stopped; other work is refused."""
    if resume is None:
        return Kept()
    about = {"problem": problem.fingerprint, "version": __version__}
    asked = ("seed", "method", "target", "device")
    return Kept(resume, {**about, **{name: getattr(settings, name) for name in asked}})


@with_options
def log_evidence_bounds(
    data: object,
    model: ModelLike,
    *,
    hidden: Hidden = (),
    settings: Settings = UNIFORM,
    listener: Listener = ignore,
    **options: Unpack[BoundOptions],
) -> Sandwich:
    """Bound log p(D|S) of simulated data from both sides, given the model they came from.

    The model's parameters must have been drawn from the prior (alpha 1: `random_model` does that),
    and the data simulated from exactly them.

    Parameters
    ----------
    **data; model; hidden; options
    """
    settings, reading = divide(settings, options)
    given = check_unpredicted(as_model(model, hidden), "these bounds")
    table = table_for(data, given.network, reading)
    problem = build_problem(table, given.network, dirichlet(given.network, settings.alpha))
    problem = problem.on(open_device(settings.options.device))
    with at_work(settings, listener) as engine:
        prepare_sampling(engine.executor, given.network)
        goal, seed = settings.goal, settings.seed
        return sandwich(problem, given.theta, goal, seed=seed, executor=engine.executor)
