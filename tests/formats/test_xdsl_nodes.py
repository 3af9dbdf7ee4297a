"""Deterministic and noisy-max nodes against their meaning, by enumeration."""

import itertools

import numpy as np
import pytest

from lacunet.errors import ModelError
from lacunet.models.formats import xdsl

ROOTS = """
<cpt id="A"><state id="a0"/><state id="a1"/><probabilities>.3 .7</probabilities></cpt>
<cpt id="B"><state id="b0"/><state id="b1"/><state id="b2"/>
  <probabilities>.2 .3 .5</probabilities></cpt>
"""
STATES = '<state id="high"/><state id="low"/><state id="none"/>'
COLUMNS = {  # what each state of each parent does alone, by the order of its states
    "A": [[0.5, 0.3, 0.2], [0.0, 0.0, 1.0]],
    "B": [[0.6, 0.1, 0.3], [0.2, 0.5, 0.3], [0.0, 0.0, 1.0]],
}
ONE_STATE = "<resultingstates>low</resultingstates>"
LEAK = [0.05, 0.1, 0.85]


def read(node):
    return xdsl.read(f"<smile><nodes>{ROOTS}{node}</nodes></smile>")


def noisy(parameters, strengths="0 1 0 1 2", parents="A B"):
    words = " ".join(str(x) for x in np.ravel(parameters))
    order = f"<strengths>{strengths}</strengths>" if strengths else ""
    return (
        f'<noisymax id="X">{STATES}<parents>{parents}</parents>{order}'
        f"<parameters>{words}</parameters></noisymax>"
    )


def strongest(effects):
    """Enumerate what each cause does; the first state is the strongest."""
    result = np.zeros(3)
    for outcome in itertools.product(range(3), repeat=len(effects)):
        result[min(outcome)] += np.prod([e[k] for e, k in zip(effects, outcome, strict=True)])
    return result


def expected(leak=LEAK, columns=COLUMNS):
    pairs = itertools.product(columns["A"], columns["B"])
    return np.array([strongest([a, b, leak]) for a, b in pairs]).reshape(2, 3, 3)


def all_columns(a=(0, 1), b=(0, 1, 2)):
    return [*(COLUMNS["A"][k] for k in a), *(COLUMNS["B"][k] for k in b)]


def test_noisy_max_is_the_strongest_of_independent_effects():
    table = read(noisy([*all_columns(), LEAK])).table("X")
    np.testing.assert_allclose(table, expected(), atol=1e-15)
    no_leak = read(noisy(all_columns(), strengths="")).table("X")
    np.testing.assert_allclose(no_leak, expected(leak=[0.0, 0.0, 1.0]), atol=1e-15)
    assert (no_leak[1, 2] == [0.0, 0.0, 1.0]).all()


def test_columns_stand_by_strength():
    mixed = {"A": COLUMNS["A"][::-1], "B": [COLUMNS["B"][k] for k in (1, 2, 0)]}
    # State a1 is the strongest of A; of B it is b2, then b0.
    table = read(noisy([*all_columns(), LEAK], strengths="1 0 2 0 1")).table("X")
    np.testing.assert_allclose(table, expected(columns=mixed), atol=1e-15)


def test_columns_by_state_are_named_by_the_state_without_effect():
    mixed = {"A": COLUMNS["A"][::-1], "B": [COLUMNS["B"][k] for k in (1, 2, 0)]}
    by_states = [*mixed["A"], *mixed["B"], LEAK]
    table = read(noisy(by_states, strengths="1 0 2 0 1")).table("X")
    np.testing.assert_allclose(table, expected(columns=mixed), atol=1e-15)


def test_noisy_or_in_closed_form():
    two = '<state id="yes"/><state id="no"/>'
    node = (
        f'<noisymax id="X">{two}<parents>A</parents><strengths>0 1</strengths>'
        "<parameters>0.8 0.2 0 1 0.1 0.9</parameters></noisymax>"
    )
    table = read(node).table("X")
    np.testing.assert_allclose(table, [[1 - 0.2 * 0.9, 0.18], [0.1, 0.9]], atol=1e-15)


def test_deterministic_nodes_follow_their_list():
    words = "low low high none high low"
    node = f"<parents>A B</parents><resultingstates>{words}</resultingstates>"
    table = read(f'<deterministic id="X">{STATES}{node}</deterministic>').table("X")
    named = [["high", "low", "none"][k] for k in table.reshape(6, 3).argmax(axis=1)]
    assert " ".join(named) == words
    assert (table.max(axis=-1) == 1.0).all()
    alone = read(
        f'<deterministic id="X">{STATES}<resultingstates>low</resultingstates></deterministic>'
    )
    assert alone.table("X").tolist() == [0.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (noisy(all_columns()[:-1]), "node 'X' has 12 parameters"),
        (noisy([*all_columns(), [0.5, 0.5, 0.5]]), "node 'X': its table sums to 1.5"),
        (noisy([*all_columns(), LEAK], strengths="0 1 0 1"), "for the parent 'B' are '0 1'"),
        (noisy([*all_columns(), LEAK], strengths="0 1 0 1 2 0"), "node 'X' has 6 strengths"),
        (noisy([*all_columns(), LEAK], strengths="0 0 0 1 2"), "for the parent 'A' are '0 0'"),
        (noisy(["x"]), "node 'X': 'x' is not a number"),
        (f'<deterministic id="X">{STATES}</deterministic>', "has 0 resultingstates elements"),
        (
            f'<deterministic id="X">{STATES}<resultingstates>up</resultingstates></deterministic>',
            "node 'X': 'up' is not one of its states",
        ),
        (
            f'<deterministic id="X">{STATES}<parents>A</parents>{ONE_STATE}</deterministic>',
            "node 'X' has 1 resulting states. It needs 2",
        ),
        ('<noisyadder id="X"/>', "node 'X' is a <noisyadder>"),
    ],
)
def test_mistakes_name_the_node(node, text):
    with pytest.raises(ModelError, match=text):
        read(node)


def test_a_table_that_would_not_fit_is_refused_before_it_is_made():
    many = [f"P{i}" for i in range(40)]
    roots = "".join(
        f'<cpt id="{p}"><state id="a"/><state id="b"/><probabilities>.5 .5</probabilities></cpt>'
        for p in many
    )
    numbers = " ".join(["0.5 0.5 0 1"] * 40)
    node = (
        '<noisymax id="X"><state id="yes"/><state id="no"/>'
        f"<parents>{' '.join(many)}</parents><parameters>{numbers} 0.1 0.9</parameters></noisymax>"
    )
    with pytest.raises(ModelError, match="the table of 'X' would have"):
        read(roots + node)
