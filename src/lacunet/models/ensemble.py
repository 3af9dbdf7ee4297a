"""Several models of the same columns, mixed; and the models that results hold."""

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
from lacunet.runtime.states import by_name, kept
from lacunet.tabular import Columns, Framed, transposed

SLACK = 1e-9  # of the sum of all weights: what is lost where numbers are written


@dataclass(frozen=True, eq=False)
class Member:
    """A model, and its share."""

    name: str
    weight: float
    model: Model


@dataclass(frozen=True, eq=False, repr=False)
class Ensemble(Framed):
    """p(row) = Σ weight · p(row | member). Variables that a member hides are its own affair.

    Each member predicts what a row does not show with the share that it has of p(row); or, where
    shares are fixed, with its weight.
    """

    members: tuple[Member, ...]
    fixed: bool = False
    seen: str = ""  # digest of the rows that members were learned from: see `rows_digest`

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
        """(members,) they sum to 1."""
        return np.array([member.weight for member in self.members])

    def brief(self) -> str:
        """Say how many models speak, and of what."""
        return f"{len(self.members)} models of {len(self.variables)} columns"

    def tidy(self) -> Columns:
        """Give a row for each model."""
        rows = ((member.name, member.weight) for member in self.members)
        return transposed(("model", "weight"), rows)

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """The columns, in their order."""
        return shown(self.members[0].model.network)

    @cached_property
    def network(self) -> Network:
        """The columns without any edge: all that is true of every member."""
        return Network.build(self.variables, [()] * len(self.variables))


def shown(network: Network) -> tuple[Variable, ...]:
    """Give the variables of a network that data can show, without what is known of tables."""
    found = (network.variables[i] for i in network.observed)
    return tuple(
        replace(v, family=v.family.by_itself, hidden=False, known=None, tied_to=None, prior=())
        for v in found
    )


def sample_rows(
    speaker: Model | Ensemble, rows: int, rng: np.random.Generator, missing_rate: float = 0.0
) -> Drawn:
    """Draw rows of what can be seen; of an ensemble, first the member."""
    if isinstance(speaker, Model):
        return coded(shown(speaker.network), sample_shown(speaker, rows, rng, missing_rate))
    check_rows(rows)
    weights = speaker.weights
    which = rng.choice(len(weights), size=rows, p=weights / weights.sum())
    cells = np.empty((rows, len(speaker.variables)))
    for k in np.unique(which).tolist():
        own = np.flatnonzero(which == k)
        cells[own] = sample_shown(speaker.members[k].model, len(own), rng, missing_rate)
    return coded(speaker.variables, cells)


# Models and networks, and what holds one: a fit, a selection, a fitted estimator


class HoldsModel(Protocol):
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
    """A stack, a pool."""

    @property
    def ensemble(self) -> Ensemble:
        """The ensemble that was learned."""


class HoldsFittedEnsemble(Protocol):
    """An estimator."""

    @property
    def ensemble_(self) -> Any:
        """The ensemble that was learned."""


HeldModel: TypeAlias = Model | HoldsModel | HoldsFitted
HeldEnsemble: TypeAlias = Ensemble | HoldsEnsemble | HoldsFittedEnsemble
Speaker: TypeAlias = Model | Ensemble  # what answers questions about rows
ModelLike: TypeAlias = HeldModel | StrPath
SpeakerLike: TypeAlias = HeldModel | HeldEnsemble | StrPath
NetworkLike: TypeAlias = Network | ModelLike

HOLDERS = {
    Model: ("model_", "model"),
    Ensemble: ("ensemble_", "ensemble"),
    Network: ("network",),
}
A_MODEL = "a model, a fit, a selection, a fitted estimator"
T = TypeVar("T")


def model_in(given: HeldModel) -> Model:
    """Give the model of whatever holds one."""
    return cast("Model", _held(given, f"no model. Give {A_MODEL}.", Model))


def ensemble_in(given: HeldEnsemble) -> Ensemble:
    """Give the ensemble of whatever holds one."""
    refusal = "no stack. Give what stack() returned, or its ensemble."
    return cast("Ensemble", _held(given, refusal, Ensemble))


def model_or_path(given: ModelLike) -> Model | StrPath:
    """Give the model, or the path that it is read from."""
    refusal = f"no model. Give {A_MODEL}, or the path of a file."
    return given if _is_path(given) else cast("Model", _held(given, refusal, Model))


def speaker_or_path(given: SpeakerLike) -> Speaker | StrPath:
    """Give the model or the ensemble, or the path that it is read from."""
    refusal = f"no model. Give {A_MODEL}, a stack, or the path of a file."
    return given if _is_path(given) else cast("Speaker", _held(given, refusal, Model, Ensemble))


def network_or_path(given: NetworkLike) -> Network | Model | StrPath:
    """Give the network, or a model that has it, or the path that it is read from."""
    refusal = "no network. Give a network, a model or what has one, or the path of a file."
    if _is_path(given):
        return given
    return cast("Network | Model", _held(given, refusal, Model, Network))


def check_kind(given: object, kind: type[T], what: str, how: str) -> T:
    """Refuse what is of another kind; `what` it should be, and `how` one gets it."""
    if not isinstance(given, kind):
        raise OptionError(f"{_named(given)} is no {what}. Give {how}.")
    return given


def _is_path(given: object) -> TypeGuard[StrPath]:
    return isinstance(given, str | os.PathLike)


def _held(given: object, refusal: str, *wanted: type) -> object:
    """Give what is of a kind that is wanted: the value itself, or an attribute that holds one."""
    names = (name for kind in wanted for name in HOLDERS[kind])
    for value in (given, *(getattr(given, name, None) for name in names)):
        if isinstance(value, wanted):
            return value
    raise OptionError(f"{_named(given)} is {refusal}")


def _named(given: object) -> str:
    return "None" if given is None else f"a value of the type {type(given).__name__}"


# A network or a model with its variables in another order: that of work, or that of people


def work_order(network: Network) -> list[int]:
    """Hidden variables, then the others, each by name: as the columns of a table that is worked on.

    >>> from lacunet.models.network import Variable
    >>> leaves = [Variable("b", (0, 1)), Variable("a", (0, 1))]
    >>> work_order(Network.build([*leaves, Variable("h", (0, 1), hidden=True)], [(2,), (2,), ()]))
    [2, 1, 0]
    """
    order = by_name([v.name for v in network.variables])
    return sorted(order, key=lambda i: not network.variables[i].hidden)


def in_work_order(network: Network) -> Network:
    """Give a network its order of work; each variable keeps the place that it had."""
    order = work_order(network)
    return network if order == sorted(order) else _reordered(_placed(network), order)


def model_in_work_order(model: Model) -> Model:
    """Do the same for a model; parents of a variable stay in their order, so do its numbers."""
    return _in_order(replace(model, network=_placed(model.network)), work_order(model.network))


def all_in_work_order(speaker: Model | Ensemble) -> Model | Ensemble:
    """Do the same for all members of an ensemble."""
    if isinstance(speaker, Model):
        return model_in_work_order(speaker)
    members = (replace(m, model=model_in_work_order(m.model)) for m in speaker.members)
    return replace(speaker, members=tuple(members))


def model_as_shown(model: Model) -> Model:
    """Give a model the order in which people see its variables."""
    return _in_order(model, model.network.shown)


def _placed(network: Network) -> Network:
    """Write down where each variable stands, unless that was done."""
    places = kept([v.place for v in network.variables])
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
