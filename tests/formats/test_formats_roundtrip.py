"""What we write, we read: structure, states with their types, and every bit of the numbers."""

import numpy as np
import pytest
from format_networks import READ, assert_same, models, ordinary
from hypothesis import given

from examples import examples
from lacunet.errors import ModelError, OptionError
from lacunet.models.formats import read_network, write_network
from lacunet.models.formats.assembly import guess
from lacunet.models.network import Model, Network, Variable

ENDINGS = [ending for f in READ for ending in f.endings]


@pytest.mark.parametrize("file_format", READ, ids=lambda f: f.name)
@given(model=models())
@examples(150)
def test_texts_read_back_exactly(file_format, model):
    assert_same(file_format.read(file_format.write(model)), model)


@pytest.mark.parametrize("ending", [*ENDINGS, ".BIF"])
def test_files_read_back_exactly(ending, tmp_path):
    path = tmp_path / "sub" / f"net{ending}"
    write_network(ordinary(), path)
    assert_same(read_network(path), ordinary())
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("file_format", READ, ids=lambda f: f.name)
def test_the_prior_is_the_one_given_unless_the_file_holds_one(file_format, tmp_path):
    path = tmp_path / f"net{file_format.endings[0]}"
    write_network(ordinary(), path)
    alpha = read_network(path, alpha=0.5).alpha
    np.testing.assert_array_equal(alpha, 1.01 if file_format.prior else 0.5)
    with pytest.raises(OptionError, match=r"alpha 0(\.0)? is not allowed"):
        read_network(path, alpha=0.0)


def test_xml_files_are_distinguished_by_content(tmp_path):
    for f in READ:
        if ".xml" in f.endings:
            (tmp_path / "net.xml").write_text(f.write(ordinary()), encoding="utf-8")
            assert_same(read_network(tmp_path / "net.xml"), ordinary())
    write_network(ordinary(), tmp_path / "new.xml")
    assert "<BIF" in (tmp_path / "new.xml").read_text()


def test_a_byte_order_mark_and_other_line_ends_do_no_harm(tmp_path):
    for f in READ:
        path = tmp_path / f"net{f.endings[0]}"
        path.write_bytes(b"\xef\xbb\xbf" + f.write(ordinary()).replace("\n", "\r\n").encode())
        assert_same(read_network(path), ordinary())


@pytest.mark.parametrize(
    ("labels", "states"),
    [
        (["1", "2"], (1, 2)),
        (["-1", "0"], (-1, 0)),
        (["01", "2"], ("01", "2")),
        (["1", "2.5"], (1.0, 2.5)),
        (["1.0", "2.5"], ("1.0", "2.5")),
        (["true", "false"], (True, False)),
        (["True", "False"], ("True", "False")),
        (["true", "1"], ("true", "1")),
        (["inf", "1"], ("inf", "1")),
        (["1_000"], ("1_000",)),
        ([], ()),
    ],
)
def test_states_are_typed_by_one_rule(labels, states):
    assert guess(labels) == states
    assert [*map(type, guess(labels))] == [*map(type, states)]


@pytest.mark.parametrize("ending", [".xmlbif", ".xdsl"])
@pytest.mark.parametrize("variable", [Variable("a\x00b", ("x",)), Variable("a", ("\x1b",))])
def test_characters_that_xml_cannot_hold_are_refused(ending, variable, tmp_path):
    model = Model(Network.build([variable], [()]), np.ones(1), np.ones(1))
    with pytest.raises(ModelError, match=r"holds the character .* which XML cannot hold\. Rename"):
        write_network(model, tmp_path / f"net{ending}")
    assert not list(tmp_path.iterdir())
    write_network(model, tmp_path / "net.bif")
    assert_same(read_network(tmp_path / "net.bif"), model)
