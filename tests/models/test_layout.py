import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lacunet.models.layout import Layout


@st.composite
def layouts(draw):
    """Random DAGs over up to five variables, any of them hidden."""
    n = draw(st.integers(1, 5))
    cards = draw(st.lists(st.integers(1, 4), min_size=n, max_size=n))
    hidden = draw(st.lists(st.booleans(), min_size=n, max_size=n))
    parents = [
        draw(st.lists(st.integers(0, max(i - 1, 0)), unique=True, max_size=3)) if i else []
        for i in range(n)
    ]
    return Layout.build(cards, parents, hidden)


@given(layouts())
def test_tables_go_in_and_out_unchanged(layout):
    rng = np.random.default_rng(0)
    tables = [rng.random([layout.cards[v] for v in f]) for f in layout.families]
    flat = layout.flat(tables)
    assert flat.shape == (layout.size,)
    for i, table in enumerate(tables):
        np.testing.assert_array_equal(layout.table(flat, i), table)


@given(layouts())
def test_sums_over_the_child_and_dimension(layout):
    rng = np.random.default_rng(1)
    flat = rng.random(layout.size)
    sums = np.concatenate(
        [layout.table(flat, i).sum(axis=-1).reshape(-1) for i in range(len(layout.cards))]
    )
    np.testing.assert_allclose(layout.sum_k(flat), sums)
    d = sum(
        int(np.prod([layout.cards[v] for v in f[:-1]])) * (layout.cards[f[-1]] - 1)
        for f in layout.families
    )
    assert layout.dimension == d


@given(layouts())
def test_positions_have_state_and_strides(layout):
    for i, family in enumerate(layout.families):
        states = layout.table(layout.k.astype(float), i)
        assert (states == np.arange(layout.cards[family[-1]])).all()
        position = np.full([layout.cards[v] for v in family], layout.offsets[i])
        for axis, v in enumerate(family):
            shape = [-1 if a == axis else 1 for a in range(len(family))]
            position = position + np.arange(layout.cards[v]).reshape(shape) * layout.stride(i, v)
        expected = layout.table(np.arange(layout.size, dtype=float), i)
        np.testing.assert_array_equal(position, expected)


def test_hidden_axes_come_last():
    layout = Layout.build([3, 2, 2], [[], [0], [0, 1]], [True, False, False])
    assert layout.axes == ((0,), (1, 0), (1, 2, 0))
