"""Comparison of latent classes across groups: measurement invariance, by evidence and tests."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from lacunet.data.table import Table
from lacunet.fitting.fit import Fit
from lacunet.flags import Flag
from lacunet.models.conjugacy import log_marginal
from lacunet.models.latent_class import Grouped
from lacunet.models.network import Model, Variable
from lacunet.models.prior import one_alpha
from lacunet.models.surgery import table_of
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.executor import Executor
from lacunet.scores import HEADLINE, RECOMMENDED, VB
from lacunet.selection.candidates import Candidate, Proposal
from lacunet.selection.certainty import Certainty
from lacunet.selection.comparing import candidate_at, compare
from lacunet.selection.effects import NestedFitter, Trial
from lacunet.selection.group_grids import answer, comparison_grids
from lacunet.selection.groups import Alignment, Level, LevelFit, LevelFits, fit_levels
from lacunet.selection.result import Selection
from lacunet.settings import Settings
from lacunet.summaries.intervals import Intervals, drawn_answers
from lacunet.summaries.ratio_tests import LikelihoodRatio
from lacunet.summaries.statistics import criteria
from lacunet.tabular import (
    Columns,
    Grid,
    Printable,
    described,
)


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

    def to_dict(self) -> dict[str, Any]:
        alignment, tests = (
            self.alignment,
            [(str(t.narrow), str(t.wide), t.ratio) for t in self.tests],
        )
        sets = [
            {
                "free_items": list(names),
                "log_bayes_factor": self.log_factor(names),
                "probability": p,
            }
            for names, p in self.set_probabilities.items()  # factors are against no free item
        ]
        return described(
            self,
            "group groups cases flags certainty answer=level free_items=free",
            models={str(f.level): self._level_document(f.level) for f in self.levels.fits},
            sets=sets,
            tests=[{"model": a, "against": b, **ratio.to_dict()} for a, b, ratio in tests],
            items=list(map(self._item_document, self.levels.trials)),
            alignment={
                "reference": alignment.groups[alignment.reference],
                **described(alignment, "convincing distances"),
            },
        )

    def _item_document(self, trial: Trial) -> dict[str, Any]:
        name, (after, before) = trial.edge[1], map(self.levels.names, (trial.after, trial.before))
        item = {"item": name, "probability_free": self.item_probability(name)}
        return {**item, **trial.to_dict(), "log_bayes_factor": self.log_factor(after, before)}

    def _level_document(self, level: Level) -> dict[str, Any]:
        candidate, network = self.candidate(level), self.of(level).fitted.network
        names = [v.name for v in network.variables]
        return {
            "log_likelihood": self.log_lik(level),
            "dimension": self.dimension(level),
            "criteria": self.criteria(level),
            "log_evidence": self.log_evidence(level),
            **described(candidate, "measured_evidence=measured fit"),
            "free_items": list(self.grouped(level).free),
            "class_sizes": self.sizes(level).tolist(),
            "parents": {names[i]: [names[p] for p in q] for i, q in enumerate(network.parents)},
            "tables": {name: candidate.model.table(name).tolist() for name in names},
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
    fitter = NestedFitter(
        table, one_alpha(settings.alpha), settings.options, executor.part(0.0, 0.5)
    )
    levels, silent = fit_levels(fitter, grouped, named), executor.silent()
    candidates = [
        candidate_at(Proposal(str(f.level), f.grouped.network, {}), f.fitted.fit, SCORES, silent)
        for f in levels.fits
    ]
    rest = executor.part(0.5, 1.0)
    selection = compare(table, candidates, settings, prior=levels.prior, executor=rest)
    return GroupComparison(levels, selection)


@dataclass(frozen=True, eq=False)
class GroupAnswer:
    """One answer to an item, or the size of classes, in G groups and K classes."""

    variable: Variable  # the item, or the classes themselves
    state: int | None  # place in its table, as `drawn_answers` gives it; None of class sizes
    values: FloatArray  # (3, G, K) estimate, low, high; the ends are NaN without an interval
    shared: bool  # whether it is the same in all groups, by the model


def group_answers(
    comparison: GroupComparison, level: Level, precise: Intervals | None
) -> Iterator[GroupAnswer]:
    """Yield class sizes, then items in their order; of binary items only the second state."""
    grouped, model = comparison.grouped(level), comparison.candidate(level).model
    network = model.network
    none = np.full_like(model.theta, np.nan)
    ends = [model.theta, *((none, none) if precise is None else (precise.low, precise.high))]
    sizes = np.stack([table_of(network, x, grouped.root) for x in ends])
    yield GroupAnswer(network.variables[grouped.root], None, sizes, False)
    for i in grouped.items:
        v = network.variables[i]
        drawn = drawn_answers(v)
        if not drawn:
            continue
        # Axes of a table are parents, then states: (groups, classes, states), the groups perhaps 1.
        family = list(network.layout.families[i])
        tables = np.stack([table_of(network, x, i) for x in ends])
        shared = grouped.group not in family
        if shared:
            tables = np.broadcast_to(
                tables[:, None], (len(ends), len(comparison.groups), *tables.shape[1:])
            )
        else:
            axes = [family.index(grouped.group) + 1, family.index(grouped.root) + 1]
            tables = np.moveaxis(tables, axes, [1, 2])
        for k in drawn:
            yield GroupAnswer(v, k, tables[..., k], shared)
