"""Sampled evidence against exact sums and independently computed values."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chi2

from clocks import counted_time
from lacunet.data.read import load_dataset
from lacunet.data.table import Column, Table
from lacunet.evidence.ais import AnnealingRounds
from lacunet.evidence.annealing import (
    AnnealingPath,
    Goal,
    Reference,
    RunContext,
    TimeLimit,
    expected_cases,
)
from lacunet.evidence.consistency import sandwich
from lacunet.evidence.estimate import Method, Verdict, log_mean
from lacunet.evidence.exact import exact_evidence
from lacunet.evidence.measure import measure
from lacunet.evidence.modes import used, with_empty, without_empty
from lacunet.evidence.smc import ParticleRounds, run_particles
from lacunet.inference.classes import with_classes
from lacunet.inference.problem import problem_of_codes
from lacunet.inference.regions import Regions
from lacunet.inference.sampling.particles import Draws
from lacunet.inference.symmetry import symmetries_of
from lacunet.models.conjugacy import draw_theta
from lacunet.models.conjugacy import log_marginal as log_bd
from lacunet.models.latent_class import latent_class
from lacunet.models.network import Model
from lacunet.models.prior import dirichlet, uniform_alpha
from lacunet.models.surgery import sample_codes
from lacunet.runtime.executor import SERIAL, on_threads
from problems import build, engine, make, make_case, problem_for
from two_classes import prior_as_reference

UNHURRIED = RunContext(
    SERIAL, TimeLimit(Goal(target=100.0, budget=6000.0))
)  # the first round, and no more
SLOW = pytest.mark.slow
NETWORKS = [
    build("H>a H>b H>c", {"H": 2, "a": 2, "b": 2, "c": 2}, "H"),
    build("H>a H>b", {"H": 3, "a": 2, "b": 3}, "H"),
    build("G>H G>a H>b H>c", {"G": 2, "H": 2, "a": 2, "b": 2, "c": 2}, "GH"),
    build("G>a H>a H>b", {"G": 2, "H": 2, "a": 2, "b": 2}, "GH"),
    build("a>b b>c a>c", {"a": 2, "b": 3, "c": 2}),
    build("a>H H>b", {"a": 2, "H": 2, "b": 2}, "H"),
]


def small(n, seed):
    """A problem that can be summed exactly: missing values, repeated rows, several priors."""
    alpha = (1.0, 1.5, 0.7)[seed % 3]
    return make(NETWORKS[n], 6, missing=0.2, seed=seed, alpha=alpha, counts=[1, 2, 1, 3, 1, 1])


def particles(problem, seed, runs=16, size=32):
    return log_mean(
        np.array([run_particles(problem, size, (seed, r)).log_evidence for r in range(runs)])
    )


def annealed(problem, seed):
    samples = ParticleRounds(problem, seed, UNHURRIED).hidden_samples(2)
    return AnnealingRounds(problem, samples, seed, UNHURRIED).sampled


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("method", [particles, annealed])
def test_estimates_and_their_errors_are_right(method):
    """Deviations in standard errors over many problems: neither too large nor too small.

    Means of weights are not quite normal, so the bounds are those of a chi-square at 1e-4, widened
    by a quarter.
    """
    deviations = []
    for n, seed in itertools.product(range(len(NETWORKS)), range(4)):
        problem = small(n, seed).problem
        truth = exact_evidence(problem).value
        result = method(problem, seed)
        error = max(result.stderr, 1e-9)
        # Where hardly anything is hidden the estimate is exact, and so is its error: no error.
        if result.stderr < 1e-9:
            assert result.value == pytest.approx(truth, abs=1e-8)
            continue
        # The log is concave: half its squared error is its expected bias.
        deviations.append((result.value + error**2 / 2 - truth) / error)
    z = np.array(deviations)
    assert len(z) >= 16
    assert np.abs(z).max() < 4.5
    assert chi2.ppf(1e-4, len(z)) / 1.25 < (z**2).sum() < chi2.ppf(1 - 1e-4, len(z)) * 1.25


def random_case(seed):
    """Any graph over three to five variables, some of them hidden, with missing values."""
    rng = np.random.default_rng([seed, 5])
    names = "abcde"[: rng.integers(3, 6)]
    edges = [f"{p}>{q}" for p, q in itertools.combinations(names, 2) if rng.random() < 0.6]
    cards = {name: int(rng.integers(2, 4)) for name in names}
    hidden = [name for name in names[:-1] if rng.random() < 0.4][:2]
    network = build(" ".join(edges), cards, hidden)
    return make(network, 5, missing=0.2, seed=seed, alpha=1.0)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["usual", "cut"])
@pytest.mark.parametrize("method", [particles, annealed])
def test_random_networks(method, mode):
    deviations = []
    for seed in range(16):
        with engine(mode):
            problem = random_case(seed).problem
        if problem.exact:
            continue
        truth, result = exact_evidence(problem).value, method(problem, seed)
        if result.stderr < 1e-9:
            assert result.value == pytest.approx(truth, abs=1e-8)
            continue
        deviations.append((result.value + result.stderr**2 / 2 - truth) / result.stderr)
    z = np.array(deviations)
    assert len(z) >= 10
    assert np.abs(z).max() < 4.5
    assert (z**2).sum() < chi2.ppf(1 - 1e-4, len(z)) * 1.25


@pytest.mark.slow
def test_probabilities_of_all_data_sets_sum_to_one():
    """Two binary leaves, two classes, three cases: exactly, and by both samplers."""
    network = build("H>a H>b", {"H": 2, "a": 2, "b": 2}, "H")
    alpha = dirichlet(network, 1.0)
    totals = {"exact": 0.0, "smc": 0.0, "ais": 0.0}
    errors = {"smc": 0.0, "ais": 0.0}
    rows = list(itertools.product((0, 1), repeat=2))
    for kinds in itertools.combinations_with_replacement(range(4), 3):
        counts = np.bincount(kinds, minlength=4)
        orders = math.factorial(3) / math.prod(math.factorial(c) for c in counts)
        codes = np.array([rows[i] for i in np.flatnonzero(counts)], dtype=np.int8)
        problem = problem_of_codes(codes, counts[counts > 0].astype(float), network, alpha)
        totals["exact"] += orders * math.exp(exact_evidence(problem).value)
        for name, result in (("smc", particles(problem, 1)), ("ais", annealed(problem, 1))):
            p = orders * math.exp(result.value)
            totals[name] += p
            errors[name] += (p * result.stderr) ** 2
    assert totals["exact"] == pytest.approx(1.0, abs=1e-12)
    for name, square in errors.items():
        assert abs(totals[name] - 1.0) < 4 * math.sqrt(square) + 1e-9
        assert square > 0


@pytest.mark.slow
@pytest.mark.parametrize("n", range(4))
def test_the_sandwich_encloses_the_truth(n):
    case = small(n, 3)  # exponents 1, as the parameters were drawn
    problem = problem_of_codes(case.codes, case.counts, case.network, dirichlet(case.network, 1.0))
    truth = exact_evidence(problem).value
    bounds = sandwich(problem, case.theta, Goal(0.3, 5.0), seed=2)
    # Each bound fails by t nats with probability at most exp(−t).
    assert (
        bounds.lower - 4 * bounds.lower_stderr < truth < bounds.upper + 4 * bounds.upper_stderr + 3
    )
    assert bounds.upper > bounds.lower - 4 * math.hypot(bounds.lower_stderr, bounds.upper_stderr)


@pytest.mark.slow
def test_backward_weights_are_exact_when_their_start_is_a_posterior_sample():
    """E[1/w] = 1/Z when chains start from the posterior: averaged over many exact samples."""
    problem = make_case([2, 2, 2], 2, 8, seed=4, alpha=1.0).problem
    truth = exact_evidence(problem).value
    symmetries = symmetries_of(problem)
    reference = Reference.around(problem, run_particles(problem, 64, (0,)).exponents.mean(axis=0))
    regions = Regions(symmetries, [reference.exponents])
    annealing = AnnealingPath(problem, reference)
    rng = np.random.default_rng(0)
    path = AnnealingPath(problem, prior_as_reference(problem))
    # Long Gibbs chains from particles: as good as exact samples of so small a posterior.
    draws = Draws(problem, rng)
    N = run_particles(problem, 400, (1,)).exponents - problem.alpha
    for _ in range(30):
        N = path.move(1.0, N, draws)
    inverse = []
    for i, x in enumerate(expected_cases(problem.prior + N, draws)):
        starts = np.tile(regions.to_reference_region(x).apply(N[i]), (16, 1))
        inverse.append(-annealing.backwards(starts, 20, (0, i), UNHURRIED))
    estimate = log_mean(np.array([log_mean(w).value for w in inverse]))
    # Forward chains may end outside the region, backward chains always start inside.
    _, ends = annealing.forwards(20, range(100), (1,), UNHURRIED)
    home = regions.in_region(0, ends).mean()
    error = math.hypot(estimate.stderr, math.sqrt((1 - home) / home / len(ends)))
    upper = -estimate.value + math.log(home) + symmetries.log_count
    assert abs(upper - truth) < 4 * error
    assert error < 0.05


SAMPLED = {
    "carcinoma": {2: -357.31, 3: -351.01, 4: -352.87, 5: -354.93, 6: -357.01},
    "values": {2: -523.69, 3: -523.63, 4: -523.83, 5: -524.14, 6: -524.49},
    "myocardial": {2: -201.1197, 3: -201.71, 4: -202.53, 5: -203.41, 6: -204.30},
}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "k"), [(n, k) for n in SAMPLED for k in SAMPLED[n]])
def test_published_data_as_computed_independently(name, k):
    """Long sampling runs, ± 0.01."""
    problem = problem_for(load_dataset(name), k, alpha=1.0).problem
    result = particles(problem, 0, runs=16, size=128)
    assert result.verdict is Verdict.RELIABLE
    assert abs(result.value - SAMPLED[name][k]) < 3.5 * result.stderr + 0.01


@pytest.mark.parametrize("k", [2, 3])
def test_annealing_on_well_separated_classes(k):
    problem = problem_for(load_dataset("carcinoma"), k, alpha=1.0).problem
    result = annealed(problem, 0)
    assert result.stderr < 0.1
    assert abs(result.value - SAMPLED["carcinoma"][k]) < 4 * result.stderr + 0.01


@pytest.mark.slow
def test_empty_classes_are_counted():
    """Four classes for data of two: annealing needs the occupancy identity to see the rest."""
    case = make_case([2, 2, 2], 4, 6, seed=1, alpha=1.0, true_classes=2)
    truth = exact_evidence(case.problem).value
    starts = ParticleRounds(case.problem, 0, UNHURRIED).hidden_samples(4)
    rounds = AnnealingRounds(
        case.problem, starts, 0, RunContext(SERIAL, TimeLimit(Goal(0.05, 6000.0)))
    )
    result = rounds.until_done()
    assert abs(result.value - truth) < 4 * result.stderr
    assert sum(rounds.shares.values()) == pytest.approx(1.0)
    one_term = max(part.value for _, _, part in rounds._parts())
    assert one_term < truth - 0.2  # what a single number of used classes would have missed


def test_parts_that_were_not_reached_are_no_zero():
    problem = make_case([2, 2, 2], 3, 8, seed=1, alpha=1.0).problem
    samples = ParticleRounds(problem, 0, UNHURRIED).hidden_samples(4)
    late = AnnealingRounds(problem, samples, 0, RunContext(SERIAL, TimeLimit(Goal(0.1, 1e-9))))
    assert late.unfinished
    assert late.unsure == 1.0


def test_counts_go_with_and_without_empty_classes():
    problem = make_case([2, 3], 4, 5, seed=0, alpha=1.0).problem
    N = run_particles(problem, 8, (0,)).exponents[0] - problem.alpha
    keep = used(problem, N)
    fewer = with_classes(problem, int(keep.sum()))
    dense = without_empty(problem, fewer, N, keep)
    assert dense.sum() == N.sum()
    assert used(fewer, dense).all()
    again = with_empty(problem, fewer, dense)
    assert sorted(again[problem.layout.block(0)]) == sorted(N[problem.layout.block(0)])


@pytest.mark.parametrize("method", list(Method))
def test_complete_data_is_bd(method):
    network = build("a>b b>c", {"a": 2, "b": 3, "c": 2})
    problem = make(network, 20, alpha=1.5).problem
    estimate = measure(problem, method)
    bd = log_bd(problem.components.seen, problem.alpha, problem.layout).sum()
    assert estimate.value == pytest.approx(bd, abs=1e-10)
    assert (estimate.verdict, estimate.stderr) == (Verdict.EXACT, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("method", [Method.SMC, Method.AIS])
def test_the_number_of_threads_changes_nothing(method):
    problem = make_case([2, 2, 3, 2], 3, 30, seed=2, alpha=1.0, missing=0.1).problem
    results = []
    for threads in (1, 2):
        with on_threads(threads) as executor:
            results.append(measure(problem, method, Goal(0.2, 600.0), seed=4, executor=executor))
    assert results[0] == results[1]
    other = measure(problem, method, Goal(0.2, 600.0), seed=5)
    assert other.value != results[0].value


@pytest.mark.slow
def test_what_auto_chooses_does_not_depend_on_the_clock():
    problem = problem_for(load_dataset("carcinoma"), 4, alpha=1.0).problem
    results = []
    for threads in (1, 2):
        with on_threads(threads) as executor:
            results.append(measure(problem, goal=Goal(0.06, 600.0), seed=1, executor=executor))
    assert results[0].method is not Method.EXACT
    assert results[0] == results[1]


@pytest.mark.slow
def test_auto_takes_the_exact_sum_where_it_is_short():
    tiny = make_case([2, 2], 2, 6, alpha=1.0).problem
    assert measure(tiny).method is Method.EXACT
    larger = problem_for(load_dataset("carcinoma"), 4, alpha=1.0).problem
    estimate = measure(larger, goal=Goal(0.1, 6000.0))
    assert estimate.method is not Method.EXACT
    assert estimate.verdict is Verdict.RELIABLE
    assert abs(estimate.value - SAMPLED["carcinoma"][4]) < 3.5 * estimate.stderr + 0.01
    assert estimate.one_labelling == pytest.approx(estimate.value - math.log(24))


@pytest.mark.slow
def test_two_methods_agree_on_a_network_with_two_hidden_variables():
    network = build("G>H G>a G>b H>c H>d", {"G": 2, "H": 2, "a": 2, "b": 2, "c": 2, "d": 2}, "GH")
    problem = make(network, 40, missing=0.1, seed=8, alpha=1.0).problem
    a = measure(problem, Method.AIS, Goal(0.5, 6000.0))
    p = measure(problem, Method.SMC, Goal(0.1, 6000.0))
    assert p.verdict is Verdict.RELIABLE
    assert a.value - p.value < 4 * math.hypot(a.stderr or 0.1, p.stderr)
    if a.verdict is Verdict.RELIABLE:  # else it knows that something is missing
        assert a.value - p.value > -4 * math.hypot(a.stderr, p.stderr)


def test_rows_without_any_value_change_nothing():
    columns = [Column("a", (0, 1)), Column("b", (0, 1))]
    codes = np.array([[0, 1], [1, 0], [0, 0], [1, 1], [0, 1]], dtype=np.int8)
    empty = np.vstack([codes, np.full((3, 2), -1, dtype=np.int8)])
    with_empty = problem_for(Table.from_codes(empty, columns), 2, alpha=1.0).problem
    without_them = problem_for(Table.from_codes(codes, columns), 2, alpha=1.0).problem
    truth = exact_evidence(without_them).value
    assert exact_evidence(with_empty).value == pytest.approx(truth, abs=1e-10)
    for method in (particles, annealed):
        result = method(with_empty, 0)
        assert abs(result.value - truth) < 4 * result.stderr


def test_searches_that_agree_are_not_certain():
    """Every search ends with one class in use, so no chain is run; what none saw is an error."""
    columns = [Column(name, (0, 1)) for name in "abc"]
    alike = Table.from_codes(np.zeros((12, 3), dtype=np.int8), columns)
    problem = problem_for(alike, 2, alpha=0.01).problem
    estimate = measure(problem, Method.AIS, Goal(0.01, 6000.0))
    assert estimate.verdict is Verdict.RELIABLE
    assert estimate.stderr > 0
    assert abs(estimate.value - exact_evidence(problem).value) < 2 * estimate.stderr


@pytest.mark.slow
def test_exponents_below_one_and_many_cases():
    """No maximum of the posterior to start from, or too many cases for particles."""
    codes = np.array([[0, 1], [1, 0], [0, 0], [1, 1]], dtype=np.int8)
    columns = [Column("a", (0, 1)), Column("b", (0, 1))]
    small = problem_for(Table.from_codes(np.repeat(codes, 3, axis=0), columns), 2, alpha=0.6)
    estimate = measure(small.problem, Method.AIS, Goal(0.3, 6000.0))
    assert abs(estimate.value - exact_evidence(small.problem).value) < 4 * estimate.stderr
    counts = np.array([120_000, 90_000, 30_000, 60_000.0])
    large = problem_of_codes(codes, counts, small.problem.network, np.ones(10))
    assert large.cases > 200_000
    a = measure(large, goal=Goal(0.3, 2.0))
    assert a.method is Method.AIS
    assert math.isfinite(a.value)


@pytest.mark.slow
def test_used_classes_by_both_methods():
    problem = make_case([2] * 6, 3, 60, seed=3, alpha=1.0, true_classes=2).problem
    by = {m: measure(problem, m, Goal(0.1, 6000.0)).used for m in (Method.SMC, Method.AIS)}
    for shares in by.values():
        assert sum(shares.values()) == pytest.approx(1.0)
    for m in (2, 3):
        assert by[Method.SMC].get(m, 0.0) == pytest.approx(by[Method.AIS].get(m, 0.0), abs=0.15)


@pytest.mark.parametrize(
    "method", [Method.SMC, *(pytest.param(m, marks=SLOW) for m in (Method.AIS, Method.WALK))]
)
def test_unseen_mass_is_part_of_the_error(method):
    """With small exponents classes are nearly sure, and samples agree on what they all have."""
    network = latent_class([(f"x{i}", (0, 1)) for i in range(8)], 2)
    alpha, off = uniform_alpha(network.layout, 0.05), []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        theta = np.maximum(draw_theta(alpha, network.layout, rng), np.finfo(float).tiny)
        codes = sample_codes(Model(network, theta, alpha), 30, rng, 0.0)
        problem = problem_of_codes(codes.astype(np.int8), np.ones(30), network, alpha)
        estimate = measure(problem, method, Goal(target=0.05, budget=6000.0), seed=seed)
        assert estimate.verdict is Verdict.RELIABLE
        off.append(abs(estimate.value - exact_evidence(problem).value) / estimate.stderr)
    assert max(off) < 5
    assert np.mean(np.array(off) <= 2) >= 0.9


def factorial_of_27(seed=0, rows=170, alpha=0.2):
    """Three hidden causes of three states, each a parent of five leaves: tables of 27 rows."""
    leaves = {x: 2 + i % 2 for i, x in enumerate("abcde")}
    edges = " ".join(f"{h}>{x}" for x in leaves for h in "FGH")
    network = build(edges, {**dict.fromkeys("FGH", 3), **leaves}, "FGH")
    rng = np.random.default_rng(seed)
    prior = uniform_alpha(network.layout, alpha)
    theta = np.maximum(draw_theta(prior, network.layout, rng), np.finfo(float).tiny)
    codes = sample_codes(Model(network, theta, prior), rows, rng, 0.0)
    return problem_of_codes(codes.astype(np.int8), np.ones(rows), network, prior)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_particles_are_tried_where_a_small_run_says_that_they_are_quick(seed):
    """Annealing from fits finds one of many ways to share out rows among the causes."""
    problem = factorial_of_27(seed)
    with counted_time(0.002):  # the budget is spent by steps, not by seconds
        estimate = measure(problem, Method.AUTO, Goal(target=0.15, budget=5.0), seed=seed)
    long = measure(problem, Method.SMC, Goal(target=0.1, budget=6000.0), seed=100 + seed)
    assert estimate.method is Method.SMC
    assert estimate.verdict is long.verdict is Verdict.RELIABLE
    assert abs(estimate.value - long.value) < 4 * math.hypot(estimate.stderr, long.stderr)


def test_fits_that_agree_may_have_missed_the_mass_of_one_more():
    case = make_case([2] * 5, 2, 80, seed=1)
    prior = np.ones(case.layout.size)
    problem = problem_of_codes(case.codes, case.counts, case.network, prior)
    samples = ParticleRounds(problem, 0, UNHURRIED).hidden_samples(1)
    both = [
        AnnealingRounds(problem, places, 0, UNHURRIED)
        for places in (samples[:3], [replace(f, search=-1 - f.search) for f in samples[:3]])
    ]
    by_particles, by_fits = (rounds.unseen for rounds in both)
    assert by_particles < 0.25
    assert by_fits == pytest.approx(0.25, abs=0.05)
    assert both[1].estimate.stderr > both[0].estimate.stderr
