"""Inference queries: posteriors, most probable states, interventions, d-separation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from lacunet.api.answers import Answer, MostProbable, NumberAnswer, Separations
from lacunet.api.inputs import as_network, prediction_model, rows_for
from lacunet.api.known import NOTHING, Known, known_case
from lacunet.api.options import SettingsLike, divide, with_options
from lacunet.errors import DataError, OptionError
from lacunet.inference.queries.answers import expected_numbers, in_units
from lacunet.inference.queries.most_probable import CaseEvidence
from lacunet.inference.queries.query import posterior
from lacunet.models.ensemble import ModelLike, NetworkLike
from lacunet.models.equivalence import d_separated as graph_separates
from lacunet.models.network import Model, Network
from lacunet.models.surgery import intervened, without_causes
from lacunet.runtime.arrays import CodeArray, FloatArray
from lacunet.settings import DEFAULTS


@with_options("missing", "plug_in")
def query(
    model: ModelLike,
    variables: str | Sequence[str],
    evidence: object = None,
    *,
    do: Mapping[str, Any] = NOTHING,
    settings: SettingsLike = DEFAULTS,
    **options: Any,
) -> FloatArray:
    """Compute p(variables | evidence): a joint distribution, one axis for each variable in order.

    Unless `plug_in`, it is averaged over the posterior of the parameters. Impossible evidence gives
    NaN. A number must be queried alone; the result is its mean and standard deviation (lognormal:
    geometric mean and factor).

    Parameters
    ----------
    model
        A model, or the path of its file.
    variables
        Query variables.
    evidence
        Evidence of one case: a mapping {name: state}, also of hidden variables. Likelihoods in
        place of a state, {state: weight} or one for each state, are soft evidence. Give all
        covariates or none (then class sizes are those of the fit). Or a table with one row for
        each query: then the first axis of the result is the rows.
    do
        Interventions, {name: state}: the parents of these variables have no effect.
    settings, **options
        `plug_in`: use the point estimate; `missing`: markers of a missing cell.

    Examples
    --------
    >>> import lacunet
    >>> model = lacunet.random_model(2, 3, seed=1)
    >>> lacunet.query(model, "class", {"x1": 0, "x2": 1}).round(3).tolist()
    [0.661, 0.339]
    >>> lacunet.query(model, "class", {"x1": [0.9, 0.1], "x2": 1}).round(3).tolist()  # rather 0
    [0.558, 0.442]
    """
    settings, reading = divide(settings, options)
    one = evidence is None or isinstance(evidence, Mapping)
    case = evidence if isinstance(evidence, Mapping) else NOTHING
    given, known = known_case(prediction_model(model, settings), case, do)
    group = _indices(given.network, variables)
    number = _number_query(given.network, group)
    if one:
        entered = known.of(given)
        given, codes = entered.model, entered.codes
    else:
        predictive_model, codes = rows_for(evidence, given, reading)
        assert isinstance(predictive_model, Model)
        given = intervened(predictive_model, known.done) if known.done else predictive_model
    answer = _answers(given, codes, group, number)
    return np.asarray(answer[0] if one else answer)


def _answers(
    model: Model, codes: CodeArray, group: Sequence[int], number: int | None
) -> FloatArray:
    """Joint posterior of some variables, or moments of a number, in each row; NaN if impossible."""
    if number is None:
        (joint,) = posterior(model, codes, [group])
        joint[joint.reshape(len(joint), -1).sum(axis=1) == 0] = np.nan
        return joint
    (expected,) = expected_numbers(model, codes, [number])
    observed = codes[:, model.network.observed.index(number)]  # observed values stay
    moments = in_units(model.network.variables[number], expected, observed)
    return np.stack([moments.mean, moments.spread], axis=1)


@with_options("plug_in")
def answer(
    model: ModelLike,
    variables: str | Sequence[str],
    evidence: Mapping[str, Any] = NOTHING,
    *,
    do: Mapping[str, Any] = NOTHING,
    settings: SettingsLike = DEFAULTS,
    **options: Any,
) -> Answer | NumberAnswer:
    """Compute p(variables | evidence) of one case as a printable table; see `query`."""
    settings, _ = divide(settings, options)
    given, known = known_case(prediction_model(model, settings), evidence, do)
    group = _indices(given.network, variables)
    case = _possible_case(given, known, group)
    if (number := _number_query(given.network, group)) is not None:
        moments, name = case.number(number), given.network.variables[number].name
        mean, spread = float(moments.mean[0]), float(moments.spread[0])
        return NumberAnswer(name, mean, spread, moments.titles, known, case.log_probability)
    queried = tuple(given.network.variables[v] for v in group)
    return Answer(queried, case.joint(group), known, case.log_probability)


@with_options("plug_in")
def most_probable(
    model: ModelLike,
    variables: str | Sequence[str] | None = None,
    evidence: Mapping[str, Any] = NOTHING,
    *,
    do: Mapping[str, Any] = NOTHING,
    settings: SettingsLike = DEFAULTS,
    **options: Any,
) -> MostProbable:
    """Find the most probable joint states and their probability, exactly.

    By default these are the states of all unobserved variables (MPE); for some variables, the
    others are summed out (MAP). Marginally most probable states may differ.

    Parameters
    ----------
    model
        A model, or the path of its file.
    variables
        Query variables (default: all unobserved ones except numbers, which have no states).
    evidence, do, settings, **options
        As for `query`, of one case.

    Examples
    --------
    >>> import lacunet
    >>> model = lacunet.random_model(2, 3, seed=1)
    >>> found = lacunet.most_probable(model, evidence={"x1": 0})
    >>> found.states, round(found.probability, 3)
    ({'class': '1', 'x2': '0', 'x3': '1'}, 0.555)
    """
    settings, _ = divide(settings, options)
    given, known = known_case(prediction_model(model, settings), evidence, do)
    network = given.network
    numbers = {i for i, v in enumerate(network.variables) if not v.family.tabular}
    if variables is None:
        group = [v for v in network.shown if v not in {*known.seen, *known.done, *numbers}]
        if not group:
            raise OptionError("every variable is given, so no target is left. Leave one out.")
    else:
        group = _indices(network, variables)
    case = _possible_case(given, known, group, refused=numbers)
    codes, log_p = case.most_probable(group)
    queried = [network.variables[v] for v in group]
    states = {v.name: v.labels[k] for v, k in zip(queried, codes, strict=True)}
    return MostProbable(states, log_p, known, case.log_probability)


def d_separated(
    network: NetworkLike,
    a: str | Sequence[str],
    b: str | Sequence[str],
    given: str | Sequence[str] = (),
    *,
    do: str | Sequence[str] = (),
) -> bool:
    """Test whether the graph d-separates two sets of variables.

    Parameters
    ----------
    network
        A network or model, or the path of its file.
    a, b
        Variables.
    given
        Observed variables.
    do
        Interventions: edges into these variables are cut, and they are observed.

    Examples
    --------
    >>> import lacunet
    >>> model = lacunet.random_model(2, 3)  # a latent class model: class → x1, x2, x3
    >>> lacunet.d_separated(model, "x1", "x2"), lacunet.d_separated(model, "x1", "x2", "class")
    (False, True)
    """
    graph = as_network(network)
    left, right = _indices(graph, a), _indices(graph, b)
    seen, done = (_indices(graph, names) if names else [] for names in (given, do))
    everything = [*left, *right, *seen, *done]
    for v in everything:
        if everything.count(v) > 1:
            name = graph.variables[v].name
            raise OptionError(f"'{name}' occurs twice. Name each variable once.")
    return graph_separates(without_causes(graph, done), left, right, [*seen, *done])


def separations(
    network: NetworkLike, variables: Sequence[str], given: Sequence[str], do: Sequence[str]
) -> Separations:
    """Test each pair of some variables for d-separation."""
    graph = as_network(network)
    if len(_indices(graph, variables)) < 2:
        raise OptionError("name two or more variables, to be separated from each other.")
    pairs = combinations(variables, 2)
    separated = {pair: d_separated(graph, *pair, given, do=do) for pair in pairs}
    return Separations(tuple(given), tuple(do), separated)


def _number_query(network: Network, group: Sequence[int]) -> int | None:
    """Give the index of a queried number; refuse a number beside other variables."""
    numbers = [v for v in group if not network.variables[v].family.tabular]
    if numbers and len(group) > 1:
        name = network.variables[numbers[0]].name
        raise OptionError(f"'{name}' is a number. Query it alone.")
    return numbers[0] if numbers else None


def _indices(network: Network, names: Any) -> list[int]:
    """Find variables by name: one or more different ones."""
    given = list(names) if isinstance(names, Iterable) and not isinstance(names, str) else [names]
    if not all(isinstance(name, str) for name in given):
        raise OptionError(f"targets are names of variables, not {names!r}.")
    indices = [network.index(name) for name in given]
    if not indices or len(set(indices)) < len(indices):
        raise OptionError("name one or more different variables as targets.")
    return indices


def _possible_case(
    model: Model, known: Known, group: Sequence[int], refused: Iterable[int] = ()
) -> CaseEvidence:
    """Enter the evidence; refuse queries for observed variables, and impossible evidence."""
    known.check_apart(group)
    if any(v in refused for v in group):
        raise OptionError("numbers have no most probable state. Use --of.")
    case = known.of(model)
    if case.log_probability == -np.inf:
        condition = str(known).removeprefix(" | ")
        raise DataError(
            f"the evidence is impossible: {condition} has probability 0 under this model. Leave "
            "out the value that contradicts the others, or fit with a prior that allows it."
        )
    return case
