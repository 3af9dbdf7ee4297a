"""Random small networks with every kind of name and state, and one ordinary example."""

import numpy as np
from hypothesis import strategies as st

from lacunet.models.conjugacy import random_theta
from lacunet.models.formats import FORMATS
from lacunet.models.network import Model, Network, Variable
from lacunet.models.prior import PAPER_ALPHA
from lacunet.runtime.states import label

READ = [f for f in FORMATS if f.read is not None]
ODD = st.text(st.sampled_from(" \t\n\r\"'\\/*|,;=(){}[]<>&-.#%aB1äλ雪\u2028\xa0"), max_size=6)
WORDS = st.sampled_from(["no", "yes", "1", "01", "2.5", "true", "false", "1e5", "nan", "inf", "7a"])
ANY_STATE = st.one_of(
    ODD,
    WORDS,
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
)
STATES = st.one_of(
    [
        st.lists(kind, min_size=1, max_size=3, unique_by=label).map(tuple)
        for kind in (ANY_STATE, st.integers(-3, 30), st.sampled_from([0.5, 1.0, 2.0]), WORDS)
    ]
)


@st.composite
def models(draw):
    """Up to 6 variables; parents in any order, variables not in topological order."""
    names = draw(st.lists(st.one_of(ODD, WORDS), min_size=1, max_size=6, unique=True))
    rank = draw(st.permutations(range(len(names))))
    variables = [Variable(name, draw(STATES), hidden=draw(st.booleans())) for name in names]
    parents = []
    for i in range(len(names)):
        before = [j for j in range(len(names)) if rank[j] < rank[i]]
        chosen = draw(st.permutations(before))
        parents.append(chosen[: draw(st.integers(0, min(3, len(before))))])
    network = Network.build(variables, parents)
    theta = random_theta(network.layout, np.random.default_rng(draw(st.integers(0, 99))))
    return Model(network, theta, np.full(network.layout.size, PAPER_ALPHA))


def ordinary():
    """Words that every program reads; three parents of different sizes, in no simple order."""
    variables = [
        Variable("leaf", ("low", "mid", "high")),
        Variable("a", ("no", "yes")),
        Variable("b_2", ("x", "y", "z")),
        Variable("c", (1, 2, 3, 4), hidden=True),
        Variable("d", (True, False)),
    ]
    network = Network.build(variables, [(2, 3, 1), (), (1,), (), (0, 1)])
    theta = random_theta(network.layout, np.random.default_rng(7))
    return Model(network, theta, np.full(network.layout.size, PAPER_ALPHA))


def same_states(one, two):
    states = [[s for v in m.network.variables for s in v.states] for m in (one, two)]
    return states[0] == states[1] and [*map(type, states[0])] == [*map(type, states[1])]


def assert_same(back, model):
    assert back.network == model.network
    assert same_states(back, model)
    np.testing.assert_array_equal(back.theta, model.theta)


def by_name(model):
    """What a model says, whatever the order of its variables and parents."""
    network = model.network
    tables = {}
    for i, v in enumerate(network.variables):
        table = network.layout.table(model.theta, i)
        names = [network.variables[p].name for p in network.parents[i]]
        order = np.argsort(names)
        tables[v.name] = (
            v.labels,
            tuple(sorted(names)),
            np.transpose(table, [*order, table.ndim - 1]),
        )
    return tables


def assert_alike(back, model, atol):
    ours, theirs = by_name(back), by_name(model)
    assert ours.keys() == theirs.keys()
    for name, (labels, parents, table) in theirs.items():
        assert ours[name][:2] == (labels, parents)
        np.testing.assert_allclose(ours[name][2], table, rtol=0, atol=atol)
