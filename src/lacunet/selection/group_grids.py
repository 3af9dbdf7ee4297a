"""A comparison of groups as tables: models, tests, items, class sizes and profiles."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from lacunet.models.display import profile_lines
from lacunet.models.surgery import table_of
from lacunet.selection.effects import RATIO, ratio_cells
from lacunet.selection.grids import TITLES, factor_words, starred
from lacunet.selection.groups import Level
from lacunet.selection.sentences import WORTH_A_WORD, limits
from lacunet.summaries.ratio_tests import AT_EDGE
from lacunet.tabular import Grid, Shown, chance, number, probability, share, transposed
from lacunet.wording import worded

if TYPE_CHECKING:
    from lacunet.selection.group_comparison import GroupComparison

MEANINGS = {
    Level.EQUAL: "the classes are the same in all groups (measurement invariance); only their "
    "sizes differ",
    Level.PARTLY: "most answers mean the same in all groups, some do not (partial invariance)",
    Level.FREE: "the classes of the groups are different classes (no invariance)",
}
ALL = "all"


def answer(comparison: GroupComparison) -> str:
    """Describe the most probable level, and its probability."""
    certainty, level = comparison.certainty, comparison.level
    chances = chance(certainty.probabilities[str(level)], certainty.stderr[str(level)])
    free = ""
    if level is Level.PARTLY:
        free = f", free: {', '.join(comparison.free)}"
        p = comparison.set_probabilities[comparison.free]
        if certainty.probabilities[str(level)] - p >= WORTH_A_WORD:
            chances = Shown(f"{chances}; that exactly these are free: {share(p)}", p)
    return (
        f"{len(comparison.sizes(level).T)} classes by {comparison.group}: their profiles are "
        f"{level}{free} (probability {chances}, {certainty.basis})."
    )


def comparison_grids(comparison: GroupComparison) -> list[Grid]:
    """Return all tables of a comparison, the answer first."""
    notes = [
        f"That is: {MEANINGS[comparison.level]}.",
        *_better(comparison),
        *limits(comparison.selection),
    ]
    grids = [Grid(answer(comparison), notes=tuple(notes)), _models(comparison)]
    if comparison.tests:
        grids.append(_tests(comparison))
    grids += [_items(comparison), _sizes(comparison), _profiles(comparison)]
    if flags := comparison.flags:
        grids.append(Grid("What to know", notes=tuple(f"- {flag}" for flag in flags)))
    return grids


def _better(comparison: GroupComparison) -> Iterator[str]:
    """Warn if another set of free items is more probable than the named one."""
    p, shown = comparison.set_probabilities, comparison.levels.partly
    best = max(comparison.levels.others, key=lambda names: p[names], default=None)
    if best is not None and shown is not None and p[best] > p[shown.grouped.free]:
        yield (
            f"warning: free {', '.join(best)} is more probable than the set that is shown "
            f"({share(p[best])} against {share(p[shown.grouped.free])})."
        )


def _models(comparison: GroupComparison) -> Grid:
    certainty, best = comparison.selection.certainty, str(comparison.level)
    sets = comparison.set_probabilities
    criteria = {f.level: comparison.criteria(f.level) for f in comparison.levels.fits}
    lowest = {name: min(criteria, key=lambda k: criteria[k][name]) for name in ("AIC", "BIC")}

    def model_chance(k: Level) -> Shown:
        if k is Level.PARTLY:
            return share(sets[comparison.of(k).grouped.free])
        return chance(
            comparison.certainty.probabilities[str(k)], comparison.certainty.stderr[str(k)]
        )

    levels = list(criteria)
    columns: dict[str, list[str]] = {
        "profiles": list(map(str, levels)),
        "log L": [number(comparison.log_lik(k)) for k in levels],
        "d": [str(comparison.dimension(k)) for k in levels],
        **{n: [starred(criteria[k][n], low == k) for k in levels] for n, low in lowest.items()},
        "log evidence": [number(comparison.log_evidence(k)) for k in levels],
        "log BF": [factor_words(certainty.bayes_factor(str(k), best)) for k in levels],
        "p": list(map(model_chance, levels)),
    }
    if others := comparison.levels.others:
        left = share(math.fsum(sets[names] for names in others))
        last = [f"{len(others)} other sets of free items", *["–"] * 6, left]
        columns = {name: [*x, y] for (name, x), y in zip(columns.items(), last, strict=True)}
    greatest = all(f.fitted.likeliest is not None for f in comparison.levels.fits)
    where = "its maximum" if greatest else "the MAP, because it has no maximum"
    notes = [
        f"Class sizes differ by {comparison.group} in all models; d parameters.",
        f"log L at {where}; AIC, BIC: lower is better, * the lowest.",
        f"log BF: log Bayes factor against {best}, in nats, by {TITLES[certainty.by]}.",
    ]
    if comparison.levels.partly is not None:
        items = len(comparison.equal.grouped.items)
        named = " (the named set: 1)" * comparison.levels.named
        notes.append(
            "p: over all models that were fitted. Prior weights: equal and free 1 each, "
            f"and a set of m of the {items} items 1/(2^m C({items}, m)){named}."
        )
    title = f"Are the classes the same by {comparison.group}?"
    return Grid.by_columns(title, columns, notes=notes)


def _tests(comparison: GroupComparison) -> Grid:
    rows = tuple((f"{t.narrow} against {t.wide}", *ratio_cells(t.ratio)) for t in comparison.tests)
    notes = ["A small p is evidence against the first of the two."]
    if edges := max(t.ratio.at_edge for t in comparison.tests):
        notes.append(AT_EDGE.format(number=edges))
    if comparison.selection.table.survey is not None:
        notes.append("Weights of a survey are scaled to their effective cases: p is approximate.")
    header = ("likelihood-ratio test", *RATIO)
    return Grid("Likelihood-ratio tests", header, rows, notes=tuple(notes))


def _items(comparison: GroupComparison) -> Grid:
    partly, names = comparison.levels.partly, [trial.edge[1] for trial in comparison.items]
    columns = {"item": names, **transposed(RATIO, (ratio_cells(t.ratio) for t in comparison.items))}
    columns["log BF"] = [number(comparison.log_factor([name])) for name in names]
    if partly is not None:
        free = partly.grouped.free
        columns[str(Level.PARTLY)] = ["free" if name in free else "equal" for name in names]
    columns["p(free)"] = [share(comparison.item_probability(name)) for name in names]
    notes = (
        "Each by itself, against all items equal. log BF: as in the first table.",
        "p(free): posterior probability that the item is free, summed over all models.",
        f"Of {len(names)} tests, {0.05 * len(names):.2g} have p < 0.05 by chance alone.",
    )
    title = f"Which items differ by {comparison.group}? One at a time"
    return Grid.by_columns(title, columns, frozenset({0, 5}), notes)


def _heads(comparison: GroupComparison) -> list[str]:
    root = comparison.model.network.variables[comparison.grouped(comparison.level).root]
    return [f"{root.name} {label}" for label in root.labels]


def _sizes(comparison: GroupComparison) -> Grid:
    sizes = comparison.sizes(comparison.level)
    rows = tuple(
        (name, Shown(f"{n:,.6g}", n), *map(probability, row))
        for name, n, row in zip(
            comparison.groups, comparison.cases.tolist(), sizes.tolist(), strict=True
        )
    )
    header = (comparison.group, "cases", *_heads(comparison))
    return Grid(f"Class sizes, {comparison.level} profiles", header, rows)


def _profiles(comparison: GroupComparison) -> Grid:
    network, grouped = comparison.model.network, comparison.grouped(comparison.level)
    rows: list[tuple[str, ...]] = []
    for i in grouped.items:
        v, table = network.variables[i], table_of(network, comparison.model.theta, i)
        if v.name not in comparison.free:
            rows += [(line[0], ALL, *line[1:]) for line in profile_lines(v, table)]
            continue
        axis = network.layout.families[i].index(grouped.group)
        each = [
            list(profile_lines(v, np.take(table, g, axis))) for g in range(len(comparison.groups))
        ]
        rows += [
            (line[0], name, *line[1:])
            for lines in zip(*each, strict=True)
            for name, line in zip(comparison.groups, lines, strict=True)
        ]
    shown = (network.variables[i] for i in network.shown)
    notes = tuple(worded(f"{v.name}: {v.title}") for v in shown if v.title)
    header = ("", comparison.group, *_heads(comparison))
    title = f"Class profiles: p(answer | class), {comparison.level}"
    return Grid(title, header, tuple(rows), frozenset({0, 1}), notes)
