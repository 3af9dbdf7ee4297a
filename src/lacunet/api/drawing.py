"""Rows drawn from a model, and random models."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np

from lacunet.api.inputs import asked_speaker, columns_of
from lacunet.api.options import DrawOptions, SimulateOptions, divide, with_options
from lacunet.data import Column
from lacunet.errors import OptionError
from lacunet.models.conjugacy import random_theta
from lacunet.models.ensemble import sample_rows
from lacunet.models.holders import Speaker, SpeakerLike
from lacunet.models.latent_class import latent_class
from lacunet.models.network import Model
from lacunet.models.prior import dirichlet
from lacunet.runtime.arrays import CodeArray
from lacunet.runtime.states import as_shown
from lacunet.settings import DEFAULTS, Settings


@with_options
def simulate(
    model: SpeakerLike,
    rows: int,
    *,
    missing_rate: float = 0.0,
    settings: Settings = DEFAULTS,
    **options: Unpack[SimulateOptions],
) -> Any:
    """Draw rows from a model, as a Polars dataframe; holes completely at random.

    Categories are labels, numbers are numbers. Of a fitted model, every row is drawn from the
    posterior of its parameters, unless `plug_in`. Where covariates predict its classes, these are
    drawn by their sizes over the rows that it was fitted to.

    Parameters
    ----------
    model
        A model or a stack, or the path of its file. What a model hides is left out.
    rows
        How many.
    missing_rate
        Share of the cells to leave empty.
    **options
    """
    from lacunet.data.write import labelled_frame

    settings, _ = divide(settings, options)
    given = asked_speaker(model, settings)
    return labelled_frame(*draw(given, rows, settings.seed, missing_rate))


def draw(
    model: Speaker, rows: int, seed: int, missing_rate: float
) -> tuple[list[Column], CodeArray]:
    """Draw rows: their columns, and codes (rows, columns), -1 = missing."""
    drawn = sample_rows(model, rows, np.random.default_rng(seed), missing_rate)
    order = list(as_shown([v.place for v in drawn.variables]))
    return columns_of([drawn.variables[j] for j in order]), drawn.codes[:, order]


@with_options
def random_model(
    classes: int,
    leaves: int,
    *,
    leaf_states: int = 2,
    settings: Settings = DEFAULTS,
    **options: Unpack[DrawOptions],
) -> Model:
    """Draw a naive-Bayes model as in the paper: every parameter set from a uniform Dirichlet.

    Parameters
    ----------
    classes
        States of the hidden root.
    leaves, leaf_states
        Observed variables, and the states of each.
    **options
    """
    settings, _ = divide(settings, options)
    if leaves < 1:
        raise OptionError(f"{leaves} leaves: there must be at least 1.")
    if leaf_states < 2:
        raise OptionError(f"{leaf_states} states of each leaf: there must be at least 2.")
    columns = [(f"x{i}", tuple(range(leaf_states))) for i in range(1, leaves + 1)]
    network = latent_class(columns, classes)
    theta = random_theta(network.layout, np.random.default_rng(settings.seed))
    return Model(network, theta, dirichlet(network, settings.alpha))
