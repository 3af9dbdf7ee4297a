"""The measured evidence as a score among the others, for candidates that have it."""

from lacunet.evidence.estimate import Verdict
from lacunet.evidence.measure import measure
from lacunet.evidence.measurement import Measurement
from lacunet.flags import Flag, Kind
from lacunet.scores import Evidence, Score, ScoreInput


def as_evidence(m: Measurement) -> Evidence:
    """Write a measurement as what a score returns."""
    bound = (Flag(Kind.LOWER_BOUND),) if m.verdict is Verdict.LOWER_BOUND else ()
    stderr = None if m.verdict is Verdict.EXACT else m.stderr
    return Evidence(TRUTH.name, {"log p(D|S)": m.value}, (*bound, *m.notes), stderr, m.seconds)


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
