"""Another order of columns, or of the variables of a network, changes nothing: not one bit."""

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from lacunet import api
from lacunet.models.formats import json_model
from lacunet.models.network import Model, Network, Variable

# Names whose order in the data is not their order by name, nor that of their lengths.
NAMES = ("x10", "b", "x2", "a")
KINDS = "x10=gaussian,a=poisson"
SEEDS, SHUFFLES = st.integers(0, 2**16), st.permutations(NAMES)


def categories(seed, rows=40, missing=0.1):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, rows)
    columns = {
        name: np.where(rng.random(rows) < 0.3, rng.integers(0, 3, rows), group + (j % 2))
        for j, name in enumerate(NAMES)
    }
    return pl.DataFrame(
        {
            name: [
                None if left_out else "rst"[v]
                for v, left_out in zip(values, rng.random(rows) < missing, strict=True)
            ]
            for name, values in columns.items()
        }
    )


def mixed(seed, rows=40):
    rng = np.random.default_rng(seed)
    table, group = categories(seed, rows), rng.integers(0, 2, rows)
    return table.with_columns(
        x10=pl.Series((rng.normal(size=rows) + 3 * group).round(3)),
        a=pl.Series(rng.poisson(2 + 4 * group)),
    )


def tables_of(model):
    return {v.name: model.table(v.name).tolist() for v in model.network.variables}


def fitted(table, **options):
    fit = api.fit(table, 2, starts=4, **options)
    return fit.log_lik, fit.log_posterior, tables_of(fit.model), list(map(str, fit.flags))


def selected(table, **options):
    selection = api.select(
        table, range(1, 4), starts=3, quick=True, scores="csl,cs,laplace,bic,vb", **options
    )
    return {name: selection.values(name) for name in (s.name for s in selection.scores)}


def measured(table, **options):
    return api.log_evidence(table, states=2, target=0.5, seed=1, **options).value


def learned(table, **options):
    result = api.learn_structure(table, **options)
    return result.log_evidence, tables_of(result.model), sorted(result.equivalence_class.compelled)


def edges(table):
    return [(p.parent, p.child, p.edge) for p in api.edge_certainty(table).pairs()]


def stacked(table, **options):
    ensemble = api.stack(table, folds=2, threads=1, **options).ensemble
    return [(m.name, m.weight, tables_of(m.model)) for m in ensemble.members]


def same(work, table, order, **options):
    return repr(work(table, **options)) == repr(work(table.select(order), **options))


@pytest.mark.slow
@examples(4)
@given(seed=SEEDS, order=SHUFFLES)
@pytest.mark.parametrize("work", [fitted, selected, learned])
def test_columns_of_categories(work, seed, order):
    assert same(work, categories(seed), order)


@pytest.mark.slow
@examples(2)
@given(seed=SEEDS, order=SHUFFLES)
@pytest.mark.parametrize("method", ["smc", "ais", "walk"])
def test_measured_evidence(method, seed, order):
    assert same(measured, categories(seed, rows=24), order, method=method)


@pytest.mark.slow
@examples(2)
@given(seed=SEEDS, order=SHUFFLES)
@pytest.mark.parametrize("work", [fitted, selected, learned])
def test_columns_of_numbers(work, seed, order):
    assert same(work, mixed(seed), order, kinds=KINDS)


@pytest.mark.slow
@examples(2)
@given(seed=SEEDS, order=SHUFFLES)
def test_measured_evidence_of_numbers(seed, order):
    options = {"kinds": KINDS.replace("a=poisson", "b=gaussian"), "covariance": "full"}
    number = pl.Series(np.random.default_rng(seed).normal(size=24))
    table = mixed(seed, rows=24).with_columns(b=number, a=categories(seed, rows=24)["a"])
    assert same(measured, table, order, method="smc", **options)


@examples(3)
@given(seed=SEEDS, order=SHUFFLES)
def test_how_sure_edges_are(seed, order):
    assert same(edges, categories(seed, missing=0.0), order)


@pytest.mark.slow
@examples(2)
@given(seed=SEEDS, order=SHUFFLES)
def test_stacks(seed, order):
    assert same(stacked, categories(seed), order)


@examples(6)
@given(seed=SEEDS, order=SHUFFLES)
@pytest.mark.parametrize("table_of", [categories, mixed])
def test_assigned_rows(table_of, seed, order):
    table, options = table_of(seed), {"kinds": KINDS} if table_of is mixed else {}
    model = api.fit(table, 2, starts=2, **options).model

    def described(rows):
        assignment = api.assign(rows, model, impute=True)
        posteriors = {v.name: v.probabilities.tolist() for v in assignment.variables}
        return (
            sorted(posteriors.items()),
            sorted((n.name, n.mean.tolist()) for n in assignment.numbers),
            api.log_likelihoods(rows, model).tolist(),
        )

    assert repr(described(table)) == repr(described(table.select(order)))


@examples(6)
@given(seed=SEEDS, shuffle=st.permutations(range(4)), order=SHUFFLES)
def test_variables_of_a_network(seed, shuffle, order):
    table = categories(seed)
    structure = Network.build(
        [Variable("h", (1, 2), hidden=True), *(Variable(n, ("r", "s", "t")) for n in NAMES[:3])],
        [(), (0,), (0, 1), (0,)],
    )
    new = {old: i for i, old in enumerate(shuffle)}
    other = Network.build(
        [structure.variables[i] for i in shuffle],
        [[new[p] for p in structure.parents[i]] for i in shuffle],
    )
    one = api.fit(table, network=structure, starts=3)
    two = api.fit(table.select(order), network=other, starts=3)
    assert (one.log_lik, tables_of(one.model)) == (two.log_lik, tables_of(two.model))
    assert api.log_likelihoods(table, one.model).tolist() == (
        api.log_likelihoods(table, model_in(two.model, shuffle)).tolist()
    )


def model_in(model, shuffle):
    """The same model, read from a file with its variables in another order."""
    document = json_model.document_of(model)
    document["variables"] = [document["variables"][i] for i in shuffle]
    table = json_model.read(json.dumps(document))
    assert isinstance(table, Model)
    return table


def test_what_people_see_is_in_the_order_of_their_data():
    table = categories(3)
    fit = api.fit(table, 2, starts=2)
    lines = str(fit).splitlines()
    places = [next(k for k, line in enumerate(lines) if f"{name} =" in line) for name in NAMES]
    assert places == sorted(places)
    assert api.simulate(fit.model, 3).columns == list(NAMES)
    assert [v.name for v in api.assign(table, fit.model, impute=True).variables[1:]] == list(NAMES)
