"""From lines of the ledger to the paper's tables."""

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from lacunet.paper import published
from lacunet.paper.design import EPSILON, PAPER, Design, Panel

Record = dict[str, Any]
OTHERS = ("cs", "mled", "draper", "bic")  # compared with Laplace
PAPER_TEST = "relative change of g below 1e-5"  # part of the status of a run that met it


def fits(records: Iterable[Record], epsilon: float = EPSILON) -> list[Record]:
    """Give the fits with one ε."""
    return [r for r in records if r["kind"] == "fit" and r["epsilon"] == epsilon]


def by_panel(
    records: Iterable[Record], panels: Sequence[Panel]
) -> Iterator[tuple[Record, list[Record]]]:
    """Give each experiment that there are lines of, as the beginning of a row, and these lines."""
    mine = defaultdict(list)
    for r in records:
        mine[r["n"], r["c"], r["N"]].append(r)
    for n, c, N in panels:
        if (n, c, N) in mine:
            yield {"n": n, "c": c, "N": N}, mine[n, c, N]


def by_dataset(records: Iterable[Record]) -> dict[tuple[int, ...], list[Record]]:
    """Lines of one data set together, by (n, c, N, model, dataset) and by number of states."""
    together: dict[tuple[int, ...], list[Record]] = defaultdict(list)
    for r in sorted(records, key=lambda r: int(r["states"])):
        together[r["n"], r["c"], r["N"], r["model"], r["dataset"]].append(r)
    return together


def largest(values: Sequence[float | None]) -> int | None:
    """Give the place of the largest value, the first of equal ones; None if there is no value."""
    known = {i: v for i, v in enumerate(values) if v is not None}
    return max(known, key=lambda i: known[i], default=None)


def chosen(records: Sequence[Record]) -> dict[tuple[int, ...], dict[str, int]]:
    """States that each score chooses, by (n, c, N, model, dataset)."""
    return {
        place: {
            name: mine[best]["states"]
            for name in mine[0]["scores"]
            if (best := largest([r["scores"].get(name) for r in mine])) is not None
        }
        for place, mine in by_dataset(records).items()
    }


def summary(values: Sequence[float]) -> dict[str, float | int | None]:
    """Mean, standard deviation (over single values) and standard error of the mean."""
    if not values:
        return {"mean": None, "sd": None, "stderr": None, "count": 0}
    mean, count = statistics.fmean(values), len(values)
    sd = statistics.stdev(values) if count > 1 else 0.0
    return {"mean": mean, "sd": sd, "stderr": sd / math.sqrt(count), "count": count}


def table1(
    records: Iterable[Record], design: Design = PAPER, epsilon: float = EPSILON
) -> list[Record]:
    """Δc of every experiment, published beside measured; means over models have a standard error.

    The standard error counts models, not data sets: data sets of one model are not independent
    repetitions of the experiment.
    """
    rows = []
    for row, mine in by_panel(fits(records, epsilon), design.panels):
        choices = {p: x for p, x in chosen(mine).items() if "laplace" in x}
        if not choices:
            continue
        row["datasets"], row["models"] = len(choices), len({p[3] for p in choices})
        row["laplace_states"] = summary([x["laplace"] for x in choices.values()])
        row["scores"] = {}
        for name in OTHERS:
            by_model = defaultdict(list)
            for p, x in choices.items():
                if name in x:
                    by_model[p[3]].append(x[name] - x["laplace"])
            means = [statistics.fmean(v) for v in by_model.values()]
            printed = published.TABLE1.get((row["n"], row["c"], row["N"]), {})
            mean, sd = printed.get(name, (None, None))
            row["scores"][name] = {
                **summary([d for differences in by_model.values() for d in differences]),
                "stderr": summary(means)["stderr"] if len(means) > 1 else None,
                "published_mean": mean,
                "published_sd": sd,
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
    rows = []
    for row, mine in by_panel((r for r in records if r["kind"] == "reality"), design.reality):
        differences = [r["difference"] for r in mine]
        row.update(summary(differences))
        row["hidden_states"] = [r["hidden_states"] for r in mine]
        row["differences"] = differences
        if design is PAPER and (row["n"], row["c"], row["N"]) == design.reality[0]:
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
