"""Variational Bayes: the best bound with parameters and hidden values independent."""

from lacunet.fitting.variational import MAX_STEPS, at_theta
from lacunet.flags import Flag, Kind
from lacunet.scores.score import Evidence, Score, ScoreInput


def variational_bayes(at: ScoreInput) -> Evidence:
    """Raise the bound of the posterior of the hidden values at θ: CS ≤ VB ≤ log p(D|S)."""
    start, end = at_theta(at.problem, at.theta), at.variational
    stopped = Flag(Kind.STILL_RISING, detail={"steps": MAX_STEPS})
    terms = {"bound at p(hidden|D,θ)": start.bound, "raised by": end.bound - start.bound}
    return Evidence("vb", terms, (stopped,) if end.steps >= MAX_STEPS else ())


VB = Score(
    "vb", "Variational Bayes", "Attias (1999); Beal (2003)", variational_bayes, "VB", lower=True
)
