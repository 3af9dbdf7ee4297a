"""Comparison of latent classes across groups: measurement invariance, by evidence and tests."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from lacunet.data.table import Table
from lacunet.fitting.fit import Fit
from lacunet.flags import Flag
from lacunet.models.conjugacy import log_marginal
from lacunet.models.display import profile_lines
from lacunet.models.latent_class import Grouped
from lacunet.models.network import Model
from lacunet.models.surgery import table_of
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.executor import Executor
from lacunet.scores import HEADLINE, RECOMMENDED, VB
from lacunet.selection.candidates import Candidate, Proposal, Selection
from lacunet.selection.certainty import Certainty
from lacunet.selection.comparing import candidate_at, compare
from lacunet.selection.effects import RATIO, NestedFitter, Trial, ratio_cells
from lacunet.selection.grids import TITLES, factor_words, starred
from lacunet.selection.groups import Alignment, Level, LevelFit, LevelFits, fit_levels
from lacunet.selection.sentences import WORTH_A_WORD, limits
from lacunet.settings import Settings
from lacunet.summaries.ratio_tests import AT_EDGE, LikelihoodRatio
from lacunet.summaries.statistics import criteria
from lacunet.tabular import (
    Columns,
    Grid,
    Printable,
    Shown,
    chance,
    number,
    probability,
    share,
    transposed,
)
from lacunet.wording import worded


@dataclass(frozen=True)
class LevelTest:
    """A likelihood-ratio test of one level against a wider one."""

    narrow: Level
    wide: Level
    ratio: LikelihoodRatio


@dataclass(frozen=True, eq=False, repr=False)
class GroupComparison(Printable):
    """Latent classes in groups, with item probabilities equal, partly equal, or free.

    Log-likelihoods, dimensions and evidence are those of the answers given the groups.
    """

    levels: LevelFits
    selection: Selection  # the same models as candidates, with their evidence

    @property
    def group(self) -> str:
        """Name of the column of groups."""
        return self.equal.grouped.variable.name

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups."""
        return self.equal.grouped.variable.labels

    @property
    def equal(self) -> LevelFit:
        """The model with equal items in all groups."""
        return self.levels.fits[0]

    @cached_property
    def cases(self) -> FloatArray:
        """Cases of each group."""
        problem, grouped = self.equal.fitted.fit.problem, self.equal.grouped
        return problem.layout.table(problem.seen, grouped.group)

    @cached_property
    def certainty(self) -> Certainty:
        """The posterior over levels; partly equal sums over all fitted sets of free items.

        Equal, partly equal and free have the same prior weight, apart from sets of free items that
        were not fitted.
        """
        known, weights = self.selection.certainty, self.levels.set_weights
        if not weights:
            return known
        partly = known.values[str(Level.PARTLY)] + math.log(math.fsum(weights.values()))
        return replace(known, values={**known.values, str(Level.PARTLY): partly}, prior=None)

    @cached_property
    def set_probabilities(self) -> dict[tuple[str, ...], float]:
        """Posterior probability of each set of free items that was fitted, among all of them."""
        p, weights = self.certainty.probabilities, self.levels.set_weights
        levels = {f.grouped.free: p[str(f.level)] for f in self.levels.fits}
        total = math.fsum(weights.values())
        shares = {names: p[str(Level.PARTLY)] * w / total for names, w in weights.items()}
        return {**levels, **shares}

    def log_factor(self, names: Sequence[str], other: Sequence[str] = ()) -> float:
        """Log Bayes factor of two sets of free items."""
        return self._value(tuple(names)) - self._value(tuple(other))

    def _value(self, names: tuple[str, ...]) -> float:
        """Log evidence of a set, shifted by the measured correction of the set that is shown."""
        values = self.selection.certainty.values
        shown = {f.grouped.free: values[str(f.level)] for f in self.levels.fits}
        if names in shown:
            return shown[names]
        partly, other = self.of(Level.PARTLY).fitted, self.levels.sets[names]
        return values[str(Level.PARTLY)] + other.approximation - partly.approximation

    def item_probability(self, name: str) -> float:
        """Posterior probability that an item is free, alone or with others."""
        return math.fsum(p for names, p in self.set_probabilities.items() if name in names)

    @property
    def level(self) -> Level:
        """The answer: the most probable level."""
        return Level(str(self.certainty.choice))

    @property
    def best(self) -> Candidate:
        """The candidate of the most probable level."""
        return self.candidate(self.level)

    @property
    def fit(self) -> Fit:
        """The fit of the most probable level."""
        return self.best.fit

    @property
    def model(self) -> Model:
        """The model of the most probable level: a network in which the group is a variable."""
        return self.best.model

    @property
    def free(self) -> tuple[str, ...]:
        """Items that differ between groups at the most probable level."""
        return self.of(self.level).grouped.free

    @property
    def items(self) -> tuple[Trial, ...]:
        """Trials of items set free one at a time, all others equal."""
        return tuple(trial for trial in self.levels.trials if trial.step == 0)

    @property
    def alignment(self) -> Alignment:
        """How well the classes of groups match each other if all items are free."""
        return self.levels.alignment

    def of(self, level: Level | str) -> LevelFit:
        """Return the fit of a level."""
        return next(f for f in self.levels.fits if f.level == level)

    def candidate(self, level: Level | str) -> Candidate:
        """Return the candidate of a level, with its scores and its evidence."""
        return next(c for c in self.selection.candidates if c.label == level)

    def sizes(self, level: Level | str) -> FloatArray:
        """Return p(class | group), (groups, K)."""
        candidate, grouped = self.candidate(level), self.of(level).grouped
        return candidate.problem.layout.table(candidate.model.theta, grouped.root)

    def log_lik(self, level: Level | str) -> float:
        """Maximum of log p(answers | groups); at the estimate if there is no maximum."""
        fitted = self.of(level).fitted
        point = (fitted.likeliest or fitted.fit).point
        shares = fitted.fit.problem.layout.table(point.theta, self.equal.grouped.group)
        return point.log_lik - float(self.cases @ np.log(shares))

    def dimension(self, level: Level | str) -> int:
        """Free parameters, without those of the groups themselves."""
        return self.of(level).fitted.network.dimension - (len(self.groups) - 1)

    def criteria(self, level: Level | str) -> dict[str, float]:
        """Return AIC, BIC and their kin; lower is better."""
        return criteria(self.log_lik(level), self.dimension(level), float(self.cases.sum()))

    def log_evidence(self, level: Level | str) -> float:
        """Log p(answers | groups) over all parameters, measured or approximated."""
        problem = self.equal.fitted.fit.problem
        marginals = log_marginal(problem.seen, problem.alpha, problem.layout)
        groups = float(marginals[self.equal.grouped.group])
        return self.selection.certainty.values[str(level)] - groups

    @cached_property
    def tests(self) -> tuple[LevelTest, ...]:
        """Likelihood-ratio tests of each level against every wider one."""
        pairs = itertools.combinations(self.levels.fits, 2)
        ratios = [(one, two, two.fitted.ratio_to(one.fitted)) for one, two in pairs]
        return tuple(LevelTest(one.level, two.level, r) for one, two, r in ratios if r is not None)

    @property
    def flags(self) -> tuple[Flag, ...]:
        """Flags of the chosen model, and of the match of its classes."""
        return (*self.best.flags, *self.alignment.flags())

    def grouped(self, level: Level | str) -> Grouped:
        """Return the places of the variables in the model of a level."""
        return self.of(level).grouped

    def brief(self) -> str:
        return answer(self)

    def tidy(self) -> Columns:
        """Return a row for each model that is shown; probabilities are over all fitted models."""
        levels = [f.level for f in self.levels.fits]
        return {
            "model": list(map(str, levels)),
            "log_likelihood": list(map(self.log_lik, levels)),
            "dimension": list(map(self.dimension, levels)),
            **{name: [self.criteria(k)[name] for k in levels] for name in ("AIC", "BIC")},
            "log_evidence": list(map(self.log_evidence, levels)),
            "probability": [self.set_probabilities[f.grouped.free] for f in self.levels.fits],
        }

    def grids(self) -> Sequence[Grid]:
        return comparison_grids(self)


SCORES = (VB, HEADLINE, RECOMMENDED[0])  # for screening, and in place of measured evidence


def compare_levels(
    table: Table,
    grouped: Grouped,
    named: Sequence[str] | None,
    settings: Settings,
    executor: Executor,
) -> GroupComparison:
    """Fit the models of all levels, and compare them; the free items may be named."""
    fitter = NestedFitter(table, settings.one_alpha, settings.options, executor.part(0.0, 0.5))
    levels, silent = fit_levels(fitter, grouped, named), executor.silent()
    candidates = [
        candidate_at(Proposal(str(f.level), f.grouped.network, {}), f.fitted.fit, SCORES, silent)
        for f in levels.fits
    ]
    rest = executor.part(0.5, 1.0)
    selection = compare(table, candidates, settings, prior=levels.prior, executor=rest)
    return GroupComparison(levels, selection)


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
            "p: over all models that were fitted. Before the data, equal and free weigh 1 each, "
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
