"""Every score on networks: against enumeration, against pgmpy and pyAgrum, and its invariances."""

import gzip
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import gammaln

import oracle
from examples import examples
from lacunet import api
from lacunet.inference.classes import expect
from lacunet.inference.plans.plan import free_coordinates
from lacunet.inference.problem import problem_of_codes
from lacunet.models.conjugacy import log_prior, random_theta
from lacunet.models.ensemble import model_as_shown
from lacunet.models.formats import bif
from lacunet.models.formats.interop import to_pyagrum
from lacunet.models.network import Network
from lacunet.models.surgery import sample_codes
from lacunet.scores import BD, BIC, CS, DRAPER, ICL, LAPLACE, MLED, SCORES, ScoreInput
from peers import Peer, needs
from problems import Case, build, make, network_cases
from quick import AT_THETA

gum, pgmpy = Peer("pyagrum"), Peer("pgmpy")
THEIR_SCORES, THEIR_MODELS = Peer("pgmpy.structure_score"), Peer("pgmpy.models")

WORLDS = 400  # completions of the data that the exact evidence is summed over, at most


def at(case, theta=None):
    return ScoreInput(case.problem, case.theta if theta is None else theta)


def tiny(**options):
    return network_cases(max_variables=4, max_rows=3, whole=True, **options)


@pytest.mark.parametrize("score", SCORES, ids=lambda score: score.name)
@examples(20)
@given(network_cases(max_rows=15))
def test_contract(score, case):
    """Every score: its name, finite terms that sum to its value, or a flag that says why not."""
    assume(case.counts.sum() > 0)
    if not score.applies(case.problem):
        assert case.problem.components.hidden
        return
    scores = score(at(case))
    assert scores.name == score.name
    if scores.terms:
        assert all(math.isfinite(x) for x in scores.terms.values())
        assert scores.value == pytest.approx(sum(scores.terms.values()), rel=1e-12)
    else:
        assert math.isnan(scores.value)
        assert scores.flags


@given(tiny())
def test_bounds_hold_at_every_theta(case):
    """MLED ≤ CS ≤ log p(D|S), whatever θ; and BD is log p(D|S) where it applies."""
    assume(case.worlds <= WORLDS)
    truth = case.log_evidence()
    for seed in range(3):
        theta = random_theta(case.layout, np.random.default_rng(seed))
        mled, cs = MLED(at(case, theta)).value, CS(at(case, theta)).value
        assert mled <= cs + 1e-10
        assert cs <= truth + 1e-10
    if BD.applies(case.problem):
        assert BD(at(case)).value == pytest.approx(truth, abs=1e-10)


@given(network_cases(whole=True))
def test_scores_are_their_formulas(case):
    """Against the oracle's counts, likelihood, entropy and BD, written out."""
    network = case.oracle()
    log_lik = oracle.log_likelihood(network, case.rows, case.counts)
    counts = oracle.expected_counts(network, case.rows, case.counts)
    mled = oracle.log_bd(counts, case.tables(case.alpha))
    d, n = case.network.dimension, case.counts.sum()
    assert MLED(at(case)).value == pytest.approx(mled, abs=1e-9)
    assert BIC(at(case)).value == pytest.approx(log_lik - d / 2 * math.log(n), abs=1e-9)
    draper = log_lik - d / 2 * math.log(n / (2 * math.pi))
    assert DRAPER(at(case)).value == pytest.approx(draper, abs=1e-9)
    entropy = oracle.entropy(network, case.rows, case.counts)
    assert CS(at(case)).value == pytest.approx(mled + entropy, abs=1e-8)


@given(network_cases(whole=True, complete=True))
def test_icl_is_bic_where_nothing_is_hidden(case):
    assert ICL(at(case)).value == pytest.approx(BIC(at(case)).value, abs=1e-9)


@examples(25)
@given(network_cases(max_variables=4, max_states=2, whole=True))
def test_laplace_is_its_formula(case):
    """The curvature by second differences of the oracle's log-likelihood."""
    d = case.network.dimension
    coordinates = free_coordinates(case.layout, case.theta)
    start = case.theta[coordinates.free]
    assume(0 < d <= 10)
    assume(start.min() > 0.01)

    def g(moves):
        theta = case.theta.copy()
        theta[coordinates.free] += moves * start
        np.add.at(theta, coordinates.reference, -moves * start)
        log_lik = oracle.log_likelihood(case.oracle(theta), case.rows, case.counts)
        return log_lik + log_prior(theta, case.alpha, case.layout)

    step = 1e-3 * np.eye(d)
    A = np.empty((d, d))
    for i in range(d):
        for j in range(d):
            ends = [a * b * g(a * step[i] + b * step[j]) for a in (1, -1) for b in (1, -1)]
            A[i, j] = -sum(ends) / (4 * 1e-6)
    assume(np.linalg.eigvalsh(A)[0] > 1e-2)
    expected = g(np.zeros(d)) + d / 2 * math.log(2 * math.pi)
    expected -= np.linalg.slogdet(A)[1] / 2 - np.log(start).sum()
    assert LAPLACE(at(case)).value == pytest.approx(expected, abs=1e-3)


@given(network_cases(complete=True, max_rows=20))
def test_nothing_missing_makes_cs_mled_and_bd_one_number(case):
    values = [score(at(case)).value for score in (CS, MLED, BD)]
    assert values == pytest.approx([values[2]] * 3, abs=1e-9)


def values(case):
    result = {s.name: s(at(case)).value for s in AT_THETA if s.applies(case.problem)}
    return {name: x for name, x in result.items() if not math.isnan(x)}


@examples(40)
@given(network_cases(max_variables=5, whole=True), st.randoms(use_true_random=False))
def test_nothing_depends_on_the_order_of_rows_variables_parents_and_hidden_states(case, random):
    n = len(case.network.variables)
    expected = values(case)
    rows = random.sample(range(len(case.codes)), len(case.codes))
    shuffled = Case(case.network, case.theta, case.alpha, case.codes[rows], case.counts[rows])
    assert values(shuffled) == pytest.approx(expected, rel=1e-8, abs=1e-8)
    relabelled = case.model
    for h in case.network.hidden:
        states = range(case.layout.cards[h])
        relabelled = relabelled.permuted(h, random.sample(states, len(states)))
    other = Case(case.network, relabelled.theta, relabelled.alpha, case.codes, case.counts)
    assert values(other) == pytest.approx(expected, rel=1e-8, abs=1e-8)
    order = random.sample(range(n), n)  # the variable at each new place
    parents = [random.sample(case.network.parents[v], len(case.network.parents[v])) for v in order]
    network = Network.build(
        [case.network.variables[v] for v in order], [[order.index(p) for p in pa] for pa in parents]
    )

    def reordered(x):
        tables = []
        for v, pa in zip(order, parents, strict=True):
            old = case.network.parents[v]
            table = case.layout.table(x, v)
            tables.append(np.transpose(table, [*(old.index(p) for p in pa), len(pa)]))
        return network.layout.flat(tables)

    column = {v: j for j, v in enumerate(case.network.observed)}
    codes = case.codes[:, [column[order[i]] for i in network.observed]]
    other = Case(network, reordered(case.theta), reordered(case.alpha), codes, case.counts)
    assert values(other) == pytest.approx(expected, rel=1e-8, abs=1e-8)


# Complete data: the scores of other programs.


def families(case):
    """(name, parents, q, r, parent configurations seen, states seen) of each family."""
    network = case.network
    for i, v in enumerate(network.variables):
        parents = list(network.parents[i])
        seen = len(np.unique(case.codes[:, parents], axis=0)) if parents else 1
        q = math.prod(len(network.variables[p].states) for p in parents)
        names = [network.variables[p].name for p in parents]
        yield v.name, names, q, len(v.states), seen, len(np.unique(case.codes[:, i]))


def frame(case):
    return pd.DataFrame(
        {
            v.name: pd.Categorical(case.codes[:, i], categories=list(v.states))
            for i, v in enumerate(case.network.variables)
        }
    )


DAG = build("a>b a>c b>c c>d b>d", {"a": 3, "b": 2, "c": 4, "d": 3})
SIZES = [10, 40, 2000]


@pytest.mark.parametrize("rows", SIZES)
def test_bdeu_is_that_of_pgmpy(rows):
    """pgmpy loses a child's states that never occur: r − r′ of them, Γ(α/qr) each time."""
    case = make(DAG, rows, alpha="bdeu:7", seed=rows)
    ours = BD(at(case)).terms
    states = {v.name: list(v.states) for v in DAG.variables}
    theirs = THEIR_SCORES.BDeu(frame(case), equivalent_sample_size=7, state_names=states)
    for name, parents, q, r, seen, r_seen in families(case):
        lost = seen * (r - r_seen) * math.lgamma(7 / (q * r))
        assert theirs.local_score(name, tuple(parents)) == pytest.approx(
            ours[f"family {name}"] - lost, abs=1e-9
        )
        assert rows < 2000 or lost == 0


@pytest.mark.parametrize("rows", SIZES)
def test_k2_is_that_of_pgmpy(rows):
    """pgmpy adds log Γ(r) also for parent configurations that never occur: q − q′ of them."""
    case = make(DAG, rows, alpha="k2", seed=rows)
    ours = BD(at(case)).terms
    states = {v.name: list(v.states) for v in DAG.variables}
    theirs = THEIR_SCORES.K2(frame(case), state_names=states)
    for name, parents, q, r, seen, _ in families(case):
        added = (q - seen) * math.lgamma(r)
        assert theirs.local_score(name, tuple(parents)) == pytest.approx(
            ours[f"family {name}"] + added, abs=1e-9
        )
        assert rows < 2000 or added == 0
    if rows == 2000:
        dag = THEIR_MODELS.DiscreteBayesianNetwork(
            [(p, name) for name, parents, *_ in families(case) for p in parents]
        )
        assert theirs.score(dag) == pytest.approx(BD(at(case)).value, abs=1e-9)


def learner(case, prior):
    template = gum.BayesNet()
    for v in case.network.variables:
        template.add(gum.LabelizedVariable(v.name, v.name, list(v.labels)))
    result = gum.BNLearner(frame(case).astype(str), template)
    if prior == "k2":
        result.useScoreK2()
    else:
        result.useScoreBDeu()
        result.useBDeuPrior(23)  # beside a size of 1 that its BDeu always has: 24 in all
    return result


def six_digits(case):
    """BD of each family in bits, every log₂ Γ rounded to six digits."""

    def log2_gamma(x):
        return np.round(gammaln(x) / math.log(2), 6)

    counts = oracle.expected_counts(case.oracle(), case.rows, case.counts)
    for N, a in zip(counts, case.tables(case.alpha), strict=True):
        a_ij, N_ij = a.sum(axis=-1), N.sum(axis=-1)
        yield float(
            np.sum(log2_gamma(a_ij) - log2_gamma(a_ij + N_ij))
            + np.sum(log2_gamma(a + N) - log2_gamma(a))
        )


@pytest.mark.parametrize("prior", ["bdeu:24", "k2"])
def test_bd_is_that_of_pyagrum(prior):
    """pyAgrum works in bits, with a table of log₂ Γ: steps of 0.01, six digits, below 50.

    With whole numbers below 50 everywhere that rounding is the only difference, to 1e-9; with
    larger ones it has no more digits than that either.
    """
    case = make(DAG, 20, alpha=prior, seed=3)
    theirs = learner(case, prior)
    for (name, parents, *_), rounded in zip(families(case), six_digits(case), strict=True):
        assert theirs.score(name, parents) == pytest.approx(rounded, abs=1e-9)
    case = make(DAG, 800, alpha=prior, seed=4)
    theirs, ours = learner(case, prior), BD(at(case)).terms
    for name, parents, q, r, *_ in families(case):
        bits = ours[f"family {name}"] / math.log(2)
        assert theirs.score(name, parents) == pytest.approx(bits, abs=1e-6 * q * (r + 1))


# ALARM.


@pytest.fixture(scope="module")
def alarm():
    folder = Path(pgmpy.__file__).parent / "utils" / "example_models"
    with gzip.open(folder / "alarm.bif.gz", "rt", encoding="utf-8") as file:
        return bif.read(file.read())


@needs("pyagrum")
def test_alarm_with_missing_values_has_the_log_likelihood_of_pyagrum(alarm):
    rows = sample_codes(alarm, 500, np.random.default_rng(0), 0.1)
    theirs = gum.LazyPropagation(to_pyagrum(alarm))
    names = [v.name for v in alarm.network.variables]
    each = []
    for row in rows[:50]:
        theirs.setEvidence({names[j]: int(x) for j, x in enumerate(row) if x >= 0})
        each.append(math.log(theirs.evidenceProbability()))

    def ours(codes):
        problem = problem_of_codes(codes, np.ones(len(codes)), alarm.network, alarm.alpha)
        return expect(problem, alarm.theta).log_lik

    assert ours(rows[:50]) == pytest.approx(math.fsum(each), abs=1e-9)
    for row, log_p in zip(rows[:10], each, strict=False):
        assert ours(row[None]) == pytest.approx(log_p, abs=1e-9)
    assert ours(rows) == pytest.approx(ours(rows[:200]) + ours(rows[200:]), abs=1e-9)


# Learning on a network.


def test_parameters_are_recovered_as_the_data_grow():
    """a → H → x, y, z: hidden, and no root; its states are known up to their order."""
    network = build("a>H H>x H>y H>z", {"a": 3, "H": 2, "x": 3, "y": 3, "z": 2}, "H")
    tables = [
        [0.5, 0.3, 0.2],
        [[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]],
        [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]],
        [[0.6, 0.3, 0.1], [0.2, 0.2, 0.6]],
        [[0.85, 0.15], [0.25, 0.75]],
    ]
    theta = network.layout.flat([np.array(t) for t in tables])
    case = make(network, 1)
    truth = Case(network, theta, case.alpha, case.codes, case.counts).model
    errors = []
    for rows in (200, 4_000, 80_000):
        codes = sample_codes(truth, rows, np.random.default_rng(rows), 0.1)
        data = Case(network, theta, case.alpha, codes, np.ones(rows)).table
        result = model_as_shown(api.fit(data, network=network, starts=8, threads=1).model)
        h = network.hidden[0]
        errors.append(
            min(np.abs(result.permuted(h, p).theta - theta).max() for p in ([0, 1], [1, 0]))
        )
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.02
