"""The Python interface: one function for each thing that the command line does, no arithmetic.

`data` is always a `Table`, or anything that `read_table` reads: the path of a file, a dataframe
(pandas, Polars, PyArrow), a NumPy array. A network or model may be given as the path of its file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from lacunet.api.checks import (
    check_dimension,
    check_scores,
    check_search,
    whole_numbers,
)
from lacunet.api.describe import (
    fit_statistics,
    information_criteria,
    intervals,
    match_classes,
)
from lacunet.api.evidence import Measuring, log_evidence, log_evidence_bounds
from lacunet.api.inputs import (
    Hidden,
    ModelLike,
    NetworkLike,
    as_model,
    as_network,
    as_sizes,
    as_table,
    check_columns,
    fresh_names,
    listed,
    observed_columns,
    observed_states,
    table_for,
    to_vary,
)
from lacunet.api.missing import (
    compare_missing,
    missing_as_state,
    proposals_with_answers,
    table_with_model,
    with_answers,
)
from lacunet.api.ratio_test import likelihood_ratio_test
from lacunet.api.results import Assigned, Assignment, Scores
from lacunet.api.structure import table_and_structure
from lacunet.api.traces import em_traces
from lacunet.arrays import CodeArray, FloatArray
from lacunet.data import Table, read_rows
from lacunet.data.missing_state import put_missing_states
from lacunet.errors import DataError, ModelError, OptionError
from lacunet.evidence.clock import Goal
from lacunet.inference.effective_dimension import effective_dimension
from lacunet.inference.problem import build_problem
from lacunet.inference.query import posterior
from lacunet.learn.fit import DEFAULT_STARTS, Fit, Options, learn
from lacunet.learn.prepare import prepare
from lacunet.model.latent_class import latent_class
from lacunet.model.network import Model, Network
from lacunet.model.prior import PAPER_ALPHA, Alpha, dirichlet
from lacunet.model.sampling import random_theta, sample_codes
from lacunet.parallel import workers
from lacunet.progress import Listener, ignore
from lacunet.scores import ScoreInput, applicable, choose_scores
from lacunet.search.average import Label
from lacunet.search.candidates import Proposal, Selection, evaluate
from lacunet.search.states import latent_classes, sizes_of_hidden
from lacunet.search.structure import Learned, Settings
from lacunet.search.structure import learn_structure as search_structure
from lacunet.states import label

__all__ = [
    "Assigned",
    "Assignment",
    "Scores",
    "as_model",
    "as_network",
    "as_table",
    "assign",
    "check_dimension",
    "check_scores",
    "check_search",
    "compare",
    "compare_missing",
    "draw",
    "em_traces",
    "fit",
    "fit_statistics",
    "fresh_names",
    "information_criteria",
    "intervals",
    "learn_structure",
    "likelihood_ratio_test",
    "log_evidence",
    "log_evidence_bounds",
    "match_classes",
    "missing_as_state",
    "observed_columns",
    "observed_states",
    "query",
    "random_model",
    "score",
    "select",
    "simulate",
    "structures",
    "table_for",
    "table_with_model",
    "to_vary",
    "with_parameters",
]


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


def _evaluate(
    table: Table,
    proposals: Sequence[Proposal],
    threads: int | None,
    listener: Listener,
    measuring: Measuring,
    **how: Any,
) -> Selection:
    prepare(listener, *(p.network for p in proposals))
    with workers(threads) as spread:
        found = evaluate(table, proposals, spread=spread, listener=listener, **how)
        return measuring.after(found, spread, listener)


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


def learn_structure(
    data: object,
    *,
    alpha: float | str = "k2",
    max_parents: int | None = None,
    restarts: int = 0,
    tabu: int = 0,
    seed: int = 0,
    listener: Listener = ignore,
    **reading: Any,
) -> Learned:
    """Learn the graph over the columns of a complete table: greedy search for the largest BD.

    Parameters
    ----------
    data
        A table, or anything that `read_table` reads.
    alpha
        Prior: a Dirichlet exponent, 'k2' (uniform, as in the paper) or 'bdeu:SIZE'.
    max_parents
        Most parents of a variable (default: any number).
    restarts, tabu
        More climbs from the best graph, shaken; length of the tabu list.
    seed
        For ties and restarts.
    listener
        Gets progress events.
    **reading
        `missing`, `weights`, `columns`, `exclude`, as for `read_table`.
    """
    settings = Settings(max_parents, restarts, tabu, seed)
    return search_structure(as_table(data, **reading), alpha, settings, listener)


def with_parameters(network: Network, table: Table, alpha: Alpha) -> Model:
    """Give a network without hidden variables its expected parameters, from complete data."""
    exponents = dirichlet(network, alpha)
    layout = network.layout
    N = build_problem(table, network, exponents).components.seen + exponents
    return Model(network, N / layout.spread(layout.sum_k(N)), exponents)


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
    prepare(listener, structure)
    with workers(threads) as spread:
        return learn(problem, options, spread=spread, listener=listener)


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
    prepare(listener, given.network)
    with workers(threads):
        refitted = learn(problem, options, start=given, listener=listener) if refit else None
        theta = refitted.model.theta if refitted else given.theta
        at = ScoreInput(
            problem,
            theta,
            effective_dimension(given.network) if rank else None,
            replace(options, starts=DEFAULT_STARTS),
        )
        found = {s.name: at.evidence(s) for s in usable}
    return Scores(
        Model(given.network, theta, given.alpha),
        at.dimension,
        at.log_lik,
        at.log_prior,
        found,
        refitted,
    )


def assign(
    data: object,
    model: ModelLike,
    *,
    hidden: Sequence[str] = (),
    impute: bool = False,
    missing: Sequence[str] = (),
    missing_as_state: bool = False,
) -> Assignment:
    """Give every row, in the order of the input, the posterior of what it does not show.

    Parameters
    ----------
    data
        The path of a file, a dataframe or an array: what has an order of rows.
    model
        A model, or the path of its file.
    hidden
        Variables that no column shows, besides those that are hidden in the model.
    impute
        Not only hidden variables, but also every variable that has a hole somewhere.
    missing
        More markers of a hole, as for `read_table`.
    missing_as_state
        Whether the model was fitted with it.

    Examples
    --------
    >>> import lacunet
    >>> path = lacunet.dataset_path("carcinoma")
    >>> model = lacunet.fit(path, 2, weights="count", starts=4).model
    >>> lacunet.assign(path, model).best[:4].tolist()  # numbers of the states, from 0
    [1, 1, 1, 1]
    """
    given = as_model(model, hidden)
    network = given.network
    if isinstance(data, Table):
        raise DataError(
            "a Table holds each distinct row once, without the order of the rows. "
            "Give the file or dataframe itself."
        )
    check_columns(data, network)
    codes = read_rows(data, observed_states(network), missing=missing)
    if missing_as_state:
        put_missing_states(codes, observed_columns(network))
    column = {v: codes[:, j] for j, v in enumerate(network.observed)}
    wanted = list(network.hidden)
    if impute:
        wanted += [v for v in network.observed if (column[v] < 0).any()]
    if not wanted:
        raise ModelError(
            "nothing to assign: the model has no hidden variable. "
            "Use --impute to fill in missing cells."
            if not impute
            else "nothing to assign: the model has no hidden variable, and no cell is missing."
        )
    found = []
    for v, p in zip(wanted, posterior(given, codes, [(v,) for v in wanted]), strict=True):
        possible = p.sum(axis=1) > 0
        found.append(
            Assigned(
                network.variables[v].name,
                network.variables[v].labels,
                np.where(possible[:, None], p, np.nan),
                np.where(possible, p.argmax(axis=1), -1),
                column[v] < 0 if v in column else np.ones(len(codes), dtype=np.bool_),
            )
        )
    return Assignment(tuple(found))


def query(
    model: ModelLike, variables: str | Sequence[str], evidence: object = None, **reading: Any
) -> FloatArray:
    """Give p(variables | evidence): their joint distribution, one axis each in the order given.

    Where the evidence has probability 0 under the model, the answer is NaN.

    Parameters
    ----------
    model
        A model, or the path of its file.
    variables
        What to ask for.
    evidence
        What is seen: a mapping {name: state} (or nothing) for one row, or a table with one row for
        each question; then the first axis of the answer is the rows.
    **reading
        `missing`, as for `read_table`.

    Examples
    --------
    >>> import lacunet
    >>> model = lacunet.random_model(2, 3, seed=1)
    >>> lacunet.query(model, "class", {"x1": 0, "x2": 1}).round(3).tolist()
    [0.661, 0.339]
    """
    given = as_model(model)
    network = given.network
    names = [v.name for v in network.variables]
    asked = [variables] if isinstance(variables, str) else list(variables)
    for name in asked:
        if name not in names:
            raise ModelError(f"'{name}' is not a variable of this model: it has {names}.")
    if not asked or len(set(asked)) < len(asked):
        raise OptionError("name one or more different variables to ask for.")
    group = tuple(names.index(name) for name in asked)
    if evidence is None or isinstance(evidence, Mapping):
        answer: FloatArray = _asked(given, _one_row(network, evidence or {}), group)[0]
        return answer
    return _asked(given, read_rows(evidence, observed_states(network), **reading), group)


def _asked(model: Model, codes: CodeArray, group: tuple[int, ...]) -> FloatArray:
    (answer,) = posterior(model, codes, [group])
    answer[answer.reshape(len(codes), -1).sum(axis=1) == 0] = np.nan
    return answer


def _one_row(network: Network, evidence: Mapping[str, Any]) -> CodeArray:
    codes = np.full((1, len(network.observed)), -1, dtype=np.int32)
    place = {network.variables[v].name: j for j, v in enumerate(network.observed)}
    for name, state in evidence.items():
        if name not in place:
            raise DataError(f"'{name}' is not an observed variable: there are {list(place)}.")
        labels = network.variables[network.observed[place[name]]].labels
        if label(state) not in labels:
            raise DataError(f"'{name}': {state!r} is not one of its states {list(labels)}.")
        codes[0, place[name]] = labels.index(label(state))
    return codes


def simulate(model: ModelLike, rows: int, *, seed: int = 0, missing_rate: float = 0.0) -> Any:
    """Draw rows from a model, as a Polars dataframe of labels; holes completely at random.

    Parameters
    ----------
    model
        A model, or the path of its file. Its hidden variables are left out.
    rows
        How many.
    seed
        The same seed draws the same rows.
    missing_rate
        Share of the cells to leave empty.
    """
    from lacunet.data.write import labelled_frame

    given = as_model(model)
    return labelled_frame(observed_columns(given.network), draw(given, rows, seed, missing_rate))


def draw(model: Model, rows: int, seed: int, missing_rate: float) -> CodeArray:
    """Draw the codes of rows: (rows, observed variables), -1 = missing."""
    return sample_codes(model, rows, _generator(seed), missing_rate)


def random_model(
    classes: int, leaves: int, *, leaf_states: int = 2, seed: int = 0, alpha: Alpha = PAPER_ALPHA
) -> Model:
    """Draw a naive-Bayes model as in the paper: every parameter set from a uniform Dirichlet."""
    if leaves < 1:
        raise OptionError(f"{leaves} leaves: there must be at least 1.")
    if leaf_states < 2:
        raise OptionError(f"{leaf_states} states of each leaf: there must be at least 2.")
    columns = [(f"x{i}", tuple(range(leaf_states))) for i in range(1, leaves + 1)]
    network = latent_class(columns, classes)
    theta = random_theta(network.layout, _generator(seed))
    return Model(network, theta, dirichlet(network, alpha))


def _generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(Options(seed=seed).seed)
