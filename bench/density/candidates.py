"""Latent class models of one training part, weighed by their evidence, and what they say of rows.

Numbers of classes are tried in groups, for several exponents of the prior, for as long as the
evidence rises to the end of a group. Nothing is chosen: every model that was fitted speaks, those
of one exponent for their shares of the posterior, the exponents each for an equal part. The
evidence knows which number of classes fits rows that come in any order; files that are cut into
folds as they are sorted hold out rows that do not. What too small an exponent then loses has no
limit, while an equal part costs at most the logarithm of their number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

import lacunet
from lacunet.arrays import CodeArray, FloatArray
from lacunet.data import Table
from lacunet.inference.asking.row_likelihood import row_log_lik
from lacunet.model.network import Model

UNIFORM = 1.0
ALPHAS = (UNIFORM, 0.5, 0.25)  # the uniform prior, Jeffreys for two states, and a sparser one
GROUPS = ((1, 2, 3, 4, 6, 8), (12, 16), (24, 32), (48, 64))
OCCUPIED = 16  # classes up to which empty ones are accounted for: it takes a fit for each number
DISTINCT = 3.0  # nats that empty and equal classes may make there, for more to be tried
BEHIND = 20.0  # nats below the best: an exponent that is not worth following
STARTS = 8
SETTINGS = {
    "alphas": ALPHAS,
    "groups": GROUPS,
    "limits": {"occupied": OCCUPIED, "distinct": DISTINCT, "behind": BEHIND},
    "starts": STARTS,
}


@dataclass(frozen=True, eq=False)
class Weighed:
    """A fitted model, and the log evidence of its candidate."""

    classes: int
    alpha: float
    log_evidence: float  # all labellings
    overlap: float  # nats that it would have gained if every class counted as distinct and used
    model: Model


def weigh(table: Table, *, threads: int | None = None, seed: int = 0) -> list[Weighed]:
    """Fit and weigh all that may matter."""
    found: list[Weighed] = []
    alphas = list(ALPHAS)
    for group in GROUPS:
        how = {"starts": STARTS, "threads": threads, "seed": seed}
        found += [w for a in alphas for w in _group(table, group, a, how)]
        alphas = [a for a in alphas if _may_rise(found, a)]
        if not alphas:
            break
    return found


def _may_rise(found: Sequence[Weighed], alpha: float) -> bool:
    """Whether more classes may be better still, with this exponent, and could be weighed."""
    own = [w for w in found if w.alpha == alpha]
    last = max(own, key=lambda w: w.classes)
    best = max(w.log_evidence for w in found)
    highest = last.log_evidence == max(w.log_evidence for w in own)
    known = last.classes < OCCUPIED or last.overlap < DISTINCT
    close = alpha == UNIFORM or best - last.log_evidence < BEHIND
    return highest and known and close


def _group(
    table: Table, numbers: Sequence[int], alpha: float, how: Mapping[str, Any]
) -> list[Weighed]:
    score = "csl-occupied" if max(numbers) <= OCCUPIED else "csl"
    names = list(dict.fromkeys(("csl", score)))
    selection = lacunet.select(table, numbers, alpha=alpha, scores=names, quick=True, **how)
    values, plain = selection.values(score), selection.values("csl")
    found = []
    for c in selection.candidates:
        distinct = plain[c.label] + c.log_labellings
        value = values[c.label] if score != "csl" else distinct
        if np.isfinite(value):
            found.append(Weighed(int(c.label), alpha, value, distinct - value, c.fit.model))
    return found


@dataclass(frozen=True)
class HeldOut:
    """Log p(test rows) in several ways, in nats."""

    pooled: float  # of all models: by their probability for each exponent, which have equal parts
    average: float  # of all models, each by its probability
    uniform: float  # of those with the uniform prior, in the same way
    chosen: float  # of the most probable one
    plug_in: float  # of its estimate
    classes: int  # of the most probable one
    alpha: float


def held_out(weighed: Sequence[Weighed], rows: CodeArray) -> HeldOut:
    """Ask the models about rows."""
    best = max(weighed, key=lambda w: w.log_evidence)
    each = [_by_row([w for w in weighed if w.alpha == alpha], rows) for alpha in ALPHAS]
    return HeldOut(
        pooled=float((logsumexp(each, axis=0) - np.log(len(each))).sum()),
        average=_averaged(weighed, rows),
        uniform=_averaged([w for w in weighed if w.alpha == UNIFORM], rows),
        chosen=_averaged([best], rows),
        plug_in=float(row_log_lik(best.model, rows).sum()),
        classes=best.classes,
        alpha=best.alpha,
    )


def _averaged(weighed: Sequence[Weighed], rows: CodeArray) -> float:
    return float(_by_row(weighed, rows).sum())


def _by_row(weighed: Sequence[Weighed], rows: CodeArray) -> FloatArray:
    each = np.stack([row_log_lik(w.model.predictive, rows) for w in weighed])
    log_evidence = np.array([w.log_evidence for w in weighed])
    log_weights = log_evidence - logsumexp(log_evidence)
    return np.asarray(logsumexp(each + log_weights[:, None], axis=0))
