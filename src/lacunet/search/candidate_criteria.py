"""Fit statistics of every candidate, in the convention of other programs: lower is better."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lacunet.describe.classification import Classification, classify
from lacunet.describe.information_criteria import FORMULAS, LOWER, criteria
from lacunet.learn.objective import Estimate
from lacunet.search.average import Label
from lacunet.search.candidates import Candidate, Selection
from lacunet.tabular import Grid, Printable, Shown, number, share


@dataclass(frozen=True, eq=False)
class CandidateStatistics:
    """The criteria of one candidate, and how well it tells rows apart."""

    candidate: Candidate
    criteria: Mapping[str, float]  # lower is better
    classification: tuple[Classification, ...]  # one for each hidden variable


@dataclass(frozen=True, eq=False)
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

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
        chosen = self.chosen
        hidden = list(dict.fromkeys(v.name for c in self.candidates for v in c.classification))

        def starred(c: CandidateStatistics, name: str) -> str:
            text = number(c.criteria[name])
            return Shown(f"*{text}", text.value) if chosen[name] == c.candidate.label else text

        def classes(c: CandidateStatistics) -> list[str]:
            by_name = {v.name: v for v in c.classification}
            return [
                text
                for name in hidden
                for text in (
                    [number(by_name[name].entropy_r2, 3), share(by_name[name].error)]
                    if name in by_name
                    else ["–", "–"]
                )
            ]

        of = [f" of {name}" if len(hidden) > 1 else "" for name in hidden]
        rows = tuple(
            (
                str(c.candidate.label),
                str(c.candidate.fit.model.network.dimension),
                number(c.candidate.fit.log_lik),
                *(starred(c, name) for name in FORMULAS),
                *classes(c),
            )
            for c in self.candidates
        )
        number_of_states = isinstance(self.candidates[0].candidate.label, int)
        notes = ["* the lowest of each. They count d parameters, whatever --dimension says."]
        if self.selection.options.estimate is Estimate.MAP:
            notes.append(
                "log L is taken at the MAP parameters; other programs take its maximum: "
                "--estimate ml."
            )
        return [
            Grid(
                f"Fit statistics ({LOWER})",
                (
                    "states" if number_of_states else "network",
                    "d",
                    "log L",
                    *FORMULAS,
                    *(text for o in of for text in (f"entropy R²{o}", f"error{o}")),
                ),
                rows,
                frozenset() if number_of_states else frozenset({0}),
                tuple(notes),
            )
        ]


def selection_criteria(selection: Selection) -> Criteria:
    """Work out the criteria of every candidate, at its fitted parameters."""
    found = []
    for c in selection.candidates:
        model, problem = c.fit.model, c.problem
        values = criteria(c.fit.log_lik, model.network.dimension, problem.cases)
        classes = tuple(
            classify(model, problem.codes, problem.counts, h) for h in model.network.hidden
        )
        found.append(CandidateStatistics(c, values, classes))
    return Criteria(selection, tuple(found))
