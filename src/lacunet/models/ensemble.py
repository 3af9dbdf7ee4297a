"""Mixtures of models of the same columns; access to the models that results hold."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol, TypeAlias, TypeGuard, TypeVar, cast

import numpy as np

from lacunet.errors import ModelError, OptionError
from lacunet.models.network import Model, Network, Variable
from lacunet.models.surgery import Drawn, check_rows, coded, sample_shown
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.files import StrPath
from lacunet.runtime.states import by_name, places_or_range
from lacunet.tabular import Columns, Framed, transposed

SLACK = 1e-9  # tolerance of the sum of weights, for rounding in files


@dataclass(frozen=True, eq=False)
class Member:
    """A model with its weight."""

    name: str
    weight: float
    model: Model


@dataclass(frozen=True, eq=False, repr=False)
class Ensemble(Framed):
    """A mixture, p(row) = Σ weight · p(row | member); members may have different hidden variables.

    Predictions of missing values weight each member by its share of p(row), or by its fixed weight.
    """

    members: tuple[Member, ...]
    fixed: bool = False  # whether weights do not depend on the row
    seen: str = ""  # digest of the training rows: see `rows_digest`

    def __post_init__(self) -> None:
        weights = self.weights
        if not (len(weights) and (weights >= 0).all() and abs(weights.sum() - 1.0) < SLACK):
            raise ModelError("the weights of a stack must be 0 or more, and sum to 1.")
        for member in self.members:
            if shown(member.model.network) != self.variables:
                raise ModelError(
                    f"'{member.name}' is not about the same columns as '{self.members[0].name}'. "
                    "All models of a stack have the same observed variables, in the same order."
                )

    @property
    def weights(self) -> FloatArray:
        """(members,) mixture weights, which sum to 1."""
        return np.array([member.weight for member in self.members])

    def brief(self) -> str:
        """Count the models and the columns."""
        return f"{len(self.members)} models of {len(self.variables)} columns"

    def tidy(self) -> Columns:
        """Return a row for each model."""
        rows = ((member.name, member.weight) for member in self.members)
        return transposed(("model", "weight"), rows)

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """The observed variables, in order."""
        return shown(self.members[0].model.network)

    @cached_property
    def network(self) -> Network:
        """The network of the columns without edges."""
        return Network.build(self.variables, [()] * len(self.variables))


def shown(network: Network) -> tuple[Variable, ...]:
    """The observed variables of a network, without constraints on tables."""
    observed = (network.variables[i] for i in network.observed)
    return tuple(
        replace(v, family=v.family.univariate, hidden=False, known=None, tied_to=None, prior=())
        for v in observed
    )


def sample_rows(
    predictive_model: Model | Ensemble,
    rows: int,
    rng: np.random.Generator,
    missing_rate: float = 0.0,
) -> Drawn:
    """Draw rows of the observed variables; of an ensemble, draw the member first."""
    if isinstance(predictive_model, Model):
        return coded(
            shown(predictive_model.network), sample_shown(predictive_model, rows, rng, missing_rate)
        )
    check_rows(rows)
    weights = predictive_model.weights
    which = rng.choice(len(weights), size=rows, p=weights / weights.sum())
    cells = np.empty((rows, len(predictive_model.variables)))
    for k in np.unique(which).tolist():
        drawn = np.flatnonzero(which == k)
        cells[drawn] = sample_shown(
            predictive_model.members[k].model, len(drawn), rng, missing_rate
        )
    return coded(predictive_model.variables, cells)


# Access to models, networks and ensembles in results and estimators


class WithModel(Protocol):
    """A fit, a selection, a latent tree."""

    @property
    def model(self) -> Model:
        """The model that was learned."""


class HoldsFitted(Protocol):
    """An estimator."""

    @property
    def model_(self) -> Any:
        """The model that was learned."""


class HoldsEnsemble(Protocol):
    """A stack, a cell stack."""

    @property
    def ensemble(self) -> Ensemble:
        """The ensemble that was learned."""


class HoldsFittedEnsemble(Protocol):
    """An estimator."""

    @property
    def ensemble_(self) -> Any:
        """The ensemble that was learned."""


HasModel: TypeAlias = Model | WithModel | HoldsFitted
HasEnsemble: TypeAlias = Ensemble | HoldsEnsemble | HoldsFittedEnsemble
PredictiveModel: TypeAlias = Model | Ensemble  # a predictive model
ModelLike: TypeAlias = HasModel | StrPath
PredictiveModelLike: TypeAlias = HasModel | HasEnsemble | StrPath
NetworkLike: TypeAlias = Network | ModelLike

HOLDERS = {
    Model: ("model_", "model"),
    Ensemble: ("ensemble_", "ensemble"),
    Network: ("network",),
}
A_MODEL = "a model, a fit, a selection, a fitted estimator"
T = TypeVar("T")


def model_in(given: HasModel) -> Model:
    """The model that an object is or holds."""
    return cast("Model", _model_in(given, f"no model. Give {A_MODEL}.", Model))


def ensemble_in(given: HasEnsemble) -> Ensemble:
    """The ensemble that an object is or holds."""
    refusal = "no stack. Give what stack() returned, or its ensemble."
    return cast("Ensemble", _model_in(given, refusal, Ensemble))


def model_or_path(given: ModelLike) -> Model | StrPath:
    """The model of an object, or the path to read it from."""
    refusal = f"no model. Give {A_MODEL}, or the path of a file."
    return given if _is_path(given) else cast("Model", _model_in(given, refusal, Model))


def predictive_or_path(given: PredictiveModelLike) -> PredictiveModel | StrPath:
    """The model or ensemble of an object, or the path to read it from."""
    refusal = f"no model. Give {A_MODEL}, a stack, or the path of a file."
    return (
        given
        if _is_path(given)
        else cast("PredictiveModel", _model_in(given, refusal, Model, Ensemble))
    )


def network_or_path(given: NetworkLike) -> Network | Model | StrPath:
    """The network or model of an object, or the path to read it from."""
    refusal = "no network. Give a network, a model or what has one, or the path of a file."
    if _is_path(given):
        return given
    return cast("Network | Model", _model_in(given, refusal, Model, Network))


def check_kind(given: object, kind: type[T], what: str, source: str) -> T:
    """Raise OptionError for a value of another type; the message uses `what` and `source`."""
    if not isinstance(given, kind):
        raise OptionError(f"{_named(given)} is no {what}. Give {source}.")
    return given


def _is_path(given: object) -> TypeGuard[StrPath]:
    return isinstance(given, str | os.PathLike)


def _model_in(given: object, refusal: str, *wanted: type) -> object:
    """The object itself, or the attribute of it, that has one of the types."""
    names = (name for kind in wanted for name in HOLDERS[kind])
    for value in (given, *(getattr(given, name, None) for name in names)):
        if isinstance(value, wanted):
            return value
    raise OptionError(f"{_named(given)} is {refusal}")


def _named(given: object) -> str:
    return "None" if given is None else f"a value of the type {type(given).__name__}"


# Variables in canonical order, or in display order


def canonical_order(network: Network) -> list[int]:
    """The canonical order: hidden variables, then the others, each sorted by name.

    >>> from lacunet.models.network import Variable
    >>> leaves = [Variable("b", (0, 1)), Variable("a", (0, 1))]
    >>> hidden = Variable("h", (0, 1), hidden=True)
    >>> canonical_order(Network.build([*leaves, hidden], [(2,), (2,), ()]))
    [2, 1, 0]
    """
    order = by_name([v.name for v in network.variables])
    return sorted(order, key=lambda i: not network.variables[i].hidden)


def in_canonical_order(network: Network) -> Network:
    """The network in canonical order; variables keep their display positions."""
    order = canonical_order(network)
    return network if order == sorted(order) else _reordered(_placed(network), order)


def model_in_canonical_order(model: Model) -> Model:
    """The model in canonical order; the parents of each variable keep their order."""
    return _in_order(replace(model, network=_placed(model.network)), canonical_order(model.network))


def all_in_canonical_order(predictive_model: Model | Ensemble) -> Model | Ensemble:
    """The model, or all members of an ensemble, in canonical order."""
    if isinstance(predictive_model, Model):
        return model_in_canonical_order(predictive_model)
    members = (
        replace(m, model=model_in_canonical_order(m.model)) for m in predictive_model.members
    )
    return replace(predictive_model, members=tuple(members))


def model_as_shown(model: Model) -> Model:
    """The model in display order."""
    return _in_order(model, model.network.shown)


def _placed(network: Network) -> Network:
    """Record the display position of each variable, unless it is recorded."""
    places = places_or_range([v.place for v in network.variables])
    variables = (replace(v, place=i) for v, i in zip(network.variables, places, strict=True))
    return replace(network, variables=tuple(variables))


def _reordered(network: Network, order: Sequence[int]) -> Network:
    new = {old: i for i, old in enumerate(order)}
    parents = [tuple(new[p] for p in network.parents[i]) for i in order]
    return Network(tuple(network.variables[i] for i in order), tuple(parents))


def _in_order(model: Model, order: Sequence[int]) -> Model:
    if list(order) == sorted(order):
        return model
    network, old = _reordered(model.network, order), model.network.layout
    return model.moved(network, lambda x: network.layout.flat([old.table(x, i) for i in order]))
