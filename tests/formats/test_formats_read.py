"""The freedoms that each format gives its writers."""

import numpy as np
import pytest

from lacunet.models.formats import bif, read_network, xdsl, xmlbif

TWO = "variable a { type discrete [2] { no, yes }; } variable b { type discrete [2] { u, v }; }"
ROOT = "probability ( a ) { table 0.25, 0.75; }"


def table(rows, head="( b | a )"):
    return bif.read(f"{TWO} {ROOT} probability {head} {{ {rows} }}").table("b").tolist()


@pytest.mark.parametrize(
    "rows",
    [
        "(no) 0.5, 0.5; (yes) 0.25, 0.75;",
        "(yes)0.25 0.75;(no)0.5 .5;",
        "table 0.5, 0.25, 0.5, 0.75;",
        "table 0.5 0.25\n0.5\t0.75 ;",
        "default 0.5, 0.5; (yes) 25e-2, 7.5E-01;",
        "( yes ) 0.25, 0.75; default 0.5 0.5;",
        '// a comment\n("no") 0.5, /* here\ntoo */ 0.5; (yes) 0.25, 0.75; // end\n',
        'property "anything; at all"; property x = (1, {2}) ; (no) .5 .5; (yes) .25 .75;',
    ],
)
def test_one_bif_table_in_many_ways(rows):
    assert table(rows) == [[0.5, 0.5], [0.25, 0.75]]


@pytest.mark.parametrize("head", ["(b|a)", "( b , a )", '( "b" "a" )', "\n( b\n|\na )\n"])
def test_the_head_of_a_bif_block_in_many_ways(head):
    assert table("(no) 0.5, 0.5; (yes) 0.25, 0.75;", head) == [[0.5, 0.5], [0.25, 0.75]]


def test_bif_properties_mark_hidden_variables():
    for line in ("property hidden = true ;", 'property "hidden = true";', "property hidden=true;"):
        text = f"variable a {{ type discrete [2] {{ no, yes }}; {line} property x; }} {ROOT}"
        assert bif.read(text).network.variables[0].hidden
    assert not bif.read(text.replace("true", "false")).network.variables[0].hidden


def test_blocks_stand_in_any_order():
    blocks = f"probability ( b | a ) {{ (no) 0.5 0.5; (yes) 1 0; }} {ROOT} {TWO} network x {{ }}"
    assert [v.name for v in bif.read(blocks).network.variables] == ["a", "b"]


def test_printed_digits_are_renormalised_and_nothing_else():
    thirds = table("(no) 0.333333 0.666666; (yes) 0.1 0.9;")
    assert sum(thirds[0]) == pytest.approx(1.0, abs=1e-15)
    assert thirds[0][0] == pytest.approx(1 / 3, abs=1e-6)
    assert thirds[1] == [0.1, 0.9]
    nearly = [0.1, 0.2, 0.7 - 2e-13]  # within the noise of arithmetic: not touched
    text = "variable a { type discrete [3] { x y z }; } probability ( a ) { table %r %r %r; }"
    assert bif.read(text % tuple(nearly)).theta.tolist() == nearly


XMLBIF = """<?xml version="1.0" encoding="US-ASCII"?>
<!-- a comment -->
<!DOCTYPE BIF [ <!ELEMENT BIF ( NETWORK )*> <!ATTLIST BIF VERSION CDATA #REQUIRED> ]>
<BIF VERSION="0.3"><NETWORK><NAME>Dogs &amp; co</NAME>
<VARIABLE><NAME> a </NAME><OUTCOME>no</OUTCOME><OUTCOME>
  y &lt; 2 </OUTCOME><PROPERTY>position = (73, 165)</PROPERTY></VARIABLE>
<VARIABLE TYPE="nature"><NAME>b</NAME><OUTCOME>1</OUTCOME><OUTCOME>2</OUTCOME>
  <OUTCOME>3</OUTCOME><PROPERTY>hidden = true</PROPERTY></VARIABLE>
<DEFINITION><FOR>b</FOR><GIVEN>a</GIVEN>
  <TABLE>0.2 0.3 0.5 <!-- next: y --> 0 .25
   7.5e-1</TABLE></DEFINITION>
<DEFINITION><FOR>a</FOR><TABLE>0.5 0.5</TABLE></DEFINITION>
</NETWORK></BIF>"""


def test_xmlbif_as_others_write_it():
    model = xmlbif.read(XMLBIF)
    a, b = model.network.variables
    assert (a.name, a.states, a.hidden) == ("a", ("no", "y < 2"), False)
    assert (b.states, b.hidden) == ((1, 2, 3), True)
    assert model.table("b").tolist() == [[0.2, 0.3, 0.5], [0.0, 0.25, 0.75]]


XDSL = """<?xml version="1.0" encoding="UTF-8"?>
<smile version="1.0" id="Net" numsamples="1000">
 <nodes>
  <cpt id="a"><state id="no" label="x" /><state id="yes" />
   <probabilities>0.5 0.5</probabilities></cpt>
  <cpt id="b"><state id="u" /><state id="v" /><state id="w" />
   <probabilities>0.25 0.25 0.5</probabilities></cpt>
  <cpt id="c"><state id="s" /><state id="t" /><parents>a b</parents><probabilities>
    0.01 0.99 0.02 0.98 0.03 0.97 0.04 0.96 0.05 0.95 0.06 0.94</probabilities>
   <property id="cost">3</property></cpt>
 </nodes>
 <extensions><genie version="1.0" app="GeNIe 4.1" name="Net">
  <node id="a"><name>The first</name></node></genie></extensions>
</smile>"""


def test_xdsl_as_genie_writes_it():
    model = xdsl.read(XDSL)
    assert [v.name for v in model.network.variables] == ["a", "b", "c"]
    np.testing.assert_array_equal(
        model.table("c")[..., 0], [[0.01, 0.02, 0.03], [0.04, 0.05, 0.06]]
    )


def test_xdsl_of_pyagrum_counts_the_first_parent_fastest():
    model = xdsl.read(XDSL.replace("GeNIe 4.1", "aGrUM 3.3.1"))
    np.testing.assert_array_equal(
        model.table("c")[..., 0], [[0.01, 0.03, 0.05], [0.02, 0.04, 0.06]]
    )


def test_capital_endings_and_paths_as_texts(tmp_path):
    (tmp_path / "NET.XDSL").write_text(XDSL)
    assert len(read_network(str(tmp_path / "NET.XDSL")).network.variables) == 3
