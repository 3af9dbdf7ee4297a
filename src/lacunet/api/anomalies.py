"""How unusual rows are, whatever they show."""

from __future__ import annotations

from typing import Unpack

import numpy as np

from lacunet.api.inputs import asked_speaker, check_ordered, rows_for
from lacunet.api.options import AnomalyOptions, divide, with_options
from lacunet.inference.queries.answers import DRAWS, tail_probabilities
from lacunet.models.holders import SpeakerLike
from lacunet.runtime.arrays import FloatArray
from lacunet.settings import DEFAULTS, Settings


@with_options
def anomalies(
    data: object,
    model: SpeakerLike,
    *,
    draws: int = DRAWS,
    settings: Settings = DEFAULTS,
    **options: Unpack[AnomalyOptions],
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
    **options

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
