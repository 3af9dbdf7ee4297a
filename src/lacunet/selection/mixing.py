"""Model averaging of latent class models of one table, with matched classes.

Probabilities of rows are averaged directly. Classes are matched first: each class of a model is
spread over the classes of the chosen model by the share of its expected members in each. A model
that merges two of these classes thus leaves open which of the two a row is in.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lacunet.data import Column
from lacunet.inference.leaves import with_values
from lacunet.inference.problem import Problem
from lacunet.inference.queries.answers import ensemble_log_lik
from lacunet.inference.queries.query import posterior
from lacunet.models.ensemble import Ensemble, Member
from lacunet.models.latent_class import classes_of
from lacunet.models.network import Model
from lacunet.runtime.arrays import CodeArray, FloatArray


@dataclass(frozen=True, eq=False)
class Mixture:
    """Latent class models of the same columns, weighted by their probabilities."""

    ensemble: Ensemble
    matches: tuple[FloatArray, ...]  # (its classes, classes of the chosen one) each; rows sum to 1

    def with_columns(self, columns: Sequence[Column]) -> "Mixture":
        """The same models for rows with other numbers in their columns."""
        members = (replace(m, model=with_values(m.model, columns)) for m in self.ensemble.members)
        return replace(self, ensemble=replace(self.ensemble, members=tuple(members)))

    def log_lik(self, codes: CodeArray) -> FloatArray:
        """Log Σ_k p(k) p(row | θ_k) of each row, (rows,)."""
        return ensemble_log_lik(self.ensemble, codes)

    def classes(self, codes: CodeArray) -> FloatArray:
        """Σ_k p(k) p(class of the chosen model | row, k), (rows, its classes).

        A model under which a row is impossible has weight 0; zeros if all models are.
        """
        total = sum(
            member.weight * (class_posterior(member.model, codes) @ match)
            for member, match in zip(self.ensemble.members, self.matches, strict=True)
        )
        mass = np.sum(total, axis=1, keepdims=True)
        return np.asarray(total / np.where(mass > 0, mass, 1.0))


def class_posterior(model: Model, codes: CodeArray) -> FloatArray:
    """p(class | row) of a latent class model, (rows, classes)."""
    return posterior(model, codes, [(classes_of(model.network).root,)])[0]


def mix(
    models: Sequence[Model], weights: Sequence[float], chosen: Model, problem: Problem
) -> Mixture:
    """Match the classes of all models with those of one of them; models of weight 0 are left out.

    The problem is that of any of them, because the data of all are the same.
    """
    used = [(model, w) for model, w in zip(models, weights, strict=True) if w > 0]
    onto = class_posterior(chosen, problem.codes)
    matches = tuple(
        np.eye(onto.shape[1]) if model is chosen else _matched(model, onto, problem)
        for model, _ in used
    )
    named = (Member(f"{classes_of(model.network).number} classes", w, model) for model, w in used)
    return Mixture(Ensemble(tuple(named)), matches)


def _matched(model: Model, onto: FloatArray, problem: Problem) -> FloatArray:
    """Share of each class's expected members in the chosen model's classes.

    A class without members gets the shares of all rows.
    """
    shared = class_posterior(model, problem.codes).T @ (problem.counts[:, None] * onto)
    members = shared.sum(axis=1, keepdims=True)
    overall = shared.sum(axis=0) / shared.sum()
    return np.where(members > 0, shared / np.where(members > 0, members, 1.0), overall)
