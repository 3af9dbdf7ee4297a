"""What estimators have in common that ask a pool of models: `Imputer` and `Classifier`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.base import BaseEstimator

from lacunet.data import Column
from lacunet.data.kinds import KindsLike
from lacunet.data.rows import Rows
from lacunet.estimators.holes_allowed import HolesAllowed
from lacunet.estimators.inputs import (
    Categories,
    Reading,
    column_kinds,
    declared_states,
    names_of,
    read_codes,
    seed_of,
    shown_places,
    threads_of,
)
from lacunet.inference.leaves import kinds_of
from lacunet.runtime.states import State
from lacunet.selection.ensembles import Pool
from lacunet.settings import Settings


class PooledEstimator(HolesAllowed, BaseEstimator):
    """Base class: columns that show anything are learned from, and a pool is kept."""

    model: str
    kinds: KindsLike
    categories: Categories
    unseen: str
    random_state: Any
    n_jobs: int | None
    _known: Mapping[str, Sequence[State]]  # of columns that are learned from, in the order of work
    _places: Sequence[int]  # where these stand in X

    def _settings(self) -> Settings:
        return Settings(seed=seed_of(self.random_state), threads=threads_of(self.n_jobs))

    def _reading(self, X: Any, sample_weight: Any) -> Reading:
        """How X is read to learn from; columns that show nothing are left alone."""
        names = names_of(X)
        places = shown_places(X, sample_weight, range(len(names)))
        states = declared_states(self.categories, names)
        return Reading(
            names=[names[j] for j in places],
            states=[states[j] for j in places],
            unseen=self.unseen,
            kinds=column_kinds(self.kinds, names, states),
            columns=places,
        )

    def _keep_columns(self, X: Any, columns: Sequence[Column]) -> None:
        self._known = {c.name: () if c.kind.number else c.states for c in columns}
        self._places = [names_of(X).index(name) for name in self._known]

    def _keep_pool(self, pool: Pool) -> None:
        self.pool_, self.chosen_ = pool, pool.chosen.value
        self.weights_ = {kind.value: weight for kind, weight in pool.weights.items()}
        self.scores_ = {kind.value: score for kind, score in pool.scores.items()}
        self.scores_["together"] = pool.together

    def _read_rows(self, X: Any) -> Rows:
        """Code new rows, checked before."""
        return read_codes(
            X,
            known=self._known,
            columns=self._places,
            unseen=self.unseen,
            kinds=kinds_of(self.pool_.ensemble.network),
        )
