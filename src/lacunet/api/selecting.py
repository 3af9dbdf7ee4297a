"""Choose among candidates: numbers of hidden states, or whole structures.

Tables for a paper, of a selection or of a fit.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from lacunet import __version__
from lacunet.api.engine import (
    at_work,
    bootstrap_search,
    check_drawn,
    held_by,
    in_cluster,
    with_one_less,
)
from lacunet.api.inputs import (
    Hidden,
    KnowledgeLike,
    as_knowledge,
    as_network,
    as_sizes,
    as_table,
    listed,
    observed_columns,
    to_vary,
)
from lacunet.api.missing import with_answers
from lacunet.api.options import (
    AS_USUAL,
    COMPARE,
    SELECT,
    ReadSettings,
    SettingsLike,
    divide,
    with_options,
)
from lacunet.api.structure import EdgesLike, as_sketch, check_no_edges, structured, whole_numbers
from lacunet.data.table import Table
from lacunet.errors import ModelError, OptionError
from lacunet.fitting.fit import Fit
from lacunet.fitting.prepare import prepare
from lacunet.models.ensemble import NetworkLike, check_kind
from lacunet.models.equivalence import GraphSketch, is_sketch
from lacunet.models.latent_class import find_classes, read_edges
from lacunet.models.network import Network
from lacunet.models.number_prior import NumberPrior
from lacunet.models.prior import AVERAGE, base_alpha, prior_grid
from lacunet.runtime.checkpoint import Kept, fingerprint
from lacunet.runtime.executor import Executor
from lacunet.runtime.files import StrPath
from lacunet.runtime.progress import Listener, ignore
from lacunet.scores import not_defined
from lacunet.selection.average import FIRST, FURTHER, PriorLike, understood_prior
from lacunet.selection.candidates import Proposal, Selection
from lacunet.selection.evaluating import (
    Followed,
    ends_worth,
    evaluate,
    follow,
    latent_classes,
    lengthened,
    sizes_of_hidden,
)
from lacunet.selection.explanations import best_few, ratio_tests
from lacunet.selection.joint_evidence import with_priors
from lacunet.selection.measuring import by_measurements, measure_each, measure_posterior, quick
from lacunet.selection.misfit import misfit_of
from lacunet.selection.paper_tables import FitTable, PaperTables, selection_criteria
from lacunet.settings import DEFAULTS, Settings
from lacunet.summaries.intervals import Intervals, check_intervals, hessian_intervals, no_intervals
from lacunet.summaries.profiles import ItemTable, check_items, item_table
from lacunet.summaries.ratio_tests import RatioTest

AVERAGED = Settings(alpha=AVERAGE)


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
    """Find the most probable number of hidden states: of a latent class model, or of a network.

    Parameters
    ----------
    data
        A table, or anything that `read_table` reads.
    states
        Numbers of hidden states to try; the answer is "at least" the largest if that is the best.
        None: 1 to 8, and more (up to 32) while these have a probability above 0.05; several hidden
        variables 1 to 8 each. A range of more than 24 ends where the evidence has fallen far and
        falls still, unless there are weights of the candidates.
    alpha, starts, seed, threads
        Prior, random starts of EM, seed, and threads (default: one per core; no number depends on
        them).
    scores, quick, evidence, target, budget
        Scores to compute; go by scores alone; measure the evidence of every candidate; the standard
        error to reach, in nats, and the time after which nothing new is sampled.
    weights, missing
        Column of row weights; values that stand for a missing cell.
    network
        A network (or the path of its file) with hidden variables; without it, a latent class model.
    hidden
        Hidden variables of the network. Those without a number of states are tried with all of
        `states`, several of them in every combination. If none is named, those of the network.
    prior
        Weights of the candidates, by label (default: all the same); or the name of a prior of the
        number of classes: uniform, bnb (BNB(1, 4, 3) of the number less one; or bnb:1,4,3),
        geometric:0.1.
    knowledge
        What is known of the tables (and of the edges): a `Knowledge`, or the path of its JSON file.
        Fixed tables are not learned, tied ones together, zeros stay zero.
    edges
        Direct effects between answers of a latent class model, beside their class: 'PARENT:CHILD',
        or pairs of names.
    resume
        A file that keeps what is done. If it is there, the work goes on from it; it may be removed
        at the end.
    **options
        These and all other settings by name: the fields of `ReadSettings` (how the table is read),
        `SearchSettings` (prior and search), `EvidenceSettings` (scores and evidence) and
        `ComputeSettings` (threads, cluster, device). `help` of these classes lists them with their
        meanings; names of scikit-learn, as n_init and random_state, are understood.
    settings
        The same as objects: one of these classes, several in a list, or a `Settings` with
        everything. Options that are named beside it count first.
    listener
        Gets progress events. Without one, notebooks show them after two seconds of work.
    """
    settings, reading = divide(settings, options)
    open_ended = states is None and not isinstance(prior, Mapping)
    numbers = list(range(1, FIRST + 1)) if states is None else whole_numbers(states)
    if all(s.only_exact for s in settings.chosen_scores) and any(k > 1 for k in numbers):
        raise not_defined(settings.chosen_scores)
    wanted = numbers if not settings.blrt else with_one_less(numbers)
    with in_cluster(settings) as settings:
        table, given = proposed(data, wanted, network, hidden, edges, reading, settings.numbers)
        open_ended = open_ended and all(isinstance(p.label, int) for p in given)
        if open_ended:
            further = list(range(FIRST + 1, ends_worth(table, FURTHER[-1])[-1] + 1))
            how = network, hidden, edges, AS_USUAL, settings.numbers
            given += proposed(table, further, *how)[1] if further else []
            numbers += further
        if settings.blrt:
            check_drawn(table, given)
        proposals = told(given, knowledge)
        below = [p for p in proposals if isinstance(p.label, int) and p.label not in numbers]
        proposals = [p for p in proposals if p not in below]
        over = below, open_ended
        return _evaluate(table, proposals, prior, resume, settings, listener, *over)


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
    """Rank whole structures by each score; all learn anew.

    Parameters
    ----------
    data
        A table, or anything that `read_table` reads.
    networks
        Networks or the paths of their files, perhaps by name. All must have the same observed
        variables: evidence of different data cannot be compared.
    hidden
        Hidden variables, perhaps with numbers of states; those that a network does not have are
        left alone.
    prior
        Weights of the candidates, by label (default: all the same); or the name of a prior of the
        number of classes: uniform, bnb (BNB(1, 4, 3) of the number less one; or bnb:1,4,3),
        geometric:0.1.
    knowledge
        What is known of the tables (and of the edges): a `Knowledge`, or the path of its JSON file.
        Fixed tables are not learned, tied ones together, zeros stay zero.
    resume
        A file that keeps what is done. If it is there, the work goes on from it; it may be removed
        at the end.
    settings, listener, **options
        Settings by name, as alpha, starts, seed, threads, scores, quick, evidence, or as objects of
        `ReadSettings`, `SearchSettings`, `EvidenceSettings` and `ComputeSettings`; see `select`.
    """
    settings, reading = divide(settings, options)
    with in_cluster(settings) as settings:
        table, proposals = structures(data, networks, hidden, reading, settings.numbers)
        return _evaluate(table, told(proposals, knowledge), prior, resume, settings, listener)


def proposed(
    data: object,
    numbers: Sequence[int],
    network: NetworkLike | None,
    hidden: Hidden,
    edges: EdgesLike,
    reading: ReadSettings,
    prior: NumberPrior,
) -> tuple[Table, list[Proposal]]:
    """Read the table, and give a candidate for each number of states."""
    if network is None:
        if as_sizes(hidden):
            raise OptionError("hidden variables are named, but no network. Give the network too.")
        table = as_table(data, reading, numbers=True)
        return table, list(latent_classes(table, numbers, prior, read_edges(edges)))
    check_no_edges(edges)
    found = structured(data, network, hidden, reading, prior)
    varied = dict.fromkeys(to_vary(found.network, found.hidden), numbers)
    return found.table, list(sizes_of_hidden(found.network, varied, found.table))


def told(proposals: Sequence[Proposal], knowledge: KnowledgeLike | None) -> list[Proposal]:
    """Tell every candidate what is known of its tables."""
    known = as_knowledge(knowledge)
    return [replace(p, network=known.of(p.network)) for p in proposals]


def structures(
    data: object,
    networks: Sequence[NetworkLike] | Mapping[str, NetworkLike],
    hidden: Hidden,
    reading: ReadSettings,
    numbers: NumberPrior,
) -> tuple[Table, list[Proposal]]:
    """Name the structures, read the table for them, and check that they are about the same data."""
    if isinstance(networks, str) or not isinstance(networks, Mapping | Sequence):
        raise OptionError("compare takes several networks. Give a list, or a mapping of names.")
    if not networks:
        raise OptionError("no network to compare. Give two or more.")
    named = _named(networks)
    sizes = as_sizes(hidden)
    plain = [(name, as_sketch(given) or as_network(given)) for name, given in named]
    known = {name for _, given in plain for name in _variables(given)}
    for name in sizes:
        if name not in known:
            raise ModelError(f"'{name}' is not a variable of any of the networks.")
    # One with tables says which states there are; a graph alone takes those of the data.
    told = next((given for _, given in plain if isinstance(given, Network)), plain[0][1])
    table = structured(data, told, _own(sizes, told), reading, numbers).table
    found = []
    for name, given in plain:
        own = structured(table, given, _own(sizes, given), None, numbers)
        found.append(Proposal(name, own.settled(None), {}))
    first = {c.name: c.labels for c in observed_columns(found[0].network)}
    for other in found[1:]:
        columns = {c.name: c.labels for c in observed_columns(other.network)}
        if columns != first:
            differ = sorted(n for n in {*first, *columns} if first.get(n) != columns.get(n))
            raise ModelError(
                f"'{found[0].label}' and '{other.label}' differ in their observed variables: "
                f"{listed(differ)}. Evidence can be compared only for the same data: declare what "
                "no column shows with --hidden, or make the states the same."
            )
    return table, found


def _named(
    networks: Sequence[NetworkLike] | Mapping[str, NetworkLike],
) -> list[tuple[str, NetworkLike]]:
    """Give structures their names: those of their files, or the graph itself."""
    if isinstance(networks, Mapping):
        return list(networks.items())
    named = [
        (_name(os.fspath(n)) if isinstance(n, str | os.PathLike) else f"network {i}", n)
        for i, n in enumerate(networks, start=1)
    ]
    names = [name for name, _ in named]
    if len(set(names)) < len(names):  # files of one name in several folders
        return [(f"{i}: {name}", n) for i, (name, n) in enumerate(named, start=1)]
    return named


def _name(text: str) -> str:
    return " ".join(text.split()) if is_sketch(text) else Path(text).name


def _variables(given: Network | GraphSketch) -> list[str]:
    return (
        list(given.names) if isinstance(given, GraphSketch) else [v.name for v in given.variables]
    )


def _own(sizes: Mapping[str, int | None], given: Network | GraphSketch) -> dict[str, int | None]:
    """What is said of the hidden variables that a structure has."""
    return {name: k for name, k in sizes.items() if name in _variables(given)}


def _evaluate(
    table: Table,
    proposals: Sequence[Proposal],
    prior: PriorLike,
    resume: StrPath | None,
    settings: Settings,
    listener: Listener,
    below: Sequence[Proposal] = (),
    open_ended: bool = False,
) -> Selection:
    """Fit, score and measure; `below` are networks for tests alone.

    An open-ended range is followed while more are probable.
    """
    named = understood_prior(prior, [p.sizes for p in proposals])
    if settings.missing_as_state:
        every = [*proposals, *below]
        table, answered = with_answers(table, *(p.network for p in every))
        every = [replace(p, network=n) for p, n in zip(every, answered, strict=True)]
        proposals, below = every[: len(proposals)], every[len(proposals) :]
    networks = [p.network for p in proposals]
    about = _about(table, networks, settings, prior, open_ended) if resume else None
    grid = prior_grid(settings.alpha, networks[0])
    settings = replace(settings, alpha=base_alpha(settings.alpha))
    with (
        at_work(settings, listener) as engine,
        closing(Kept(resume, about)) as kept,
    ):
        executor = engine.executor.part(0.0, DRAWN_FROM if settings.blrt else 1.0)
        prepare(executor, *networks)
        held, followed = held_by(table, engine), Followed(tuple(proposals))
        if not (open_ended or isinstance(prior, Mapping) or settings.whole_range):
            followed = follow(held, proposals, settings.options, settings.alpha, executor, kept)

        given = prior if isinstance(prior, Mapping) else None

        def fit(some: Sequence[Proposal]) -> Selection:
            sizes = {p.label: tuple(p.sizes.values()) for p in some}
            tried = evaluate(
                held,
                some,
                scores=settings.chosen_scores,
                options=settings.options,
                alpha=settings.alpha,
                prior=given if named is None else named.over(sizes),
                rank=settings.rank,
                executor=executor,
                kept=kept,
            )
            return replace(tried, named_prior=named, grid=grid)

        def measure(tried: Selection) -> Selection:
            return with_priors(as_sure_as_asked(tried, settings, executor, kept), executor)

        if open_ended:
            found = lengthened(held, proposals, fit, measure)
        else:
            found = measure(fit(followed.proposals))
        misfit = misfit_of(found, settings.numbers, executor)
        drawing = engine.executor.part(DRAWN_FROM, 1.0)
        tests = _tested(table, [*followed.proposals, *below], found, settings, drawing, kept)
        return replace(found, reach=followed.reach, ratio_tests=tests, misfit=misfit)


def _tested(
    table: Table,
    proposals: Sequence[Proposal],
    found: Selection,
    settings: Settings,
    executor: Executor,
    kept: Kept,
) -> dict[int, RatioTest]:
    """Test each number of states against one less, if asked to."""
    if not settings.blrt:
        return {}
    networks = {p.label: p.network for p in proposals if isinstance(p.label, int)}
    numbers = [c.label for c in found.candidates if isinstance(c.label, int)]
    search = bootstrap_search(settings)
    return ratio_tests(table, networks, numbers, search, settings.blrt, executor, kept)


DRAWN_FROM = 0.2  # of the work is done before bootstrap tests begin, about
# Who does the work, where nothing is said.
WHO: dict[str, Any] = {"threads": None, "cluster": None, "workers": None}


def _about(
    table: Table,
    networks: Sequence[Network],
    settings: Settings,
    prior: PriorLike,
    open_ended: bool,
) -> dict[str, str]:
    """Say which work it is: no other may go on from its file."""
    how = replace(settings, budget=DEFAULTS.budget, **WHO)  # these change no number
    return {
        "data": table.fingerprint,
        "candidates": fingerprint(*(network.fingerprint for network in networks)),
        "settings": fingerprint(how),
        "prior": fingerprint(prior, open_ended),
        "version": __version__,
    }


def as_sure_as_asked(
    found: Selection, settings: Settings, executor: Executor, kept: Kept
) -> Selection:
    """Say how sure the choice is: as far as that is asked for, measured."""
    labels = [c.label for c in found.candidates]
    goal = settings.goal
    if settings.evidence:
        return by_measurements(measure_each(found, labels, goal=goal, executor=executor, kept=kept))
    if settings.quick:
        found = quick(found)
    else:
        found = measure_posterior(found, goal=goal, executor=executor, kept=kept)
    if not settings.calibrate:
        return found
    open_ = [c.label for c in found.candidates if c.measured is None]
    few = [label for label in best_few(found) if label in open_]
    found = measure_each(found, few, goal=goal, executor=executor, kept=kept)
    return by_measurements(found) if len(few) == len(labels) else found


def paper_tables(found: object, intervals: Intervals | None = None) -> PaperTables:
    """Give the tables that papers about latent classes print; `write_tables` writes them.

    Of a selection: every number of classes with its log-likelihood, number of parameters, AIC, BIC,
    SABIC, entropy R², smallest class, log evidence and probability. Of its answer, or of a fit:
    class sizes and items by class, with standard errors in parentheses.

    Parameters
    ----------
    found
        What `select`, `compare` or `fit` returned, or a fitted estimator.
    intervals
        Standard errors that `intervals` gave, by the bootstrap for example (default: from the
        observed information).

    Examples
    --------
    >>> import lacunet
    >>> fit = lacunet.fit(lacunet.load_dataset("carcinoma"), 2)
    >>> lacunet.paper_tables(fit).items.grids()[0].rows[0]
    ('class size', '', '0.501 (0.046)', '0.499 (0.046)')
    """
    for name in ("selection_", "fit_"):  # of estimators
        found = getattr(found, name, found)
    if isinstance(found, Selection):
        fits = FitTable(selection_criteria(found))
        return PaperTables(fits, None if found.label is None else _items(found.best.fit, intervals))
    told = "what select(), compare() or fit() returned"
    fit = check_kind(found, Fit, "selection and no fit", told)
    check_items(fit.model.network)
    return PaperTables(None, _items(fit, intervals))


def _items(fit: Fit, intervals: Intervals | None) -> ItemTable | None:
    if find_classes(fit.model.network) is None:
        return None
    if intervals is None:
        try:
            intervals = hessian_intervals(fit.problem, fit.model, fit.estimate)
        except ModelError as error:  # a search that ended early: estimates are still worth a table
            intervals = no_intervals(fit.model, fit.estimate, f"No standard errors: {error}")
    else:
        check_intervals(intervals, fit.model)
    return item_table(intervals)
