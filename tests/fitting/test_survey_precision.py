"""Standard errors of surveys: textbook formulas, a sandwich by finite differences, a jackknife."""

import numpy as np
import pytest

import lacunet
from lacunet.data.design import sampling_design
from lacunet.fitting.fit import Options, learn
from lacunet.fitting.objective import Estimate
from lacunet.flags import Kind
from lacunet.inference.classes import expect
from lacunet.inference.information import row_scores, spread_of_scores
from lacunet.inference.plans.plan import free_coordinates
from lacunet.inference.problem import build_problem, problem_of_codes
from lacunet.models import conjugacy
from lacunet.models.prior import dirichlet
from lacunet.runtime.executor import on_threads
from lacunet.selection.comparing import latent_classes
from lacunet.summaries.bootstrap import resample_units
from surveys import clustered, spread_of

DESIGN = {"weights": "w", "strata": "stratum", "clusters": "unit"}


def fitted(frame, classes, **reading):
    table = lacunet.read_table(frame, **reading)
    fit = lacunet.fit(table, classes, estimate="ml", starts=6)
    return table, fit, lacunet.intervals(table, fit)


def test_of_one_class_they_are_the_textbook_variance_of_a_weighted_share():
    frame = clustered(1)
    _, _, result = fitted(frame, 1, **DESIGN)
    w, n = frame["w"].to_numpy(), len(frame)
    for name in "ABCDE":
        y = frame[name].to_numpy()
        p = (w @ y) / w.sum()
        z = (w * (y - p) / w.sum())[:, None]
        variance = spread_of(z, frame["stratum"], frame["unit"])[0, 0]
        interval = result.table(name)
        np.testing.assert_allclose(interval.estimate[0, 1], p, rtol=1e-9)
        np.testing.assert_allclose(interval.stderr[0, 1], np.sqrt(variance), rtol=1e-9)
        np.testing.assert_allclose(interval.deff[0, 1], variance / (p * (1 - p) / n), rtol=1e-9)
    effects = [result.table(name).deff[0, 1] for name in "ABCDE"]
    assert result.design.overall == pytest.approx(np.mean(effects), rel=1e-9)  # d = 5, independent


class Sandwich:
    """Two classes, independent of the package: φ are logits; derivatives by complex steps."""

    def __init__(self, answers, weights):
        self.answers, self.weights = answers, weights
        self.seen = ~np.isnan(answers)

    def log_p(self, phi):
        share, items = 1 / (1 + np.exp(-phi[0])), 1 / (1 + np.exp(-phi[1:].reshape(2, -1)))
        y, joint = np.nan_to_num(self.answers), []
        for c, size in enumerate((1 - share, share)):
            each = np.where(y > 0.5, items[c], 1 - items[c])
            joint.append(size * np.prod(np.where(self.seen, each, 1.0), axis=1))
        return np.log(joint[0] + joint[1])

    def scores(self, phi):
        steps = 1e-30j * np.eye(len(phi))
        return np.stack([self.log_p(phi + s).imag / 1e-30 for s in steps], axis=1)

    def stderr(self, phi, stratum, unit):
        """Of the probabilities that φ are logits of."""
        h = 1e-5
        up_down = [
            (self.weights @ self.scores(phi + s), self.weights @ self.scores(phi - s))
            for s in h * np.eye(len(phi))
        ]
        inverse = np.linalg.inv(np.stack([(b - a) / (2 * h) for a, b in up_down]))
        G = spread_of(self.weights[:, None] * self.scores(phi), stratum, unit)
        p = 1 / (1 + np.exp(-phi))
        return p * (1 - p) * np.sqrt(np.diag(inverse @ G @ inverse))


@pytest.mark.parametrize("kind", ["strata and clusters", "clusters", "strata", "weights", "equal"])
def test_they_are_a_sandwich_by_independent_code(kind):
    frame = clustered(2, missing=0.1)
    n = len(frame)
    if kind == "equal":
        frame["w"] = 2.5
    reading = {"exclude": ["stratum", "unit"], "weights": "w", "weights_as": "survey"}
    stratum, unit = np.zeros(n), np.arange(n)
    if "strata" in kind:
        reading["strata"], stratum = "stratum", frame["stratum"].to_numpy()
    if "clusters" in kind:
        reading["clusters"], unit = "unit", frame["unit"].to_numpy()
    _, fit, result = fitted(frame, 2, **reading)
    sizes, names = fit.model.table("class"), "ABCDE"
    items = np.array([fit.model.table(name)[:, 1] for name in names])  # (items, classes)
    p = np.concatenate([sizes[1:], items[:, 0], items[:, 1]])
    oracle = Sandwich(frame[list(names)].to_numpy(), frame["w"].to_numpy())
    expected = oracle.stderr(np.log(p / (1 - p)), stratum, unit)
    stderr = [result.table("class").stderr[1:]]
    stderr += [[result.table(name).stderr[c, 1] for name in names] for c in (0, 1)]
    np.testing.assert_allclose(np.concatenate(stderr), expected, rtol=1e-5)


def jackknife(table, fit):
    """Delete one unit at a time, and let the others of its stratum make up for it (JKn)."""
    problem, design, theta = fit.problem, table.design, fit.model.theta
    variance = np.zeros_like(theta)
    units = np.bincount(design.stratum)
    for u, h in enumerate(design.stratum):
        times = np.where(design.stratum == h, units[h] / (units[h] - 1), 1.0)
        times[u] = 0.0
        counts = design.counts(times, len(problem.codes))
        present = counts > 0
        left = problem_of_codes(
            problem.codes[present], counts[present], problem.network, problem.alpha
        )
        again = learn(left, Options(estimate=Estimate.ML, starts=1), start=fit.model)
        variance += (units[h] - 1) / units[h] * (again.model.theta - theta) ** 2
    return np.sqrt(variance)


def test_a_jackknife_by_refits_agrees():
    """It has the same limit; with 60 units both are within some percent of each other."""
    table, fit, result = fitted(clustered(3, strata=6, units=10), 2, **DESIGN)
    ratio = jackknife(table, fit) / result.stderr
    assert np.abs(ratio.mean() - 1) < 0.04
    assert np.abs(ratio - 1).max() < 0.12


@pytest.mark.slow
def test_scores_of_units_are_those_of_their_rows_alone_whatever_the_model():
    """Numbers of every sort, missing values and a network: units as problems of their own."""
    rng = np.random.default_rng(4)
    frame = clustered(4, strata=2, units=4, people=12, items=3, missing=0.15)
    for k, name in enumerate("xyz"):
        frame[name] = rng.normal(frame["A"].fillna(0) + k, 1.0).round(3)
    frame.loc[::7, "y"] = np.nan
    for kinds, covariance, network in (
        ("x=gaussian,y=gaussian,z=gaussian", "diagonal", None),
        ("x=gaussian,y=gaussian,z=gaussian", "full", None),
        (None, "diagonal", "H[2] -> A B; G[2] -> C; H -> G; A -> B"),
    ):
        more = {} if network is None else {"exclude": ["x", "y", "z"]}
        table = lacunet.read_table(frame, kinds=kinds, **DESIGN, **more)
        fit = lacunet.fit(
            table, None if network else 2, network=network, covariance=covariance, starts=2
        )
        problem, theta, design = fit.problem, fit.model.theta, table.in_canonical_order.design
        free = free_coordinates(problem.layout, theta).free
        totals = np.zeros((len(design.stratum), len(free)))
        for u in range(len(totals)):
            counts = design.counts((np.arange(len(totals)) == u) * 1.0, len(problem.codes))
            present = counts > 0
            part = problem_of_codes(
                problem.codes[present], counts[present], problem.network, problem.alpha
            )
            N = expect(part, theta).N
            totals[u] = conjugacy.pull_back(theta, N, problem.layout)[free]
        expected = spread_of(totals, design.stratum, np.arange(len(totals)))
        result = spread_of_scores(design, row_scores(problem, theta, free), len(free))
        np.testing.assert_allclose(result, expected, rtol=1e-7, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("network", [None, "H[2] -> A B; G[2] -> C D E; H -> G"])
def test_scores_of_some_coordinates_are_those_of_all(network):
    """Whichever families they are in, and wherever they stand there."""
    frame = clustered(4, people=5, missing=0.1)
    reading = {"exclude": ["stratum", "unit", "w"]}
    table = lacunet.read_table(frame, **reading)
    fit = lacunet.fit(table, None if network else 3, network=network, starts=2)
    problem, theta = fit.problem, fit.model.theta
    free = free_coordinates(problem.layout, theta).free
    ((_, every),) = row_scores(problem, theta, free)
    for j in range(len(free)):
        for last in (j + 1, j + 3):
            ((_, some),) = row_scores(problem, theta, free[j:last])
            np.testing.assert_allclose(some, every[:, j:last], atol=1e-14)
    for rows, some in row_scores(problem, theta, free[1:4], step=7):
        np.testing.assert_allclose(some, every[rows, 1:4], atol=1e-14)


def test_neither_order_nor_scale_nor_how_rows_are_merged_change_them():
    frame = clustered(5, missing=0.1)
    _, _, result = fitted(frame, 2, **DESIGN)
    shuffled = frame.sample(frac=1.0, random_state=3)[[*"EDCBA", "w", "unit", "stratum"]]
    _, _, other = fitted(shuffled, 2, **DESIGN)
    np.testing.assert_array_equal(other.stderr, result.stderr)
    _, _, tenfold = fitted(frame.assign(w=10 * frame["w"]), 2, **DESIGN)
    np.testing.assert_allclose(tenfold.stderr, result.stderr, rtol=1e-6)
    anew = frame.assign(unit=frame["unit"] % 6)  # numbers begin anew in each stratum
    _, _, both = fitted(anew, 2, **dict(DESIGN, clusters=["stratum", "unit"]))
    np.testing.assert_allclose(both.stderr, result.stderr, rtol=1e-12)
    missing = lacunet.read_table(frame, **DESIGN)
    fit = lacunet.fit(missing, 2, missing_as_state=True, starts=2)
    intervals = lacunet.intervals(missing, fit, missing_as_state=True)
    assert intervals.design is not None


def test_the_bootstrap_of_units_has_the_variance_of_the_design():
    frame = clustered(6, strata=3, units=8)
    table, fit, result = fitted(frame, 1, **DESIGN)
    drawn = lacunet.intervals(table, fit, bootstrap=400, seed=2)
    # The standard deviation of 400 draws is known to 1/√800: four of those.
    np.testing.assert_allclose(drawn.stderr[1:], result.stderr[1:], rtol=4 / np.sqrt(800))
    assert "Rao & Wu" in drawn.method
    assert drawn.replicates == 400


@pytest.mark.usefixtures("short_steps_on_threads")
def test_the_bootstrap_of_weights_alone_and_its_threads():
    frame = clustered(7).drop(columns=["stratum", "unit"])
    table, fit, _ = fitted(frame, 2, weights="w")
    one, two = (
        lacunet.intervals(table, fit, bootstrap=6, seed=1, threads=threads) for threads in (1, 2)
    )
    np.testing.assert_array_equal(one.stderr, two.stderr)
    drawn = resample_units(fit.problem, 1, 0)
    assert drawn.cases == pytest.approx(fit.problem.cases, rel=0.2)
    with on_threads(1):
        assert (resample_units(fit.problem, 1, 1).counts != drawn.counts[:1]).any()


def test_strata_of_one_unit_are_joined_with_a_note():
    ones, row = np.ones(5, np.int64), np.arange(5)
    design = sampling_design(
        row, 1.0 * ones, ones, np.array([0, 0, 1, 2, 2]), row, people=5, strata="s", clusters="c"
    )
    assert (design.alone, design.degrees) == (1, 3)
    assert design.stratum.tolist() == [0, 0, 0, 1, 1]
    assert "1 stratum of one unit was joined with the smallest other one" in str(design)
    design = sampling_design(
        row, 1.0 * ones, ones, np.array([0, 1, 2, 3, 3]), row, people=5, strata="s", clusters="c"
    )
    assert (design.alone, design.stratum.tolist()) == (3, [0, 0, 0, 1, 1])
    assert "3 strata of one unit were joined" in str(design)


def test_weights_alone_have_robust_errors_and_counts_have_none_of_it():
    frame = clustered(8).drop(columns=["stratum", "unit"])
    table, _, result = fitted(frame, 2, weights="w")
    assert table.design.declared is False
    assert result.method.startswith("Linearised (sandwich) standard errors: scores of rows")
    _, _, counts = fitted(frame.assign(w=1), 2, weights="w")
    assert counts.design is None
    assert counts.method.startswith("From the observed information")


def test_tables_of_papers_and_documents_take_them():
    frame = clustered(9)
    _, fit, result = fitted(frame, 2, **DESIGN)
    items = lacunet.paper_tables(fit).items
    np.testing.assert_allclose(items.lines[0].stderr, result.table("class").stderr, rtol=1e-12)
    assert "Linearised" in str(items)
    assert result.tidy()["design_effect"][0] == result.table("class").deff[0]
    assert "deff" in result.grids()[0].header
    assert not any(flag.kind is Kind.SADDLE for flag in result.flags)


@pytest.mark.long
def test_intervals_of_clustered_samples_cover_the_truth():
    """400 samples of 40 units: 95 % intervals of class sizes hold the population's in 91 to 98 %.

    Those of the observed information, which knows no units, hold it far less often.
    """
    big = clustered(1000, strata=1, units=40_000, people=1)
    truth = None
    held = {"units": 0, "rows": 0}
    for seed in range(400):
        frame = clustered(seed + 1, strata=1, units=40, people=15).drop(columns=["stratum", "w"])
        for design, reading in (("units", {"clusters": "unit"}), ("rows", {"exclude": ["unit"]})):
            _, fit, result = fitted(frame, 2, **reading)
            if truth is None:
                whole = lacunet.fit(big.drop(columns=["stratum", "unit", "w"]), 2, estimate="ml")
                truth = whole.model
            a = fit.model.table("A")[:, 1]
            c, t = int(a.argmax()), int(truth.table("A")[:, 1].argmax())
            size = result.table("class")
            held[design] += size.low[c] <= truth.table("class")[t] <= size.high[c]
    assert 0.91 * 400 <= held["units"] <= 0.98 * 400, held
    assert held["rows"] < 0.85 * 400, held


def test_a_table_that_is_built_by_hand_has_no_design():
    table = lacunet.Table.from_codes([[0, 1], [1, 0], [1, 1]])
    (proposal,) = latent_classes(table, [1])
    problem = build_problem(table, proposal.network, dirichlet(proposal.network, 1.0))
    assert problem.design is None
