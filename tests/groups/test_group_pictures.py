"""Pictures of classes in groups: every mark is where the model says, in figures and on the page."""

import re

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from group_worlds import people, with_change

import lacunet
from lacunet import OptionError
from lacunet.report.page.network_page import groups_answer, write_network_report
from lacunet.selection.group_comparison import group_answers
from lacunet.settings import DEFAULTS

mpl.use("Agg")
import matplotlib.pyplot as plt

from lacunet import plots

QUICK = {"starts": 4, "threads": 1, "quick": True}
ITEMS = list("ABCDE")
GREY = "#111111"  # what is the same in all groups


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def comparison():
    """B differs, all others are equal."""
    data = people(500, 1, other=with_change(1, 0.3))
    return lacunet.compare_groups(data, 2, "sex", free=["B"], **QUICK)


@pytest.fixture(scope="module")
def wordy():
    """Items of three answers with long names, three groups."""
    rng = np.random.default_rng(0)
    group, z = rng.integers(0, 3, 400), rng.random(400) < 0.4
    columns = {
        f"How far do you trust people whom you meet for the {n} time": np.where(
            rng.random(400) < 0.8, np.where(z, "not at all", "fully"), "it depends"
        )
        for n in ("first", "second", "third")
    }
    data = pd.DataFrame({**columns, "place": np.array(["north", "south", "west"])[group]})
    return lacunet.compare_groups(data, 2, "place", free=[], **QUICK)


def test_answers_have_the_numbers_of_the_tables(comparison):
    precise = lacunet.intervals(comparison.selection.table, comparison.fit)
    sizes, *items = group_answers(comparison, comparison.level, precise)
    np.testing.assert_array_equal(sizes.values[0], comparison.sizes(comparison.level))
    assert [a.variable.name for a in items] == ITEMS
    assert [a.shared for a in items] == [True, False, True, True, True]
    network = comparison.model.network
    for a in items:
        i, expected = network.index(a.variable.name), precise.table(a.variable.name)
        table = comparison.model.table(a.variable.name)[..., 1]
        names = [network.variables[p].name for p in network.parents[i]]
        for g in range(2):
            for c in range(2):
                at = tuple({"sex": g, "class": c}[name] for name in names)
                want = [table[at], expected.low[(*at, 1)], expected.high[(*at, 1)]]
                np.testing.assert_array_equal(a.values[:, g, c], want)


def test_a_panel_for_each_class_and_a_line_for_each_group(comparison):
    first = plots.plot_group_profiles(comparison, level="partly equal")
    panels = first.figure.axes
    assert [p.get_title() for p in panels] == ["class 1", "class 2"]
    names = [t.get_text() for t in first.get_yticklabels()]
    assert names == ["class size", *ITEMS]
    assert first.get_xlabel() == "p(1 | class)"
    legend = [t.get_text() for t in first.figure.legends[0].get_texts()]
    cases = comparison.cases.astype(int)
    assert legend == [f"f (n = {cases[0]})", f"m (n = {cases[1]})", "all groups"]
    b = comparison.candidate("partly equal").model
    for c, panel in enumerate(panels):
        *groups, alike = panel.lines
        for g, line in enumerate(groups):
            x = [v for v in line.get_xdata() if np.isfinite(v)]
            assert x[0] == comparison.sizes("partly equal")[g, c]
            axes = [b.network.variables[p].name for p in b.network.parents[b.network.index("B")]]
            at = tuple({"sex": g, "class": c}[name] for name in axes)
            assert x[2] == b.table("B")[(*at, 1)]
            assert len(line.get_markevery()) == 2  # the size, and what is free
        assert alike.get_color() == GREY
        shown = [v for v in alike.get_xdata() if np.isfinite(v)]
        assert shown == [b.table(name)[c, 1] for name in "ACDE"]
        # Intervals: of sizes and of B in each group, of the others once.
        assert [len(bars.get_segments()) for bars in panel.collections] == [2, 2, 4]


def test_a_panel_for_each_group_and_a_line_for_each_class(comparison):
    first = plots.plot_group_profiles(comparison, level="free", panels="groups", intervals=False)
    assert [p.get_title().partition(" ")[0] for p in first.figure.axes] == ["f", "m"]
    legend = [t.get_text() for t in first.figure.legends[0].get_texts()]
    assert legend == ["class 1", "class 2"]
    assert not any(len(bars.get_segments()) for bars in first.collections)


def test_equal_profiles_differ_in_sizes_alone(comparison):
    first = plots.plot_group_profiles(comparison, level="equal", legend=False)
    assert not first.figure.legends
    assert all(list(line.get_markevery()) == [0] for line in first.lines[:-1])


def test_long_names_stand_above_their_answers(wordy):
    first = plots.plot_group_profiles(wordy)
    texts = [t.get_text() for t in first.get_yticklabels()]
    assert texts[0] == "class size"
    assert texts[2:5] == ["fully", "it depends", "not at all"]
    assert texts[1].replace("\n", " ").startswith("How far do you trust people whom you meet")
    assert first.get_yticklabels()[1].get_fontweight() == "bold"
    fit = lacunet.fit(wordy.selection.table, 2, **{k: QUICK[k] for k in ("starts", "threads")})
    alone = [t.get_text() for t in plots.plot_profile_lines(fit).get_yticklabels()]
    assert alone.count("it depends") == 3


def test_ordered_answers_have_their_mean_on_the_way_up():
    rng = np.random.default_rng(2)
    z, group = rng.random(300) < 0.5, rng.integers(0, 2, 300)
    data = pd.DataFrame(
        {f"q{i}": 1 + rng.binomial(4, np.where(z, 0.8, 0.3)) for i in range(3)}
        | {"yes": np.where(rng.random(300) < np.where(z, 0.9, 0.2), "yes", "no")}
        | {"sex": np.array(["f", "m"])[group]}
    )
    kinds = dict.fromkeys(["q0", "q1", "q2"], "ordinal")
    both = lacunet.compare_groups(data, 2, "sex", kinds=kinds, free=["q1"], **QUICK)
    first = plots.plot_group_profiles(both, level="equal")
    names = [t.get_text() for t in first.get_yticklabels()]
    assert names == ["class size", *(f"q{i}: mean, 1 to 5" for i in range(3)), "yes = yes"]
    assert "means: lowest 0, highest 1" in first.get_xlabel()
    heights = [v for v in first.lines[-1].get_xdata() if np.isfinite(v)]
    model = both.candidate("equal").model
    network = model.network
    v = network.variables[network.index("q0")]
    assert 1 + 4 * heights[0] == pytest.approx(v.summary(model.table("q0"))["mean"][0])
    few = {k: QUICK[k] for k in ("starts", "threads")}
    alone = plots.plot_profile_lines(lacunet.fit(data[["q0", "q1", "q2"]], 2, kinds=kinds, **few))
    assert [t.get_text() for t in alone.get_xticklabels()] == ["q0", "q1", "q2"]
    assert alone.get_ylabel() == "mean, 1 to 5\n(lowest 0, highest 1)"


def test_mistakes(comparison):
    with pytest.raises(OptionError, match=r"level 'strict' was not fitted\. There are: equal, "):
        plots.plot_group_profiles(comparison, level="strict")
    with pytest.raises(OptionError, match="Choose classes or groups"):
        plots.plot_group_profiles(comparison, panels="sex")
    with pytest.raises(OptionError, match=r"Give what compare_groups\(\) returned"):
        plots.plot_group_profiles(comparison.fit)
    other = lacunet.intervals(comparison.selection.table, comparison.candidate("equal").fit)
    with pytest.raises(OptionError, match="of other parameters"):
        plots.plot_group_profiles(comparison, level="free", intervals=other)


def test_the_page_has_a_chart_for_each_class(comparison, tmp_path):
    path = write_network_report(groups_answer(comparison, DEFAULTS, {}), tmp_path / "page.html")
    page = path.read_text(encoding="utf-8")
    assert "<h2>Profiles by sex</h2>" in page
    charts = re.findall(r'<svg[^>]*aria-label="class (\d)".*?</svg>', page, flags=re.DOTALL)
    assert charts == ["1", "2"]
    for text in (
        "class size",
        *ITEMS,
        *(f"{g} (n = {n:g})" for g, n in zip("fm", comparison.cases, strict=True)),
    ):
        assert page.count(f">{text}</text>") >= 2
