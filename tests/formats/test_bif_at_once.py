"""BIF: rows that are read at once, and the same rows word by word."""

import numpy as np
from format_networks import assert_same, models, ordinary
from hypothesis import given
from hypothesis import strategies as st

from lacunet.errors import ModelError
from lacunet.models.conjugacy import random_theta
from lacunet.models.formats import bif
from lacunet.models.network import Model, Network, Variable

TEXT = bif.write(ordinary())


def read(text):
    """A model, or the message that there is none."""
    try:
        return bif.read(text)
    except ModelError as error:
        return str(error)


def by_words(text):
    """The same with every row word by word: a comment stands in each."""
    return read(text.replace(";", "/**/;"))


def assert_both_alike(text):
    quick, slow = read(text), by_words(text)
    if isinstance(quick, Model) and isinstance(slow, Model):
        assert_same(quick, slow)
    else:
        assert quick == str(slow).replace("/**/", "")  # a message shows the text as it stands


def test_both_read_what_programs_write():
    assert_same(bif.read(TEXT), by_words(TEXT))


@given(models())
def test_both_read_the_same(model):
    text = bif.write(model)
    if '"' not in text and "/" not in text:
        assert_both_alike(text)


@given(st.integers(0, len(TEXT) - 1), st.sampled_from(["", " ", ",", ";", "(", "}", "0", "a"]))
def test_a_changed_character_never_makes_them_differ(place, char):
    assert_both_alike(TEXT[:place] + char + TEXT[place + 1 :])


def test_rows_and_tables_of_a_large_network():
    rng = np.random.default_rng(3)
    variables = [Variable(f"v{i}", tuple(f"s{k}" for k in range(2 + i % 4))) for i in range(60)]
    parents = [tuple(rng.choice(i, min(i, 3), replace=False).tolist()) for i in range(60)]
    network = Network.build(variables, parents)
    theta = random_theta(network.layout, rng)
    model = Model(network, theta, np.ones(network.layout.size))
    assert np.array_equal(bif.read(bif.write(model)).theta, theta)
