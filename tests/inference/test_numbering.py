"""Numbers of what is equal, held to dictionaries and sorted lists."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lacunet.inference.kernels import merging

KEYS = st.lists(st.one_of(st.integers(0, 5), st.integers(0, 2**62 - 1)), min_size=1, max_size=50)


@given(KEYS)
def test_keys_are_numbered_as_they_first_occur(keys):
    given = np.array(keys)
    result = merging.renumber(given)
    order = list(dict.fromkeys(keys))
    assert result == len(order)
    assert given.tolist() == [order.index(key) for key in keys]


@given(KEYS)
def test_keys_are_ranked_in_their_order(keys):
    given = np.array(keys)
    first = merging.rank(given)
    order = sorted(set(keys))
    assert given.tolist() == [order.index(key) for key in keys]
    assert first.tolist() == [keys.index(key) for key in order]


@given(st.lists(st.lists(st.integers(0, 2), max_size=3), min_size=1, max_size=40))
def test_equal_lists_have_one_number(lists):
    starts = np.cumsum([0, *map(len, lists)])
    items = np.array([x for one in lists for x in one], dtype=np.int64)
    number, first = merging.number_lists(starts, items)
    order = list(dict.fromkeys(map(tuple, lists)))
    assert number.tolist() == [order.index(tuple(one)) for one in lists]
    assert first.tolist() == [lists.index(list(one)) for one in order]
