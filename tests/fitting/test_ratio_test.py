"""The bootstrap likelihood-ratio test: its level, its p-value, its seeds."""

import numpy as np
import pytest
from scipy.stats import binom, kstest

import lacunet
from lacunet.data.read import load_dataset
from lacunet.errors import OptionError
from lacunet.fitting.fit import Options, learn
from lacunet.fitting.objective import Estimate
from lacunet.inference.classes import with_classes
from lacunet.runtime.executor import Serial, on_threads
from lacunet.summaries.ratio_tests import ratio_test
from people import KINDS, people
from problems import make_case, problem_for


def options(starts=4, seed=0):
    return Options(estimate=Estimate.ML, starts=starts, seed=seed)


@pytest.mark.slow
@pytest.mark.long
def test_it_holds_its_level():
    """Where one class is true, p is uniform on 0.1, 0.2, ..., 1, as far as 40 tests can tell."""
    tests = 40
    p_values = np.empty(tests)
    for seed in range(tests):
        null = make_case([2] * 5, 1, 50, missing=0.1 * (seed % 2), seed=seed).problem
        p_values[seed] = ratio_test(null, with_classes(null, 2), options(1, seed), 9).p_value
    for level in (0.1, 0.2, 0.5):
        rejected = int(np.sum(p_values <= level + 1e-12))
        assert binom.cdf(rejected, tests, level) > 1e-3
        assert binom.sf(rejected - 1, tests, level) > 1e-3
    # Spread over its cells, a discrete uniform is a continuous one.
    jitter = np.random.default_rng(0).random(tests) / 10
    assert kstest(p_values - jitter, "uniform").pvalue > 1e-3


@pytest.mark.slow
def test_it_finds_true_classes():
    problem = problem_for(load_dataset("values"), 1).problem
    ratio = ratio_test(problem, with_classes(problem, 2), options(), 39)
    assert ratio.exceeding == 0
    assert ratio.p_value == 1 / 40
    assert ratio.states == (1, 2)
    # Goodman's two classes: log-likelihoods of the published fits.
    assert ratio.statistic == pytest.approx(2 * (543.6498 - 504.4677), abs=1e-3)
    assert "the data favour 2 or more" in str(ratio)


@pytest.mark.slow
def test_statistics_are_those_of_the_fits():
    problem = problem_for(load_dataset("values"), 2).problem
    wider = with_classes(problem, 3)
    ratio = ratio_test(problem, wider, options(), 5)
    fits = [learn(p, options()) for p in (problem, wider)]
    assert ratio.statistic == pytest.approx(2 * (fits[1].log_lik - fits[0].log_lik))
    assert (ratio.replicates >= 0).all()
    assert ratio.p_value == (1 + np.sum(ratio.replicates >= ratio.statistic)) / 6
    assert "No evidence against 2 classes" in str(ratio)


@pytest.mark.slow
@pytest.mark.usefixtures("short_steps_on_threads")
def test_seeds_threads_and_the_early_stop():
    problem = problem_for(load_dataset("values"), 2).problem
    wider = with_classes(problem, 3)
    whole = ratio_test(problem, wider, options(2), 20)
    with on_threads(2) as executor:
        threads = ratio_test(problem, wider, options(2), 20, executor=executor)
        early = ratio_test(problem, wider, options(2), 20, stop_after=4, executor=executor)
    np.testing.assert_array_equal(whole.replicates, threads.replicates)
    # The early stop takes the same replicates in order, and ends with the fourth that exceeds.
    assert early.stopped
    n = len(early.replicates)
    np.testing.assert_array_equal(early.replicates, whole.replicates[:n])
    assert early.exceeding == 4
    assert early.replicates[-1] >= early.statistic - 1e-6
    assert early.p_value == 4 / n
    other = ratio_test(problem, wider, options(2, seed=1), 4)
    assert (other.replicates != whole.replicates[:4]).any()


@pytest.mark.slow
def test_progress_ends_at_the_end():
    problem = problem_for(load_dataset("values"), 1).problem
    events = []
    ratio_test(
        problem,
        with_classes(problem, 2),
        options(2),
        20,
        stop_after=50,
        executor=Serial(events.append),
    )
    assert [round(e.done * 20) for e in events] == list(range(1, 21))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"replicates": 0}, "0 bootstrap replicates: there must be at least 1"),
        ({"stop_after": 0}, "stop after 0 exceedances: there must be at least 1"),
    ],
)
def test_numbers_out_of_range(arguments, text):
    problem = problem_for(load_dataset("values"), 1).problem
    with pytest.raises(OptionError, match=text):
        ratio_test(problem, with_classes(problem, 2), options(), **arguments)


@pytest.mark.slow
def test_counts_and_ordered_answers_are_tested_too():
    frame = people(100).select("visits", "agree", "sex")
    few = {"kinds": "visits=poisson,agree=ordinal", "replicates": 9, "starts": 4}
    one, two = (lacunet.likelihood_ratio_test(frame, k, **few) for k in (1, 2))
    assert one.exceeding == 0
    assert one.statistic > 50
    assert two.p_value > 0.2
    with pytest.raises(OptionError, match=r"'height' is continuous.*lacunet select"):
        lacunet.likelihood_ratio_test(people(50), 1, kinds=KINDS)
