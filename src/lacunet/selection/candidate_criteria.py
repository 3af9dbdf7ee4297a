"""Fit statistics of every candidate, in the convention of other programs: lower is better."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lacunet.fitting.objective import Estimate
from lacunet.selection.average import Label
from lacunet.selection.candidates import Candidate, Selection
from lacunet.selection.grids import first_column, starred, tidy_name
from lacunet.summaries.classification import Classification, classify
from lacunet.summaries.information_criteria import FORMULAS, LOWER, criteria
from lacunet.tabular import Columns, Grid, Printable, number, share, transposed
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
