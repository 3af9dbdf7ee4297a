"""Rows drawn from a model, and random models."""

from __future__ import annotations

from typing import Any

import numpy as np

from lacunet.api.inputs import (
    ModelLike,
    as_model,
    observed_columns,
)
from lacunet.arrays import CodeArray
from lacunet.errors import OptionError
from lacunet.learn.fit import Options
from lacunet.model.latent_class import latent_class
from lacunet.model.network import Model
from lacunet.model.prior import PAPER_ALPHA, Alpha, dirichlet
from lacunet.model.sampling import random_theta, sample_codes


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
