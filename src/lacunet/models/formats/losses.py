"""What other formats cannot hold, said to whoever writes them."""

import warnings

from lacunet.models.holders import HeldModel, model_in
from lacunet.models.network import Model
from lacunet.models.predictors import Predictors
from lacunet.models.reordered import model_as_shown


def warn(words: str) -> None:
    """Say something to whoever listens to Python's warnings."""
    warnings.warn(words, UserWarning, stacklevel=4)


def predictors_lost(name: str, predictors: Predictors) -> str:
    """Say what a format loses that knows no covariates."""
    who = ", ".join(f"'{one}'" for one in predictors.names) or "covariates"
    return (
        f"{name} holds the classes with their sizes over all rows, but not that {who} predict "
        "them. A .json file does."
    )


def to_hand_over(model: HeldModel, name: str) -> Model:
    """Give a model to another package, in the order that people see; say what that cannot hold."""
    found = model_as_shown(model_in(model))
    if found.predictors is not None:
        warn(predictors_lost(name, found.predictors))
    return found
