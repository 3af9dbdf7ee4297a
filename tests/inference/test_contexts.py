"""Relabellings that depend on a context, against every renaming of what is hidden, tried out."""

import itertools
import math

import numpy as np
import pytest

from lacunet.inference import symmetry
from lacunet.inference.problem import problem_of_codes
from lacunet.inference.regions import Regions
from lacunet.inference.symmetry import symmetries_of
from lacunet.models.prior import dirichlet
from problems import build


def problem_of(edges, cards, hidden, alpha=1.0):
    """A network, and a row for everything that can be seen."""
    network = build(edges, cards, hidden)
    seen = itertools.product(*(range(network.cells.cards[v]) for v in network.observed))
    codes = np.array(list(seen), dtype=np.int8)
    return problem_of_codes(codes, np.ones(len(codes)), network, dirichlet(network, alpha))


def every_renaming(problem):
    """All permutations of hidden states, given what is seen, that only rename parameters.

    Each is given as where the parameters stood before. A renaming takes every joint state to
    one with the same seen values; the joint states of a cell must go to those of a cell, cells of
    one parent configuration to those of one, and exponents must be the same.
    """
    layout, network = problem.layout, problem.network
    joint = list(itertools.product(*map(range, layout.cards)))
    by_seen = {}
    for n, x in enumerate(joint):
        by_seen.setdefault(tuple(x[v] for v in network.observed), []).append(n)
    numbers = np.arange(layout.size)
    cells = np.array(
        [
            [
                layout.table(numbers, i)[tuple(x[v] for v in f)]
                for i, f in enumerate(layout.families)
            ]
            for x in joint
        ]
    )
    members = {c: frozenset(np.flatnonzero((cells == c).any(axis=1))) for c in numbers}
    cell_of = {m: c for c, m in members.items()}
    assert len(cell_of) == layout.size, "choose a network in which no two cells say the same"
    for orders in itertools.product(*(itertools.permutations(group) for group in by_seen.values())):
        image = np.empty(len(joint), dtype=int)
        for group, order in zip(by_seen.values(), orders, strict=True):
            image[group] = order
        moved = [cell_of.get(frozenset(image[list(members[c])])) for c in numbers]
        if None in moved or (problem.alpha[moved] != problem.alpha).any():
            continue
        rows = {(int(layout.ij[c]), int(layout.ij[m])) for c, m in zip(numbers, moved, strict=True)}
        if len(rows) == layout.configurations:
            yield np.array(moved)


ALL = {
    "a hidden context": ("G>H G>a H>a", {"G": 2, "H": 2, "a": 2}, "GH", 8),
    "a seen context": ("o>H H>a o>a", {"o": 2, "H": 3, "a": 2}, "H", 36),
    "a parent of H alone": ("o>H H>a", {"o": 2, "H": 2, "a": 3}, "H", 2),
    "a parent of a child alone": ("o>a H>a", {"o": 2, "H": 2, "a": 2}, "H", 2),
    "one of two parents": ("o>H u>H H>a o>a", {"o": 2, "u": 2, "H": 2, "a": 2}, "H", 4),
    "variables change places": ("o>G o>H G>a H>a o>a", {"o": 2, "G": 2, "H": 2, "a": 1}, "GH", 64),
    "not all children": ("G>H G>a H>a H>b", {"G": 2, "H": 2, "a": 2, "b": 1}, "GH", 4),
    "two contexts deep": (
        "F>G F>a G>H G>a H>a F>H",
        {**dict.fromkeys("FGH", 2), "a": 1},
        "FGH",
        128,
    ),
}


def case_of(name, alpha=1.0):
    *world, number = ALL[name]
    return problem_of(*world, alpha), number


@pytest.mark.parametrize("name", [name for name in ALL if name != "two contexts deep"])
def test_their_number_is_that_of_enumeration(name):
    problem, number = case_of(name)
    symmetries = symmetries_of(problem)
    assert symmetries.whole
    assert math.exp(symmetries.log_count) == pytest.approx(number)
    assert len(list(every_renaming(problem))) == number


def test_two_contexts_deep():
    """2! for F, 2! for G in each state of F, 2! for H in each state of both."""
    problem, number = case_of("two contexts deep")
    assert math.exp(symmetries_of(problem).log_count) == pytest.approx(number)


@pytest.mark.parametrize(
    "name", ["a hidden context", "a seen context", "one of two parents", "variables change places"]
)
@pytest.mark.parametrize("references", [1, 2])
def test_every_renaming_has_one_home(name, references):
    problem, _ = case_of(name)
    rng = np.random.default_rng(0)
    exponents = list(rng.gamma(2.0, 2.0, (references, problem.layout.size)))
    regions = Regions(symmetries_of(problem), exponents)
    every = list(every_renaming(problem))
    for x in rng.gamma(1.0, 3.0, (3, problem.layout.size)):
        samples = np.array([x[positions] for positions in every])
        homes = sum(int(regions.in_region(region, samples).sum()) for region in range(references))
        assert homes == 1


@pytest.mark.parametrize("name", ALL)
def test_a_relabelling_brings_a_sample_home(name):
    problem, _ = case_of(name)
    rng = np.random.default_rng(3)
    regions = Regions(symmetries_of(problem), [rng.gamma(2.0, 2.0, problem.layout.size)])
    for x in rng.gamma(1.0, 3.0, (6, problem.layout.size)):
        result = regions.to_reference_region(x)
        assert regions.in_region(0, result.apply(x)[None, :]).all()
        assert (result.apply(problem.alpha) == problem.alpha).all()
        assert result.trivial == regions.in_region(0, x[None, :]).all()
        assert regions.steps_in_region(result.apply(x)[None, :]).all()


@pytest.mark.parametrize(
    ("alpha", "number"),
    [
        ({"H": [[1.0, 1.0, 2.0], [1.0, 1.0, 1.0]]}, 2 * 6),  # in one context two states are alike
        ({"H": [[1.0, 2.0, 3.0], [1.0, 1.0, 2.0]]}, 2),
        ({"H": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]}, 1),
    ],
)
def test_a_prior_may_distinguish_states_in_some_contexts(alpha, number):
    *world, _ = ALL["a seen context"]
    problem = problem_of(*world, {**dict.fromkeys("oHa", 1.0), **alpha})
    assert math.exp(symmetries_of(problem).log_count) == pytest.approx(number)
    assert len(list(every_renaming(problem))) == number


def test_contexts_that_no_row_has_have_no_labels():
    *world, _ = ALL["a seen context"]
    network = build(*world)
    codes = np.array([[0, 0], [0, 1]], dtype=np.int8)
    alpha = dirichlet(network, 1.0)
    shown = problem_of_codes(codes, np.ones(2), network, alpha)
    assert math.exp(symmetries_of(shown).log_count) == pytest.approx(6)
    codes = np.array([[0, 0], [-1, 1]], dtype=np.int8)
    may_be = problem_of_codes(codes, np.ones(2), network, alpha)
    assert math.exp(symmetries_of(may_be).log_count) == pytest.approx(36)


# What is not looked for is said.


def test_cells_of_two_variables_that_are_one_to_the_prior():
    """With BDeu, G → H with the same children is one variable of four states: 24, not 8."""
    *world, _ = ALL["a hidden context"]
    assert symmetries_of(problem_of(*world, 1.0)).whole
    assert not symmetries_of(problem_of(*world, "bdeu:4")).whole


def test_states_that_only_change_together():
    alpha = {"G": 1.0, "H": 1.0, "a": [[[1.0, 1.0], [2.0, 2.0]], [[2.0, 2.0], [1.0, 1.0]]]}
    problem = problem_of("G>a H>a", {"G": 2, "H": 2, "a": 2}, "GH", alpha)
    symmetries = symmetries_of(problem)
    assert len(list(every_renaming(problem))) == 4
    assert math.exp(symmetries.log_count) == pytest.approx(2)
    assert not symmetries.whole


def test_too_many_contexts(monkeypatch):
    problem, _ = case_of("a seen context")
    monkeypatch.setattr(symmetry, "MOST_CONTEXTS", 1)
    symmetries = symmetries_of(problem)
    assert math.exp(symmetries.log_count) == pytest.approx(6)
    assert not symmetries.whole
