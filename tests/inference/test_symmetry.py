"""Symmetries are found from the structure; each relabelling of a sample has one region."""

import itertools
import math

import numpy as np
import pytest

from lacunet.inference import symmetry
from lacunet.inference.regions import Regions, features_of
from lacunet.inference.symmetry import symmetries_of
from lacunet.models.known import Relabelling
from lacunet.models.prior import dirichlet
from problems import build, make

LATENT = build("H>a H>b", {"H": 3, "a": 2, "b": 3}, "H")
TWO = build("G>H G>a H>b", {"G": 2, "H": 3, "a": 2, "b": 2}, "GH")
PAIR = build("G>a H>a G>b H>b", {"a": 2, "G": 2, "b": 2, "H": 2}, "GH")
THREE = build("F>a G>a H>a", {"F": 2, "G": 2, "H": 2, "a": 3}, "FGH")
# Two hidden parents, each with a hidden child: they change places only together.
FAMILIES = build(
    "P>G Q>H G>a H>a G>b H>b P>b Q>b", {**dict.fromkeys("PGQH", 2), "a": 2, "b": 2}, "PQGH"
)
ALL = {"latent": LATENT, "two": TWO, "pair": PAIR, "three": THREE, "families": FAMILIES}


def every_relabelling(problem):
    """Everything that leaves graph and exponents as they are, by trying it all."""
    layout, hidden = problem.layout, problem.network.hidden
    sizes = [layout.cards[h] for h in hidden]
    orders = list(itertools.product(*(itertools.permutations(range(k)) for k in sizes)))
    for order in itertools.permutations(hidden):
        places = dict(zip(hidden, order, strict=True))
        if any(layout.cards[new] != layout.cards[old] for new, old in places.items()) or any(
            {places.get(v, v) for v in family} != set(layout.families[places.get(i, i)])
            for i, family in enumerate(layout.families)
        ):
            continue
        for states in orders:
            result = Relabelling(layout, places, dict(zip(hidden, states, strict=True)))
            if (result.apply(problem.alpha) == problem.alpha).all():
                yield result


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("alpha", [1.0, "bdeu:4"])
def test_all_relabellings_are_counted(name, alpha):
    problem = make(ALL[name], 6, alpha=alpha).problem
    count = len(list(every_relabelling(problem)))
    assert math.exp(symmetries_of(problem).log_count) == pytest.approx(count)
    numbers = {"latent": 6, "two": 12, "pair": 8, "three": 48, "families": 32}
    assert count == numbers[name]


@pytest.mark.parametrize("name", ALL)
def test_information_about_states_is_summed_over_other_hidden_variables(name):
    layout, hidden = ALL[name].layout, set(ALL[name].hidden)
    x = np.random.default_rng(1).gamma(2.0, 1.0, layout.size)
    for h in hidden:
        result, parts = features_of(layout, h, {}, hidden), []
        for i in result.families:
            table, family = layout.table(x, i), list(layout.families[i])
            away = tuple(family.index(v) for v in family if v in hidden - {h})
            states = np.moveaxis(table, family.index(h), 0)
            kept = np.moveaxis(table.sum(axis=away, keepdims=True), family.index(h), 0)
            assert kept.sum() == pytest.approx(states.sum())
            parts.append(np.sort(kept.reshape(len(kept), -1), axis=1))
        assert [i for i in result.families if i != h] == [
            i for i, family in enumerate(layout.families) if h in family and i != h
        ]
        assert result.families[0] == h
        for table, part in zip(result.by_family(x), parts, strict=True):
            np.testing.assert_allclose(np.sort(table, axis=1), part)
        np.testing.assert_allclose(result(x), np.hstack(result.by_family(x)))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("references", [1, pytest.param(3, marks=pytest.mark.slow)])
def test_every_relabelling_has_one_home(name, references):
    problem = make(ALL[name], 6, alpha=1.0).problem
    rng = np.random.default_rng(0)
    exponents = list(rng.gamma(2.0, 2.0, (references, problem.layout.size)))
    regions = Regions(symmetries_of(problem), exponents)
    every = list(every_relabelling(problem))
    for x in rng.gamma(1.0, 3.0, (8, problem.layout.size)):
        samples = np.array([r.apply(x) for r in every])
        homes = sum(int(regions.in_region(region, samples).sum()) for region in range(references))
        assert homes == 1


def test_empty_states_that_are_alike_do_not_share_a_region():
    problem = make(LATENT, 6, alpha=1.0).problem
    regions = Regions(symmetries_of(problem), [problem.alpha])  # all three states the same
    x = np.random.default_rng(1).gamma(1.0, 3.0, problem.layout.size)
    samples = np.array([r.apply(x) for r in every_relabelling(problem)])
    assert regions.in_region(0, samples).sum() == 1


@pytest.mark.parametrize("name", ALL)
def test_a_relabelling_brings_a_sample_home(name):
    problem = make(ALL[name], 6, alpha=1.0).problem
    rng = np.random.default_rng(3)
    regions = Regions(symmetries_of(problem), [rng.gamma(2.0, 2.0, problem.layout.size)])
    for x in rng.gamma(1.0, 3.0, (10, problem.layout.size)):
        result = regions.to_reference_region(x)
        assert regions.in_region(0, result.apply(x)[None, :]).all()
        assert (result.apply(problem.alpha) == problem.alpha).all()
        assert result.trivial == regions.in_region(0, x[None, :]).all()


def test_a_prior_that_distinguishes_states_leaves_one_labelling():
    alpha = {"H": [1.0, 2.0, 3.0], "a": 1.0, "b": 1.0}
    problem = make(LATENT, 6, alpha=1.0).problem
    asymmetric = make(LATENT, 6, alpha=alpha).problem
    assert symmetries_of(problem).log_count == pytest.approx(math.log(6))
    assert symmetries_of(asymmetric).log_count == 0.0
    assert (asymmetric.alpha == dirichlet(LATENT, alpha)).all()


@pytest.mark.parametrize(
    ("alpha", "number"),
    [
        ({"G": [1.0, 1.0], "H": [2.0, 2.0]}, 4),  # variables differ, states do not
        ({"G": [1.0, 2.0], "H": [1.0, 2.0]}, 2),  # states differ, variables do not
        ({"G": [1.0, 2.0], "H": [1.0, 1.0]}, 2),
        ({"a": [[[1.0, 1.0], [2.0, 1.0]], [[3.0, 1.0], [4.0, 1.0]]]}, 1),
        ({"a": [[[1.0, 1.0], [2.0, 1.0]], [[2.0, 1.0], [4.0, 1.0]]]}, 2),
    ],
)
def test_a_prior_may_distinguish_variables(alpha, number):
    problem = make(PAIR, 6, alpha={**dict.fromkeys("GHab", 1.0), **alpha}).problem
    assert math.exp(symmetries_of(problem).log_count) == pytest.approx(number)
    assert len(list(every_relabelling(problem))) == number


@pytest.mark.parametrize(
    ("edges", "cards", "number"),
    [
        ("G>a H>a G>b", {"G": 2, "H": 2}, 4),  # a child of one of them alone
        ("G>a H>a G>b H>b", {"G": 2, "H": 3}, 12),  # more states
        ("G>a H>a G>b H>b G>H", {"G": 2, "H": 2}, 8),  # one is the context of the other
        ("G>a H>a b>G", {"G": 2, "H": 2}, 4),  # a parent of one of them alone
        ("G>a H>a b>G b>H", {"G": 2, "H": 2}, 8),
    ],
)
def test_a_graph_may_distinguish_variables(edges, cards, number):
    problem = make(build(edges, {**cards, "a": 2, "b": 2}, "GH"), 6, alpha=1.0).problem
    assert math.exp(symmetries_of(problem).log_count) == pytest.approx(number)


def test_a_hidden_variable_without_evidence_has_no_labels():
    barren = build("a>b a>H a>G", {"a": 2, "b": 2, "H": 3, "G": 3}, "HG")
    assert symmetries_of(make(barren, 4, missing=0.3, alpha=1.0).problem).log_count == 0.0
    # Nor do barren children of exchangeable variables count: they only move along.
    tails = build("G>a H>a G>Y H>Z", {**dict.fromkeys("aGHYZ", 2)}, "GHYZ")
    assert symmetries_of(make(tails, 6, alpha=1.0).problem).log_count == pytest.approx(math.log(8))


def test_many_exchangeable_variables_are_counted_without_listing_them():
    names = "ABCDEFGHI"
    network = build(" ".join(f"{h}>z" for h in names), {**dict.fromkeys(names, 2), "z": 2}, names)
    symmetries = symmetries_of(make(network, 3, alpha=1.0).problem)
    assert (len(symmetries.blocks), len(symmetries.exchanges)) == (1, 1)
    assert symmetries.log_count == pytest.approx(math.lgamma(10) + 9 * math.log(2))


def test_too_many_exchanges_to_try_leave_those_that_need_no_trying(monkeypatch):
    monkeypatch.setattr(symmetry, "MOST_TRIED", 3)
    problem = make(FAMILIES, 6, alpha=1.0).problem
    assert symmetries_of(problem).log_count == pytest.approx(math.log(16))


def test_states_that_are_renumbered_move_by_strides():
    """Held to tables that are taken apart, axis by axis."""
    rng = np.random.default_rng(0)
    layout = build("H>a G>a H>b a>b", {"H": 3, "G": 2, "a": 2, "b": 4}, "HG").layout
    orders = {v: rng.permutation(layout.cards[v]).tolist() for v in range(4)}
    result = Relabelling(layout, orders=orders)
    x = rng.random(layout.size)
    tables = []
    for i, family in enumerate(layout.families):
        table = layout.table(x, i)
        for axis, v in enumerate(family):
            table = np.take(table, orders[v], axis=axis)
        tables.append(table)
    np.testing.assert_array_equal(result.apply(x), layout.flat(tables))
