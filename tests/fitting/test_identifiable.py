"""Models with more parameters than data can determine are said to be so, and no others."""

import itertools

import numpy as np
import polars as pl
import pytest

import lacunet
from lacunet.flags import Kind
from lacunet.inference.queries.most_probable import identified_parameters, three_groups
from lacunet.models.latent_class import latent_class
from lacunet.models.network import Network, Variable
from lacunet.selection.grids import remarks
from lacunet.selection.sentences import limits

OPTIONS = {"quick": True, "starts": 2, "threads": 1, "scores": "csl-occupied"}


def rank_by_differences(items: list[int], classes: int, seed: int) -> int:
    """The rank of ∂p(cell)/∂θ of a latent class model, by central differences in log odds."""
    rng = np.random.default_rng(seed)
    sizes = [classes, *[r for r in items for _ in range(classes)]]
    cells = list(itertools.product(*map(range, items)))

    def probabilities(x: np.ndarray) -> np.ndarray:
        tables, at = [], 0
        for r in sizes:
            odds = np.exp(np.concatenate([x[at : at + r - 1], [0.0]]))
            tables.append(odds / odds.sum())
            at += r - 1
        weights, leaves = tables[0], tables[1:]
        profile = [np.array(leaves[j * classes : (j + 1) * classes]) for j in range(len(items))]
        return np.array(
            [
                sum(
                    weights[c] * np.prod([profile[j][c, a] for j, a in enumerate(cell)])
                    for c in range(classes)
                )
                for cell in cells
            ]
        )

    x, h = rng.normal(0.0, 1.0, sum(r - 1 for r in sizes)), 1e-5
    columns = [
        (probabilities(x + h * e) - probabilities(x - h * e)) / (2 * h) for e in np.eye(len(x))
    ]
    return int(np.linalg.matrix_rank(np.array(columns), tol=1e-8))


@pytest.mark.parametrize(
    ("items", "classes"),
    [([2, 2], 2), ([2, 2, 2], 2), ([2] * 4, 2), ([2] * 4, 3), ([3, 3, 2], 3), ([3, 3, 3], 3)],
)
def test_the_rank_is_that_of_the_map_from_parameters_to_cells(items, classes):
    network = latent_class([(f"x{j}", tuple(range(r))) for j, r in enumerate(items)], classes)
    rank = max(rank_by_differences(items, classes, seed) for seed in range(2))
    result = identified_parameters(network)
    assert result == (None if rank == network.dimension else rank)
    if three_groups(items, classes):
        assert rank == network.dimension


def test_three_classes_behind_four_yes_or_no_are_the_known_exception():
    """Fewer parameters than cells, and not identified all the same (Goodman 1974)."""
    network = latent_class([(name, (0, 1)) for name in "ABCD"], 3)
    assert network.dimension == 14
    assert identified_parameters(network) == 13


@pytest.fixture(scope="module")
def values():
    return lacunet.select(lacunet.load_dataset("values"), range(1, 6), prior="bnb", **OPTIONS)


def test_it_is_reported_once_for_all_candidates(values):
    message = [text for text in remarks(values) if "not identifiable" in text]
    assert len(message) == 1
    assert message[0].startswith(
        "3, 4, 5 classes: not identifiable: there are 14 to 24 parameters, and"
    )
    assert "determine at most 13 to 15" in message[0]
    assert "use fewer classes, or more columns" in message[0]
    assert values.label == 2
    assert not [text for text in limits(values) if "identifiable" in text]


def test_the_warning_about_the_answer_comes_first(tmp_path):
    selection = lacunet.select(lacunet.load_dataset("values"), (3, 4), **OPTIONS)
    first = [
        text
        for text in limits(selection)
        if text.startswith(f"Warning: {selection.label} classes: not")
    ]
    assert len(first) == 1
    page = selection.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "More parameters than the data can determine" in page
    fit = lacunet.fit(lacunet.load_dataset("values"), 3, starts=2, threads=1)
    (flag,) = (f for f in fit.flags if f.kind is Kind.TOO_MANY_PARAMETERS)
    assert flag.detail["rank"] == 13


def test_standard_data_raise_no_alarm():
    selection = lacunet.select(lacunet.load_dataset("carcinoma"), range(1, 6), **OPTIONS)
    kinds = {flag.kind for c in selection.candidates for flag in c.flags}
    assert not kinds & {Kind.TOO_MANY_PARAMETERS, Kind.FEW_DISTINCT_ROWS}
    people = lacunet.load_dataset("survey")
    for k in (2, 8):
        network = latent_class([(c.name, c.states) for c in people.columns], k)
        assert identified_parameters(network) is None


def test_more_free_parameters_than_distinct_rows():
    """Six items, and few rows, all different: no likelihood tells 34 parameters from each other."""
    rng = np.random.default_rng(0)
    data = pl.DataFrame({f"x{j}": rng.integers(0, 2, 18) for j in range(9)})
    fit = lacunet.fit(data, 3, starts=2, threads=1)
    free, rows = 3 * 9 + 2, fit.problem.counts.size
    flags = [f for f in fit.flags if f.kind is Kind.FEW_DISTINCT_ROWS]
    (unheld,) = [f.detail["number"] for f in fit.flags if f.kind is Kind.NO_EXPECTED_CASES] or [0]
    assert bool(flags) == (free - unheld > rows)
    many = lacunet.fit(data, 1, starts=2, threads=1)
    assert not [f for f in many.flags if f.kind is Kind.FEW_DISTINCT_ROWS]
    loose = lacunet.fit(data, 3, alpha=2.0, starts=2, threads=1)
    (flag,) = (f for f in loose.flags if f.kind is Kind.FEW_DISTINCT_ROWS)
    assert flag.detail["parameters"] > flag.detail["rows"] == rows


def test_other_networks_and_numbers():
    hidden = Variable("H", (1, 2), hidden=True)
    two = Network.build([hidden, Variable("A", (0, 1)), Variable("B", (0, 1))], [(), (0,), (0,)])
    assert identified_parameters(two) == 3
    seen = Network.build([Variable("A", (0, 1)), Variable("B", (0, 1))], [(), (0,)])
    assert identified_parameters(seen) is None
    rng = np.random.default_rng(1)
    data = pl.DataFrame({"a": rng.normal(size=30), "b": rng.integers(0, 2, 30)})
    fit = lacunet.fit(data, 3, kinds={"a": "gaussian"}, starts=2, threads=1)
    assert not [f for f in fit.flags if f.kind is Kind.TOO_MANY_PARAMETERS]
