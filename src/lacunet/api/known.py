"""Evidence of one case: observed states, likelihoods (soft evidence), interventions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from lacunet.data import Column
from lacunet.errors import OptionError
from lacunet.inference.covariates import design_of
from lacunet.inference.queries.most_probable import CaseEvidence, take_evidence
from lacunet.models.network import Model, Network, Variable
from lacunet.models.predictors import Covariate
from lacunet.models.surgery import at_given, predicted
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.states import State, label

NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True, eq=False)
class Known:
    """Evidence of a case, by indices of variables."""

    network: Network
    seen: Mapping[int, int]  # observed states
    heard: Mapping[int, FloatArray]  # (states,) likelihoods: soft evidence
    done: Mapping[int, int]  # states set by interventions
    covariates: Mapping[str, str] = field(default_factory=dict)  # values of the covariates

    def of(self, model: Model) -> CaseEvidence:
        """Enter the evidence into a model of the same network."""
        return take_evidence(model, self.seen, self.heard, self.done)

    def check_apart(self, query: Sequence[int]) -> None:
        """Refuse a query for observed or set variables."""
        for v in query:
            if v in self.seen or v in self.done:
                name = self.network.variables[v].name
                given = "given" if v in self.seen else "set by do"
                raise OptionError(f"'{name}' is both a target and {given}. Name it once.")

    def to_dict(self) -> dict[str, Any]:
        """Give the evidence as names and labels."""
        heard = [(self.network.variables[i], weights) for i, weights in self.heard.items()]
        return {
            "given": {**self.covariates, **self._states(self.seen)},
            "soft": {v.name: dict(zip(v.labels, w.tolist(), strict=True)) for v, w in heard},
            "do": self._states(self.done),
        }

    def __str__(self) -> str:
        """Write the condition of a probability; empty without evidence."""
        document = self.to_dict()
        words = [f"{name} = {state}" for name, state in document["given"].items()]
        for name, weights in document["soft"].items():
            heard = " : ".join(f"{state} {weight:g}" for state, weight in weights.items())
            words.append(f"{name} ~ {heard}")
        words += [f"do({name} = {state})" for name, state in document["do"].items()]
        return f" | {', '.join(words)}" if words else ""

    def _states(self, states: Mapping[int, int]) -> dict[str, str]:
        variables = self.network.variables
        return {variables[i].name: variables[i].labels[k] for i, k in states.items()}


def known_case(
    model: Model, evidence: Mapping[str, Any], do: Mapping[str, Any]
) -> tuple[Model, Known]:
    """Give the model at the covariates and numbers of a case, and its evidence.

    `evidence` is {name: state} or {name: likelihoods of its states}, `do` is {name: state}.
    Likelihoods are a number for each state, or a mapping of states, in which absent states are
    impossible. A state None is missing.
    """
    given, evidence, covariates = at_covariates(model, evidence)
    given, evidence = with_numbers_of(given, evidence, do)
    network, seen, heard, done = given.network, {}, {}, {}
    for name, value in evidence.items():
        i = network.index(name)
        if isinstance(value, Mapping | Sequence | np.ndarray) and not isinstance(value, str):
            heard[i] = _likelihoods(network.variables[i], value)
        elif value is not None:
            seen[i] = network.variables[i].code(value)
    for name, state in do.items():
        i = network.index(name)
        if i in seen or i in heard:
            raise OptionError(
                f"'{name}' is both given and set by do. An intervention carries no evidence about "
                "causes: name it once."
            )
        done[i] = network.variables[i].code(state)
    return given, Known(network, seen, heard, done, covariates)


def at_covariates(
    model: Model, evidence: Mapping[str, Any]
) -> tuple[Model, dict[str, Any], dict[str, str]]:
    """Give the model at the covariates of a case, the rest of the evidence, and the covariates.

    Without covariates, class sizes are those over all rows that the model was fitted to.
    """
    known = model.predictors
    if known is None:
        return model, dict(evidence), {}
    given = {name: evidence[name] for name in known.names if evidence.get(name) is not None}
    rest = {name: x for name, x in evidence.items() if name not in known.names}
    if not given:
        return model, rest, {}
    absent = [repr(name) for name in known.names if name not in given]
    if absent:
        raise OptionError(
            f"{', '.join(absent)} is not given: the model predicts classes from "
            f"{', '.join(map(repr, known.names))} together. Give all of them; or none, and class "
            "sizes are those over all rows."
        )
    states = [_covariate(one, given[one.name]) for one in known.covariates]
    columns = [Column(name, (x,)) for name, x in zip(known.names, states, strict=True)]
    design = design_of(known, columns, np.zeros((1, len(columns)), dtype=np.int64))
    shown = {name: label(x) for name, x in zip(known.names, states, strict=True)}
    return at_given(predicted(model, design.matrix), 0), rest, shown


def _covariate(one: Covariate, given: Any) -> State:
    if one.number:
        return _finite(one.name, given)
    return one.states[Variable(one.name, one.states, bins=one.bins).code(given)]


def _finite(name: str, given: Any) -> float:
    try:
        x = float(given)
    except (TypeError, ValueError):
        x = np.nan
    if not np.isfinite(x):
        raise OptionError(f"'{name}': {given!r} is not a number. Give one.")
    return x


def with_numbers_of(
    model: Model, evidence: Mapping[str, Any], do: Mapping[str, Any]
) -> tuple[Model, Mapping[str, Any]]:
    """Give a model with the numbers of a case, and the evidence with these numbers."""
    network, given = model.network, dict(evidence)
    variables = list(network.variables)
    for name in (*evidence, *do):
        i = network.index(name)
        v = variables[i]
        if v.family.tabular or (name in evidence and evidence[name] is None):
            continue
        if name in do:
            raise OptionError(
                f"'{name}' is a number without children, so an intervention has no effect. Leave "
                "it out."
            )
        given[name] = _number(v, evidence[name])
        variables[i] = replace(v, states=(given[name],))
    if all(a is b for a, b in zip(variables, network.variables, strict=True)):
        return model, evidence
    return replace(model, network=Network.build(variables, network.parents)), given


def _number(v: Variable, given: Any) -> float:
    """Read an observed number; refuse one outside the support."""
    try:
        x = float(given)
    except (TypeError, ValueError):
        raise OptionError(f"'{v.name}': {given!r} is not a number. Give one.") from None
    (low, high), whole = v.ends, v.family.whole
    above = x > low if v.unit is not None and v.unit.log else x >= low
    if not (np.isfinite(x) and above and x <= high) or (whole and not x.is_integer()):
        kind = "a whole number" if whole else "a number"
        ends = f" from {low:g}" * (low > -np.inf) + f" to {high:g}" * (high < np.inf)
        raise OptionError(f"'{v.name}': {given} cannot be. It must be {kind}{ends}.")
    return x


def _likelihoods(variable: Variable, given: Any) -> FloatArray:
    """Read soft evidence: a weight for each state."""
    weights = np.zeros(len(variable.states))
    if isinstance(given, Mapping):
        for state, weight in given.items():
            weights[variable.code(state)] = weight
    elif len(given) == len(weights):
        weights[:] = given
    else:
        raise OptionError(
            f"'{variable.name}': {len(given)} likelihoods for its {len(weights)} states "
            f"{', '.join(variable.labels)}. Give one for each, or a mapping of states."
        )
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise OptionError(
            f"'{variable.name}': likelihoods {weights.tolist()} are not allowed. Give numbers of 0 "
            "or more, one of them above 0."
        )
    return weights
