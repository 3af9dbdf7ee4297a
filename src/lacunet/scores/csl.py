"""CSL: Cheeseman–Stutz, with the curvature of the data put in place of that of complete data.

Chickering & Heckerman (1997): CS takes the volume of the posterior to be that of the completed data
D′; half the difference of log |A′| and log |A| mends that. All in the softmax basis φ, at its mode.
"""

from dataclasses import replace

from lacunet.flags import Flag, Kind
from lacunet.models import conjugacy
from lacunet.scores.score import Evidence, Score, ScoreInput

FAR_BELOW = 0.5  # nats below a bound on the evidence, from which it is said


def csl(at: ScoreInput) -> Evidence:
    """Give CS + ½ log|A′| − ½ log|A| at the mode of φ that is uphill from θ. Error O(1/N).

    It is defined at that mode only, so it climbs there from whatever θ is given. D′ leaves barren
    variables out, as A does: with them filled in, CS would lose what A′ does not give back. So it
    is exact where nothing else is hidden. Where an exponent of the prior is below 1, it is held
    against the variational bound, which the evidence cannot be below.
    """
    problem, mode = at.problem, at.softmax
    if mode.log_det is None:
        return Evidence("csl", {}, mode.flags)
    point = mode.point
    terms = {
        "log p(D′|S)": float(conjugacy.log_marginal(point.N, problem.alpha, problem.layout).sum()),
        "−log p(D′|φ)": -conjugacy.log_density(point.N, point.theta, problem.layout),
        "log p(D|φ)": point.log_lik,
        "½ log|A′|": mode.log_det_complete / 2,
        "−½ log|A|": -mode.log_det / 2,
    }
    found = Evidence("csl", terms, mode.flags)
    if conjugacy.has_mode(problem.alpha, problem.layout):
        return found
    # Such priors favour states without cases, and the mode with all in use may be a small part.
    short = at.variational.bound - found.value
    below = Flag(Kind.BELOW_BOUND, detail={"nats": short})
    return replace(found, flags=(*found.flags, below)) if short > FAR_BELOW else found


CSL = Score("csl", "CSL", "CH97", csl)
