"""Bad input: every message says where, what, what is allowed, and the next step."""

import numpy as np
import pytest
from format_networks import READ, ordinary

from lacunet.errors import ModelError, OutputError
from lacunet.models.formats import bif, read_model, read_network, write_network, xdsl, xmlbif

BIF = """network n {
}
variable a {
  type discrete [ 2 ] { no, yes };
}
variable b {
  type discrete [ 3 ] { u, v, w };
}
probability ( a ) {
  table 0.25, 0.75;
}
probability ( b | a ) {
  (no) 0.5, 0.25, 0.25;
  (yes) 0.25, 0.75, 0.0;
}
"""

BROKEN_BIF = [
    ("variable b", "variable a", "variable 'a' occurs twice. Names must differ"),
    (
        "( a ) {",
        "( z ) {",
        "line 9: probability block 'z': no variable has this name. The variables are 'a', 'b'",
    ),
    ("b | a", "b | z", "line 12: .* 'b': its parent 'z' is not a variable .* These are 'a', 'b'"),
    ("b | a", "b | a, a", "line 12: probability block 'b': its parent 'a' occurs twice"),
    ("( b | a )", "( a )", "line 12: probability block 'a' occurs twice. Each variable has one"),
    (
        "probability ( a ) {\n  table 0.25, 0.75;\n}",
        "",
        "variable 'a' has no probability block. Add",
    ),
    (
        "( a ) {\n  table 0.25, 0.75;",
        "( a | b ) {\n default 0.5 0.5;",
        "form a cycle: .*Remove one",
    ),
    ("table 0.25, 0.75;", "", "line 9: probability block 'a' has no table. Add it"),
    (
        "table 0.25, 0.75;",
        "table 0.25 0.5 0.25;",
        "'a': its table has 3 numbers. It needs 2, one per state",
    ),
    ("table 0.25, 0.75;", "table 0.25 0.75; table 1 0;", "line 10: .* 'table' is not allowed here"),
    ("(yes) 0.25, 0.75, 0.0;", "", r"line 12: .*'b' has no row for \(yes\)\. Add it, or a default"),
    ("(yes) 0.25, 0.75, 0.0", "(yes) 0.25, 0.75", "line 14: .* has 2 numbers, .* has 3 states"),
    (
        "(yes) 0.25",
        "(maybe) 0.25",
        "line 14: .* 'maybe' is not a state of its parent 'a'. .*'no', 'yes'",
    ),
    ("(yes) 0.25", "(no) 0.25", r"line 14: .* the row \(no\) occurs twice. Keep one"),
    (
        "(yes) 0.25",
        "(yes, u) 0.25",
        r"line 14: .* \(yes, u\) names 2 states, but the parents are 'a'",
    ),
    ("table 0.25, 0.75;", "( no ) 0.25, 0.75;", r"line 10: .* \(no\) names 1 states"),
    ("0.75, 0.0;", "0.75, x;", "line 14: .* 'x' is not a number. Write probabilities as"),
    (
        "0.75, 0.0;",
        "1.0, -0.25;",
        "line 12: .* 'b': its table is negative at 'yes', 'w'. Each entry",
    ),
    ("0.75, 0.0;", "0.75, nan;", "'b': its table is not a finite number at 'yes', 'w'"),
    ("0.75, 0.0;", "0.75, 1e-5;", r"sums to 1.00001 at parent states 'yes'. .* sum to 1 \(printed"),
    ("0.25, 0.75;", "0.25, 0.7;", "line 9: probability block 'a': its table sums to 0.95. Each"),
    ("[ 2 ]", "[ 3 ]", "line 3: variable 'a': it is said to have 3 states, but 2 are listed"),
    (
        "discrete [ 2 ]",
        "continuous",
        "line 3: variable 'a': its type is 'continuous .* must be as in",
    ),
    (
        "type discrete [ 2 ] { no, yes };",
        "",
        "line 3: variable 'a' has no type. Add: type discrete",
    ),
    ("no, yes }", "no, no }", "variable 'a' has a state twice"),
    (
        "};\n}\nvariable b",
        "};\n colour red; }\nvariable b",
        "line 5: variable 'a': 'colour' is not",
    ),
    (
        "network n",
        "netwerk n",
        "line 1: 'netwerk' opens no block of a BIF file. Blocks are network",
    ),
    ("probability ( a )", "probability a", "line 9: 'probability a' is not as in: probability"),
    ("no, yes }", '"no, yes }', "line 4: a quote opens here and is never closed. .* cut off"),
    ("(yes) 0.25", "/* (yes) 0.25", "line 14: a comment opens here and is never closed"),
    (
        "};\n}\nvariable b",
        "}; property hidden = 7; }\nvariable b",
        "hidden is '7'. It must be true",
    ),
    (
        "};\n}\nvariable b",
        "}; property types = odd; }\nvariable b",
        "types is 'odd'. It must be text",
    ),
    ("};\n}\nvariable b", "}; property types = int; }\nvariable b", "state 'no' is of type int"),
]


@pytest.mark.parametrize(("old", "new", "text"), BROKEN_BIF)
def test_broken_bif(old, new, text):
    assert BIF.count(old) == 1
    with pytest.raises(ModelError, match=text):
        bif.read(BIF.replace(old, new))


def test_bif_cut_off_anywhere_is_an_error():
    whole = BIF.rstrip()
    bif.read(whole)
    for end in range(1, len(whole)):
        with pytest.raises(ModelError):
            bif.read(whole[:end])
    with pytest.raises(ModelError, match="line 12: the file ends inside the probability block 'b'"):
        bif.read(whole[:-3])
    with pytest.raises(
        ModelError, match=r"line 6: the file ends inside the variable block 'b'\. It is"
    ):
        bif.read(BIF[: BIF.index("u, v, w")])


XMLBIF = """<BIF VERSION="0.3"><NETWORK><NAME>n</NAME>
<VARIABLE TYPE="nature"><NAME>a</NAME><OUTCOME>no</OUTCOME><OUTCOME>yes</OUTCOME></VARIABLE>
<VARIABLE TYPE="nature"><NAME>b</NAME><OUTCOME>u</OUTCOME><OUTCOME>v</OUTCOME></VARIABLE>
<DEFINITION><FOR>a</FOR><TABLE>0.25 0.75</TABLE></DEFINITION>
<DEFINITION><FOR>b</FOR><GIVEN>a</GIVEN><TABLE>0.5 0.5 0.25 0.75</TABLE></DEFINITION>
</NETWORK></BIF>"""

BROKEN_XMLBIF = [
    ("<NAME>b</NAME>", "<NAME>a</NAME>", "variable 'a' occurs twice"),
    ("<NAME>b</NAME>", "", "a VARIABLE has 0 NAME elements. It must have one"),
    ("<FOR>b</FOR>", "<FOR>z</FOR>", "DEFINITION 'z': no variable has this name"),
    ("<FOR>b</FOR>", "<FOR>a</FOR>", "DEFINITION 'a' occurs twice. Each variable has one DEFIN"),
    ("<FOR>b</FOR>", "<FOR>b</FOR><FOR>a</FOR>", "a DEFINITION has 2 FOR elements"),
    ("<GIVEN>a</GIVEN>", "<GIVEN>z</GIVEN>", "DEFINITION 'b': its parent 'z' is not a variable"),
    ("<FOR>a</FOR>", "<FOR>a</FOR><GIVEN>b</GIVEN>", "the parents form a cycle"),
    ("<TABLE>0.25 0.75</TABLE>", "", "DEFINITION 'a' has 0 TABLE elements"),
    (
        "0.5 0.5 0.25 0.75",
        "0.5 0.5 0.25",
        "has 3 numbers. It needs 2 × 2 = 4: the states of its parents",
    ),
    ("0.5 0.5 0.25 0.75", "0.5 0.5 0.25 x", "DEFINITION 'b': 'x' is not a number"),
    ("0.5 0.5 0.25 0.75", "0.5 0.5 0.3 0.75", "sums to 1.05 at parent states 'yes'"),
    ("0.5 0.5 0.25 0.75", "0.5 0.5 -1 2", "is negative at 'yes', 'u'"),
    ("<OUTCOME>u</OUTCOME><OUTCOME>v</OUTCOME>", "", "variable 'b' has no states"),
    ('<VARIABLE TYPE="nature"><NAME>b', '<VARIABLE TYPE="utility"><NAME>b', "TYPE 'utility'. Only"),
    ("</NETWORK>", "", r"line 6: this is not valid XML \(mismatched tag\)\. The file may be cut"),
    ('<BIF VERSION="0.3">', '<BIFF VERSION="0.3">', "not valid XML"),
]


@pytest.mark.parametrize(("old", "new", "text"), BROKEN_XMLBIF)
def test_broken_xmlbif(old, new, text):
    assert XMLBIF.count(old) == 1
    with pytest.raises(ModelError, match=text):
        xmlbif.read(XMLBIF.replace(old, new))


XDSL = """<smile version="1.0" id="n"><nodes>
<cpt id="a"><state id="no"/><state id="yes"/><probabilities>0.25 0.75</probabilities></cpt>
<cpt id="b"><state id="u"/><state id="v"/><parents>a</parents>
<probabilities>0.5 0.5 0.1 0.9</probabilities></cpt></nodes></smile>"""

BROKEN_XDSL = [
    ('<cpt id="b">', '<cpt id="a">', "variable 'a' occurs twice"),
    ("<parents>a<", "<parents>a z<", "node 'b': its parent 'z' is not a variable"),
    ("<parents>a<", "<parents>b<", "the parents form a cycle: 'b' → 'b'"),
    ("<probabilities>0.25 0.75</probabilities>", "", "node 'a' has 0 probabilities elements"),
    ("0.5 0.5 0.1 0.9", "0.5 0.5 0.1", "node 'b': its table has 3 numbers"),
    ("0.5 0.5 0.1 0.9", "0.5 0.5 0.1 1e400", "not a finite number at 'yes', 'v'"),
    (
        "</nodes>",
        '<noisyadder id="c"/></nodes>',
        "node 'c' is a <noisyadder>. Only <cpt>, .* GeNIe",
    ),
    ("</nodes>", "</nodes><dynamic/>", "this is a dynamic network. Only static ones"),
    ("</smile>", "", r"line 4: this is not valid XML \(no element found\)"),
]


@pytest.mark.parametrize(("old", "new", "text"), BROKEN_XDSL)
def test_broken_xdsl(old, new, text):
    assert XDSL.count(old) == 1
    with pytest.raises(ModelError, match=text):
        xdsl.read(XDSL.replace(old, new))


@pytest.mark.parametrize("file_format", READ, ids=lambda f: f.name)
def test_files_cut_off_in_the_middle(file_format, tmp_path):
    whole = file_format.write(ordinary()).rstrip()
    path = tmp_path / f"net{file_format.endings[0]}"
    for end in np.linspace(1, len(whole) - 1, 40, dtype=int):
        path.write_text(whole[:end])
        with pytest.raises(ModelError, match=r"net\.\w+: "):
            read_network(path)


@pytest.mark.parametrize("actual", READ, ids=lambda f: f.name)
@pytest.mark.parametrize("named", READ, ids=lambda f: f.name)
def test_a_file_of_another_format_is_recognised(actual, named, tmp_path):
    path = tmp_path / f"net{named.endings[0]}"
    path.write_text(actual.write(ordinary()))
    if actual is named:
        read_network(path)
        return
    text = (
        f"looks like {actual.name}, not {named.name}. Give the file the ending {actual.endings[0]}"
    )
    with pytest.raises(ModelError, match=text):
        read_network(path)


def test_an_xml_file_that_is_no_network(tmp_path):
    (tmp_path / "net.xml").write_text("<html></html>")
    with pytest.raises(
        ModelError, match="not an XMLBIF file: its root is <html>, and must be <BIF>"
    ):
        read_network(tmp_path / "net.xml")
    (tmp_path / "net.xml").write_text(bif.write(ordinary()))
    with pytest.raises(ModelError, match=r"looks like BIF, not XMLBIF or XDSL\. Give the file"):
        read_network(tmp_path / "net.xml")


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(
        ModelError, match=r"gone\.bif: No such file.*Give the path of a network file"
    ):
        read_network(tmp_path / "gone.bif")
    (tmp_path / "latin.bif").write_bytes("variable ä".encode("latin-1"))
    with pytest.raises(
        ModelError, match=r"latin\.bif: this is not UTF-8 text \(byte 9\)\. Save it"
    ):
        read_network(tmp_path / "latin.bif")
    (tmp_path / "empty.xdsl").write_text(" \n")
    with pytest.raises(ModelError, match=r"empty\.xdsl: the file is empty"):
        read_network(tmp_path / "empty.xdsl")
    (tmp_path / "folder.bif").mkdir()
    with pytest.raises(ModelError, match=r"folder\.bif: Is a directory"):
        read_network(tmp_path / "folder.bif")
    (tmp_path / "comment.bif").write_text("// nothing")
    with pytest.raises(ModelError, match=r"comment\.bif: the file has no blocks"):
        read_network(tmp_path / "comment.bif")


def test_a_network_is_not_a_model_file(tmp_path):
    write_network(ordinary(), tmp_path / "net.bif")
    with pytest.raises(ModelError, match=r"net\.bif: BIF is not a model file\. `read_network`"):
        read_model(tmp_path / "net.bif")


@pytest.mark.parametrize("name", ["net.net", "net", "net.bif.gz"])
def test_unknown_endings_list_the_allowed_ones(name, tmp_path):
    text = r"belongs to no network format\. Allowed are \.bif \(BIF\); .*\.json \(JSON model\)"
    with pytest.raises(ModelError, match=text):
        read_network(tmp_path / name)
    with pytest.raises(ModelError, match=text):
        write_network(ordinary(), tmp_path / name)


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path):
    (tmp_path / "file").write_text("here first")
    with pytest.raises(OutputError, match="cannot be written"):
        write_network(ordinary(), tmp_path / "file" / "net.bif")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
