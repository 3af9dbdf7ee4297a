"""Models and networks, and what holds one: a fit, a selection, a fitted estimator."""

import os
from typing import Any, Protocol, TypeAlias, TypeGuard, TypeVar, cast

from lacunet.errors import OptionError
from lacunet.models.ensemble import Ensemble
from lacunet.models.network import Model, Network
from lacunet.runtime.files import StrPath


class HoldsModel(Protocol):
    """A fit, a selection, a latent tree."""

    @property
    def model(self) -> Model:
        """What was learned."""


class HoldsFitted(Protocol):
    """An estimator."""

    @property
    def model_(self) -> Any:
        """What it has learned."""


class HoldsEnsemble(Protocol):
    """A stack, a pool."""

    @property
    def ensemble(self) -> Ensemble:
        """What was learned."""


class HoldsFittedEnsemble(Protocol):
    """An estimator."""

    @property
    def ensemble_(self) -> Any:
        """What it has learned."""


HeldModel: TypeAlias = Model | HoldsModel | HoldsFitted
HeldEnsemble: TypeAlias = Ensemble | HoldsEnsemble | HoldsFittedEnsemble
Speaker: TypeAlias = Model | Ensemble  # whoever can be asked about rows
ModelLike: TypeAlias = HeldModel | StrPath
SpeakerLike: TypeAlias = HeldModel | HeldEnsemble | StrPath
NetworkLike: TypeAlias = Network | ModelLike

HOLD_MODELS = ("model_", "model")
HOLD_ENSEMBLES = ("ensemble_", "ensemble")
A_MODEL = "a model, a fit, a selection, a fitted estimator"
T = TypeVar("T")


def model_in(given: HeldModel) -> Model:
    """Give the model of whatever holds one."""
    return cast("Model", _held(given, (Model,), HOLD_MODELS, f"no model. Give {A_MODEL}."))


def ensemble_in(given: HeldEnsemble) -> Ensemble:
    """Give the ensemble of whatever holds one."""
    told = "no stack. Give what stack() returned, or its ensemble."
    return cast("Ensemble", _held(given, (Ensemble,), HOLD_ENSEMBLES, told))


def model_or_path(given: ModelLike) -> Model | StrPath:
    """Give the model, or the path that it is read from."""
    told = f"no model. Give {A_MODEL}, or the path of a file."
    return given if _is_path(given) else cast("Model", _held(given, (Model,), HOLD_MODELS, told))


def speaker_or_path(given: SpeakerLike) -> Speaker | StrPath:
    """Give the model or the ensemble, or the path that it is read from."""
    if _is_path(given):
        return given
    told = f"no model. Give {A_MODEL}, a stack, or the path of a file."
    found = _held(given, (Model, Ensemble), (*HOLD_MODELS, *HOLD_ENSEMBLES), told)
    return cast("Speaker", found)


def network_or_path(given: NetworkLike) -> Network | Model | StrPath:
    """Give the network, or a model that has it, or the path that it is read from."""
    if _is_path(given):
        return given
    told = "no network. Give a network, a model or what has one, or the path of a file."
    return cast("Network | Model", _held(given, (Network, Model), (*HOLD_MODELS, "network"), told))


def check_kind(given: object, kind: type[T], what: str, how: str) -> T:
    """Refuse what is of another kind; `what` it should be, and `how` one gets it."""
    if not isinstance(given, kind):
        raise OptionError(f"{_named(given)} is no {what}. Give {how}.")
    return given


def _is_path(given: object) -> TypeGuard[StrPath]:
    return isinstance(given, str | os.PathLike)


def _held(given: object, wanted: tuple[type, ...], names: tuple[str, ...], refusal: str) -> object:
    if isinstance(given, wanted):
        return given
    inside = (getattr(given, name, None) for name in names)
    found = next((x for x in inside if isinstance(x, wanted)), None)
    if found is None:
        raise OptionError(f"{_named(given)} is {refusal}")
    return found


def _named(given: object) -> str:
    return "None" if given is None else f"a value of the type {type(given).__name__}"
