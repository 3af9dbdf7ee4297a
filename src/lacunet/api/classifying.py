"""Tell one column from the others: models that know it best are learned, and asked."""

from __future__ import annotations

from functools import partial

import numpy as np

from lacunet.api.pooled import learn_asked
from lacunet.data import Table
from lacunet.data.rows import Rows
from lacunet.inference.leaves import all_with_values
from lacunet.inference.queries.answers import posterior_of
from lacunet.runtime.arrays import CodeArray, FloatArray
from lacunet.runtime.progress import Listener, ignore
from lacunet.selection.ensembles import Pool
from lacunet.selection.held_out import hide_column
from lacunet.selection.recipes import classifiers
from lacunet.settings import Settings

FOLDS = 4  # of rows, each held out once


def learn_class(
    table: Table, target: str, model: str, settings: Settings, listener: Listener = ignore
) -> Pool:
    """Learn who tells the states of a column from what rows show of the others."""
    place = [column.name for column in table.columns].index(target)
    held = hide_column(table, place, FOLDS, np.random.default_rng(settings.seed))
    recipes_of = partial(classifiers, table, target)
    return learn_asked(table, model, recipes_of, held, settings, listener, "held-out labels")


def class_probabilities(pool: Pool, rows: Rows, place: int) -> FloatArray:
    """p(class | what a row shows), (rows, classes); `place` of the class among the columns."""
    codes: CodeArray = np.insert(rows.codes, place, -1, axis=1)
    asked = all_with_values(pool.ensemble, rows.columns)
    (found,) = posterior_of(asked, codes, [(asked.network.observed[place],)])
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def with_prior(p: FloatArray, old: FloatArray, new: FloatArray) -> FloatArray:
    """Give probabilities (rows, classes) as they are where classes are as frequent as `new` says.

    What rows look like within a class stays the same: p(row | class).

    >>> with_prior(np.array([[0.5, 0.5]]), np.array([0.8, 0.2]), np.array([0.5, 0.5])).tolist()
    [[0.2, 0.8]]
    """
    shifted = p * np.divide(new, old, out=np.zeros_like(new), where=old > 0)
    return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))
