"""Figures for papers: what is drawn is what was found."""

import io
import re

import matplotlib as mpl
import numpy as np
import pytest

import lacunet
from lacunet import OptionError, api, load_dataset
from lacunet.summaries.intervals import hessian_intervals
from lacunet.summaries.profiles import profile

mpl.use("Agg")
import matplotlib.pyplot as plt

from lacunet import plots
from lacunet.plots import lines


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def svg(ax) -> str:
    """The figure as a file with texts that are texts."""
    buffer = io.StringIO()
    with plots.paper_style():
        ax.figure.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


def test_lazy():
    assert lacunet.plots is plots
    assert "plots" in dir(lacunet)


def test_evidence(selections):
    selection = selections["carcinoma"]
    ax = plots.plot_evidence(selection)
    named = {line.get_label(): line for line in ax.lines if len(line.get_xdata()) == 3}
    curves = {name: line for name, line in named.items() if name[0] != "_"}  # those are error bars
    assert list(curves) == [s.title for s in selection.scores]
    values = list(selection.values("cs").values())
    np.testing.assert_array_equal(curves["Cheeseman–Stutz"].get_ydata(), values)
    rings = [line for line in ax.lines if len(line.get_xdata()) == 1]
    assert len(rings) == len(selection.scores)
    text = svg(ax)
    for label in ("classes", "log evidence (nats)", "Laplace", "Variational Bayes"):
        assert label in text
    assert "<image" not in text  # vectors throughout


def test_evidence_of_failed_scores_has_a_gap(selections):
    ax = plots.plot_evidence(selections["failed"], scores=["laplace", "cs"])
    assert np.isnan(ax.lines[0].get_ydata()[2])
    assert "Laplace" in svg(ax)


def test_evidence_with_error_bars_and_span(selections):
    ax = plots.plot_evidence(selections["sampled"], span=20.0)
    assert len(ax.containers) >= 1  # error bars
    low, high = ax.get_ylim()
    top = max(
        max(selections["sampled"].values(s.name).values()) for s in selections["sampled"].scores
    )
    assert (low, high) == pytest.approx((top - 20.0, top + 1.0))


def test_evidence_names_its_scores(selections):
    with pytest.raises(OptionError, match="'elbo' is not a score of this selection"):
        plots.plot_evidence(selections["carcinoma"], scores=["elbo"])


def test_posterior(selections):
    selection = selections["carcinoma"]
    figure, (left, right) = plt.subplots(1, 2)
    assert plots.plot_posterior(selection, left, score="cs") is left
    heights = [bar.get_height() for bar in left.patches]
    plain = list(selection.posterior("cs").values())
    labelled = list(selection.posterior("cs", lacunet.Labellings.ALL).values())
    np.testing.assert_allclose(heights, [*plain, *labelled])
    plots.plot_posterior(selection, right, labellings=False, score="bic")
    assert len(right.patches) == 3
    assert "probability by BIC/MDL" in svg(left)
    assert left.figure is figure


def test_posterior_of_networks_has_their_names(selections):
    ax = plots.plot_posterior(selections["sizes"])
    labels = [text.get_text() for text in ax.get_yticklabels()]
    assert labels == [str(c.label) for c in selections["sizes"].candidates]


def test_profiles(selections):
    fit = selections["carcinoma"].best.fit
    ax = plots.plot_profiles(fit)
    result = profile(fit.model, 0)
    rows = [text.get_text() for text in ax.get_yticklabels()]
    assert rows == [f"{a.name} = 1" for a in result.answers]
    cells = ax.collections[0].get_array().reshape(len(rows), -1)
    np.testing.assert_allclose(cells, [a.given[:, 1] for a in result.answers])
    text = svg(ax)
    assert len(re.findall(r">[01]\.\d\d<", text)) == cells.size
    assert f"{result.sizes[0]:.0%}" in text
    assert "<image" not in text


def test_profiles_of_a_network(selections):
    model = selections["compare"].best.fit.model
    ax = plots.plot_profiles(model, hidden="wealth", most=2, numbers=False)
    assert len({text.get_text().partition(" = ")[0] for text in ax.get_yticklabels()}) == 2
    assert not ax.texts
    with pytest.raises(OptionError, match="'age' is not a hidden variable"):
        plots.plot_profiles(model, hidden="age")


@pytest.mark.slow
def test_trace():
    table = load_dataset("carcinoma")
    fit = api.fit(table, 3, starts=8, threads=1)
    traces = api.em_traces(table, fit)
    ax = plots.plot_trace(traces)
    assert len(ax.lines) == len(traces.traces)
    assert ax.get_yscale() == "log"
    assert "nats below the best" in svg(ax)
    plain = plots.plot_trace(traces, below=False)
    np.testing.assert_array_equal(plain.lines[-1].get_ydata(), traces.best.values)
    assert "log p(D|θ) + log p(θ) (nats)" in svg(plain)


def test_a_network_has_a_box_and_a_name_for_each_variable_and_an_arrow_for_each_edge():
    model = api.random_model(3, 5, seed=1)
    ax = plots.network(model)
    names = [v.name for v in model.network.variables]
    assert [text.get_text() for text in ax.texts] == names
    kinds = [type(patch).__name__ for patch in ax.patches]
    assert kinds.count("FancyBboxPatch") == 6
    assert kinds.count("PathPatch") == kinds.count("Polygon") == 5
    dashed = [
        p.get_linestyle() not in ("-", "solid") for p in ax.patches if hasattr(p, "get_boxstyle")
    ]
    assert dashed == [v.hidden for v in model.network.variables]
    assert all(name in svg(ax) for name in names)


def test_a_network_may_come_in_many_forms_and_go_anywhere(tmp_path):
    fit = api.fit(load_dataset("carcinoma"), 2, starts=2)
    api_model = fit.model
    lacunet.write_model(api_model, tmp_path / "m.json")
    ax = plt.subplots()[1]
    assert plots.network(fit, ax) is ax
    for of in (api_model, api_model.network, tmp_path / "m.json"):
        assert len(plots.network(of).texts) == len(ax.texts) == 8


def test_certain_edges_of_a_network_are_broader(tmp_path):
    model = api.random_model(2, 2, seed=1)
    names = [v.name for v in model.network.variables]
    ax = plots.network(model, certainty={(names[0], names[1]): 0.9, (names[0], names[2]): 0.2})
    edges = [p for p in ax.patches if type(p).__name__ == "PathPatch"]
    assert edges[0].get_linewidth() > edges[1].get_linewidth()
    assert edges[0].get_alpha() > edges[1].get_alpha()


def test_names_of_a_network_are_no_formulas():
    network = lacunet.Network.build([lacunet.Variable("$x^2$ $", ("a", "b"))], [()])
    svg(plots.network(network))


def test_a_learned_graph_shows_which_edges_may_be_turned_round():
    learned = api.learn_structure(load_dataset("carcinoma"))
    heads = [p for p in plots.network(learned).patches if type(p).__name__ == "Polygon"]
    colours = {p.get_facecolor() for p in heads}
    compelled = len(learned.equivalence_class.compelled)
    assert len(heads) == compelled + len(learned.equivalence_class.reversible)
    assert len(colours) == 1 + (0 < compelled < len(heads))


def test_profile_lines_show_every_answer_and_its_interval(selections):
    fit = selections["carcinoma"].best.fit
    ax = plots.plot_profile_lines(fit)
    items = [v for v in fit.model.network.variables if not v.hidden]
    items.sort(key=lambda v: v.place)
    assert [text.get_text() for text in ax.get_xticklabels()] == [v.name for v in items]
    precise = hessian_intervals(fit.problem, fit.model, fit.estimate)
    for c, (line, bars) in enumerate(zip(ax.lines, ax.collections, strict=True)):
        shares = [fit.model.table(v.name)[c, 1] for v in items]
        np.testing.assert_allclose(line.get_ydata(), shares)
        ends = [(precise.table(v.name).low[c, 1], precise.table(v.name).high[c, 1]) for v in items]
        drawn = [segment[:, 1] for segment in bars.get_segments()]
        np.testing.assert_allclose(drawn, [end for end in ends if np.isfinite(end[0])])
        name = f"class {c + 1} ({fit.model.table('class')[c]:.0%})"
        assert line.get_label() == name
    assert ax.get_ylabel() == "p(1 | class)"


def test_profile_lines_in_groups_and_without_intervals(selections):
    fit = selections["carcinoma"].best.fit
    ax = plots.plot_profile_lines(fit, groups={"first": ["G", "A"], "then": ["C"]}, intervals=False)
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names == ["first", "G", "A", "then", "C", "others", "B", "D", "E", "F"]
    assert not any(len(bars.get_segments()) for bars in ax.collections)
    assert np.isnan(ax.lines[0].get_xdata()).sum() == 2  # lines end with their group
    with pytest.raises(OptionError, match="'H' is not an item here"):
        plots.plot_profile_lines(fit, groups={"x": ["H"]})
    with pytest.raises(OptionError, match="'A' is in two of them"):
        plots.plot_profile_lines(fit, groups={"x": ["A"], "y": ["A"]})
    other = lacunet.intervals(
        lacunet.load_dataset("carcinoma"),
        lacunet.fit(lacunet.load_dataset("carcinoma"), 1, starts=1),
    )
    with pytest.raises(OptionError, match="of other parameters"):
        plots.plot_profile_lines(fit, intervals=other)


def test_profile_lines_of_many_classes_have_a_panel_each():
    model = lacunet.random_model(8, 5, seed=1)
    ax = plots.plot_profile_lines(model)
    panels = [panel for panel in ax.figure.axes if panel.get_visible()]
    assert len(panels) == 8
    share = f"{model.table('class')[7]:.0%}"
    assert panels[7].get_title() == f"class {model.network.variables[0].labels[7]} ({share})"
    assert len(panels[0].lines) == 8


def test_a_long_name_is_broken_between_words():
    wrapped = lines.wrapped("How often do you feel that this applies to your household now")
    assert wrapped == ["How often do you feel that", "this applies to your household…"]
