"""The quick reader of BIF: what it reads, the reader by words reads the same way."""

import numpy as np
import pytest
from format_networks import assert_same, models, ordinary
from hypothesis import given
from hypothesis import strategies as st

from lacunet.errors import ModelError
from lacunet.models.conjugacy import random_theta
from lacunet.models.formats import bif
from lacunet.models.network import Model, Network, Variable

TEXT = bif.write(ordinary())


def by_words(text):
    try:
        return bif.read_by_words(text)
    except ModelError:
        return None


def test_what_programs_write_is_read_at_once():
    model = bif.read_at_once(TEXT)
    assert_same(model, bif.read_by_words(TEXT))


@given(models())
def test_both_readers_read_the_same(model):
    text = bif.write(model)
    quick = bif.read_at_once(text)
    if quick is not None:
        assert_same(quick, bif.read_by_words(text))


@given(st.integers(0, len(TEXT) - 1), st.sampled_from(["", " ", ",", ";", "(", "}", "/", "0", "a"]))
def test_a_changed_character_never_makes_them_differ(place, char):
    text = TEXT[:place] + char + TEXT[place + 1 :]
    quick = bif.read_at_once(text)
    if quick is not None:
        slow = by_words(text)
        assert slow is not None
        assert_same(quick, slow)


@pytest.mark.parametrize(
    "form",
    [
        "// first\n{}",
        "{} /* last */",
        "network x {{ property a ; }}\n{}",
    ],
)
def test_comments_and_other_blocks_are_no_hindrance(form):
    assert bif.read_at_once(form.format(TEXT)) is not None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("low", '"low"'),
        ("variable leaf", "variable le af"),
        ("/", "/*"),
        ("probability ( a )", "probability ( nobody )"),
        ("{", "{ {"),
    ],
)
def test_all_else_is_left_to_the_other(old, new):
    assert bif.read_at_once(("// a comment\n" + TEXT).replace(old, new, 1)) is None


def test_rows_and_tables_of_a_large_network():
    rng = np.random.default_rng(3)
    variables = [Variable(f"v{i}", tuple(f"s{k}" for k in range(2 + i % 4))) for i in range(60)]
    parents = [tuple(rng.choice(i, min(i, 3), replace=False).tolist()) for i in range(60)]
    network = Network.build(variables, parents)
    theta = random_theta(network.layout, rng)
    model = Model(network, theta, np.ones(network.layout.size))
    assert np.array_equal(bif.read_at_once(bif.write(model)).theta, theta)
