"""Tables, networks and selections of every kind that a report must cope with."""

from dataclasses import replace

import numpy as np

from lacunet import Evidence, api
from lacunet.data.table import Column, Table
from lacunet.flags import Flag, Kind
from lacunet.models.conjugacy import random_theta
from lacunet.models.network import Model, Network, Variable
from lacunet.models.prior import dirichlet

EVIL = "<script>window.alerted = 1; alert(1)</script>"
EVIL_STATES = ("no & \"never\" 'ever'", "</style><b onclick='x()'>", "{{ 7 * 7 }} {% raw %}")
LONG = "a state whose name is much too long to be read on a phone " * 2
FAILURE = Flag(Kind.NOT_POSITIVE_DEFINITE, detail={"point": "θ"})


def evil_table() -> Table:
    rng = np.random.default_rng(3)
    columns = [
        Column(EVIL, EVIL_STATES),
        Column("much too long, " * 8, (LONG, "b" * 90, "c")),
        Column("tab\tline\nbreak", ("</script>", "-->")),
        Column("émoji 🙂 表", ("はい", "いいえ")),
    ]
    classes = rng.integers(0, 2, 150)
    codes = np.stack([(classes + (rng.random(150) < 0.2)) % 2 for _ in columns], axis=1)
    codes[rng.random(codes.shape) < 0.15] = -1
    return Table.from_codes(codes, columns, source="</title><script>alert(2)</script>.csv")


def two_hidden() -> tuple[Network, object]:
    """A network with two hidden variables that share a child, and data from it."""
    variables = [
        Variable("health", (1, 2), hidden=True),
        Variable("wealth", (1, 2), hidden=True),
        Variable("age", ("young", "old")),
        Variable("sport", ("never", "sometimes", "often")),
        Variable("car", ("no", "yes")),
        Variable("smokes", ("no", "yes")),
    ]
    network = Network.build(variables, [(2,), (2,), (), (0, 1), (1,), (0,)])
    theta = random_theta(network.layout, np.random.default_rng(5))
    model = Model(network, theta, dirichlet(network, 1.01))
    return network, api.simulate(model, 200, seed=2, missing_rate=0.1)


def with_failures(selection):
    """The same, as if two scores of the third candidate did not exist."""
    third = selection.candidates[2]
    lost = {name: Evidence(name, {}, (FAILURE,)) for name in ("laplace", "csl")}
    third = replace(third, scores={**third.scores, **lost})
    return replace(selection, candidates=(*selection.candidates[:2], third))


def with_nothing(selection):
    """The same, as if no score existed."""
    reason = (Flag(Kind.IMPOSSIBLE_DATA),)
    return replace(
        selection,
        candidates=tuple(
            replace(c, scores={name: Evidence(name, {}, reason) for name in c.scores})
            for c in selection.candidates
        ),
        overall=None,
    )
