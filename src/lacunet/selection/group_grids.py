"""Tables of a comparison of groups: models, tests, items, class sizes and profiles."""

import math
from collections.abc import Iterator

import numpy as np

from lacunet.models.display import profile_lines
from lacunet.models.surgery import table_of
from lacunet.selection.effects import RATIO, ratio_cells
from lacunet.selection.grids import TITLES, factor_words, starred
from lacunet.selection.group_comparison import GroupComparison
from lacunet.selection.groups import Level
from lacunet.selection.sentences import WORTH_A_WORD, limits
from lacunet.summaries.ratio_tests import AT_EDGE
from lacunet.tabular import Grid, Shown, chance, number, probability, share, transposed
from lacunet.wording import worded

MEANINGS = {
    Level.EQUAL: "the classes are the same in all groups (measurement invariance); only their "
    "sizes differ",
    Level.PARTLY: "most answers mean the same in all groups, some do not (partial invariance)",
    Level.FREE: "the classes of the groups are different classes (no invariance)",
}
ALL = "all"


def answer(found: GroupComparison) -> str:
    """Say which level is most probable, and how sure that is."""
    certainty, level = found.certainty, found.level
    chances = chance(certainty.probabilities[str(level)], certainty.stderr[str(level)])
    free = ""
    if level is Level.PARTLY:
        free = f", free: {', '.join(found.free)}"
        own = found.set_probabilities[found.free]
        if certainty.probabilities[str(level)] - own >= WORTH_A_WORD:
            chances = Shown(f"{chances}; that exactly these are free: {share(own)}", own)
    return (
        f"{len(found.sizes(level).T)} classes by {found.group}: their profiles are {level}{free} "
        f"(probability {chances}, {certainty.how})."
    )


def comparison_grids(found: GroupComparison) -> list[Grid]:
    """Everything, in the order in which a person wants it."""
    notes = [f"That is: {MEANINGS[found.level]}.", *_better(found), *limits(found.selection)]
    grids = [Grid(answer(found), notes=tuple(notes)), _models(found)]
    if found.tests:
        grids.append(_tests(found))
    grids += [_items(found), _sizes(found), _profiles(found)]
    if flags := found.flags:
        grids.append(Grid("What to know", notes=tuple(f"- {flag}" for flag in flags)))
    return grids


def _better(found: GroupComparison) -> Iterator[str]:
    """Name the most probable set of free items, where another is shown because it was named."""
    p, shown = found.set_probabilities, found.levels.partly
    best = max(found.levels.others, key=lambda names: p[names], default=None)
    if best is not None and shown is not None and p[best] > p[shown.grouped.free]:
        yield (
            f"warning: free {', '.join(best)} is more probable than the set that is shown "
            f"({share(p[best])} against {share(p[shown.grouped.free])})."
        )


def _models(found: GroupComparison) -> Grid:
    certainty, best, sets = found.selection.certainty, str(found.level), found.set_probabilities
    criteria = {f.level: found.criteria(f.level) for f in found.levels.fits}
    lowest = {name: min(criteria, key=lambda k: criteria[k][name]) for name in ("AIC", "BIC")}

    def model_chance(k: Level) -> Shown:
        if k is Level.PARTLY:
            return share(sets[found.of(k).grouped.free])
        return chance(found.certainty.probabilities[str(k)], found.certainty.stderr[str(k)])

    rows = [
        (
            str(k),
            number(found.log_lik(k)),
            str(found.dimension(k)),
            *(starred(criteria[k][name], lowest[name] == k) for name in lowest),
            number(found.log_evidence(k)),
            factor_words(certainty.bayes_factor(str(k), best)),
            model_chance(k),
        )
        for k in criteria
    ]
    if others := found.levels.others:
        left = math.fsum(sets[names] for names in others)
        rows.append((f"{len(others)} other sets of free items", *["–"] * 6, share(left)))
    greatest = all(f.fitted.likeliest is not None for f in found.levels.fits)
    where = "its maximum" if greatest else "the MAP, for it has no maximum"
    notes = [
        f"Class sizes differ by {found.group} in all models; d parameters.",
        f"log L at {where}; AIC, BIC: lower is better, * the lowest.",
        f"log BF: log Bayes factor against {best}, in nats, by {TITLES[certainty.by]}.",
    ]
    if found.levels.partly is not None:
        items, named = len(found.equal.grouped.items), " (the named set: 1)" * found.levels.named
        notes.append(
            "p: over all models that were fitted. Before the data, equal and free weigh 1 each, "
            f"and a set of m of the {items} items 1/(2^m C({items}, m)){named}."
        )
    header = ("profiles", "log L", "d", "AIC", "BIC", "log evidence", "log BF", "p")
    title = f"Are the classes the same by {found.group}?"
    return Grid(title, header, tuple(rows), notes=tuple(notes))


def _tests(found: GroupComparison) -> Grid:
    rows = tuple((f"{t.narrow} against {t.wide}", *ratio_cells(t.ratio)) for t in found.tests)
    notes = ["A small p speaks against the first of the two."]
    if edges := max(t.ratio.at_edge for t in found.tests):
        notes.append(AT_EDGE.format(number=edges))
    if found.selection.table.survey is not None:
        notes.append("Weights of a survey are scaled to their effective cases: p is approximate.")
    header = ("likelihood-ratio test", *RATIO)
    return Grid("Likelihood-ratio tests", header, rows, notes=tuple(notes))


def _items(found: GroupComparison) -> Grid:
    partly, names = found.levels.partly, [trial.edge[1] for trial in found.items]
    columns = {"item": names, **transposed(RATIO, (ratio_cells(t.ratio) for t in found.items))}
    columns["log BF"] = [number(found.log_factor([name])) for name in names]
    if partly is not None:
        free = partly.grouped.free
        columns[str(Level.PARTLY)] = ["free" if name in free else "equal" for name in names]
    columns["p(free)"] = [share(found.item_probability(name)) for name in names]
    notes = (
        "Each by itself, against all items equal. log BF: as in the first table.",
        "p(free): posterior probability that the item is free, summed over all models.",
        f"Of {len(names)} tests, {0.05 * len(names):.2g} have p < 0.05 by chance alone.",
    )
    title = f"Which items differ by {found.group}? One at a time"
    return Grid.by_columns(title, columns, frozenset({0, 5}), notes)


def _heads(found: GroupComparison) -> list[str]:
    root = found.model.network.variables[found.grouped(found.level).root]
    return [f"{root.name} {label}" for label in root.labels]


def _sizes(found: GroupComparison) -> Grid:
    sizes = found.sizes(found.level)
    rows = tuple(
        (name, Shown(f"{n:,.6g}", n), *map(probability, row))
        for name, n, row in zip(found.groups, found.cases.tolist(), sizes.tolist(), strict=True)
    )
    header = (found.group, "cases", *_heads(found))
    return Grid(f"Class sizes, {found.level} profiles", header, rows)


def _profiles(found: GroupComparison) -> Grid:
    network, grouped = found.model.network, found.grouped(found.level)
    rows: list[tuple[str, ...]] = []
    for i in grouped.items:
        v, table = network.variables[i], table_of(network, found.model.theta, i)
        if v.name not in found.free:
            rows += [(line[0], ALL, *line[1:]) for line in profile_lines(v, table)]
            continue
        axis = network.layout.families[i].index(grouped.group)
        each = [list(profile_lines(v, np.take(table, g, axis))) for g in range(len(found.groups))]
        rows += [
            (line[0], name, *line[1:])
            for lines in zip(*each, strict=True)
            for name, line in zip(found.groups, lines, strict=True)
        ]
    shown = (network.variables[i] for i in network.shown)
    notes = tuple(worded(f"{v.name}: {v.title}") for v in shown if v.title)
    header = ("", found.group, *_heads(found))
    title = f"Class profiles: p(answer | class), {found.level}"
    return Grid(title, header, tuple(rows), frozenset({0, 1}), notes)
