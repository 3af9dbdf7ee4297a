"""CSL: Cheeseman–Stutz, with the curvature of the data put in place of that of complete data.

Chickering & Heckerman (1997): CS takes the volume of the posterior to be that of the completed data
D′; half the difference of log |A′| and log |A| mends that. All in the softmax basis φ, at its mode.
"""

from lacunet.model import conjugacy
from lacunet.scoring.score import Score
from lacunet.scoring.score_input import Evidence, ScoreInput


def csl(at: ScoreInput) -> Evidence:
    """Give CS + ½ log|A′| − ½ log|A| at the mode of φ that is uphill from θ. Error O(1/N).

    It is defined at that mode only, so it climbs there from whatever θ is given. D′ leaves barren
    variables out, as A does: with them filled in, CS would lose what A′ does not give back. So it
    is exact where nothing else is hidden.
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
    return Evidence("csl", terms, mode.flags)


CSL = Score("csl", "CSL", "CH97", csl)
