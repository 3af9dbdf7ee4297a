"""Choose among candidates: numbers of hidden states, or whole structures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lacunet.api.checks import (
    check_dimension,
    check_scores,
    check_search,
    whole_numbers,
)
from lacunet.api.inputs import (
    Hidden,
    NetworkLike,
    as_network,
    as_sizes,
    as_table,
    listed,
    observed_columns,
    table_for,
    to_vary,
)
from lacunet.api.measuring import Measuring
from lacunet.api.missing import (
    proposals_with_answers,
)
from lacunet.data import Table
from lacunet.errors import ModelError, OptionError
from lacunet.evidence.clock import Goal
from lacunet.executor import on_threads
from lacunet.learn.fit import DEFAULT_STARTS
from lacunet.learn.prepare import prepare
from lacunet.model.network import Model, Network
from lacunet.model.prior import PAPER_ALPHA, Alpha
from lacunet.progress import Listener, ignore
from lacunet.scores import choose_scores
from lacunet.search.average import Label
from lacunet.search.candidates import Proposal, Selection, evaluate
from lacunet.search.proposals import latent_classes, sizes_of_hidden


def select(
    data: object,
    states: int | Iterable[int] = range(1, 9),
    *,
    network: NetworkLike | None = None,
    hidden: Hidden = (),
    scores: str | Sequence[str] = "usual",
    estimate: str = "map",
    alpha: Alpha = PAPER_ALPHA,
    starts: int = DEFAULT_STARTS,
    schedule: str = "default",
    seed: int = 0,
    threads: int | None = None,
    dimension: str = "parameters",
    prior: Mapping[Label, float] | None = None,
    missing_as_state: bool = False,
    evidence: bool = False,
    calibrate: bool = False,
    target: float = Goal.target,
    budget: float = Goal.budget,
    listener: Listener = ignore,
    **reading: Any,
) -> Selection:
    """Find the most probable number of hidden states: of a latent class model, or of a network.

    Parameters
    ----------
    data
        A table, or anything that `read_table` reads.
    states
        Numbers of hidden states to try.
    network
        A network (or the path of its file) with hidden variables; without it, a latent class model.
    hidden
        Hidden variables of the network. Those without a number of states are tried with all of
        `states`, several of them in every combination. If none is named, those of the network.
    scores
        Names of scores; 'usual', or 'all' (some of which fit more models, or sample).
    estimate
        Parameters at which the scores are taken: 'map' (as the paper) or 'ml'.
    alpha
        Prior: a Dirichlet exponent, 'k2', 'bdeu:SIZE', or a table for each family.
    starts, schedule, seed
        How to search: random starts; 'default', 'thorough', 'mass' (all to a true maximum) or
        'paper' (as CH96 did); the seed.
    threads
        Threads to use (default: one per core). The numbers do not depend on it.
    dimension
        What counts as d: 'parameters', or the 'rank' of the observable distribution's Jacobian.
    prior
        Weights of the candidates (default: all the same).
    missing_as_state
        Treat a hole as a state of its own, '(missing)'. Its evidence is about other data than that
        of the table with holes: see `compare_missing`.
    evidence, calibrate
        Measure the evidence itself, with error bars: of every candidate, which then decides; or of
        the best few, to see how far each score is from it.
    target, budget
        Standard error to reach (nats) and seconds to spend, for each evidence that is measured.
    listener
        Gets progress events.
    **reading
        `missing`, `weights`, `columns`, `exclude`, as for `read_table`.
    """
    measuring = Measuring(evidence, calibrate, target, budget)
    numbers = whole_numbers(states)
    chosen = check_scores(scores, numbers)
    rank = check_dimension(dimension)
    options = check_search(estimate, alpha, starts, schedule, seed, threads)
    if network is None:
        if as_sizes(hidden):
            raise OptionError("hidden variables are named, but no network. Give the network too.")
        table = as_table(data, **reading)
        proposals = latent_classes(table, numbers)
    else:
        structure = as_network(network, hidden)
        table = table_for(data, structure, **reading)
        varied = dict.fromkeys(to_vary(structure, hidden), numbers)
        proposals = sizes_of_hidden(structure, varied, table)
    if missing_as_state:
        table, proposals = proposals_with_answers(table, proposals)
    how = {"scores": chosen, "options": options, "alpha": alpha, "prior": prior, "rank": rank}
    return _evaluate(table, proposals, threads, listener, measuring, **how)


def compare(
    data: object,
    networks: Sequence[NetworkLike] | Mapping[str, NetworkLike],
    *,
    hidden: Hidden = (),
    scores: str | Sequence[str] = "usual",
    estimate: str = "map",
    alpha: Alpha = PAPER_ALPHA,
    starts: int = DEFAULT_STARTS,
    schedule: str = "default",
    seed: int = 0,
    threads: int | None = None,
    dimension: str = "parameters",
    prior: Mapping[Label, float] | None = None,
    missing_as_state: bool = False,
    evidence: bool = False,
    calibrate: bool = False,
    target: float = Goal.target,
    budget: float = Goal.budget,
    listener: Listener = ignore,
    **reading: Any,
) -> Selection:
    """Rank whole structures by each score. Parameters as for `select`; all learn anew.

    Variables of `hidden` that a network does not have are left alone. Every network must have the
    same observed variables: evidence of different data cannot be compared.
    """
    measuring = Measuring(evidence, calibrate, target, budget)
    options = check_search(estimate, alpha, starts, schedule, seed, threads)
    chosen = choose_scores(scores)
    rank = check_dimension(dimension)
    proposals = structures(networks, hidden)
    table = table_for(data, proposals[0].network, **reading)
    if missing_as_state:
        table, proposals = proposals_with_answers(table, proposals)
    how = {"scores": chosen, "options": options, "alpha": alpha, "prior": prior, "rank": rank}
    return _evaluate(table, proposals, threads, listener, measuring, **how)


def structures(
    networks: Sequence[NetworkLike] | Mapping[str, NetworkLike], hidden: Hidden
) -> list[Proposal]:
    """Name the structures, and check that they are about the same observed variables."""
    if not networks:
        raise OptionError("no network to compare. Give two or more.")
    if isinstance(networks, Mapping):
        named: list[tuple[str, NetworkLike]] = list(networks.items())
    else:
        named = [
            (f"network {i}" if isinstance(n, Network | Model) else Path(n).name, n)
            for i, n in enumerate(networks, start=1)
        ]
    names = [name for name, _ in named]
    if len(set(names)) < len(names):  # files of one name in several folders
        named = [(f"{i}: {name}", n) for i, (name, n) in enumerate(named, start=1)]
    plain = [(name, as_network(given)) for name, given in named]
    sizes = as_sizes(hidden)
    known = {v.name for _, network in plain for v in network.variables}
    for name in sizes:
        if name not in known:
            raise ModelError(f"'{name}' is not a variable of any of the networks.")
    found = []
    for name, network in plain:
        own = {v.name for v in network.variables}
        structure = as_network(network, {h: k for h, k in sizes.items() if h in own})
        found.append(Proposal(name, structure, {}))
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
    return found


def _evaluate(
    table: Table,
    proposals: Sequence[Proposal],
    threads: int | None,
    listener: Listener,
    measuring: Measuring,
    **how: Any,
) -> Selection:
    with on_threads(threads, listener) as executor:
        prepare(executor, *(p.network for p in proposals))
        found = evaluate(table, proposals, executor=executor, **how)
        return measuring.after(found, executor)
