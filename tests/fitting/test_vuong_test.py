"""The test of Vuong, Lo, Mendell & Rubin: its distribution, its weights, where it is told."""

import numpy as np
import pytest
from scipy import stats

import lacunet
from lacunet.fitting.fit import Options, learn
from lacunet.fitting.objective import Estimate
from lacunet.inference.classes import with_classes
from lacunet.summaries.ratio_tests import exceeds, vuong_test
from problems import make_case
from surveys import clustered

ML = Options(estimate=Estimate.ML, starts=8)


@pytest.mark.parametrize("n", [1, 2, 7, 60])
def test_of_equal_weights_it_is_chi_square(n):
    for x in (0.0, 1e-4, 0.5, n, 3.0 * n, 8.0 * n):
        assert exceeds(np.full(n, 2.5), 2.5 * x) == pytest.approx(stats.chi2.sf(x, n), rel=1e-6)


def test_closed_forms_of_pairs_of_weights():
    for x in (0.0, 0.7, 9.0, 80.0):
        both = (3 * np.exp(-x / 6) - 0.5 * np.exp(-x)) / 2.5  # two exponentials, means 6 and 1
        assert exceeds(np.array([3, 3, 0.5, 0.5]), x) == pytest.approx(both, rel=1e-6)
        laplace = 0.5 * np.exp(-x / 4)
        assert exceeds(np.array([2.0, 2, -2, -2]), x) == pytest.approx(laplace, rel=1e-6)
    assert exceeds(np.array([-1.0, -2.0]), 0.5) == 0.0
    assert exceeds(np.zeros(3), 0.5) == 0.0


def test_drawn_sums_of_any_weights():
    weights = np.array([5, 2, 1, 0.1, 0.0, -0.3, -2, -4])
    drawn = np.random.default_rng(0).chisquare(1, (200_000, 8)) @ weights
    for x in (0.0, 1.0, 5.0, 20.0, 60.0):
        p = exceeds(weights, x)
        assert abs((drawn > x).mean() - p) < 4 * np.sqrt(p * (1 - p) / len(drawn))


class Classes:
    """Latent classes of binary answers in logits, independent of the package; complex steps."""

    def __init__(self, fit, answers, items):
        self.answers, K = answers, len(fit.model.table("class"))
        sizes = fit.model.table("class")
        p = np.array([fit.model.table(name)[:, 1] for name in items]).T  # (K, items)
        self.K, self.at = (
            K,
            np.concatenate([np.log(sizes[1:] / sizes[0]), np.log(p / (1 - p)).flat]),
        )

    def log_p(self, phi):
        odds = np.concatenate([[0.0], phi[: self.K - 1]])
        share = np.exp(odds) / np.exp(odds).sum()
        p = 1 / (1 + np.exp(-phi[self.K - 1 :].reshape(self.K, -1)))
        y = self.answers[:, None, :]
        each = np.prod(np.where(y < 0, 1.0, np.where(y > 0, p, 1 - p)), axis=2)
        return np.log(each @ share)

    def scores(self, phi):
        steps = 1e-30j * np.eye(len(phi))
        return np.stack([self.log_p(phi + s).imag / 1e-30 for s in steps], axis=1)

    def hessian(self, counts):
        h = 1e-5
        ends = [
            [counts @ self.scores(self.at + s * e) for s in (h, -h)] for e in np.eye(len(self.at))
        ]
        return np.stack([(up - down) / (2 * h) for up, down in ends])


def test_weights_are_the_eigenvalues_of_vuongs_matrix():
    """W of his theorem 3.3, with derivatives by other code, and eigenvalues of it as it stands."""
    items = list("ABCDE")
    table = lacunet.read_table(clustered(2, missing=0.1)[items])
    small, large = (lacunet.fit(table, k, estimate="ml", starts=8) for k in (1, 2))
    assert all((fit.point.N > 1).all() for fit in (small, large)), "a maximum in the interior"
    problem = large.problem
    f, g = (Classes(fit, problem.codes, items) for fit in (large, small))
    counts = problem.counts
    A = [one.hessian(counts) for one in (f, g)]
    S = [one.scores(one.at) for one in (f, g)]
    B = [[a.T @ (counts[:, None] * b) for b in S] for a in S]
    inverse = [np.linalg.inv(a) for a in A]
    W = np.block(
        [
            [-B[0][0] @ inverse[0], -B[0][1] @ inverse[1]],
            [B[1][0] @ inverse[0], B[1][1] @ inverse[1]],
        ]
    )
    expected = np.sort(np.linalg.eigvals(W).real)
    result = vuong_test(small, large)
    np.testing.assert_allclose(np.sort(result.weights), expected, atol=2e-5)
    assert result.mean == pytest.approx(np.trace(W), abs=1e-4)
    assert result.deviation == pytest.approx(np.sqrt(2 * np.trace(W @ W)), abs=1e-4)
    assert result.statistic == pytest.approx(2 * (large.log_lik - small.log_lik))
    assert result.adjusted == pytest.approx(result.statistic / (1 + 1 / (6 * np.log(360))))
    assert result.p_value < result.adjusted_p


def test_where_it_has_no_meaning_there_is_none():
    problem = make_case([2] * 4, 2, 200, seed=1).problem
    maps = [learn(p, Options(starts=4)) for p in (with_classes(problem, 1), problem)]
    assert vuong_test(*maps) is None


def test_it_is_shown_beside_the_bootstrap_and_in_the_table_of_fits():
    table = lacunet.load_dataset("values")
    ratio = lacunet.likelihood_ratio_test(table, 2, replicates=2, starts=4)
    assert "VLMR p-value " in str(ratio)
    assert "use the bootstrap" in str(ratio)
    assert ratio.tidy()["lmr_p"] == [ratio.vuong.adjusted_p]
    chosen = lacunet.select(table, range(1, 4), starts=4, quick=True, estimate="ml")
    fits = lacunet.paper_tables(chosen).fits
    assert fits.tidy()["vlmr_p"][2] == pytest.approx(ratio.vuong.p_value, rel=1e-3)
    assert np.isnan(fits.tidy()["vlmr_p"][0])
    assert "VLMR p" in fits.grids()[0].header
    maps = lacunet.select(table, range(1, 3), starts=2, quick=True)
    assert "VLMR p" not in lacunet.paper_tables(maps).fits.grids()[0].header


@pytest.mark.long
@pytest.mark.parametrize(("true", "wrong"), [(1, 0.20), (2, 0.37)])
def test_its_level_is_not_the_nominal_one(true, wrong):
    """What the docs say of how often it finds a class too many, at 5 %."""
    tests, result = 300, 0
    for seed in range(tests):
        rng = np.random.default_rng(seed)
        group = rng.random(300) < 0.5 if true == 2 else np.zeros(300, bool)
        yes = np.where(group, 0.85, 0.2) if true == 2 else np.full(300, 0.5)
        table = lacunet.read_table((rng.random((300, 6)) < yes[:, None]).astype(int))
        fits = (lacunet.fit(table, k, estimate="ml", starts=8) for k in (true, true + 1))
        result += vuong_test(*fits).p_value <= 0.05
    assert result / tests == pytest.approx(wrong, abs=0.04)
