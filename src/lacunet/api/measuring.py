"""Measured evidence, likelihood-ratio tests, and missing values as states."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import Any

from lacunet import __version__
from lacunet.api.engine import at_work
from lacunet.api.inputs import (
    Hidden,
    KnowledgeLike,
    as_model,
    as_table,
    as_written,
    check_unpredicted,
    table_for,
    to_vary,
)
from lacunet.api.options import (
    LEARN,
    NUMBERS,
    READ,
    SAMPLE,
    WORK,
    ReadSettings,
    SettingsLike,
    divide,
    with_options,
)
from lacunet.api.structure import one_number, structured, table_and_structure
from lacunet.data.design import flags_of
from lacunet.data.table import Table
from lacunet.data.transform import missing_as_state as as_state
from lacunet.errors import OptionError
from lacunet.evidence.consistency import Sandwich, sandwich
from lacunet.evidence.estimate import Measurement, Method
from lacunet.evidence.measure import measure
from lacunet.evidence.smc import prepare_sampling
from lacunet.inference.devices.device import open_device
from lacunet.inference.problem import build_problem
from lacunet.models.ensemble import ModelLike, NetworkLike
from lacunet.models.network import Network
from lacunet.models.prior import PAPER_ALPHA, dirichlet
from lacunet.runtime.checkpoint import Checkpoint
from lacunet.runtime.files import StrPath
from lacunet.runtime.progress import Listener, ignore
from lacunet.selection.blrt import check_bounded
from lacunet.selection.comparing import latent_classes, sizes_of_hidden
from lacunet.selection.missing_comparison import ONE_SCORE, MissingComparison, compare_readings
from lacunet.settings import Settings
from lacunet.summaries.ratio_tests import REPLICATES, STARTS, RatioTest, ratio_test

UNIFORM = Settings(alpha=1.0)  # the prior of most published evidence


@with_options(*READ, *WORK, *NUMBERS, "alpha", "method", "device", *SAMPLE)
def log_evidence(
    data: object,
    states: int | None = None,
    *,
    network: NetworkLike | None = None,
    hidden: Hidden = (),
    knowledge: KnowledgeLike | None = None,
    resume: StrPath | None = None,
    settings: SettingsLike = UNIFORM,
    listener: Listener = ignore,
    **options: Any,
) -> Measurement:
    """Compute log p(D|S), summed over all labellings and empty states, with a standard error.

    The same seed gives the same numbers if the target is reached within the budget.

    Parameters
    ----------
    data, states, network, hidden, knowledge
        As for `fit`.
    resume
        Checkpoint file of the samples. If it exists, sampling resumes from it with the whole
        budget. You may remove it at the end.
    settings, listener, **options
        By name, as alpha, method, target, budget, seed, threads, or as objects; see `select`.
    """
    settings, reading = divide(settings, options)
    table, structure = table_and_structure(
        data, states, reading, settings, network, hidden, knowledge=knowledge
    )
    problem = build_problem(table, structure, dirichlet(structure, settings.alpha))
    problem = problem.on(open_device(settings.options.device))
    about = {name: getattr(settings, name) for name in ("seed", "method", "target", "device")}
    if resume:
        about |= {"problem": problem.fingerprint, "version": __version__}
    checkpoint = Checkpoint(resume, about)
    with at_work(settings, listener) as engine, closing(checkpoint):
        prepare_sampling(engine.executor, structure)
        measurement = measure(
            problem,
            Method(settings.method),
            settings.goal,
            seed=settings.seed,
            executor=engine.executor,
            checkpoint=checkpoint,
        )
    return replace(measurement, notes=(*measurement.notes, *flags_of(table.design)))


@with_options(*READ, *WORK, "alpha", "device", *SAMPLE)
def log_evidence_bounds(
    data: object,
    model: ModelLike,
    *,
    hidden: Hidden = (),
    settings: SettingsLike = UNIFORM,
    listener: Listener = ignore,
    **options: Any,
) -> Sandwich:
    """Bound log p(D|S) of simulated data from both sides, given the model that simulated them.

    The parameters of the model must be a draw from the prior (alpha 1: `random_model`), and the
    data must be simulated from exactly these parameters.

    Parameters
    ----------
    data
        A table, or anything that `read_table` reads.
    model
        A model, or the path of its file.
    hidden
        Hidden variables, besides those of the model.
    settings, listener, **options
        By name, as alpha, target, budget, seed, threads, or as objects; see `select`.
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


# Few starts for real and simulated data alike; ML fits have no prior.
BOOTSTRAP = Settings(estimate="ml", starts=STARTS)


@with_options(*READ, *WORK, "kinds", "starts", "schedule")
def likelihood_ratio_test(
    data: object,
    states: int,
    *,
    network: NetworkLike | None = None,
    hidden: Hidden = (),
    replicates: int = REPLICATES,
    stop_after: int | None = None,
    settings: SettingsLike = BOOTSTRAP,
    listener: Listener = ignore,
    **options: Any,
) -> RatioTest:
    """Test `states` hidden states against one more, by the parametric bootstrap of ML fits.

    Parameters
    ----------
    data
        A table, or anything that `read_table` reads. Weights must be whole numbers. Columns may be
        categories, counts or ordered answers; continuous likelihoods have no maximum.
    states
        The number k that is tested; the alternative is k + 1.
    network, hidden
        A network and its hidden variable, whose states are tested (default: a latent class model).
    replicates
        Data sets to simulate from the fit with k states, with the missing cells of the real data.
    stop_after
        Stop when so many of them reach the statistic of the real data.
    settings, listener, **options
        By name, as starts, seed, threads, weights, or as objects; see `select`.

    Examples
    --------
    >>> import lacunet
    >>> table = lacunet.load_dataset("values")
    >>> lacunet.likelihood_ratio_test(table, 1, replicates=19, starts=4).p_value
    0.05
    """
    k = one_number(states)
    if k < 1:
        raise OptionError(f"{k} hidden states: there must be at least 1.")
    settings, reading = divide(settings, options)
    settings = replace(settings, estimate="ml")
    if network is None:
        table = as_table(data, reading, numbers=True)
        small, large = (p.network for p in latent_classes(table, [k, k + 1]))
    else:
        read = structured(data, network, hidden, reading, settings.numbers)
        table, structure = read.table, read.network
        name = tested_variable(structure, read.hidden)
        small, large = (p.network for p in sizes_of_hidden(structure, {name: [k, k + 1]}, table))
    check_bounded(small)
    # ML fits ignore the prior.
    null, wider = (build_problem(table, n, dirichlet(n, PAPER_ALPHA)) for n in (small, large))
    with at_work(settings, listener, small) as engine:
        search, executor = settings.options, engine.executor
        return ratio_test(null, wider, search, replicates, stop_after=stop_after, executor=executor)


def tested_variable(structure: Network, hidden: Hidden) -> str:
    """Give the hidden variable that is tested; refuse several."""
    names = to_vary(structure, hidden)
    if len(names) > 1:
        raise OptionError(
            f"{len(names)} hidden variables without a number of states: {', '.join(names)}. "
            "A test is about one: give the others theirs, as in --hidden NAME=STATES."
        )
    return names[0]


@with_options(*READ)
def missing_as_state(data: object, **options: Any) -> Table:
    """Recode missing cells as one more state, '(missing)', of every column that has some.

    The evidence of the two tables is not comparable, because the new one includes which cells are
    missing. `compare_missing` compares the two.

    Parameters
    ----------
    data
        Anything that `read_table` reads, or a table.
    **options
        As for `read_table`.

    Examples
    --------
    >>> import numpy as np
    >>> table = missing_as_state(np.array([[0.0, 1.0], [1.0, np.nan], [np.nan, 0.0]]))
    >>> [column.states for column in table.columns]
    [(0, 1, '(missing)'), (0, 1, '(missing)')]
    """
    return as_state(as_written(data, ReadSettings(**options), numbers=isinstance(data, Table)))


@with_options(*LEARN, "scores")
def compare_missing(
    data: object,
    states: int | None = None,
    *,
    network: NetworkLike | None = None,
    hidden: Hidden = (),
    both_ways: bool = False,
    settings: SettingsLike = ONE_SCORE,
    listener: Listener = ignore,
    **options: Any,
) -> MissingComparison:
    """Compute the Bayes factor of informative missingness, overall and by column.

    Both hypotheses are models of the values *and* of the missingness. At random, a cell of a column
    is missing with the same probability in every class; as an answer, with one for each class.

    Parameters
    ----------
    data
        A table with missing cells, or anything that `read_table` reads.
    states
        Number of classes of a latent class model, at least 2.
    network, hidden
        Instead: a network with one hidden variable.
    both_ways
        Also compare each column when the missingness of all others depends on the classes.
    settings, listener, **options
        By name, as alpha, starts, seed, threads, scores, or as objects; see `select`.
    """
    settings, reading = divide(settings, options)
    table, structure = table_and_structure(
        data, states, reading, settings, network, hidden, numbers=False
    )
    with at_work(settings, listener, structure) as engine:
        return compare_readings(
            table, structure, settings, both_ways=both_ways, executor=engine.executor
        )
