"""The comparison of groups: how far their classes are the same, by evidence and by tests."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from lacunet.fitting.fit import Fit
from lacunet.flags import Flag
from lacunet.models.conjugacy import log_marginal
from lacunet.models.display import profile_lines
from lacunet.models.latent_class import Grouped
from lacunet.models.network import Model
from lacunet.models.surgery import table_of
from lacunet.runtime.arrays import FloatArray
from lacunet.scores import HEADLINE, RECOMMENDED, VB
from lacunet.selection.candidates import Candidate, Proposal, Selection
from lacunet.selection.certainty import Certainty
from lacunet.selection.effects import RATIO, NestedFitter, Trial, ratio_cells
from lacunet.selection.evaluating import candidate_at
from lacunet.selection.grids import TITLES, factor_words, starred
from lacunet.selection.groups import Alignment, Level, LevelFit, LevelFits, fit_levels
from lacunet.selection.sentences import WORTH_A_WORD, limits
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
    """Latent classes in groups, with answers equal in all of them, in part, or free.

    Log-likelihoods, dimensions and evidence are about the answers given the groups: how many cases
    a group has is the same in all models.
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
        """The model whose answers are equal in all groups."""
        return self.levels.fits[0]

    @cached_property
    def cases(self) -> FloatArray:
        """Cases of each group."""
        problem, grouped = self.equal.fitted.fit.problem, self.equal.grouped
        return problem.layout.table(problem.seen, grouped.group)

    @cached_property
    def certainty(self) -> Certainty:
        """The posterior over levels: partly equal is the sum over all sets that were fitted.

        Equal, partly equal and free have the same weight before the data, apart from sets of free
        items that were not fitted.
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
        found = {f.grouped.free: p[str(f.level)] for f in self.levels.fits}
        total = math.fsum(weights.values())
        shares = {names: p[str(Level.PARTLY)] * w / total for names, w in weights.items()}
        return {**found, **shares}

    def log_factor(self, names: Sequence[str], other: Sequence[str] = ()) -> float:
        """Log Bayes factor of two sets of free items; the same wherever the two are compared."""
        return self._value(tuple(names)) - self._value(tuple(other))

    def _value(self, names: tuple[str, ...]) -> float:
        """Log evidence of a set; what measuring changed in the set that is shown holds for all."""
        values = self.selection.certainty.values
        shown = {f.grouped.free: values[str(f.level)] for f in self.levels.fits}
        if names in shown:
            return shown[names]
        partly, other = self.of(Level.PARTLY).fitted, self.levels.sets[names]
        return values[str(Level.PARTLY)] + other.log_evidence - partly.log_evidence

    def item_probability(self, name: str) -> float:
        """Posterior probability that an item is free, alone or with others."""
        return math.fsum(p for names, p in self.set_probabilities.items() if name in names)

    @property
    def level(self) -> Level:
        """The answer: the most probable level."""
        return Level(str(self.certainty.choice))

    @property
    def best(self) -> Candidate:
        """The model that the answer names."""
        return self.candidate(self.level)

    @property
    def fit(self) -> Fit:
        """Its fit."""
        return self.best.fit

    @property
    def model(self) -> Model:
        """Its parameters, a network in which the group is a variable."""
        return self.best.model

    @property
    def free(self) -> tuple[str, ...]:
        """Items that differ between groups, in the model that the answer names."""
        return self.of(self.level).grouped.free

    @property
    def items(self) -> tuple[Trial, ...]:
        """Items set free one at a time, all others equal: their tests."""
        return tuple(trial for trial in self.levels.trials if trial.step == 0)

    @property
    def alignment(self) -> Alignment:
        """How well the classes of groups match each other, all answers free."""
        return self.levels.alignment

    def of(self, level: Level | str) -> LevelFit:
        """Give one of the models."""
        return next(f for f in self.levels.fits if f.level == level)

    def candidate(self, level: Level | str) -> Candidate:
        """Give one of the models as a candidate, with its scores and its evidence."""
        return next(c for c in self.selection.candidates if c.label == level)

    def sizes(self, level: Level | str) -> FloatArray:
        """Give p(class | group), (groups, K)."""
        found, grouped = self.candidate(level), self.of(level).grouped
        return found.problem.layout.table(found.model.theta, grouped.root)

    def log_lik(self, level: Level | str) -> float:
        """Log p(answers | groups) where it is greatest; at the estimate, if it has no maximum."""
        fitted = self.of(level).fitted
        point = (fitted.likeliest or fitted.fit).point
        shares = fitted.fit.problem.layout.table(point.theta, self.equal.grouped.group)
        return point.log_lik - float(self.cases @ np.log(shares))

    def dimension(self, level: Level | str) -> int:
        """Free parameters, without those of the groups themselves."""
        return self.of(level).fitted.network.dimension - (len(self.groups) - 1)

    def criteria(self, level: Level | str) -> dict[str, float]:
        """Give AIC, BIC and their kin; lower is better."""
        return criteria(self.log_lik(level), self.dimension(level), float(self.cases.sum()))

    def log_evidence(self, level: Level | str) -> float:
        """Log p(answers | groups) over all parameters, measured or approximated."""
        problem = self.equal.fitted.fit.problem
        own = log_marginal(problem.seen, problem.alpha, problem.layout)
        return self.selection.certainty.values[str(level)] - float(own[self.equal.grouped.group])

    @cached_property
    def tests(self) -> tuple[LevelTest, ...]:
        """Likelihood-ratio tests of each level against every wider one."""
        pairs = itertools.combinations(self.levels.fits, 2)
        ratios = [(one, two, two.fitted.ratio_to(one.fitted)) for one, two in pairs]
        return tuple(LevelTest(one.level, two.level, r) for one, two, r in ratios if r is not None)

    @property
    def flags(self) -> tuple[Flag, ...]:
        """What to know of the model that the answer names, and of how classes match."""
        return (*self.best.flags, *self.alignment.flags())

    def grouped(self, level: Level | str) -> Grouped:
        """Give where the variables of a model are."""
        return self.of(level).grouped

    def brief(self) -> str:
        return answer(self)

    def tidy(self) -> Columns:
        """Give a row for each model that is shown; probabilities are over all that were fitted."""
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


SCORES = (VB, HEADLINE, RECOMMENDED[0])  # what decides whether to measure, and what stands in


def compare_levels(
    fitter: NestedFitter, grouped: Grouped, named: Sequence[str] | None
) -> tuple[LevelFits, Selection]:
    """Fit the models, and take their scores."""
    levels, silent = fit_levels(fitter, grouped, named), fitter.executor.silent()
    candidates = [
        candidate_at(Proposal(str(f.level), f.grouped.network, {}), f.fitted.fit, SCORES, silent)
        for f in levels.fits
    ]
    alpha, options = fitter.alpha, fitter.options
    return levels, Selection(fitter.table, tuple(candidates), options, alpha, levels.prior)


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

    levels = list(criteria)
    columns: dict[str, list[str]] = {
        "profiles": list(map(str, levels)),
        "log L": [number(found.log_lik(k)) for k in levels],
        "d": [str(found.dimension(k)) for k in levels],
        **{n: [starred(criteria[k][n], low == k) for k in levels] for n, low in lowest.items()},
        "log evidence": [number(found.log_evidence(k)) for k in levels],
        "log BF": [factor_words(certainty.bayes_factor(str(k), best)) for k in levels],
        "p": list(map(model_chance, levels)),
    }
    if others := found.levels.others:
        left = share(math.fsum(sets[names] for names in others))
        last = [f"{len(others)} other sets of free items", *["–"] * 6, left]
        columns = {name: [*x, y] for (name, x), y in zip(columns.items(), last, strict=True)}
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
    title = f"Are the classes the same by {found.group}?"
    return Grid.by_columns(title, columns, notes=notes)


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
