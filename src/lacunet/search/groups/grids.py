"""How a comparison of groups looks: models, tests, items, class sizes and profiles."""

from collections.abc import Iterator

import numpy as np

from lacunet.describe.likelihood_ratio import AT_EDGE
from lacunet.model.display import profile_lines
from lacunet.model.joint import table_of
from lacunet.search.effects.adding import kept_edges
from lacunet.search.grids import TITLES, factor_words, limits, starred
from lacunet.search.groups.comparison import GroupComparison
from lacunet.search.groups.levels import Level
from lacunet.tabular import Grid, Shown, chance, number, probability, share
from lacunet.wording import worded

MEANINGS = {
    Level.EQUAL: "the classes are the same in all groups (measurement invariance); only their "
    "sizes differ",
    Level.PARTLY: "most answers mean the same in all groups, some do not (partial invariance)",
    Level.FREE: "the classes of the groups are different classes (no invariance)",
}
ALL = "all"


def answer(found: GroupComparison) -> str:
    """Say which model is most probable, and how sure that is."""
    certainty, level = found.selection.certainty, found.level
    chances = chance(certainty.probabilities[str(level)], certainty.stderr[str(level)])
    free = f", free: {', '.join(found.free)}" if level is Level.PARTLY else ""
    return (
        f"{len(found.sizes(level).T)} classes by {found.group}: their profiles are {level}{free} "
        f"(probability {chances}, {certainty.how})."
    )


def comparison_grids(found: GroupComparison) -> list[Grid]:
    """Everything, in the order in which a person wants it."""
    notes = [f"That is: {MEANINGS[found.level]}.", *limits(found.selection)]
    grids = [Grid(answer(found), notes=tuple(notes)), _models(found)]
    if found.tests:
        grids.append(_tests(found))
    grids += [_items(found), _sizes(found), _profiles(found)]
    if flags := found.flags:
        grids.append(Grid("What to know", notes=tuple(f"- {flag}" for flag in flags)))
    return grids


def _models(found: GroupComparison) -> Grid:
    certainty, best = found.selection.certainty, str(found.level)
    told = {f.level: found.criteria(f.level) for f in found.levels.fits}
    lowest = {name: min(told, key=lambda k: told[k][name]) for name in ("AIC", "BIC")}
    rows = tuple(
        (
            str(k),
            number(found.log_lik(k)),
            str(found.dimension(k)),
            *(starred(told[k][name], lowest[name] == k) for name in lowest),
            number(found.log_evidence(k)),
            factor_words(certainty.bayes_factor(str(k), best)),
            chance(certainty.probabilities[str(k)], certainty.stderr[str(k)]),
        )
        for k in told
    )
    header = ("profiles", "log L", "d", "AIC", "BIC", "log evidence", "log BF", "p")
    greatest = all(f.fitted.likeliest is not None for f in found.levels.fits)
    where = "its maximum" if greatest else "the MAP, for it has no maximum"
    notes = [
        f"Class sizes differ by {found.group} in all models; d parameters.",
        f"log L at {where}; AIC, BIC: lower is better, * the lowest.",
        f"log BF: log Bayes factor against {best}, in nats, by {TITLES[certainty.by]}.",
    ]
    if Level.PARTLY not in told:
        notes.append(_no_part(found))
    elif (weights := found.selection.prior) is not None:
        notes.append(
            f"p: before the data, partly equal has {weights[Level.PARTLY]:.2g} of the weight of "
            "the others, for its items were searched for."
        )
    return Grid(f"Are the classes the same by {found.group}?", header, rows, notes=tuple(notes))


def _no_part(found: GroupComparison) -> str:
    which = "every item" if kept_edges(found.levels.trials) else "no item"
    return f"Not partly equal: the evidence asks for {which} to be free."


def _tests(found: GroupComparison) -> Grid:
    rows = tuple(
        (
            f"{t.narrow} against {t.wide}",
            number(t.ratio.statistic),
            str(t.ratio.df),
            share(t.ratio.p_value),
        )
        for t in found.tests
    )
    notes = ["A small p speaks against the first of the two."]
    edges = max(t.ratio.at_edge for t in found.tests)
    if edges:
        notes.append(AT_EDGE.format(number=edges))
    table = found.selection.table
    if table.survey is not None:
        notes.append("Weights of a survey are scaled to their effective cases: p is approximate.")
    if table.design is not None and table.design.told:
        notes.append("Tests and evidence know nothing of strata and clusters; intervals do.")
    header = ("likelihood-ratio test", "2 log ratio", "df", "p(χ²)")
    return Grid("Likelihood-ratio tests", header, rows, notes=tuple(notes))


def _items(found: GroupComparison) -> Grid:
    partly = next((f for f in found.levels.fits if f.level is Level.PARTLY), None)
    rows = []
    for trial in found.items:
        name, ratio = trial.edge[1], trial.ratio
        test: tuple[str, ...] = ("–", "–", "–")
        if ratio is not None:
            test = (number(ratio.statistic), str(ratio.df), share(ratio.p_value))
        kept = () if partly is None else ("free" if name in partly.grouped.free else "equal",)
        rows.append((name, *test, number(trial.gain), *kept))
    last = () if partly is None else (str(Level.PARTLY),)
    header = ("item", "2 log ratio", "df", "p(χ²)", "log BF", *last)
    by_chance = f"one of {len(rows)} may look good by chance"
    notes = (
        "Each by itself, against all items equal. log BF: approximated (csl).",
        f"Items are set free from log BF {found.items[0].price:.2f} on, for {by_chance}.",
        f"Of {len(rows)} tests, {0.05 * len(rows):.2g} have p < 0.05 by chance alone.",
    )
    title = f"Which items differ by {found.group}? One at a time"
    return Grid(title, header, tuple(rows), frozenset({0, 5}), notes)


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
    header = ("", found.group, *_heads(found))
    title = f"Class profiles: p(answer | class), {found.level}"
    return Grid(title, header, tuple(rows), frozenset({0, 1}), tuple(_titles(found)))


def _titles(found: GroupComparison) -> Iterator[str]:
    network = found.model.network
    shown = (network.variables[i] for i in network.shown)
    yield from (worded(f"{v.name}: {v.title}") for v in shown if v.title)
