"""Equal labellings: what a score at one mode leaves out of the evidence."""

from __future__ import annotations

from lacunet.inference.symmetry import symmetries_of
from lacunet.scoring.score import Score
from lacunet.scoring.score_input import Evidence, ScoreInput


def with_all_labellings(score: Score) -> Score:
    """Make a score that adds the equal labellings to another."""
    name = f"{score.name}-all"

    def evaluate(at: ScoreInput) -> Evidence:
        one = at.evidence(score)
        if not one.terms:
            return Evidence(name, {}, one.flags)
        terms = {**one.terms, "log of equal labellings": symmetries_of(at.problem).log_count}
        return Evidence(name, terms, one.flags, one.stderr)

    return Score(
        name,
        f"{score.title}, all labellings",
        score.source,
        evaluate,
        column=f"{score.column or score.title}+k!",
        domain=score.domain,
        usual=False,
        every_labelling=True,
    )
