"""Numbers by class: their profiles against SciPy, on the page, and in figures."""

import re

import matplotlib as mpl
import numpy as np
import pytest
from scipy import stats

import lacunet
from lacunet import OptionError, plots
from lacunet.inference.leaves import leaves_of
from lacunet.models.network import Network, Variable
from lacunet.models.number_prior import NumberPrior
from lacunet.report.page.network_page import fitted_answer, write_network_report
from lacunet.summaries.profiles import profile
from people import FAST, KINDS, people

mpl.use("Agg")
import matplotlib.pyplot as plt


@pytest.fixture(scope="module")
def table():
    return lacunet.read_table(people(), kinds=KINDS)


@pytest.fixture(scope="module")
def selection(table):
    return lacunet.select(table, [1, 2], quick=True, **FAST)


def test_means_densities_and_information_are_those_of_the_classes(selection):
    model = selection.best.fit.model
    by_name = {n.name: n for n in profile(model, 0).numbers}
    assert [n.information for n in by_name.values()] == sorted(
        (n.information for n in by_name.values()), reverse=True
    )
    sizes = model.table("class")
    numbers = {name: v.summary(model.table(name)) for name, v in _variables(model).items()}
    height = by_name["height"]
    mean, sd = numbers["height"]["mean"], numbers["height"]["sd"]
    np.testing.assert_allclose(height.mean[:2], mean, rtol=1e-12)
    np.testing.assert_allclose(height.spread[:2], sd, rtol=1e-12)
    assert height.mean[2] == pytest.approx(sizes @ mean, rel=1e-12)
    between = sizes @ (mean - sizes @ mean) ** 2
    assert height.spread[2] == pytest.approx(np.sqrt(sizes @ sd**2 + between), rel=1e-12)
    unit = _variables(model)["height"].unit
    for k in range(2):
        expected = stats.norm.pdf(height.values, mean[k], sd[k]) * unit.size
        np.testing.assert_allclose(height.density[k], expected, rtol=1e-9)
    # Mutual information, by a fine grid.
    x = np.linspace(100, 250, 20_001)
    f = stats.norm.pdf(x[:, None], mean, sd)
    gains = sizes @ (f * (np.log(f) - np.log(f @ sizes)[:, None])).T
    assert height.information == pytest.approx(np.trapezoid(gains, x), rel=2e-3)
    visits = by_name["visits"]
    rate = numbers["visits"]["rate"]
    np.testing.assert_allclose(visits.density[:2], stats.poisson.pmf(visits.values, rate[:, None]))
    assert by_name["income"].titles == ("geometric mean", "factor")
    np.testing.assert_allclose(by_name["income"].mean[:2], numbers["income"]["median"], rtol=1e-12)
    assert np.sign(by_name["income"].standing[:2]).tolist() == [-1, 1]


def _variables(model):
    return {v.name: v for v in model.network.variables if not v.family.tabular}


def test_a_number_with_several_parents_is_a_mixture_in_each_state(table):
    root = Variable("class", (1, 2), hidden=True)
    parents = [(), (5, 0), (5,), (0,), (0,), (0,)]
    network = Network.build([root, *leaves_of(table, NumberPrior())], parents)
    model = lacunet.fit(table, network=network, **FAST).model
    numbers = {n.name: n for n in profile(model, 0).numbers}
    sex = model.table("sex")  # given the class
    mean = _variables(model)["height"].summary(model.table("height").reshape(4, -1))["mean"]
    np.testing.assert_allclose(
        numbers["height"].mean[:2], (sex * mean.reshape(2, 2).T).sum(axis=1), rtol=1e-9
    )
    income = _variables(model)["income"].summary(model.table("income"))["median"]
    np.testing.assert_allclose(np.log(numbers["income"].mean[:2]), sex @ np.log(income), rtol=1e-9)


def test_pages_show_numbers(selection, table, tmp_path):
    page = lacunet.write_report(selection, tmp_path / "page.html").read_text("utf-8")
    assert len(re.findall(r'aria-label="\w+ in each state of class"', page)) == 4
    assert "geometric mean" in page
    assert "columns of numbers have no table" in page
    fit = selection.best.fit
    answer = fitted_answer(fit, table, lacunet.Settings(), {})
    other = write_network_report(answer, tmp_path / "fit.html").read_text("utf-8")
    assert "Numbers by class" in other
    assert 'aria-label="States of class by height and income"' in other
    assert other.count("<svg viewBox") == 4 + 1 + 1 + 1  # densities, the pair, lines, network


def test_figures(selection):
    fit = selection.best.fit
    ax = plots.plot_densities(fit, "height")
    assert [line.get_label() for line in ax.lines] == ["class 1", "class 2"]
    for line in ax.lines:
        assert np.trapezoid(line.get_ydata(), line.get_xdata()) == pytest.approx(1.0, abs=0.01)
    ax = plots.plot_densities(fit, "income")
    assert ax.get_xscale() == "log"
    np.testing.assert_allclose(
        [np.trapezoid(x.get_ydata(), x.get_xdata()) for x in ax.lines], 1.0, atol=0.01
    )
    assert plots.plot_densities(fit.model, "visits").lines[0].get_ydata().sum() > 0.99
    rows = [text.get_text() for text in plots.plot_profiles(fit).get_yticklabels()]
    assert set(rows) == {
        "visits: mean", "income: geometric mean", "height: mean", "agree: mean", "sex = m",
    }  # fmt: skip
    ax = plots.plot_pair(fit, "height", "income")
    assert (ax.get_xscale(), ax.get_yscale()) == ("linear", "log")
    drawn = sum(len(points.get_offsets()) for points in ax.collections)
    observed = [fit.problem.network.variables[i].name for i in fit.problem.network.observed]
    both = fit.problem.codes[:, [observed.index("height"), observed.index("income")]]
    assert drawn == (both >= 0).all(axis=1).sum()
    summary = _variables(fit.model)["height"].summary(fit.model.table("height"))
    for k in range(2):
        ring = ax.lines[2 * k].get_xdata()
        np.testing.assert_allclose((ring.max() + ring.min()) / 2, summary["mean"][k], rtol=1e-6)
        np.testing.assert_allclose((ring.max() - ring.min()) / 2, summary["sd"][k], rtol=1e-3)
    with pytest.raises(OptionError, match="'sex' is not a column of numbers"):
        plots.plot_densities(fit, "sex")
    plt.close("all")
