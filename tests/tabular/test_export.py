"""Tables as CSV, Markdown and LaTeX: read back, escaped, and with all digits where they belong."""

import csv
import html
import io
import math
import pickle
import re

import pytest
from markdown_it import MarkdownIt

from lacunet.tabular import Grid, Printable, Shown, Together, number, probability

HOSTILE = [
    "<script>alert('x')</script>",
    "a|b",
    "50 % & more_of #1 {x} ~ ^ $y$ \\end{tabular}",
    '"quoted", with comma',
    "[link](http://x) `code` *bold* _it_",
    "two\nlines",
    "=1+1",
    "[option]",
    "θ ≤ ½",
]


class Result(Printable):
    def __init__(self, *grids):
        self.shown = grids

    def grids(self):
        return self.shown


GRID = Grid(
    "Values & co",
    ("name", "value", "p"),
    tuple((text, number(-1 / 3), probability(1e-9)) for text in HOSTILE),
    notes=("* a note", "- a flag with a|b"),
)


def test_csv_is_read_back_with_all_digits():
    rows = list(csv.reader(io.StringIO(Result(GRID).to_csv())))
    assert rows[0] == ["name", "value", "p"]
    assert [row[0] for row in rows[1:]] == HOSTILE
    assert {float(row[1]) for row in rows[1:]} == {-1 / 3}
    assert {float(row[2]) for row in rows[1:]} == {1e-9}


def test_a_dict_holds_what_the_frame_does():
    result = Result(GRID)
    assert result.to_dict() == result.to_frame().to_dict(as_series=False)
    assert result.to_dict()["value"] == [-1 / 3] * len(HOSTILE)


def test_a_value_that_does_not_exist_is_an_empty_cell():
    grid = Grid("", ("a", "b", "c"), ((number(math.nan), number(math.inf), "–"),))
    assert grid.csv() == "a,b,c\n,inf,–\n"


def test_several_tables_in_one_csv_have_their_titles():
    facts = Grid("A fact", (), (), notes=("nothing to tabulate",))
    text = Result(facts, GRID, GRID).to_csv()
    blocks = text.split("\n\n")
    assert len(blocks) == 2
    assert all(block.startswith("Values & co\nname,value,p\n") for block in blocks)
    assert Together(Result(GRID), Result(GRID)).to_csv() == text
    assert Result(facts).to_csv() == ""


def test_markdown_shows_every_text_as_it_is():
    """What a Markdown program makes of it is one table with these very texts."""
    text = GRID.markdown()
    page = MarkdownIt("commonmark").enable("table").render(text)
    cells = [html.unescape(cell) for cell in re.findall(r"<td[^>]*>(.*?)</td>", page)]
    assert cells[::3] == [" ".join(t.split()) for t in HOSTILE]
    assert set(cells[1::3]) == {"-0.33"}
    assert set(cells[2::3]) == {"<0.001"}
    assert "<strong>Values &amp; co</strong>" in page
    assert page.count("<table>") == page.count("<li>") == 1
    assert not re.search(r"<(script|a|em|code)\b", page)
    assert text.splitlines()[3] == "| :--- | ---: | ---: |"


def test_latex_is_balanced_and_escaped():
    text = GRID.latex()
    body = text[text.index("\\midrule") + 8 : text.index("\\bottomrule")].strip().splitlines()
    assert len(body) == len(HOSTILE)
    for line in body:
        assert line.strip().endswith(r"\\")
        assert len(re.findall(r"(?<!\\)&", line)) == 2  # nothing but the separators
        assert not re.search(r"(?<!\\)[#%_]", line)
        assert line.count("{") - line.count("\\{") == line.count("}") - line.count("\\}")
        assert len(re.findall(r"(?<!\\)\$", line)) % 2 == 0
        assert "$-$0.33" in line
    # What would end the table, or be an option of the line before it, does neither.
    assert text.count(r"\end{tabular}") == 1
    assert r"\textbackslash{}end\{tabular\}" in text
    assert "\n    {}[option]" in text
    assert r"$\theta$ $\leq$ $\frac12$" in text
    assert r"\caption{Values \& co}" in text
    assert text.splitlines()[2:4] == [r"  \caption{Values \& co}", r"  \begin{tabular}{lrr}"]


def test_a_grid_of_words_is_text():
    facts = Grid("A fact", (), (), notes=("1 < 2",))
    assert facts.markdown() == "**A fact**\n\n1 &lt; 2\n"
    assert facts.latex() == "A fact\\par\n1 \\textless{} 2\\par\n"


def test_shown_numbers_are_texts():
    shown = Shown("<0.001", 1e-9)
    assert shown == "<0.001"
    assert f"{shown:>8}" == "  <0.001"
    again = pickle.loads(pickle.dumps(shown))
    assert (again, again.value) == (shown, 1e-9)
    assert "*" + shown == "*<0.001"


@pytest.mark.parametrize(
    "write",
    [Printable.to_csv, Printable.to_markdown, Printable.to_latex, Printable.to_html],
)
def test_every_result_can_be_written(write):
    import lacunet

    table = lacunet.load_dataset("values")
    fit = lacunet.fit(table, 2, starts=4)
    selection = lacunet.select(table, [1, 2], starts=4, scores="cs,bic")
    for result in (
        table,
        fit,
        selection,
        lacunet.score(table, fit.model, scores="bic"),
        lacunet.intervals(table, fit),
        lacunet.fit_statistics(table, fit),
        lacunet.information_criteria(selection),
        lacunet.paper_tables(selection),
        lacunet.likelihood_ratio_test(table, 1, replicates=3, starts=2),
        lacunet.assign(lacunet.simulate(fit.model, 20), fit.model),
        lacunet.learn_structure(table),
    ):
        text = write(result)
        assert text.endswith("\n")
        assert len(text.splitlines()) > 1
        assert "object at 0x" not in text
