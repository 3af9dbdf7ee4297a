"""Equal labellings: what a score at one mode leaves out of the evidence."""

from dataclasses import dataclass

from lacunet.flags import Flag, Kind
from lacunet.inference.symmetry import Symmetries, symmetries_of
from lacunet.scoring.score import Score
from lacunet.scoring.score_input import Evidence, ScoreInput


def flags_of(symmetries: Symmetries) -> tuple[Flag, ...]:
    """Say so where there may be more labellings than are counted."""
    return () if symmetries.whole else (Flag(Kind.MORE_LABELLINGS),)


@dataclass(frozen=True)
class AllLabellings:
    """Adds the equal labellings to another score."""

    score: Score

    def __call__(self, at: ScoreInput) -> Evidence:
        """Evaluate the other, and add."""
        one, name = self.score.here(at), f"{self.score.name}-all"
        if not one.terms:
            return Evidence(name, {}, one.flags)
        symmetries = symmetries_of(at.problem)
        terms = {**one.terms, "log of equal labellings": symmetries.log_count}
        return Evidence(name, terms, (*one.flags, *flags_of(symmetries)), one.stderr)


def with_all_labellings(score: Score) -> Score:
    """Make a score that adds the equal labellings to another."""
    return Score(
        f"{score.name}-all",
        f"{score.title}, all labellings",
        score.source,
        AllLabellings(score),
        column=f"{score.column or score.title}+k!",
        domain=score.domain,
        usual=False,
        every_labelling=True,
    )
