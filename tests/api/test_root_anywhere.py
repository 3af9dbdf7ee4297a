"""A latent class model is the same model wherever its hidden root stands among the variables."""

import re

import numpy as np
import polars as pl
import pytest

import lacunet
from lacunet.estimators.classes import profiles
from lacunet.fitting.diagnose import diagnose
from lacunet.inference.classes import exchangeable, with_classes
from lacunet.inference.problem import build_problem
from lacunet.models.latent_class import classes_of, find_classes
from lacunet.models.network import Model, Network
from lacunet.models.prior import dirichlet
from lacunet.report.page.profile_view import hidden_views
from lacunet.selection.mixing import class_posterior

PLACES = (0, 2, 5)  # first, in the middle, last
CARCINOMA = lacunet.read_table(
    lacunet.dataset_path("carcinoma"), weights="count", columns=list("ABCDE")
)


def moved(model: Model, place: int) -> Model:
    """The same model with its root at another place; the leaves keep their order."""
    classes = classes_of(model.network)
    order = [*classes.leaves[:place], classes.root, *classes.leaves[place:]]
    network = Network.build(
        [model.network.variables[i] for i in order],
        [() if i == classes.root else (place,) for i in order],
    )

    def flat(x):
        return network.layout.flat([model.network.layout.table(x, i) for i in order])

    return Model(network, flat(model.theta), flat(model.alpha))


@pytest.fixture(scope="module")
def models():
    fit = lacunet.fit(CARCINOMA, 3, starts=16)
    return [moved(fit.model, place) for place in PLACES]


def test_it_is_found_at_every_place(models):
    for place, model in zip(PLACES, models, strict=True):
        classes = classes_of(model.network)
        assert (classes.root, classes.number, classes.variable.name) == (place, 3, "class")
        assert [model.network.variables[i].name for i in classes.leaves] == list("ABCDE")


def test_other_networks_have_no_classes(models):
    network = models[1].network
    chain = [(2,), (0,), (), (2,), (2,), (2,)]
    root_of_all = [(2,), (2,), (0,), (2,), (2,), (2,)]
    assert find_classes(Network.build(network.variables, chain)) is None
    with pytest.raises(lacunet.LacunetError):
        Network.build(network.variables, root_of_all)
    with pytest.raises(ValueError, match="latent class"):
        classes_of(Network.build(network.variables, chain))


def test_fits_reach_the_same_optimum(models):
    result = [lacunet.fit(CARCINOMA, network=m.network, starts=16) for m in models]
    for fit, model in zip(result, models, strict=True):
        assert fit.log_posterior == pytest.approx(result[0].log_posterior, abs=1e-9)
        np.testing.assert_array_equal(fit.model.theta, result[0].model.theta)  # in one order
        np.testing.assert_allclose(fit.model.table("A"), model.table("A"), atol=1e-4)


@pytest.mark.slow
def test_every_score_is_the_same_at_the_same_parameters(models):
    first, *others = (lacunet.score(CARCINOMA, m, scores="all").evidence for m in models)
    assert {"csl-occupied", "vb-occupied", "icl"} <= set(first)
    for result in others:
        for name, e in first.items():
            # What is fitted again with fewer classes ends within 1e-6 of a zero gradient.
            error = 1e-4 if name.endswith("-occupied") else 1e-9
            assert result[name].value == pytest.approx(e.value, abs=error), name
            assert list(result[name].terms) == list(e.terms)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["ais", "smc"])
def test_the_evidence_is_the_same(models, method):
    first, *others = (
        lacunet.log_evidence(
            CARCINOMA, network=m.network, method=method, target=0.2, budget=6000, threads=1
        )
        for m in models
    )
    assert set(first.used) >= {2, 3}
    for result in others:
        assert abs(result.value - first.value) < 4 * (result.stderr + first.stderr)
        assert result.value - result.one_labelling == first.value - first.one_labelling
        for m, share in first.used.items():
            assert result.used.get(m, 0.0) == pytest.approx(share, abs=0.15)


def test_the_exact_evidence_is_the_same(models):
    rows = pl.DataFrame({name: [0, 1, 1, 0] for name in "ABDE"} | {"C": [1, 1, 0, 0]})
    values = [lacunet.log_evidence(rows, network=m.network, method="exact").value for m in models]
    assert values[1:] == pytest.approx(values[:1] * 2, abs=1e-9)


def test_fewer_classes_keep_their_place_and_prior(models):
    for place, model in zip(PLACES, models, strict=True):
        problem = build_problem(CARCINOMA, model.network, dirichlet(model.network, 1.5))
        assert exchangeable(problem)
        fewer = with_classes(problem, 2)
        assert classes_of(fewer.network).root == place
        assert (fewer.alpha == dirichlet(fewer.network, 1.5)).all()
        by_class = {"class": [1.0, 2.0, 3.0], **dict.fromkeys("ABCDE", 1.0)}
        expected = build_problem(CARCINOMA, model.network, dirichlet(model.network, by_class))
        assert not exchangeable(expected)


def test_what_people_are_shown_is_the_same(models):
    def texts(model):
        fit = lacunet.fit(CARCINOMA, network=model.network, starts=16)
        codes = CARCINOMA.codes
        return (
            [str(grid) for grid in fit.grids()[1:]],
            str(lacunet.intervals(CARCINOMA, model)),
            str(lacunet.fit_statistics(CARCINOMA, model)),
            hidden_views(model, CARCINOMA.weight),
            {name: p.tolist() for name, p in profiles(model)[1].items()},
            class_posterior(model, codes).round(9).tolist(),
            list(diagnose(build_problem(CARCINOMA, model.network, model.alpha), *counts(model))),
        )

    first, *others = (texts(model) for model in models)
    for result in others:
        assert result == first


def counts(model: Model):
    """Parameters, and counts with an empty class and empty cells of the others."""
    layout = model.network.layout
    tables = [layout.table(np.full(layout.size, 9.0), i).copy() for i in range(6)]
    tables[classes_of(model.network).root][1] = 0.0
    for i in classes_of(model.network).leaves[:2]:
        tables[i][1:, 1] = 0.0
    return model.theta, layout.flat(tables)


@pytest.mark.slow
def test_the_report_is_the_same(models, tmp_path):
    def page(model):
        selection = lacunet.select(
            CARCINOMA, [2, 3], network=model.network, hidden=["class"], starts=16, threads=1
        )
        lacunet.write_report(selection, tmp_path / "report.html")
        text = (tmp_path / "report.html").read_text()
        return re.sub(r"[\d.,]+ s(, over all threads)?|\d+\.\d+|−?\d+e-\d+", "#", text)

    first, *others = (page(model) for model in models)
    for selection in others:
        assert selection == first
