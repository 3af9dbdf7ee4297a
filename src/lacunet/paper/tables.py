"""From lines of the ledger to the paper's tables."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from lacunet.paper import published
from lacunet.paper.design import EPSILON, PAPER, Design

Record = dict[str, Any]
OTHERS = ("cs", "mled", "draper", "bic")  # compared with Laplace
PAPER_TEST = "relative change of g below 1e-5"  # part of the status of a run that met it


def fits(records: Iterable[Record], epsilon: float = EPSILON) -> list[Record]:
    """Give the fits with one ε."""
    return [r for r in records if r["kind"] == "fit" and r["epsilon"] == epsilon]


def chosen(records: Sequence[Record]) -> dict[tuple[int, ...], dict[str, int]]:
    """States that each score chooses, by (n, c, N, model, dataset)."""
    curves: dict[tuple[int, ...], dict[str, dict[int, float]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    for r in records:
        place = (r["n"], r["c"], r["N"], r["model"], r["dataset"])
        for name, value in r["scores"].items():
            if value is not None:
                curves[place][name][r["states"]] = value
    return {
        place: {name: max(curve, key=lambda k: curve[k]) for name, curve in scores.items()}
        for place, scores in curves.items()
    }


def summary(values: Sequence[float]) -> dict[str, float | int | None]:
    """Mean, standard deviation (over single values) and standard error of the mean."""
    if not values:
        return {"mean": None, "sd": None, "stderr": None, "count": 0}
    sd = statistics.stdev(values) if len(values) > 1 else 0.0
    return {
        "mean": statistics.fmean(values),
        "sd": sd,
        "stderr": sd / math.sqrt(len(values)),
        "count": len(values),
    }


def table1(
    records: Iterable[Record], design: Design = PAPER, epsilon: float = EPSILON
) -> list[Record]:
    """Δc of every experiment, published beside measured; means over models have a standard error.

    The standard error counts models, not data sets: data sets of one model are not independent
    repetitions of the experiment.
    """
    choices = chosen(fits(records, epsilon))
    rows = []
    for n, c, N in design.panels:
        mine = {p: x for p, x in choices.items() if p[:3] == (n, c, N) and "laplace" in x}
        if not mine:
            continue
        row: Record = {"n": n, "c": c, "N": N, "datasets": len(mine)}
        row["models"] = len({p[3] for p in mine})
        row["laplace_states"] = summary([x["laplace"] for x in mine.values()])
        row["scores"] = {}
        for name in OTHERS:
            differences = {p: x[name] - x["laplace"] for p, x in mine.items() if name in x}
            by_model = defaultdict(list)
            for p, d in differences.items():
                by_model[p[3]].append(d)
            means = [statistics.fmean(v) for v in by_model.values()]
            printed = published.TABLE1.get((n, c, N), {}).get(name, (None, None))
            row["scores"][name] = {
                **summary(list(differences.values())),
                "stderr": summary(means)["stderr"] if len(means) > 1 else None,
                "published_mean": printed[0],
                "published_sd": printed[1],
            }
        rows.append(row)
    return rows


def table2(records: Iterable[Record], design: Design = PAPER) -> list[Record]:
    """Seconds of EM and each score, n = 64, c = 32, N = 400, published beside measured."""
    by_states = defaultdict(list)
    for r in fits(records):
        if (r["n"], r["c"], r["N"]) == design.timed and (
            design is not PAPER or r["states"] in published.TABLE2
        ):
            by_states[r["states"]].append(r)
    rows = []
    for states, runs in sorted(by_states.items()):
        row: Record = {"states": states, "dimension": runs[0]["dimension"], "seconds": {}}
        for name in runs[0]["seconds"]:
            # The smallest of the runs: the others waited for other work on the machine.
            now = min(r["seconds"][name] for r in runs)
            then = published.TABLE2[states][name] if design is PAPER else None
            ratio = None if then is None else then / now
            row["seconds"][name] = {"published": then, "measured": now, "ratio": ratio}
        rows.append(row)
    return rows


def convergence(records: Iterable[Record]) -> Record:
    """How many runs met the paper's test, and how far they still were from a true maximum."""
    runs = fits(records)
    gaps = sorted(r["gap"] for r in runs)
    met = sum(PAPER_TEST in r["converged"] for r in runs)
    return {
        "runs": len(runs),
        "met": met,
        "published_runs": published.CONVERGED[1],
        "published_met": published.CONVERGED[0],
        "gap_median": statistics.median(gaps) if gaps else None,
        "gap_95": gaps[int(0.95 * (len(gaps) - 1))] if gaps else None,
        "gap_largest": gaps[-1] if gaps else None,
        "further_than_1_nat": sum(g > 1 for g in gaps),
    }


def reality(records: Iterable[Record], design: Design = PAPER) -> list[Record]:
    """Δm of §5, for the paper's size and larger ones."""
    comparisons = [r for r in records if r["kind"] == "reality"]
    rows = []
    for n, c, N in design.reality:
        mine = [r for r in comparisons if (r["n"], r["c"], r["N"]) == (n, c, N)]
        if mine:
            row: Record = {"n": n, "c": c, "N": N, **summary([r["difference"] for r in mine])}
            row["hidden_states"] = [r["hidden_states"] for r in mine]
            row["differences"] = [r["difference"] for r in mine]
            if design is PAPER and (n, c, N) == design.reality[0]:
                row["published_mean"], row["published_sd"] = published.REALITY
            rows.append(row)
    return rows


def epsilons(records: Sequence[Record], design: Design = PAPER) -> list[Record]:
    """Δc with each ε, for the experiments that were repeated."""
    return [
        {**row, "epsilon": epsilon}
        for panel in design.epsilon_panels
        for epsilon in design.epsilons
        for row in table1(records, design, epsilon)
        if (row["n"], row["c"], row["N"]) == panel
    ]
