"""Is what is stated right as often as it is stated? From lines of the ledger to tables."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from lacunet.evidence.estimate import Verdict
from lacunet.paper.tables import Record
from lacunet.runtime.arrays import BoolArray, FloatArray
from lacunet.scores import SCORES
from studies.calibration.posteriors import PosteriorCell

SELECT, EVIDENCE = "select", "evidence"  # the default answer; the evidence of every k, measured
WAYS = (SELECT, EVIDENCE, *(s.name for s in SCORES if not s.only_exact))
BINS = (0.0, 0.4, 0.6, 0.8, 1.0)  # of the largest probability
FINE = (0.0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 1.0)  # of every probability that is stated
LEAST = -700.0  # log of the smallest probability that is told from 0
EVERY_LABELLING = {s.name for s in SCORES if s.every_labelling}


def log_posterior(record: Record, way: str) -> FloatArray | None:
    """Log p(k | D) for k = 1, 2, … by one way to find it; None, if it has no value somewhere.

    A score at one mode is given the k! labellings that k classes have, for the data know them all.
    Measured evidences are a posterior where none of them is a lower bound only.
    """
    values: Sequence[float | None]
    if way == SELECT:
        values = _stated(record["select"])
    elif way == EVIDENCE:
        measured = record.get("evidence", {"values": [None], "verdicts": ()})
        bounded = Verdict.LOWER_BOUND in measured["verdicts"]
        values = [None] if bounded else measured["values"]
    else:
        values = record["scores"].get(way, [None])
    if None in values:
        return None
    logs = np.array(values, dtype=np.float64)
    if way in record["scores"] and way not in EVERY_LABELLING:
        logs += [math.lgamma(k + 1) for k in range(1, len(logs) + 1)]
    top = logs.max()
    normal: FloatArray = logs - top - np.log(np.exp(logs - top).sum())
    return np.maximum(normal, LEAST)


def _stated(answer: Mapping[str, Any]) -> list[float]:
    """Log probabilities that were stated, or evidences that they follow from; −∞: without any."""
    if "probabilities" in answer:
        return [math.log(p) if p else -math.inf for p in answer["probabilities"]]
    return [-math.inf if v is None else v for v in answer["values"]]


def reliability_table(records: Sequence[Record], cell: PosteriorCell) -> Record:
    """Sum up a cell: for each way to find the posterior, how good and how calibrated it is."""
    mine = [r for r in records if r["cell"] == cell.name]
    ways = {way: summary for way in WAYS if (summary := _summary(mine, way)) is not None}
    return {
        "cell": cell.name,
        "leaves": cell.leaves,
        "classes": cell.most,
        "rows": cell.rows,
        "holes": cell.missing,
        "alpha": cell.alpha,
        "datasets": len(mine),
        "cpu": cpu_seconds(mine),
        "ways": ways,
        # The default where measured evidences are a posterior: only there can the two be compared.
        "where_measured": _summary([r for r in mine if _measured(r)], SELECT),
    }


def _measured(record: Record) -> bool:
    return log_posterior(record, EVIDENCE) is not None


def cpu_seconds(mine: Sequence[Record]) -> dict[str, float]:
    """Mean CPU seconds of each part of a data set."""
    names = dict.fromkeys(name for r in mine for name in r["cpu"])
    return {
        name: float(np.mean([r["cpu"][name] for r in mine if name in r["cpu"]])) for name in names
    }


def _summary(mine: Sequence[Record], way: str) -> dict[str, Any] | None:
    pairs = [(r["classes"] - 1, log) for r in mine if (log := log_posterior(r, way)) is not None]
    if not pairs:
        return None
    true = np.array([k for k, _ in pairs])
    logs = np.array([log for _, log in pairs])
    p = np.exp(logs)
    largest, right = p.max(axis=1), p.argmax(axis=1) == true
    at_true = logs[np.arange(len(true)), true]
    is_true = np.arange(p.shape[1]) == true[:, None]
    return {
        "datasets": len(true),
        "log_true": float(at_true.mean()),
        "log_true_stderr": float(at_true.std(ddof=1) / math.sqrt(len(true)))
        if len(true) > 1
        else None,
        "right": float(right.mean()),
        "largest": float(largest.mean()),
        "bins": bins_of(largest, right, BINS),
        "every": bins_of(p.reshape(-1), is_true.reshape(-1), FINE),
    }


def bins_of(
    stated: FloatArray, right: BoolArray, edges: Sequence[float]
) -> list[Mapping[str, float | int]]:
    """Sort statements by how probable they say they are, and count how many of them are right.

    The binomial error is the standard deviation that the share of right ones has, if every
    statement is right with the probability that it states.
    """
    found: list[Mapping[str, float | int]] = []
    for low, high in pairwise(edges):
        inside = (stated >= low) & ((stated < high) | (high == edges[-1]))
        n = int(inside.sum())
        if n:
            p = stated[inside]
            error = math.sqrt(float((p * (1 - p)).sum())) / n
            told = {"from": low, "to": high, "number": n, "stated": float(p.mean())}
            found.append({**told, "right": float(right[inside].mean()), "error": error})
    return found


def within(bins: Sequence[Mapping[str, float | int]], errors: float = 2.0) -> int:
    """Count the bins whose share of right statements is as stated, but for chance."""
    return sum(
        abs(b["right"] - b["stated"]) <= errors * max(b["error"], 0.5 / b["number"]) for b in bins
    )
