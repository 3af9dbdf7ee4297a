"""What is known of one case, as people say it: states seen, likelihoods heard, variables set.

How unusual rows are, whatever they show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from lacunet.api.inputs import asked_speaker, check_ordered, rows_for
from lacunet.api.options import SettingsLike, divide, with_options
from lacunet.data import Column
from lacunet.errors import OptionError
from lacunet.inference.covariates import design_of
from lacunet.inference.queries.answers import DRAWS, tail_probabilities
from lacunet.inference.queries.most_probable import CaseEvidence, take_evidence
from lacunet.models.ensemble import SpeakerLike
from lacunet.models.network import Model, Network, Variable
from lacunet.models.predictors import Covariate
from lacunet.models.surgery import at_given, predicted
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.states import State, label
from lacunet.settings import DEFAULTS

NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True, eq=False)
class Known:
    """What is known of a case; variables by their indices."""

    network: Network
    seen: Mapping[int, int]  # the state that each is in
    heard: Mapping[int, FloatArray]  # (states,) how likely what was heard is in each state
    done: Mapping[int, int]  # the state that each was set to, from outside
    covariates: Mapping[str, str] = field(default_factory=dict)  # what predicts its class

    def of(self, model: Model) -> CaseEvidence:
        """Give the case to a model of the same network."""
        return take_evidence(model, self.seen, self.heard, self.done)

    def check_apart(self, asked: Sequence[int]) -> None:
        """Refuse a question for what is known already."""
        for v in asked:
            if v in self.seen or v in self.done:
                name = self.network.variables[v].name
                how = "given" if v in self.seen else "set by do"
                raise OptionError(f"'{name}' is both asked for and {how}. Name it once.")

    def document(self) -> dict[str, Any]:
        """Write it down by names and texts."""
        return {
            "given": {**self.covariates, **self._states(self.seen)},
            "soft": {
                self._variable(i).name: dict(zip(self._variable(i).labels, w.tolist(), strict=True))
                for i, w in self.heard.items()
            },
            "do": self._states(self.done),
        }

    def __str__(self) -> str:
        """Write it as the condition of a probability; nothing, if nothing is known."""
        told = self.document()
        words = [
            *(f"{name} = {state}" for name, state in told["given"].items()),
            *(f"{name} ~ {_weights(weights)}" for name, weights in told["soft"].items()),
            *(f"do({name} = {state})" for name, state in told["do"].items()),
        ]
        return f" | {', '.join(words)}" if words else ""

    def _variable(self, i: int) -> Variable:
        return self.network.variables[i]

    def _states(self, states: Mapping[int, int]) -> dict[str, str]:
        return {self._variable(i).name: self._variable(i).labels[k] for i, k in states.items()}


def understand(
    network: Network, evidence: Mapping[str, Any] = NOTHING, do: Mapping[str, Any] = NOTHING
) -> Known:
    """Read what is known of a case: {name: state}, {name: likelihoods of its states}; do: states.

    Likelihoods are a mapping of states, those left out being impossible, or a number for each. A
    state that is None is not known.
    """
    seen, heard = {}, {}
    for name, told in evidence.items():
        i = network.index(name)
        if isinstance(told, Mapping | Sequence | np.ndarray) and not isinstance(told, str):
            heard[i] = _likelihoods(network.variables[i], told)
        elif told is not None:
            seen[i] = network.variables[i].code(told)
    done = {}
    for name, state in do.items():
        i = network.index(name)
        if i in seen or i in heard:
            raise OptionError(
                f"'{name}' is both given and set by do. What is set tells nothing of its causes, "
                "what is seen does: name it once."
            )
        done[i] = network.variables[i].code(state)
    return Known(network, seen, heard, done)


def at_covariates(
    model: Model, evidence: Mapping[str, Any]
) -> tuple[Model, dict[str, Any], dict[str, str]]:
    """Give the model of a case with these covariates, the rest of the evidence, and the covariates.

    Where none is known, class sizes are those over all rows that the model was fitted to.
    """
    known = model.predictors
    if known is None:
        return model, dict(evidence), {}
    told = {name: evidence[name] for name in known.names if evidence.get(name) is not None}
    rest = {name: x for name, x in evidence.items() if name not in known.names}
    if not told:
        return model, rest, {}
    absent = [repr(name) for name in known.names if name not in told]
    if absent:
        raise OptionError(
            f"{', '.join(absent)} is not given: the model predicts classes from "
            f"{', '.join(map(repr, known.names))} together. Give all of them; or none, and class "
            "sizes are those over all rows."
        )
    states = [_covariate(one, told[one.name]) for one in known.covariates]
    columns = [Column(name, (x,)) for name, x in zip(known.names, states, strict=True)]
    design = design_of(known, columns, np.zeros((1, len(columns)), dtype=np.int64))
    shown = {name: label(x) for name, x in zip(known.names, states, strict=True)}
    return at_given(predicted(model, design.matrix), 0), rest, shown


def _covariate(one: Covariate, told: Any) -> State:
    """Read what a case has of a covariate."""
    if not one.number:
        return one.states[Variable(one.name, one.states, bins=one.bins).code(told)]
    try:
        x = float(told)
    except (TypeError, ValueError):
        x = np.nan
    if not np.isfinite(x):
        raise OptionError(f"'{one.name}': {told!r} is not a number. Give one.")
    return x


def with_numbers_of(
    model: Model, evidence: Mapping[str, Any], do: Mapping[str, Any]
) -> tuple[Model, Mapping[str, Any]]:
    """Give a model that knows the numbers of a case, and the evidence with these numbers."""
    network, told = model.network, dict(evidence)
    variables = list(network.variables)
    for name in (*evidence, *do):
        i = network.index(name)
        v = variables[i]
        if v.family.tabular or (name in evidence and evidence[name] is None):
            continue
        if name in do:
            raise OptionError(
                f"'{name}' is a number, on which nothing depends: to set it changes nothing. "
                "Leave it out."
            )
        told[name] = _number(v, evidence[name])
        variables[i] = replace(v, states=(told[name],))
    if all(a is b for a, b in zip(variables, network.variables, strict=True)):
        return model, evidence
    return replace(model, network=Network.build(variables, network.parents)), told


def _number(v: Variable, told: Any) -> float:
    """Read a number that is seen."""
    try:
        x = float(told)
    except (TypeError, ValueError):
        raise OptionError(f"'{v.name}': {told!r} is not a number. Give one.") from None
    (low, high), whole = v.ends, v.family.whole
    above = x > low if v.unit is not None and v.unit.log else x >= low
    if not (np.isfinite(x) and above and x <= high) or (whole and not x.is_integer()):
        kind = "a whole number" if whole else "a number"
        ends = f" from {low:g}" * (low > -np.inf) + f" to {high:g}" * (high < np.inf)
        raise OptionError(f"'{v.name}': {told} cannot be. It must be {kind}{ends}.")
    return x


def _likelihoods(variable: Variable, told: Any) -> FloatArray:
    """Read a weight for each state."""
    weights = np.zeros(len(variable.states))
    if isinstance(told, Mapping):
        for state, weight in told.items():
            weights[variable.code(state)] = weight
    elif len(told) == len(weights):
        weights[:] = told
    else:
        raise OptionError(
            f"'{variable.name}': {len(told)} likelihoods for its {len(weights)} states "
            f"{', '.join(variable.labels)}. Give one for each, or a mapping of states."
        )
    if not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
        raise OptionError(
            f"'{variable.name}': likelihoods {weights.tolist()} are not allowed. Give numbers of 0 "
            "or more, one of them above 0."
        )
    return weights


def _weights(weights: Mapping[str, float]) -> str:
    return " : ".join(f"{state} {weight:g}" for state, weight in weights.items())


@with_options("missing", "plug_in", "seed")
def anomalies(
    data: object,
    model: SpeakerLike,
    *,
    draws: int = DRAWS,
    settings: SettingsLike = DEFAULTS,
    **options: Any,
) -> FloatArray:
    """Give each row, in the order of the input, its tail probability: small is unusual.

    It is the probability that a row of the model, with the same cells missing, is at most as
    probable as this one. Unlike log p(row) it can be compared between rows with different holes.

    Parameters
    ----------
    data
        The path of a file, a dataframe or an array: what has an order of rows. Columns that it
        lacks are not observed.
    model
        A model, or a stack (its `ensemble`), or the path of its file.
    draws
        Rows to draw from the model and compare with, where what is shown has more configurations
        than that; if it has fewer, the answer is exact. Nothing below 1 / (draws + 1) is told.
    settings, **options
        `seed`; `plug_in`: take the estimate itself, without its posterior; `missing`: markers of a
        missing cell.

    Examples
    --------
    >>> import lacunet
    >>> path = lacunet.dataset_path("carcinoma")
    >>> model = lacunet.fit(path, 2, weights="count", starts=4).model
    >>> lacunet.anomalies(path, model)[:2].round(2)
    array([1.  , 0.39])
    """
    settings, reading = divide(settings, options)
    given = asked_speaker(model, settings)
    check_ordered(data)
    asked, codes = rows_for(data, given, reading)
    return tail_probabilities(asked, codes, draws, np.random.default_rng(settings.seed))
