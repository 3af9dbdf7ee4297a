"""The tables and figures of CH96 from lines of the ledger, and the published numbers."""

import math
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lacunet.paper.experiments import EPSILON, PAPER, PAPER_SCORES, Design, Panel
from lacunet.plots.figures import GREY, SMALL, SMALLER, THIN, axes, load, paper_style, round_numbers
from lacunet.plots.score_curves import Series, draw_curves
from lacunet.plots.style import Look
from lacunet.runtime.files import atomic_path, write_text
from lacunet.selection.grids import TITLES
from lacunet.tabular.export import csv_table

Record = dict[str, Any]
OTHERS = ("cs", "mled", "draper", "bic")  # compared with Laplace
PAPER_TEST = "relative change of g below 1e-5"  # part of the status of a run that met it


def fits(records: Iterable[Record], epsilon: float = EPSILON) -> list[Record]:
    """Return the fits with one ε."""
    return [r for r in records if r["kind"] == "fit" and r["epsilon"] == epsilon]


def by_panel(
    records: Iterable[Record], panels: Sequence[Panel]
) -> Iterator[tuple[Record, list[Record]]]:
    """Yield the beginning of a row for each experiment that has lines, and these lines."""
    every = list(records)
    for n, c, N in panels:
        if mine := [r for r in every if (r["n"], r["c"], r["N"]) == (n, c, N)]:
            yield {"n": n, "c": c, "N": N}, mine


def by_dataset(records: Iterable[Record]) -> dict[tuple[int, ...], list[Record]]:
    """Group the lines by data set, (n, c, N, model, dataset), ordered by number of states."""
    together: dict[tuple[int, ...], list[Record]] = defaultdict(list)
    for r in sorted(records, key=lambda r: int(r["states"])):
        together[r["n"], r["c"], r["N"], r["model"], r["dataset"]].append(r)
    return together


def largest(values: Sequence[float | None]) -> int | None:
    """Return the index of the largest value, the first of ties; None if there is no value."""
    known = {i: v for i, v in enumerate(values) if v is not None}
    return max(known, key=lambda i: known[i], default=None)


def chosen(records: Sequence[Record]) -> dict[tuple[int, ...], dict[str, int]]:
    """States that each score chooses, by (n, c, N, model, dataset), if Laplace has a choice."""
    choices = {}
    for place, mine in by_dataset(records).items():
        best = {name: largest([r["scores"].get(name) for r in mine]) for name in mine[0]["scores"]}
        states = {name: mine[i]["states"] for name, i in best.items() if i is not None}
        if "laplace" in states:
            choices[place] = states
    return choices


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

    The standard error counts models, because data sets of one model are not independent.
    """
    rows = []
    for row, mine in by_panel(fits(records, epsilon), design.panels):
        choices = chosen(mine)
        if not choices:
            continue
        row["datasets"], row["models"] = len(choices), len({p[3] for p in choices})
        row["laplace_states"] = summary([x["laplace"] for x in choices.values()])
        published = TABLE1.get((row["n"], row["c"], row["N"]), {})
        row["scores"] = {}
        for name in OTHERS:
            by_model = defaultdict(list)
            for p, x in choices.items():
                if name in x:
                    by_model[p[3]].append(x[name] - x["laplace"])
            means = [statistics.fmean(v) for v in by_model.values()]
            mean, sd = published.get(name, (None, None))
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
            design is not PAPER or r["states"] in TABLE2
        ):
            by_states[r["states"]].append(r)
    rows = []
    for states, runs in sorted(by_states.items()):
        row: Record = {"states": states, "dimension": runs[0]["dimension"], "seconds": {}}
        for name in runs[0]["seconds"]:
            # The fastest run: the others shared the machine with other work.
            now = min(r["seconds"][name] for r in runs)
            then = TABLE2[states][name] if design is PAPER else None
            ratio = None if then is None else then / now
            row["seconds"][name] = {"published": then, "measured": now, "ratio": ratio}
        rows.append(row)
    return rows


def convergence(records: Iterable[Record]) -> Record:
    """Number of runs that met the paper's test, and their distances from a true maximum."""
    runs = fits(records)
    gaps = sorted(r["gap"] for r in runs)
    met = sum(PAPER_TEST in r["converged"] for r in runs)
    return {
        "runs": len(runs),
        "met": met,
        "published_runs": CONVERGED[1],
        "published_met": CONVERGED[0],
        "gap_median": statistics.median(gaps) if gaps else None,
        "gap_95": gaps[int(0.95 * (len(gaps) - 1))] if gaps else None,
        "gap_largest": gaps[-1] if gaps else None,
        "further_than_1_nat": sum(g > 1 for g in gaps),
    }


def reality(records: Iterable[Record], design: Design = PAPER) -> list[Record]:
    """Δm of §5, at the paper's size and at larger ones."""
    rows = []
    for row, mine in by_panel((r for r in records if r["kind"] == "reality"), design.reality):
        differences = [r["difference"] for r in mine]
        row.update(summary(differences))
        row["hidden_states"] = [r["hidden_states"] for r in mine]
        row["differences"] = differences
        if design is PAPER and (row["n"], row["c"], row["N"]) == design.reality[0]:
            row["published_mean"], row["published_sd"] = REALITY
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


# Table 1: Δc = states chosen by a score − states chosen by Laplace, (mean, sd) over 5 data sets.
TABLE1: dict[tuple[int, int, int], dict[str, tuple[float, float]]] = {
    panel: {"cs": cs, "mled": mled, "draper": draper, "bic": bic}
    for panel, cs, mled, draper, bic in (
        ((8, 4, 400), (0, 0), (0.4, 1.5), (0, 0), (-0.2, 0.4)),
        ((16, 4, 400), (0.2, 0.4), (-0.2, 0.8), (0.2, 0.4), (-0.8, 0.4)),
        ((32, 4, 400), (0, 0), (0, 0), (0, 0), (-0.4, 0.5)),
        ((64, 4, 400), (0, 0), (0, 0), (0, 0), (-0.2, 0.4)),
        ((64, 32, 400), (16.2, 1.5), (16.2, 1.5), (-2.2, 2.0), (-6.0, 2.7)),
        ((64, 16, 400), (5.0, 6.4), (5.0, 6.4), (-1.6, 1.1), (-3.0, 1.4)),
        ((64, 8, 400), (0.8, 0.8), (0.8, 0.8), (0, 0), (-1.0, 1.0)),
        ((32, 4, 100), (0.6, 0.9), (0.6, 0.9), (0, 0), (-0.6, 0.5)),
        ((32, 4, 200), (0.2, 0.4), (0.2, 0.4), (0, 0), (-0.6, 0.5)),
        ((32, 4, 800), (0, 0), (0, 0), (0, 0), (0, 0)),
    )
}

# Table 2: seconds on a 100 MHz Pentium, n = 64, c = 32, N = 400, by states of the test model.
TABLE2: dict[int, dict[str, float]] = {
    states: {"em": em, "laplace": laplace, "cs": cs, "mled": mled, "draper": cs, "bic": cs}
    for states, em, laplace, cs, mled in (
        (26, 500, 2800, 2, 0.06),
        (27, 580, 3000, 2, 0.07),
        (28, 590, 3300, 2, 0.07),
        (29, 650, 3600, 2, 0.08),
        (30, 680, 3900, 2, 0.08),
        (31, 680, 4200, 2, 0.08),
        (32, 530, 4600, 2, 0.08),
        (33, 760, 4900, 2, 0.08),
        (34, 810, 5500, 2, 0.08),
        (35, 790, 5900, 3, 0.08),
        (36, 870, 6700, 3, 0.08),
    )
}

CONVERGED = (549, 550)  # runs that met the test after 200 iterations, of all
REALITY = (26.0, 33.0)  # Δm of §5, mean and sd over five repetitions


SIZE = (7.2, 5.4)  # inches: the width of a page


@dataclass(frozen=True)
class Experiment:
    """Curves over the numbers of root states, for one data set."""

    panel: Panel
    states: tuple[int, ...]
    curves: tuple[Series, ...]


def curve(title: str, values: Sequence[float | None], look: Look, **more: Any) -> Series:
    """Return the curve of a score; its largest value is marked."""
    errors = more.pop("errors", (None,) * len(values))
    known = tuple(math.nan if v is None else v for v in values)
    return Series(title, known, errors, largest(values), look, **more)


def experiment(records: Sequence[Record], panel: Panel, names: Sequence[str]) -> Experiment:
    """Return the scores of an experiment's first data set."""
    mine = by_dataset(records).get((*panel, 0, 0), [])
    scores = {name: [r["scores"].get(name) for r in mine] for name in names}
    curves = (curve(TITLES[name], scores[name], Look(i)) for i, name in enumerate(names))
    return Experiment(panel, tuple(r["states"] for r in mine), tuple(curves))


def write_figure(
    number: int, panels: Sequence[Panel], records: Sequence[Record], folder: Path
) -> str:
    """Write figureN.svg, .png and .csv; return the <svg> element."""
    experiments = [experiment(fits(records), panel, PAPER_SCORES) for panel in panels]
    write_text(folder / f"figure{number}.csv", _data(experiments))
    return draw_experiments(f"figure{number}", experiments, folder)


def draw_experiments(stem: str, experiments: Sequence[Experiment], folder: Path) -> str:
    """Draw four experiments to .svg and .png; return the <svg> element."""
    with paper_style():
        figure = load("figure").Figure(figsize=SIZE, layout="constrained")
        for ax, shown in zip(figure.subplots(2, 2).flat, experiments, strict=True):
            _draw(axes(ax), shown)
        handles, labels = figure.axes[0].get_legend_handles_labels()
        below: dict[str, Any] = {"loc": "outside lower center", "frameon": False}
        figure.legend(handles, labels, ncols=5, handlelength=2.6, **below)
        return save_figure(figure, stem, folder)


def save_figure(figure: Any, stem: str, folder: Path) -> str:
    """Write a figure to .svg and .png; return the <svg> element."""
    for ending, more in (("svg", {"metadata": {"Date": None}}), ("png", {"dpi": 200})):
        with atomic_path(folder / f"{stem}.{ending}") as path:
            figure.savefig(path, format=ending, **more)
    text = (folder / f"{stem}.svg").read_text(encoding="utf-8")
    return text[text.index("<svg") :]  # without the XML declaration, which a page cannot contain


def _draw(ax: Any, shown: Experiment) -> None:
    n, c, N = shown.panel
    draw_curves(ax, shown.states, shown.curves)
    ax.axvline(c, color=GREY, linewidth=THIN, linestyle=":")
    ax.set_title(f"n = {n}, c = {c}, N = {N}", fontsize=SMALL, loc="left")
    ax.set_xlabel("states of the root", fontsize=SMALLER)
    ax.set_ylabel("log marginal likelihood", fontsize=SMALLER)
    round_numbers(ax.xaxis, whole=True)


def _data(experiments: Sequence[Experiment]) -> str:
    rows = (
        [*e.panel, k, *(s.values[i] for s in e.curves)]
        for e in experiments
        for i, k in enumerate(e.states)
    )
    return csv_table(["n", "c", "N", "states", *PAPER_SCORES], rows)
