"""The measured evidence as a score among the others, for candidates that have it."""

from lacunet.evidence.estimate import Verdict
from lacunet.evidence.measure import Measurement, measure
from lacunet.flags import Flag, Kind
from lacunet.scoring.score import Score
from lacunet.scoring.score_input import Evidence, ScoreInput


def as_evidence(found: Measurement) -> Evidence:
    """Write a measurement as what a score returns."""
    flags = found.notes
    if found.verdict is Verdict.LOWER_BOUND:
        flags = (Flag(Kind.LOWER_BOUND), *flags)
    stderr = None if found.verdict is Verdict.EXACT else found.stderr
    return Evidence(TRUTH.name, {"log p(D|S)": found.value}, flags, stderr, found.seconds)


def _evaluate(at: ScoreInput) -> Evidence:
    return as_evidence(measure(at.problem, seed=at.options.seed))


TRUTH = Score(
    "evidence",
    "measured evidence",
    "exact sums and sampling",
    _evaluate,
    column="evidence",
    usual=False,
    every_labelling=True,
)
