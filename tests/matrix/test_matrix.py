"""Knowledge, kinds of columns, missing values and weights, together: every score, every method.

Each cell is held to enumeration (`closed_forms.py`), or refused with a reason. Columns, scores and
methods come from the package's lists: what is added there is checked here, or fails for want of a
closed form (`worlds.NUMBERS`) or of an envelope (`ENVELOPES`).
"""

import itertools
import math

import pytest
from scipy.special import xlogy
from worlds import worlds

from lacunet.errors import LacunetError
from lacunet.evidence.annealing import Goal
from lacunet.evidence.estimate import Method, Verdict
from lacunet.evidence.measure import measure
from lacunet.evidence.partitions.cases import walkable
from lacunet.fitting.fit import Options, learn
from lacunet.scores import SCORES, ScoreInput

ALL = tuple(worlds())
AXES = ("knowledge", "kind", "covariance", "missing", "weighted", "hidden")
ERRORS = 4.5  # standard errors that a reliable evidence may be off
ABOVE = 2.0  # nats that what is no more than a lower bound may be too high: e⁻² of the time at most
# How far from the evidence, below and above, each score may be on these tables of 4 or 5 rows.
ENVELOPES = {
    "laplace": (8.0, 9.0),
    "csl": (6.0, 2.0),
    "vb": (6.0, 0.0),
    "cs": (7.0, 0.0),
    "mled": (16.0, 0.0),
    "draper": (2.0, 26.0),
    "bic": (16.0, 12.0),
    "bd": (0.0, 0.0),
    "icl": (24.0, 12.0),
    "csl-occupied": (6.0, 1.0),
    "vb-occupied": (6.0, 0.5),
}
# Scores that are the evidence itself where every row shows all of its variables.
EXACT = {"bd", "cs", "mled", "vb", "csl", "vb-occupied", "csl-occupied"}
EXACT_BUT_FOR_BARREN = EXACT - {"cs", "mled"}  # D′ fills in missing leaves


def pairwise(cells):
    """A few cells in which every value of an axis meets every value of each other axis."""
    cells = list(cells)
    values = [[(axis, getattr(cell, axis)) for axis in AXES] for cell in cells]
    pairs = [frozenset(itertools.combinations(levels, 2)) for levels in values]
    open_, chosen = frozenset().union(*pairs), []
    while open_:
        best = max(range(len(cells)), key=lambda n: len(pairs[n] & open_))
        chosen.append(cells[best])
        open_ -= pairs[best]
    return chosen


def each(cells):
    return pytest.mark.parametrize("world", cells, ids=str)


def refused(world):
    """Whether a cell is refused, with a reason: blocks of numbers need a latent class model."""
    if "full" not in world.covariance or world.hidden == 1:
        return False
    with pytest.raises(LacunetError, match="latent class model"):
        _ = world.problem
    return True


def check_scores(world):
    if refused(world):
        return
    problem = world.problem
    options = Options(starts=4)
    at = ScoreInput(problem, learn(problem, options).model.theta, options=options)
    exact = EXACT if problem.exact else set()
    exact = EXACT_BUT_FOR_BARREN if problem.exact and world.missing else exact
    values = {}
    for score in SCORES:
        if not score.applies(problem):
            assert score.only_exact
            continue
        scores = score(at)
        if not scores.terms:
            assert scores.flags, score.name
            continue
        values[score.name] = scores.value
        off = scores.value - world.truth
        assert math.isfinite(off), score.name
        below, above = (0.0, 0.0) if score.name in exact else ENVELOPES[score.name]
        assert off <= (0.0 if score.lower else above) + 1e-8, (score.name, off)
        assert off >= -below - 1e-8, (score.name, off)
    assert values["mled"] - 1e-8 <= values["cs"] <= values["vb"] + 1e-8
    if world.hidden == 1:  # every row shows something
        entropy = -float(problem.counts @ xlogy(*2 * problem.about_hidden(at.theta)).sum(axis=1))
        assert values["icl"] == pytest.approx(values["bic"] - entropy, abs=1e-8)
    assert values["icl"] <= values["bic"] + 1e-8


def out_of_reach(problem, method):
    """Whether a method says that it cannot measure a problem."""
    if problem.exact:
        return False
    if method is Method.EXACT:
        return not problem.layout.tabular
    return method is Method.WALK and not walkable([problem])


def check_measured(world, method):
    if refused(world):
        return
    problem, goal = world.problem, Goal(0.1, 6000.0)
    if out_of_reach(problem, method):
        with pytest.raises(LacunetError, match="method"):
            measure(problem, method, goal)
        return
    estimate = measure(problem, method, goal, seed=world.seed)
    off = estimate.value - world.truth
    if estimate.verdict is Verdict.EXACT:
        assert off == pytest.approx(0.0, abs=1e-8)
    elif estimate.verdict is Verdict.RELIABLE:
        assert abs(off) <= ERRORS * estimate.stderr + 1e-6
    else:
        assert off <= ABOVE


def test_every_pair_of_axes_is_in_the_sample():
    chosen = pairwise(ALL)
    assert len(chosen) < len(ALL) / 5
    for one, other in itertools.combinations(AXES, 2):
        every = {(getattr(w, one), getattr(w, other)) for w in ALL}
        assert {(getattr(w, one), getattr(w, other)) for w in chosen} == every


@each(pairwise(ALL))
def test_scores(world):
    check_scores(world)


@pytest.mark.slow
@each(pairwise(w for w in ALL if w.hidden))
@pytest.mark.parametrize("method", list(Method))
def test_measured_evidence(world, method):
    check_measured(world, method)


@pytest.mark.long
@each(ALL)
def test_scores_of_every_cell(world):
    check_scores(world)


@pytest.mark.long
@each(ALL)
@pytest.mark.parametrize("method", list(Method))
def test_measured_evidence_of_every_cell(world, method):
    check_measured(world, method)
