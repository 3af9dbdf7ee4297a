"""Unused states of any hidden variable: the identity by enumeration, and scores that use it."""

import itertools
import math
from unittest.mock import patch

import numpy as np
import pytest

import oracle
from lacunet.evidence.exact import exact_evidence
from lacunet.fitting.fit import Options
from lacunet.flags import Kind
from lacunet.inference.classes import with_sizes
from lacunet.inference.symmetry import symmetries_of
from lacunet.models.conjugacy import natural
from lacunet.models.known import Relabelling
from lacunet.scores import SCORES, Fitting, ScoreInput, choose_scores, occupancy
from lacunet.scores.evaluation import ScoreRequest, score_fits
from lacunet.scores.occupancy import UsedStates, counted_cases, log_all_used
from lacunet.scores.softmax import WIDEST, ExpectedCases, hold_widths
from problems import build, make

NETWORKS = {
    "classes": build("H>a H>b", {"H": 3, "a": 2, "b": 2}, "H"),
    "seen parent": build("a>H H>b a>b", {"a": 2, "H": 3, "b": 2}, "H"),
    "hidden parent": build("G>H G>a H>b", {"G": 2, "H": 3, "a": 2, "b": 2}, "GH"),
    "exchangeable": build("G>a H>a", {"G": 2, "H": 2, "a": 3}, "GH"),
    "above": build("H>G G>a H>a a>b", {"G": 2, "H": 2, "a": 2, "b": 2}, "GH"),
}
CSL, VB = choose_scores("csl-occupied,vb-occupied")


def completed(case, sizes):
    """Every completion that uses all states: its tables of counts."""
    cards = [sizes.get(i, k) for i, k in enumerate(case.layout.cards)]
    families = case.layout.families
    for world in itertools.product(*(oracle.completions(row, cards) for row in case.cases)):
        if all({full[h] for full in world} == set(range(m)) for h, m in sizes.items()):
            tables = [np.zeros([cards[v] for v in family]) for family in families]
            for full in world:
                for table, family in zip(tables, families, strict=True):
                    table[tuple(full[v] for v in family)] += 1
            yield tables


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("alpha", [0.4, "bdeu:5"])
def test_the_identity(name, alpha):
    """Exact for every network, if each completion has the factor of its own counts."""
    case = make(NETWORKS[name], 4, alpha=alpha, seed=2)
    used, terms = UsedStates(case.problem), []
    for sizes, exchanges in used.combinations.items():
        smaller = with_sizes(case.problem, dict(used.of_variables(sizes)))
        alphas = [smaller.layout.table(smaller.alpha, i) for i in range(len(case.layout.cards))]
        for tables in completed(case, dict(used.of_variables(sizes))):
            counted = counted_cases(smaller, smaller.layout.flat(tables))
            factor = used.log_factor(sizes, counted) + math.log(exchanges)
            terms.append(oracle.log_bd(tables, alphas) + factor)
    assert np.logaddexp.reduce(terms) == pytest.approx(case.log_evidence(), abs=1e-10)


@pytest.mark.parametrize("name", ["classes", "seen parent"])
def test_cases_that_are_known_make_the_sum_exact(name):
    """One factor for each number of used states: N_j is the same in every completion."""
    case = make(NETWORKS[name], 5, alpha=0.7, seed=1)
    used, values, cases = UsedStates(case.problem), [], []
    for sizes in [*used.fewer, used.whole]:
        smaller = with_sizes(case.problem, dict(used.of_variables(sizes)))
        alphas = [smaller.layout.table(smaller.alpha, i) for i in range(len(case.layout.cards))]
        every = list(completed(case, dict(used.of_variables(sizes))))
        values.append(np.logaddexp.reduce([oracle.log_bd(tables, alphas) for tables in every]))
        cases.append(counted_cases(smaller, smaller.layout.flat(every[0])))
    whole = used.log_sum(used.log_parts(values, cases))
    assert whole == pytest.approx(case.log_evidence(), abs=1e-10)


def test_all_states_used_against_all_completions():
    """Two states: either is unused just when all rows are in the other."""
    case = make(build("a>H H>b", {"a": 2, "H": 2, "b": 3}, "H"), 5, seed=4)
    p = oracle.joint(case.oracle())
    in_second = [
        oracle.marginal(oracle.row_posterior(p, row)[0], (1,))[1]
        / oracle.row_posterior(p, row)[0].sum()
        for row in case.cases
    ]
    unused = np.prod(in_second), np.prod([1 - x for x in in_second])
    expected = math.log1p(-unused[0]) + math.log1p(-unused[1])
    result = log_all_used(case.problem, natural(case.theta, case.layout))
    assert result == pytest.approx(expected, abs=1e-12)


def test_variables_that_change_places_share_their_terms():
    names = "ABCD"
    network = build(" ".join(f"{h}>z" for h in names), {**dict.fromkeys(names, 2), "z": 2}, names)
    used = UsedStates(make(network, 6, alpha=1.0).problem)
    assert sorted(used.combinations.values()) == [1, 1, 4, 4, 6]
    assert (len(used.fewer), used.number) == (4, 5)


def test_too_many_combinations_are_taken_one_variable_at_a_time():
    """Independent parts: then the product over variables is the sum over combinations."""
    network = build("G>a G>b H>c H>d", {**dict.fromkeys("abcd", 2), "G": 3, "H": 3}, "GH")
    problem = make(network, 30, alpha=1.0, seed=3).problem
    requests = [ScoreRequest(Fitting(problem, Options(starts=8)), (CSL,))]
    (jointly,) = score_fits(requests)
    with patch.object(occupancy, "MOST_FITS", 3):
        assert not UsedStates(problem).jointly
        assert len(UsedStates(problem).fewer) == 4
        (one_by_one,) = score_fits(requests)
    result = one_by_one.evidence["csl-occupied"]
    assert result.value == pytest.approx(jointly.evidence["csl-occupied"].value, abs=0.05)
    assert Kind.ONE_VARIABLE_AT_A_TIME in {flag.kind for flag in result.flags}
    assert not jointly.evidence["csl-occupied"].flags


def test_candidates_share_fits_of_networks_too():
    sizes = ({"G": 2, "H": 2}, {"G": 3, "H": 2})
    networks = [build("G>H G>a H>b", {**s, "a": 2, "b": 2}, "GH") for s in sizes]
    small, large = (make(n, 10, alpha=1.0).problem for n in networks)
    keys = {f.key for f in VB.fits(Fitting(large, Options()))}
    assert {f.key for f in VB.fits(Fitting(small, Options()))} < keys
    assert Fitting(small, Options()).key in keys
    bdeu = make(networks[1], 10, alpha="bdeu:8").problem
    assert keys.isdisjoint({f.key for f in VB.fits(Fitting(bdeu, Options()))})


@pytest.mark.parametrize("name", NETWORKS)
def test_expected_cases_against_the_joint(name):
    """Around hidden variables without seen parents they are exact; and they carry labels along."""
    case = make(NETWORKS[name], 50, alpha=1.0, seed=5)
    result = ExpectedCases(case.problem, case.problem.alpha)(case.theta[None, :])[0]
    if name != "seen parent":
        p = oracle.joint(case.oracle())
        for i, family in enumerate(case.layout.families):
            if set(family) & set(case.network.hidden):
                expected = 50 * oracle.marginal(p, family)
                assert case.layout.table(result, i) == pytest.approx(expected)
    for h in case.network.hidden:
        turned = Relabelling(case.layout, orders={h: list(range(case.layout.cards[h]))[::-1]})
        again = ExpectedCases(case.problem, case.problem.alpha)(turned.apply(case.theta)[None, :])
        assert again[0] == pytest.approx(turned.apply(result))


def test_the_prior_holds_a_width():
    prior = np.diag([2.0, 4.0, 1.0])
    same = np.diag([2.0, 9.0, 0.6])
    assert hold_widths(same, prior) == (0.0, same)
    taken, left = hold_widths(np.diag([2.0, 9.0, 0.1]), prior)
    assert taken == pytest.approx(math.log(0.1 * WIDEST) / 2)
    assert left == pytest.approx(np.diag([2.0, 9.0, 1.0 / WIDEST]))


def test_scores_with_the_identity_are_defined_everywhere():
    seen = make(build("a>b", {"a": 2, "b": 2}), 10, alpha=1.0)
    distinct = make(NETWORKS["classes"], 10, alpha={"H": [1.0, 2.0, 3.0], "a": 1.0, "b": 1.0})
    for score in (s for s in SCORES if s.name.endswith("-occupied")):
        assert score.applies(distinct.problem)
        exact = score(ScoreInput(seen.problem, seen.theta)).value
        assert exact == pytest.approx(seen.log_evidence(), abs=1e-9)
    plain, occupied = (
        s(ScoreInput(distinct.problem, distinct.theta)) for s in (choose_scores("vb")[0], VB)
    )
    assert occupied.terms["log of equal labellings"] == 0.0
    assert occupied.value == pytest.approx(plain.value + occupied.terms["log p(all states used)"])


SMALL = {
    "chain": ("G>H G>a G>b H>c H>d", dict.fromkeys("GHabcd", 2), "GH"),
    "factorial": ("G>a H>a G>b H>b G>c H>c", dict.fromkeys("GHabc", 2), "GH"),
    "seen parent": ("o>H H>a H>b", {"H": 3, "o": 2, "a": 2, "b": 2}, "H"),
    "inner": ("H>a H>b a>b b>c H>c", {"H": 3, "a": 2, "b": 2, "c": 2}, "H"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_the_recommended_score_is_near_the_exact_sum(name):
    """Nearer than CSL with all labellings counted, on average; and never far above."""
    ours, before = [], []
    for seed in (11, 12, 13):
        problem = make(build(*SMALL[name]), 12, alpha=1.0, seed=seed).problem
        scores = choose_scores("csl,csl-occupied")
        (got,) = score_fits([ScoreRequest(Fitting(problem, Options(starts=16)), scores)])
        truth = exact_evidence(problem).value
        ours.append(got.evidence["csl-occupied"].value - truth)
        before.append(got.evidence["csl"].value + symmetries_of(problem).log_count - truth)
    assert np.mean(np.abs(ours)) < 0.7 * np.mean(np.abs(before))
    assert max(np.abs(ours)) < 1.0
