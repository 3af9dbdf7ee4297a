"""What is on the page, and that it is one sound, self-contained file."""

import base64
import hashlib
import math
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from report_cases import EVIL, EVIL_STATES, FAILURE, LONG

from lacunet import OutputError, Table, api, write_report
from lacunet.data.table import Column
from lacunet.flags import Flag, Kind, Sizes
from lacunet.plots.score_curves import Series, near_best, score_series
from lacunet.plots.style import Look
from lacunet.report.page import render as writing
from lacunet.report.page.advice import MEANINGS, meaning
from lacunet.report.page.evidence_view import agreement
from lacunet.selection.grids import TITLES
from lacunet.selection.sentences import answer

VOID = {"meta", "input", "br", "hr", "img", "link"}
NAMES = (
    "carcinoma",
    "survey",
    "evil",
    "failed",
    "nothing",
    "one",
    "wide",
    "sampled",
    "sizes",
    "compare",
)


class Reader(HTMLParser):
    """Reads a page strictly: what is opened must be closed, in the right order."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.words, self.ids = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        assert len(dict(attrs)) == len(attrs), (tag, attrs)
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())

    def all(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]


@pytest.fixture(scope="module")
def read(pages):
    return {name: Reader(page.text) for name, page in pages.items()}


def squeezed(text):
    return " ".join(text.split())


@pytest.mark.parametrize("name", NAMES)
def test_self_contained(name, pages, read):
    page, reader = pages[name].text, read[name]
    assert len(page.encode()) < 600_000
    for tag, attrs in reader.tags:
        for key in ("src", "data", "action", "xlink:href"):
            assert key not in attrs, (tag, attrs)
        assert attrs.get("href", "#").startswith("#"), (tag, attrs)
        assert not any(key.startswith("on") for key in attrs), (tag, attrs)
    style = page[page.index("<style>") : page.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    (script,) = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    assert "innerHTML" not in re.sub(r"//.*", "", script)
    assert "http" not in script


@pytest.mark.parametrize("name", NAMES)
def test_sound(name, read):
    reader = read[name]
    assert len(set(reader.ids)) == len(reader.ids)
    for attrs in reader.all("label"):
        assert attrs["for"] in reader.ids
    for attrs in reader.all("a"):
        assert attrs["href"][1:] in reader.ids
    assert len(reader.all("h1")) == 1
    for tag, attrs in reader.tags:
        if tag == "svg" and attrs.get("class") == "chart":
            assert attrs["role"] == "img"
            assert attrs["aria-label"]
    levels = [int(tag[1]) for tag, _ in reader.tags if re.fullmatch(r"h[1-4]", tag)]
    assert all(b <= a + 2 for a, b in pairwise(levels))


@pytest.mark.parametrize("name", NAMES)
def test_text_has_everything(name, selections, read):
    selection, text = selections[name], read[name].text
    assert squeezed(answer(selection)) in text
    for c in selection.candidates:
        assert squeezed(c.title) in text
        for flag in (*c.flags, *(flag for e in c.scores.values() for flag in e.flags)):
            assert squeezed(str(flag)) in text
        for evidence in c.scores.values():
            if not math.isnan(evidence.value):
                written = f"{evidence.value:.2f}"
                assert written in text or written.replace("-", "−") in text
    for note in selection.table.notes:
        assert squeezed(note) in text
    assert f"seed {selection.options.seed}" in text
    assert "Lacunet 0." in text


def test_same_again(selections, tmp_path):
    paths = [write_report(selections["evil"], tmp_path / name, command="c") for name in "ab"]
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_markup_is_escaped(pages, read):
    page, text = pages["evil"].text, read["evil"].text
    for bad in (EVIL, *EVIL_STATES[:2]):
        assert bad not in page
        assert bad in text
    assert "{{ 7 * 7 }} {% raw %}" in text  # no template runs on data
    assert squeezed(LONG) in text
    assert len(read["evil"].all("script")) == 1
    tips = [attrs["data-tip"] for _, attrs in read["evil"].tags if "data-tip" in attrs]
    assert any(EVIL in tip for tip in tips)


def test_the_policy_lets_only_our_script_run(pages):
    """Its hash is in the page: nothing else runs, even if something were not escaped."""
    page = pages["evil"].text
    (script,) = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page).group(1)
    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{digest}'" in policy


def test_what_was_not_measured_did_not_fail(pages):
    """Candidates far behind have no measured evidence: that is not a failure of a score."""
    page = pages["carcinoma"]
    assert any(c.measured is None for c in page.selection.candidates)
    text = page.path.read_text(encoding="utf-8")
    assert 'class="failed"' not in text
    assert "certain of its class" in text
    assert "Probability of each class (top) for rows assigned to a class (left)" in text


def test_failures_show_as_failed(read):
    text = read["failed"].text
    assert text.count("failed") >= 2
    assert f"3 classes, Laplace : {FAILURE}" in text or f"3 classes, Laplace: {FAILURE}" in text
    nothing = read["nothing"].text
    assert "nothing can be chosen" in nothing
    assert "No score has a value for any candidate" in nothing


def test_one_class(read, selections):
    assert selections["one"].states == 1
    assert "One class: there is nothing to compare." in read["one"].text


def test_profiles_of_every_hidden_variable(read, selections):
    text = read["sizes"].text
    model = selections["sizes"].best.fit.model
    assert "p(sport | health, wealth)" in text
    for h in model.network.hidden:
        assert f"most telling {model.network.variables[h].name}" in text


def test_missing_data(read, selections):
    table = selections["survey"].table
    text = read["survey"].text
    complete = (table.counts @ (table.codes >= 0).all(axis=1)) / table.weight
    assert f"{table.missing.mean():.1%} of all cells are missing, in 8 of 8 columns" in text
    assert f"{complete:.1%} of the rows are complete" in text
    patterns = len(np.unique(table.codes < 0, axis=0))
    assert f"There are {patterns} missing-data patterns" in text
    assert "No cell is missing." in read["carcinoma"].text


def curves_of(selection):
    return score_series(selection, [s.name for s in selection.scores])


def test_sampled_values_have_error_bars(read, selections):
    for c in selections["sampled"].candidates:
        assert c.measured is not None
        assert str(c.measured.verdict) in read["sampled"].text
    for name in ("sampled", "carcinoma"):  # both were measured
        assert any(e for s in curves_of(selections[name]) for e in s.errors)
    assert not any(e for s in curves_of(selections["evil"]) for e in s.errors)


def test_python_call_is_given_where_no_command_was(read):
    assert "lacunet.select(data, [1, 2, 3]," in read["carcinoma"].text
    assert "lacunet.compare(data, networks," in read["compare"].text
    assert "network=network, hidden=['health', 'wealth']" in read["sizes"].text


@pytest.mark.slow
def test_huge_tables_make_small_pages(tmp_path):
    model = api.random_model(9, 220, leaf_states=6, seed=1)
    table = api.simulate(model, 60, seed=1, missing_rate=0.1)
    selection = api.select(table, [9], starts=1, scores="cs,bic", threads=1)
    path = write_report(selection, tmp_path / "huge.html")
    assert path.stat().st_size < 2_000_000
    assert "that separate less are not shown" in Reader(path.read_text("utf-8")).text


def test_never_above_the_limit(selections, tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "LARGEST", 1000)
    with pytest.raises(OutputError, match="at most 1,000 are allowed"):
        selections["carcinoma"].report(tmp_path / "out.html")
    assert list(tmp_path.iterdir()) == []


def test_method_and_refusals(selections, tmp_path):
    path = selections["carcinoma"].report(tmp_path / "new" / "out.html")
    assert path.read_text("utf-8").startswith("<!doctype html>")
    with pytest.raises(OutputError, match="is a folder"):
        selections["carcinoma"].report(tmp_path)


def test_names_that_no_font_has(tmp_path):
    """Control characters, text like mathematics, and bytes of a path that are no text."""
    columns = [
        Column("a\0b", ("\1", "x")),
        Column("$x^2$ $", ("\\alpha", "a\r\nb")),
        Column(" ", ("", " ")),
    ]
    codes = np.random.default_rng(0).integers(0, 2, (60, 3))
    table = Table.from_codes(codes, columns)
    network = api.fit(table, 2, starts=1).model.network
    networks = dict.fromkeys(("net\udcff.json", "$\\frac$"), network)
    selection = api.compare(table, networks, starts=1, quick=True)
    page = Reader(selection.report(tmp_path / "page.html").read_text("utf-8"))
    assert page.text.count("$x^2$ $") >= 2


def test_weights_are_cases(read, selections):
    table = selections["carcinoma"].table
    assert isinstance(table, Table)
    assert f"{table.weight:g} cases in {table.rows} rows" in read["carcinoma"].text


def test_the_vote_of_every_score_is_shown():
    """Users of BIC look for it in the sentence, however many choices there are."""
    chosen = {"csl-occupied": 9, "csl": 15, "cs": 15, "laplace": 15, "vb": 15}
    chosen |= {"bic": 3, "draper": 4, "mled": 5, "icl": 6, "vb-occupied": None}
    candidates = [SimpleNamespace(label=k, title=f"{k} states") for k in (3, 4, 5, 6, 9, 15)]
    words = agreement(SimpleNamespace(chosen=chosen, label=9, candidates=candidates))
    assert words.startswith("1 of 9 scores choose 9 states; 15 states by ")
    for name, choice in chosen.items():
        assert name == "csl-occupied" or choice is None or TITLES[name] in words
    assert "3 states by BIC" in words


def test_a_kind_has_one_meaning():
    kinds = [kind for m in MEANINGS for kind in m.kinds]
    assert len(kinds) == len(set(kinds))


def test_flags_of_smaller_models_are_understood():
    flag = Flag(Kind.EMPTY_CLASS, ("class", "2"), {"cases": 0.1})
    assert meaning(replace(flag, fits=Sizes((3, 4), "classes"))) is meaning(flag)
    assert meaning(flag).title == "A class without cases"


def test_the_range_near_the_best_candidate():
    main = Series("a", (-540.0, -360.0, -356.0, -369.0), (None,) * 4, 2, Look(0), main=True)
    far = Series("b", (-900.0, -800.0, -790.0, math.nan), (None,) * 4, 2, Look(1))
    low, high = near_best([main, far])
    assert -380 < low < -360 < -356 < high < -340
    assert near_best([Series("c", (math.nan,), (None,), None, Look(0), main=True)]) is None
    narrow = Series("d", (-10.0, -9.0), (None, None), 1, Look(0), main=True)
    assert near_best([narrow]) is None  # there is nothing to zoom in on


def test_charts_have_the_colours_and_the_fonts_of_the_page(pages):
    """Colours are variables, which dark mode changes; text is text, in the font of the page."""
    charts = re.findall(r"<svg.*?</svg>", pages["survey"].text, flags=re.DOTALL)
    assert len(charts) >= 4
    for svg in charts:
        assert "<text" in svg
        assert not re.search(r"(fill|stroke): #", svg)
        assert "font-family" not in svg
        assert "url(http" not in svg
