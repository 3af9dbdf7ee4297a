"""Publication tables: fit criteria, classes and evidence of all candidates; items of the answer.

Criteria follow the convention of other programs: lower is better.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from math import isnan, nan
from typing import Any, NamedTuple

from lacunet.fitting.objective import Estimate
from lacunet.models.latent_class import find_classes
from lacunet.selection.average import Label
from lacunet.selection.candidates import Candidate
from lacunet.selection.certainty import TRUTH
from lacunet.selection.grids import TITLES, drawn_p, first_column, simulation_note, starred
from lacunet.selection.result import Selection
from lacunet.selection.sentences import limits
from lacunet.summaries.profiles import ItemTable, sizes_of
from lacunet.summaries.ratio_tests import VuongTest, vuong_test
from lacunet.summaries.statistics import FORMULAS, LOWER, Classification, classify, criteria
from lacunet.tabular import Columns, Grid, Printable, chance, described, number, probability, share
from lacunet.tabular.export import csv_table
from lacunet.wording import worded

SHOWN = ("AIC", "BIC", "SABIC")  # what papers print of the criteria
RATIOS = (
    "VLMR and LMR p: k classes against k − 1; they are not valid for classes in theory: use the "
    "bootstrap test ({})."
)
NO_ITEMS = "Items by class: left out, because items depend on more than their class."


@dataclass(frozen=True, eq=False)
class CandidateStatistics:
    """The criteria of one candidate, and the quality of its classification."""

    candidate: Candidate
    criteria: Mapping[str, float]  # lower is better

    @cached_property
    def classification(self) -> tuple[Classification, ...]:
        """Quality of the classification by each hidden variable, from the posterior of each row."""
        return classify(self.candidate.problem, self.candidate.fit.model.theta)

    def of_hidden(self, name: str) -> Classification | None:
        """Quality of the classification by one hidden variable; None if there is none."""
        return next((v for v in self.classification if v.name == name), None)


class TableColumn(NamedTuple):
    """A column of a table: its printed cells, and its values in a dataframe."""

    head: str | None  # None: only in a dataframe
    name: str | None  # None: only printed
    values: list[Any]
    cells: list[str]


def _column(
    head: str | None, name: str | None, values: list[Any], show: Callable[[Any], str] = str
) -> TableColumn:
    return TableColumn(head, name, values, list(map(show, values)))


def _tidy(columns: Iterable[TableColumn]) -> Columns:
    return {c.name: c.values for c in columns if c.name is not None}


def _grid(title: str, columns: Sequence[TableColumn], notes: Iterable[str]) -> Grid:
    shown = {c.head: c.cells for c in columns if c.head is not None}
    words = isinstance(columns[0].values[0], str)
    return Grid.by_columns(title, shown, frozenset({0} if words else ()), notes)


@dataclass(frozen=True, eq=False, repr=False)
class Criteria(Printable):
    """Information criteria of every candidate of a selection; lower is better, unlike scores."""

    selection: Selection
    candidates: tuple[CandidateStatistics, ...]

    @property
    def chosen(self) -> dict[str, Label]:
        """The candidate with the lowest value of each criterion."""
        best = {n: min(self.candidates, key=lambda c, n=n: c.criteria[n]) for n in FORMULAS}  # type: ignore[misc]
        return {name: c.candidate.label for name, c in best.items()}

    @property
    def hidden(self) -> list[str]:
        """Names of the hidden variables of all candidates."""
        networks = [c.candidate.network for c in self.candidates]
        return list(dict.fromkeys(n.variables[h].name for n in networks for h in n.hidden))

    def sizes(self) -> tuple[TableColumn, TableColumn, TableColumn]:
        """Return the labels of the candidates, their dimensions and their log-likelihoods."""
        each = [c.candidate for c in self.candidates]
        first, words = first_column(self.selection)
        dimensions = [c.fit.model.network.dimension for c in each]
        return (
            _column(first, "network" if words else "states", [c.label for c in each]),
            _column("d", "dimension", dimensions),
            _column("log L", "log_likelihood", [c.fit.log_lik for c in each], number),
        )

    def criterion(self, name: str, *, star: bool = True) -> TableColumn:
        """Return the column of a criterion; the lowest has a star."""
        values, best = [c.criteria[name] for c in self.candidates], self.chosen[name]
        lowest = [star and c.candidate.label == best for c in self.candidates]
        return TableColumn(name, name, values, list(map(starred, values, lowest)))

    def _columns(self) -> list[TableColumn]:
        columns = [*self.sizes(), *map(self.criterion, FORMULAS)]
        for name in self.hidden:
            of = f" of {name}" * (len(self.hidden) > 1)
            each = [c.of_hidden(name) for c in self.candidates]
            r2 = [number(v.entropy_r2, 3) if v else "–" for v in each]
            error = [share(v.error) if v else "–" for v in each]
            columns += [_column(f"entropy R²{of}", None, r2), _column(f"error{of}", None, error)]
        return columns

    def tidy(self) -> Columns:
        """Return a row for each candidate."""
        return _tidy(self._columns())

    def to_dict(self) -> dict[str, Any]:
        candidates = [
            {
                "label": c.candidate.label,
                **c.criteria,
                "classification": {v.name: v for v in c.classification},
            }
            for c in self.candidates
        ]
        return described(self, "chosen", convention=LOWER, candidates=candidates)

    def where_taken(self) -> list[str]:
        """Describe the parameters at which log L is taken, if not its maximum."""
        estimates = dict.fromkeys(c.candidate.fit.estimate for c in self.candidates)
        if Estimate.ML in estimates:
            return []
        taken = " or ".join(estimate.words for estimate in estimates)
        at = f"log L is taken at the {taken} parameters"
        return [worded(f"{at}; other programs take its maximum: --estimate ml.")]

    def grids(self) -> Sequence[Grid]:
        counted = worded("They count d parameters, for every --dimension.")
        notes = [f"* the lowest of each. {counted}", *self.where_taken()]
        return [_grid(f"Fit statistics ({LOWER})", self._columns(), notes)]


def selection_criteria(selection: Selection) -> Criteria:
    """Compute the criteria of every candidate at its fitted parameters."""
    return Criteria(selection, tuple(map(_statistics, selection.candidates)))


def _statistics(candidate: Candidate) -> CandidateStatistics:
    fit, data = candidate.fit, candidate.problem
    values = criteria(fit.log_lik, fit.model.network.dimension, data.cases)
    return CandidateStatistics(candidate, values)


@dataclass(frozen=True, eq=False, repr=False)
class FitTable(Printable):
    """Every candidate of a selection: its fit, its criteria, its classes and its evidence."""

    criteria: Criteria

    @cached_property
    def _ratio_tests(self) -> dict[Label, VuongTest]:
        """Tests of each number of classes against one less, if both have ML fits."""
        fits = {c.candidate.label: c.candidate.fit for c in self.criteria.candidates}
        tests: dict[Label, VuongTest] = {}
        for k, fit in fits.items():
            less = fits.get(k - 1) if isinstance(k, int) else None
            if less is not None and find_classes(fit.model.network) is not None:
                test = vuong_test(less, fit)
                if test is not None:
                    tests[k] = test
        return tests

    def tidy(self) -> Columns:
        """Return a row for each candidate."""
        return _tidy(self._columns())

    def _columns(self) -> list[TableColumn]:
        table, selection = self.criteria, self.criteria.selection
        labels, each = [c.label for c in selection.candidates], table.candidates
        certainty, alone = selection.certainty, len(labels) == 1
        one = "class" if selection.unit == "classes" else "state"
        symbol = "S" if first_column(selection)[1] else "k"
        first, dimension, log_lik = table.sizes()
        columns = [first, log_lik, dimension]
        columns += [table.criterion(n, star=not alone) for n in SHOWN]
        for name in table.hidden:
            of, tidy = (f"{join}{name}" * (len(table.hidden) > 1) for join in (" of ", "_"))
            classifications = [c.of_hidden(name) for c in each]
            r2 = [nan if v is None else v.entropy_r2 for v in classifications]
            least = [smallest_class(c, name) for c in each]
            columns += [
                _column(f"entropy R²{of}", f"entropy_r2{tidy}", r2, partial(number, digits=3)),
                _column(f"smallest {one}{of}", f"smallest_class{tidy}", least, probability),
            ]
        if drawn := selection.ratio_tests:
            tests = [drawn.get(k) if isinstance(k, int) else None for k in labels]
            p = [nan if t is None else t.p_value for t in tests]
            cells = [number(nan) if t is None else drawn_p(t) for t in tests]
            errors = [nan if t is None else t.stderr for t in tests]
            draws = [None if t is None else len(t.replicates) for t in tests]
            columns += [
                TableColumn("BLRT p", "blrt_p", p, list(cells)),
                _column(None, "blrt_p_stderr", errors),
                _column(None, "blrt_draws", draws),
            ]
        if ratios := self._ratio_tests:
            pairs = [ratios.get(k) for k in labels]
            vlmr = [nan if t is None else t.p_value for t in pairs]
            lmr = [nan if t is None else t.adjusted_p for t in pairs]
            columns += [
                _column("VLMR p", "vlmr_p", vlmr, _p_value),
                _column("LMR p", "lmr_p", lmr, _p_value),
            ]
        p, stderr = [certainty.probabilities[k] for k in labels], certainty.stderr
        shown = [chance(x, stderr[k], exact=alone) for x, k in zip(p, labels, strict=True)]
        values = [certainty.values[k] for k in labels]
        return [
            *columns,
            _column(f"log p(D|{symbol})", "log_evidence", values, number),
            TableColumn(f"p({symbol})", "probability", p, list(shown)),
        ]

    def grids(self) -> Sequence[Grid]:
        selection = self.criteria.selection
        certainty, cases = selection.certainty, selection.candidates[0].problem.cases
        stars = "" if len(selection.candidates) == 1 else " * the lowest."
        far = [str(k) for k in certainty.values if k not in certainty.measured]
        drawn, unit = selection.ratio_tests, selection.unit
        notes = [
            f"N = {round(cases, 1):,.10g}; d parameters. AIC, BIC, SABIC: lower is better.{stars}",
            *self.criteria.where_taken(),
            f"Evidence by {TITLES[certainty.by]}: {certainty.basis}.",
        ]
        if drawn:
            notes.append(f"BLRT p: k {unit} against k − 1, {simulation_note(drawn)}")
        if self._ratio_tests:
            notes.append(RATIOS.format("BLRT" if drawn else worded("--blrt 99")))
        if certainty.by == TRUTH.name and far:
            notes.append(f"Not measured, because a score has them far behind: {', '.join(far)}.")
        networks = isinstance(selection.candidates[0].label, str)
        title = "Fit of the networks" if networks else f"Fit by number of {unit}"
        return [_grid(title, self._columns(), [*notes, *limits(selection)])]


def _p_value(p: float) -> str:
    return number(p, 3) if isnan(p) else probability(p)


def smallest_class(c: CandidateStatistics, name: str) -> float:
    """Smallest state of a hidden variable; NaN if the candidate does not have the variable."""
    model = c.candidate.model
    h = next((h for h in model.network.hidden if model.network.variables[h].name == name), None)
    return nan if h is None else float(sizes_of(model, h).min())


@dataclass(frozen=True, eq=False, repr=False)
class PaperTables(Printable):
    """The tables of a paper: fits and items of a selection, or items of a single fit.

    A dataframe has the first table; `fits.to_frame()` and `items.to_frame()` return each of them.
    """

    fits: FitTable | None  # None of a single fit
    items: ItemTable | None  # None if the answer is not a latent class model

    @property
    def _tables(self) -> list[FitTable | ItemTable]:
        return [table for table in (self.fits, self.items) if table is not None]

    def tidy(self) -> Columns:
        """Return the columns of the first table."""
        return self._tables[0].tidy()

    def grids(self) -> Sequence[Grid]:
        grids = [grid for table in self._tables for grid in table.grids()]
        return grids if self.items is not None else [*grids, Grid("", notes=(NO_ITEMS,))]

    def to_csv(self) -> str:
        """Return the tables as CSV, with all digits; two tables have titles and a line between."""
        tables = self._tables
        if len(tables) == 1:
            return tables[0].to_csv()
        return "\n".join(csv_table((t.grids()[0].title,), ()) + t.to_csv() for t in tables)
