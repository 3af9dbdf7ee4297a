"""Model selection: numbers of hidden states, or whole structures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any, NamedTuple

from lacunet import __version__
from lacunet.api.engine import at_work, in_cluster, placed_on
from lacunet.api.inputs import (
    Hidden,
    KnowledgeLike,
    as_sizes,
    as_table,
    to_vary,
)
from lacunet.api.options import (
    AS_USUAL,
    COMPARE,
    SELECT,
    ReadSettings,
    SettingsLike,
    divide,
    with_options,
)
from lacunet.api.structure import (
    EdgesLike,
    check_no_edges,
    constrained,
    structured,
    structures,
    whole_numbers,
)
from lacunet.data.table import Table
from lacunet.errors import OptionError
from lacunet.models.ensemble import NetworkLike
from lacunet.models.latent_class import read_edges
from lacunet.models.network import Network
from lacunet.models.number_prior import NumberPrior
from lacunet.models.prior import AVERAGE
from lacunet.runtime.checkpoint import Checkpoint, fingerprint
from lacunet.runtime.files import StrPath
from lacunet.runtime.progress import Listener, ignore
from lacunet.scores import not_defined
from lacunet.selection.average import FIRST, FURTHER, PriorLike
from lacunet.selection.blrt import check_drawn, with_one_less, with_ratio_tests
from lacunet.selection.candidates import Proposal
from lacunet.selection.comparing import compare as compare_candidates
from lacunet.selection.comparing import ends_worth, latent_classes, sizes_of_hidden
from lacunet.selection.misfit import misfit_of
from lacunet.selection.result import Selection
from lacunet.settings import DEFAULTS, Settings

AVERAGED = Settings(alpha=AVERAGE)
BOOTSTRAP_FROM = 0.2  # share of the work before the bootstrap tests


@with_options(*SELECT)
def select(
    data: object,
    states: int | Iterable[int] | None = None,
    *,
    network: NetworkLike | None = None,
    hidden: Hidden = (),
    prior: PriorLike = None,
    knowledge: KnowledgeLike | None = None,
    edges: EdgesLike = (),
    resume: StrPath | None = None,
    settings: SettingsLike = AVERAGED,
    listener: Listener = ignore,
    **options: Any,
) -> Selection:
    """Find the most probable number of hidden states of a latent class model or a network.

    Parameters
    ----------
    data
        A table, or anything that `read_table` reads.
    states
        Numbers of hidden states to try. If the largest is best, the answer is "at least" that
        number. None: 1 to 8, and more (up to 32) while their probability is above 0.05. A range of
        more than 24 ends where the evidence has fallen far, unless `prior` has weights or
        `whole_range`.
    alpha, starts, seed, threads, weights, missing
        Prior, random starts of EM, seed, threads (default: one per core; they change no number);
        column of row weights, and markers of a missing cell.
    scores, quick, evidence, target, budget
        Scores to compute; use scores alone; measure the evidence of every candidate, to this
        standard error in nats, at most for this time.
    network, hidden
        A network (or the path of its file, or a graph as a text) and its hidden variables. Those
        without a number of states get all of `states`, several in every combination.
    prior
        Weights of the candidates, by label (default: equal); or the name of a prior of the
        number of classes: uniform, bnb (BNB(1, 4, 3) of the number less one), geometric:0.1.
    knowledge
        Constraints on the tables: a `Knowledge`, or the path of its JSON file.
    edges
        Direct effects between items of a latent class model: 'PARENT:CHILD', or pairs of names.
    resume
        Checkpoint file. If it exists, the run resumes from it.
    settings, **options
        All other settings by name: the fields of `ReadSettings`, `SearchSettings`,
        `EvidenceSettings` and `ComputeSettings`, whose `help` lists them. Names of scikit-learn,
        as n_init, are accepted. Or as `settings`: an object of one of these classes, a list of
        several, or a `Settings` with everything; options given by name take precedence.
    listener
        Receives progress events. Without one, notebooks show progress after two seconds.
    """
    settings, reading = divide(settings, options)
    with in_cluster(settings) as settings:
        models = network, hidden, edges
        candidates = _candidates(data, states, models, prior, settings, reading)
        return _compared(candidates, knowledge, prior, resume, settings, listener)


class Candidates(NamedTuple):
    """Candidates of a selection."""

    table: Table
    tried: list[Proposal]
    below: Sequence[Proposal] = ()  # networks for bootstrap tests alone
    open_ended: bool = False  # whether larger numbers are tried while they are probable


def _candidates(
    data: object,
    states: int | Iterable[int] | None,
    models: tuple[NetworkLike | None, Hidden, EdgesLike],
    prior: PriorLike,
    settings: Settings,
    reading: ReadSettings,
) -> Candidates:
    open_ended = states is None and not isinstance(prior, Mapping)
    numbers = list(range(1, FIRST + 1)) if states is None else whole_numbers(states)
    if all(s.only_exact for s in settings.chosen_scores) and any(k > 1 for k in numbers):
        raise not_defined(settings.chosen_scores)
    wanted = numbers if not settings.blrt else with_one_less(numbers)
    table, given = proposed(data, wanted, *models, reading, settings.numbers)
    open_ended = open_ended and all(isinstance(p.label, int) for p in given)
    if open_ended and (further := [*range(FIRST + 1, ends_worth(table, FURTHER[-1])[-1] + 1)]):
        given += proposed(table, further, *models, AS_USUAL, settings.numbers)[1]
        numbers += further
    if settings.blrt:
        check_drawn(table, given)
    below = [p for p in given if isinstance(p.label, int) and p.label not in numbers]
    return Candidates(table, [p for p in given if p not in below], below, open_ended)


@with_options(*COMPARE)
def compare(
    data: object,
    networks: Sequence[NetworkLike] | Mapping[str, NetworkLike],
    *,
    hidden: Hidden = (),
    prior: PriorLike = None,
    knowledge: KnowledgeLike | None = None,
    resume: StrPath | None = None,
    settings: SettingsLike = DEFAULTS,
    listener: Listener = ignore,
    **options: Any,
) -> Selection:
    """Rank whole structures by each score; all parameters are learned from the data.

    Parameters
    ----------
    data
        A table, or anything that `read_table` reads.
    networks
        Networks or the paths of their files, perhaps by name. All must have the same observed
        variables, because evidence of different data is not comparable.
    hidden
        Hidden variables, perhaps with numbers of states. A network without one of them ignores it.
    prior
        Weights of the candidates, by label (default: equal).
    knowledge, resume, settings, listener, **options
        As for `select`.
    """
    settings, reading = divide(settings, options)
    with in_cluster(settings) as settings:
        given = structures(data, networks, hidden, reading, settings.numbers)
        return _compared(Candidates(*given), knowledge, prior, resume, settings, listener)


def proposed(
    data: object,
    numbers: Sequence[int],
    network: NetworkLike | None,
    hidden: Hidden,
    edges: EdgesLike,
    reading: ReadSettings,
    prior: NumberPrior,
) -> tuple[Table, list[Proposal]]:
    """Read the table, and build a candidate for each number of states."""
    if network is None:
        if as_sizes(hidden):
            raise OptionError("hidden variables are named, but no network. Give the network too.")
        table = as_table(data, reading, numbers=True)
        return table, list(latent_classes(table, numbers, prior, read_edges(edges)))
    check_no_edges(edges)
    read = structured(data, network, hidden, reading, prior)
    varied = dict.fromkeys(to_vary(read.network, read.hidden), numbers)
    return read.table, list(sizes_of_hidden(read.network, varied, read.table))


def with_constraints(
    table: Table,
    proposals: Sequence[Proposal],
    knowledge: KnowledgeLike | None,
    settings: Settings,
) -> tuple[Table, list[Proposal]]:
    """Apply constraints on tables, and the coding of missing cells, to candidates."""
    table, networks = constrained(table, [p.network for p in proposals], knowledge, settings)
    return table, [replace(p, network=n) for p, n in zip(proposals, networks, strict=True)]


def _compared(
    given: Candidates,
    knowledge: KnowledgeLike | None,
    prior: PriorLike,
    resume: StrPath | None,
    settings: Settings,
    listener: Listener,
) -> Selection:
    """Compare candidates, with alternatives to the chosen classes and bootstrap tests."""
    every = [*given.tried, *given.below]
    table, every = with_constraints(given.table, every, knowledge, settings)
    tried = every[: len(given.tried)]
    networks = [p.network for p in tried]
    about = _about(table, networks, settings, prior, given.open_ended) if resume else None
    with (
        at_work(settings, listener, *networks) as engine,
        closing(Checkpoint(resume, about)) as checkpoint,
    ):
        executor = engine.executor.part(0.0, BOOTSTRAP_FROM if settings.blrt else 1.0)
        selection = compare_candidates(
            placed_on(table, engine),
            tried,
            settings,
            prior=prior,
            sensitivity=True,
            open_ended=given.open_ended,
            executor=executor,
            checkpoint=checkpoint,
        )
        selection = replace(selection, misfit=misfit_of(selection, settings.numbers, executor))
        if settings.blrt:
            drawing = engine.executor.part(BOOTSTRAP_FROM, 1.0)
            selection = with_ratio_tests(selection, table, every, settings, drawing, checkpoint)
    return selection


def _about(
    table: Table,
    networks: Sequence[Network],
    settings: Settings,
    prior: PriorLike,
    open_ended: bool,
) -> dict[str, str]:
    """Identify the computation that a checkpoint belongs to."""
    usual = {n: getattr(DEFAULTS, n) for n in ("budget", "threads", "cluster", "workers")}
    return {
        "data": table.fingerprint,
        "candidates": fingerprint(*(network.fingerprint for network in networks)),
        "settings": fingerprint(replace(settings, **usual)),  # these change no number
        "prior": fingerprint(prior, open_ended),
        "version": __version__,
    }
