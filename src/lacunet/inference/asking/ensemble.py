"""What an ensemble says of rows: each member counts by its weight, and by how well it knows a row.

Given what a row shows, the share of a member is its weight times the probability that it gives to
the row: who finds a row improbable has little to say of the rest of it. Where shares are fixed, the
weights were found for such answers themselves, and only who finds a row impossible is silent.
"""

from collections.abc import Sequence

import numpy as np
from scipy.special import logsumexp

from lacunet.inference.asking.query import posterior
from lacunet.inference.asking.row_likelihood import row_log_lik
from lacunet.inference.expectation import safe_log
from lacunet.model.ensemble import Ensemble
from lacunet.model.network import Model
from lacunet.runtime.arrays import CodeArray, FloatArray


def member_log_lik(ensemble: Ensemble, codes: CodeArray) -> FloatArray:
    """Log of weight · p(row | member), (members, rows)."""
    each = np.stack([row_log_lik(member.model, codes) for member in ensemble.members])
    return np.asarray(each + safe_log(ensemble.weights)[:, None])


def ensemble_log_lik(ensemble: Ensemble, codes: CodeArray) -> FloatArray:
    """Log p(what a row shows), (rows,)."""
    return np.asarray(logsumexp(member_log_lik(ensemble, codes), axis=0))


def shares(ensemble: Ensemble, codes: CodeArray) -> FloatArray:
    """How much each member has to say of each row, (members, rows); zeros if it is impossible."""
    joint = member_log_lik(ensemble, codes)
    if ensemble.fixed:
        joint = np.where(np.isfinite(joint), safe_log(ensemble.weights)[:, None], -np.inf)
    whole = logsumexp(joint, axis=0)
    return np.asarray(np.exp(joint - np.where(np.isfinite(whole), whole, 0.0)))


def ensemble_posterior(
    ensemble: Ensemble, codes: CodeArray, groups: Sequence[Sequence[int]]
) -> list[FloatArray]:
    """Joint posterior of each group of columns in each row, (rows, states of each column...).

    Zeros where every member finds the row impossible.
    """
    found: list[FloatArray] = []
    for member, own in zip(ensemble.members, shares(ensemble, codes), strict=True):
        observed = member.model.network.observed
        asked = [tuple(observed[v] for v in group) for group in groups]
        answers = posterior(member.model, codes, asked)
        parts = [p * own.reshape(-1, *[1] * (p.ndim - 1)) for p in answers]
        found = [a + b for a, b in zip(found, parts, strict=True)] if found else parts
    return found


def log_lik_of(speaker: Model | Ensemble, codes: CodeArray) -> FloatArray:
    """Ask a model, or an ensemble, how probable rows are: (rows,)."""
    if isinstance(speaker, Ensemble):
        return ensemble_log_lik(speaker, codes)
    return row_log_lik(speaker, codes)


def posterior_of(
    speaker: Model | Ensemble, codes: CodeArray, groups: Sequence[Sequence[int]]
) -> list[FloatArray]:
    """Ask a model about its variables, or an ensemble about its columns."""
    if isinstance(speaker, Ensemble):
        return ensemble_posterior(speaker, codes, groups)
    return posterior(speaker, codes, groups)
