"""Fit statistics of every candidate, in the convention of other programs: lower is better.

The two tables of a paper about classes: how well each number of them fits, and what they are.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isnan, nan

from lacunet.fitting.objective import Estimate
from lacunet.models.latent_class import find_classes
from lacunet.selection.average import Label
from lacunet.selection.candidates import Candidate, Selection
from lacunet.selection.certainty import TRUTH
from lacunet.selection.grids import TITLES, first_column, limits, starred, tidy_name
from lacunet.selection.other_answers import drawn_p, how_drawn
from lacunet.summaries.profiles import ItemTable, sizes_of
from lacunet.summaries.ratio_tests import RatioTest, VuongTest, vuong_test
from lacunet.summaries.statistics import FORMULAS, LOWER, Classification, classify, criteria
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
from lacunet.tabular.export import csv_table
from lacunet.wording import worded


@dataclass(frozen=True, eq=False)
class CandidateStatistics:
    """The criteria of one candidate, and how well it tells rows apart."""

    candidate: Candidate
    criteria: Mapping[str, float]  # lower is better
    classification: tuple[Classification, ...]  # one for each hidden variable


@dataclass(frozen=True, eq=False, repr=False)
class Criteria(Printable):
    """AIC and its kin of every candidate of a selection. Lower is better, unlike any score."""

    selection: Selection
    candidates: tuple[CandidateStatistics, ...]

    @property
    def chosen(self) -> dict[str, Label]:
        """The candidate with the lowest value of each criterion."""
        return {
            name: min(self.candidates, key=lambda c, n=name: c.criteria[n]).candidate.label  # type: ignore[misc]
            for name in FORMULAS
        }

    def tidy(self) -> Columns:
        """Give a row for each candidate."""
        names = (tidy_name(self.selection), "dimension", "log_likelihood", *FORMULAS)
        rows = (
            (
                c.candidate.label,
                c.candidate.fit.model.network.dimension,
                c.candidate.fit.log_lik,
                *(c.criteria[n] for n in FORMULAS),
            )
            for c in self.candidates
        )
        return transposed(names, rows)

    def where_taken(self) -> list[str]:
        """Say at which parameters log L is taken, where that is not its maximum."""
        estimates = dict.fromkeys(c.candidate.fit.estimate for c in self.candidates)
        if Estimate.ML in estimates:
            return []
        taken = " or ".join(estimate.words for estimate in estimates)
        at = f"log L is taken at the {taken} parameters"
        return [worded(f"{at}; other programs take its maximum: --estimate ml.")]

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
        chosen = self.chosen
        hidden = list(dict.fromkeys(v.name for c in self.candidates for v in c.classification))

        def classes(c: CandidateStatistics) -> Iterator[str]:
            by_name = {v.name: v for v in c.classification}
            for name in hidden:
                told = by_name.get(name)
                yield number(told.entropy_r2, 3) if told else "–"
                yield share(told.error) if told else "–"

        rows = tuple(
            (
                str(c.candidate.label),
                str(c.candidate.fit.model.network.dimension),
                number(c.candidate.fit.log_lik),
                *(starred(c.criteria[n], chosen[n] == c.candidate.label) for n in FORMULAS),
                *classes(c),
            )
            for c in self.candidates
        )
        first, words = first_column(self.selection)
        of = [f" of {name}" if len(hidden) > 1 else "" for name in hidden]
        counted = "They count d parameters, whatever --dimension says."
        notes = [f"* the lowest of each. {worded(counted)}"]
        notes += self.where_taken()
        apart = [text for o in of for text in (f"entropy R²{o}", f"error{o}")]
        header = (first, "d", "log L", *FORMULAS, *apart)
        return [Grid(f"Fit statistics ({LOWER})", header, rows, words, tuple(notes))]


def selection_criteria(selection: Selection) -> Criteria:
    """Work out the criteria of every candidate, at its fitted parameters."""
    return Criteria(selection, tuple(_statistics(c) for c in selection.candidates))


def _statistics(candidate: Candidate) -> CandidateStatistics:
    fit, data = candidate.fit, candidate.problem
    network = fit.model.network
    values = criteria(fit.log_lik, network.dimension, data.cases)
    return CandidateStatistics(candidate, values, classify(data, fit.model.theta))


SHOWN = ("AIC", "BIC", "SABIC")  # what papers print of the criteria
RATIOS = (
    "VLMR and LMR p: k classes against k − 1; theory does not carry them over to classes, the "
    "bootstrap test ({}) is the one to go by."
)
NO_ITEMS = (
    "Items by class: left out, for answers that listen to more than their class have no such table."
)


@dataclass(frozen=True, eq=False, repr=False)
class FitTable(Printable):
    """Every candidate of a selection: its fit, its criteria, its classes and its evidence."""

    criteria: Criteria

    @cached_property
    def _ratio_tests(self) -> dict[Label, VuongTest]:
        """Each number of classes against one less, where both have ML fits."""
        fits = {c.candidate.label: c.candidate.fit for c in self.criteria.candidates}
        found: dict[Label, VuongTest] = {}
        for k, fit in fits.items():
            less = fits.get(k - 1) if isinstance(k, int) else None
            if less is not None and find_classes(fit.model.network) is not None:
                test = vuong_test(less, fit)
                if test is not None:
                    found[k] = test
        return found

    @property
    def _hidden(self) -> list[str]:
        """Names of hidden variables that some candidate has."""
        each = self.criteria.candidates
        return list(dict.fromkeys(told.name for c in each for told in c.classification))

    def tidy(self) -> Columns:
        """Give a row for each candidate."""
        certainty, hidden = self.criteria.selection.certainty, self._hidden
        of = [f"_{name}" if len(hidden) > 1 else "" for name in hidden]
        names = (
            *(tidy_name(self.criteria.selection), "log_likelihood", "dimension", *SHOWN),
            *(name for o in of for name in (f"entropy_r2{o}", f"smallest_class{o}")),
            *(("blrt_p", "blrt_p_stderr", "blrt_draws") if self._drawn else ()),
            *(("vlmr_p", "lmr_p") if self._ratio_tests else ()),
            *("log_evidence", "probability"),
        )
        rows = (
            (
                c.candidate.label,
                c.candidate.fit.log_lik,
                c.candidate.fit.model.network.dimension,
                *(c.criteria[name] for name in SHOWN),
                *(x for name in hidden for x in _told(c, name)),
                *self._drawn_columns(c.candidate.label),
                *self._ratio_p(c.candidate.label),
                certainty.values[c.candidate.label],
                certainty.probabilities[c.candidate.label],
            )
            for c in self.criteria.candidates
        )
        return transposed(names, rows)

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
        selection, chosen, hidden = self.criteria.selection, self.criteria.chosen, self._hidden
        certainty, alone = selection.certainty, len(selection.candidates) == 1

        def row(c: CandidateStatistics) -> tuple[str, ...]:
            label, fit = c.candidate.label, c.candidate.fit
            told = [_told(c, name) for name in hidden]
            return (
                str(label),
                number(fit.log_lik),
                str(fit.model.network.dimension),
                *(starred(c.criteria[n], chosen[n] == label and not alone) for n in SHOWN),
                *(text for r2, least in told for text in (number(r2, 3), probability(least))),
                *self._drawn_cell(label),
                *(number(p, 3) if isnan(p) else probability(p) for p in self._ratio_p(label)),
                number(certainty.values[label]),
                chance(certainty.probabilities[label], certainty.stderr[label], exact=alone),
            )

        first, words = first_column(selection)
        symbol = "S" if words else "k"
        of = [f" of {name}" if len(hidden) > 1 else "" for name in hidden]
        one = "class" if selection.unit == "classes" else "state"
        apart = [text for o in of for text in (f"entropy R²{o}", f"smallest {one}{o}")]
        evidence = (f"log p(D|{symbol})", f"p({symbol})")
        ratios = ("VLMR p", "LMR p") if self._ratio_tests else ()
        drawn = ("BLRT p",) if self._drawn else ()
        header = (first, "log L", "d", *SHOWN, *apart, *drawn, *ratios, *evidence)
        rows = tuple(row(c) for c in self.criteria.candidates)
        return [Grid(self._title(), header, rows, words, tuple(self._notes(alone)))]

    @property
    def _drawn(self) -> Mapping[int, RatioTest]:
        """Each number of classes against one less, by the bootstrap, where that was asked for."""
        return self.criteria.selection.ratio_tests

    def _drawn_columns(self, label: Label) -> tuple[float | None, ...]:
        """P of the bootstrap, its Monte Carlo error and its draws; nothing where none has any."""
        if not self._drawn:
            return ()
        test = self._drawn.get(label) if isinstance(label, int) else None
        return (
            (nan, nan, None) if test is None else (test.p_value, test.stderr, len(test.replicates))
        )

    def _drawn_cell(self, label: Label) -> tuple[Shown, ...]:
        if not self._drawn:
            return ()
        test = self._drawn.get(label) if isinstance(label, int) else None
        return (number(nan),) if test is None else (drawn_p(test),)

    def _ratio_p(self, label: Label) -> tuple[float, ...]:
        """P-values of a number of classes against one less; nothing where no number has any."""
        if not self._ratio_tests:
            return ()
        test = self._ratio_tests.get(label)
        return (nan, nan) if test is None else (test.p_value, test.adjusted_p)

    def _title(self) -> str:
        names = isinstance(self.criteria.candidates[0].candidate.label, str)
        return (
            "Fit of the networks" if names else f"Fit by number of {self.criteria.selection.unit}"
        )

    def _notes(self, alone: bool) -> list[str]:
        selection = self.criteria.selection
        certainty, cases = selection.certainty, selection.candidates[0].problem.cases
        stars = "" if alone else " * the lowest."
        notes = [
            f"N = {round(cases, 1):,.10g}; d parameters. AIC, BIC, SABIC: lower is better.{stars}"
        ]
        notes += self.criteria.where_taken()
        notes.append(f"Evidence by {TITLES[certainty.by]}: {certainty.how}.")
        if self._drawn:
            notes.append(f"BLRT p: k {selection.unit} against k − 1, {how_drawn(self._drawn)}")
        if self._ratio_tests:
            notes.append(RATIOS.format("BLRT" if self._drawn else worded("--blrt 99")))
        far = [str(k) for k in certainty.values if k not in certainty.measured]
        if certainty.by == TRUTH.name and far:
            notes.append(f"Not measured, for a score has them far behind: {', '.join(far)}.")
        return [*notes, *limits(selection)]


def _told(c: CandidateStatistics, name: str) -> tuple[float, float]:
    """Entropy R² and the smallest size of one hidden variable; NaN if a candidate has it not."""
    model = c.candidate.model
    r2 = next((told.entropy_r2 for told in c.classification if told.name == name), float("nan"))
    h = next((h for h in model.network.hidden if model.network.variables[h].name == name), None)
    return r2, float("nan") if h is None else float(sizes_of(model, h).min())


@dataclass(frozen=True, eq=False, repr=False)
class PaperTables(Printable):
    """The tables of a paper: of a selection its fits and the items of the answer, else items.

    A dataframe is made of the first; `fits.to_frame()` and `items.to_frame()` make one of each.
    """

    fits: FitTable | None  # None of a single fit
    items: ItemTable | None  # None where the answer is no latent class model

    @property
    def _tables(self) -> list[FitTable | ItemTable]:
        return [table for table in (self.fits, self.items) if table is not None]

    def tidy(self) -> Columns:
        """Give the columns of the first table."""
        return self._tables[0].tidy()

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
        grids = [grid for table in self._tables for grid in table.grids()]
        return grids if self.items is not None else [*grids, Grid("", notes=(NO_ITEMS,))]

    def to_csv(self) -> str:
        """Give the tables as CSV, with all digits; two stand below their titles, a line between."""
        tables = self._tables
        if len(tables) == 1:
            return tables[0].to_csv()
        return "\n".join(csv_table((t.grids()[0].title,), ()) + t.to_csv() for t in tables)
