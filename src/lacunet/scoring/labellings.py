"""Equal labellings: what a score at one mode leaves out of the evidence."""

from __future__ import annotations

from lacunet.inference.labels import Labels
from lacunet.inference.problem import Problem
from lacunet.scoring.score import Score
from lacunet.scoring.score_input import Evidence, ScoreInput


def log_labellings(problem: Problem) -> float:
    """Log of the number of equal modes, Π k! over hidden variables with interchangeable states."""
    return Labels(problem).log_count


def with_all_labellings(score: Score) -> Score:
    """Make a score that adds the equal labellings to another."""
    name = f"{score.name}-all"

    def evaluate(at: ScoreInput) -> Evidence:
        one = at.evidence(score)
        if not one.terms:
            return Evidence(name, {}, one.flags)
        terms = {**one.terms, "log of equal labellings": log_labellings(at.problem)}
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
