"""Questions to a network, held to enumeration of all its joint states, and to other programs."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lacunet
import oracle
from examples import examples
from lacunet import api
from lacunet.errors import DataError, ModelError, OptionError
from lacunet.inference.plans import clique_trees
from lacunet.inference.queries import query as queries
from peers import Peer, needs
from problems import build, make, network_cases


@st.composite
def cases_known(draw, **structure):
    """A model with random zeros, and random things seen, heard and done, by name."""
    case = draw(network_cases(zeros=draw(st.booleans()), max_variables=5, **structure))
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    seen, heard, done = {}, {}, {}
    for v in case.network.variables:
        kind = rng.choice(4, p=[0.5, 0.2, 0.15, 0.15])
        if kind == 1:
            seen[v.name] = int(rng.integers(len(v.states)))
        elif kind == 2:
            heard[v.name] = rng.random(len(v.states)) * rng.choice([1.0, 50.0])
        elif kind == 3:
            done[v.name] = int(rng.integers(len(v.states)))
    return case, seen, heard, done


def enumerated(case, seen, heard, done):
    """p(every variable, what is known): the product of all tables, those set from outside cut."""
    names = [v.name for v in case.network.variables]
    cards, parents, tables = case.oracle()
    parents = [() if name in done else pa for name, pa in zip(names, parents, strict=True)]
    tables = [
        np.eye(r)[done[name]] if name in done else table
        for name, r, table in zip(names, cards, tables, strict=True)
    ]
    p = oracle.joint((cards, parents, tables))
    for i, name in enumerate(names):
        shape = [-1 if j == i else 1 for j in range(len(names))]
        if name in seen:
            p = p * np.eye(cards[i])[seen[name]].reshape(shape)
        if name in heard:
            p = p * heard[name].reshape(shape)
    return p


@examples(80)
@given(cases_known(), st.integers(0, 1000))
def test_joint_posteriors_are_those_of_enumeration(targets, seed):
    case, seen, heard, done = targets
    p = enumerated(case, seen, heard, done)
    names = [v.name for v in case.network.variables]
    rng = np.random.default_rng(seed)
    group = rng.permutation(len(names))[: rng.integers(1, 4)].tolist()
    answer = lacunet.query(case.model, [names[v] for v in group], {**seen, **heard}, do=done)
    if p.sum() == 0:
        assert np.isnan(answer).all()
    else:
        np.testing.assert_allclose(answer, oracle.marginal(p, group) / p.sum(), atol=1e-12)


@examples(80)
@given(cases_known(), st.integers(0, 1000))
def test_most_probable_states_are_those_of_enumeration(targets, seed):
    case, seen, heard, done = targets
    p = enumerated(case, seen, heard, done)
    names = [v.name for v in case.network.variables]
    free = [i for i, name in enumerate(names) if name not in seen and name not in done]
    if p.sum() == 0 or not free:
        with pytest.raises((DataError, OptionError), match=r"is impossible|no target is left"):
            lacunet.most_probable(case.model, None, {**seen, **heard}, do=done)
        return
    rng = np.random.default_rng(seed)
    some = rng.permutation(free)[: rng.integers(1, len(free) + 1)].tolist()
    for group, asked_for in ((free, None), (some, [names[v] for v in some])):
        states = lacunet.most_probable(case.model, asked_for, {**seen, **heard}, do=done)
        expected = oracle.marginal(p, group) / p.sum()
        assert list(states.states) == [names[v] for v in group]
        at = tuple(int(state) for state in states.states.values())  # labels are the numbers
        assert states.probability == pytest.approx(expected.max(), rel=1e-9)
        assert expected[at] == pytest.approx(expected.max(), rel=1e-9)
        assert math.exp(states.log_known) == pytest.approx(p.sum(), rel=1e-9)


def separated_by_paths(network, a, b, given):
    """d-separation by its definition: every path without repetition is blocked somewhere."""
    n = len(network.variables)
    edges = {(p, c) for c, pa in enumerate(network.parents) for p in pa}
    below = {v: {v} for v in range(n)}
    for _ in range(n):
        for p, c in edges:
            below[p] |= below[c]

    def open_(path):
        for before, v, after in zip(path, path[1:], path[2:], strict=False):
            if (before, v) in edges and (after, v) in edges:
                if not below[v] & given:
                    return False
            elif v in given:
                return False
        return True

    others = [v for v in range(n) if v not in (a, b)]
    for length in range(len(others) + 1):
        for inner in itertools.permutations(others, length):
            path = (a, *inner, b)
            linked = all((x, y) in edges or (y, x) in edges for x, y in itertools.pairwise(path))
            if linked and open_(path):
                return False
    return True


def random_graph(rng, n=6):
    order = rng.permutation(n).tolist()
    edges = " ".join(
        f"{'abcdef'[u]}>{'abcdef'[v]}"
        for i, u in enumerate(order)
        for v in order[i + 1 :]
        if rng.random() < 0.35
    )
    return build(edges, dict.fromkeys("abcdef"[:n], 2))


@pytest.mark.parametrize("seed", range(12))
def test_d_separation_by_its_definition_and_by_numbers(seed):
    """Separated variables are independent at any parameters, connected ones depend at these."""
    rng = np.random.default_rng(seed)
    network = random_graph(rng)
    joint = oracle.joint(make(network, 1, seed=seed).oracle())
    for a, b in itertools.combinations(range(6), 2):
        others = [v for v in range(6) if v not in (a, b)]
        given_ = [v for v in others if rng.random() < 0.4]
        names = ["abcdef"[v] for v in given_]
        apart = lacunet.d_separated(network, "abcdef"[a], "abcdef"[b], names)
        assert apart == separated_by_paths(network, a, b, set(given_))
        p = oracle.marginal(joint, [*given_, a, b])
        p = p / p.sum(axis=(-1, -2), keepdims=True)
        product = p.sum(axis=-1, keepdims=True) * p.sum(axis=-2, keepdims=True)
        assert apart == bool(np.abs(p - product).max() < 1e-12)


def test_d_separation_of_sets_and_after_surgery():
    network = build("z>x z>y x>y y>w", dict.fromkeys("zxyw", 2))
    assert not lacunet.d_separated(network, "z", "x")
    assert lacunet.d_separated(network, "z", "w", ["y"])
    assert not lacunet.d_separated(network, ["z", "x"], "w")
    assert lacunet.d_separated(network, ["z", "x"], "w", "y")
    cut = build("x>y", dict.fromkeys("xyz", 2))
    assert lacunet.d_separated(cut, "x", "z", do="y")
    confounded = build("z>x z>y", dict.fromkeys("zxy", 2))
    assert not lacunet.d_separated(confounded, "z", "y", do="x")
    assert lacunet.d_separated(confounded, "x", "y", "z")


def test_doing_is_not_seeing():
    """A confounder makes x and y go together; setting x does not change y."""
    network = build("z>x z>y", dict.fromkeys("zxy", 2))
    tables = [[0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], [[0.8, 0.2], [0.1, 0.9]]]
    model = lacunet.Model(network, network.layout.flat(tables), np.ones(10))
    alone = lacunet.query(model, "y")
    np.testing.assert_allclose(lacunet.query(model, "y", do={"x": 1}), alone)
    assert abs(lacunet.query(model, "y", {"x": 1}) - alone).max() > 0.2
    np.testing.assert_allclose(lacunet.query(model, "x", do={"x": 1}), [0, 1])


def test_a_query_for_each_row_and_absent_columns():
    case = make(build("H>a H>b c>H", dict.fromkeys("Habc", 2), "H"), 1, seed=1)
    rows = pd.DataFrame({"b": [1, 0, None], "other": [1, 2, 3]}, dtype=object)
    answer = lacunet.query(case.model, ["H", "a"], rows)
    for row, seen in zip(answer, ({"b": 1}, {"b": 0}, {}), strict=True):
        np.testing.assert_allclose(row, lacunet.query(case.model, ["H", "a"], seen))
    set_ = lacunet.query(case.model, "H", rows, do={"c": 1})
    np.testing.assert_allclose(set_[0], lacunet.query(case.model, "H", {"b": 1}, do={"c": 1}))
    with pytest.raises(DataError, match="shows no variable of the model"):
        lacunet.query(case.model, "H", rows[["other"]])


def test_posterior_means_answer_unless_the_estimate_is_requested(carcinoma_model):
    mean = carcinoma_model.predictive
    seen = {"A": 1}
    for plug_in, model in (
        (False, mean),
        (True, lacunet.Model(mean.network, carcinoma_model.theta, mean.alpha)),
    ):
        np.testing.assert_allclose(
            lacunet.query(carcinoma_model, "class", seen, plug_in=plug_in),
            lacunet.query(model, "class", seen),
        )
        ours = lacunet.most_probable(carcinoma_model, evidence=seen, plug_in=plug_in)
        assert ours.probability == lacunet.most_probable(model, evidence=seen).probability


@pytest.fixture(scope="module")
def carcinoma_model():
    return lacunet.fit(lacunet.dataset_path("carcinoma"), 2, weights="count", starts=2).model


def chain(length, seed=0):
    parents = [() if i == 0 else (i - 1,) for i in range(length)]
    network = lacunet.Network.build(
        [lacunet.Variable(f"v{i}", (0, 1, 2)) for i in range(length)], parents
    )
    return make(network, 1, seed=seed).model


def test_the_best_path_through_a_long_chain():
    """Viterbi, by plain loops; 3^200 joint states."""
    model = chain(200)
    tables = [np.log(model.table(f"v{i}")) for i in range(200)]
    tables[1] = tables[1] + tables[0][:, None]
    best, back = np.zeros(3), []
    for table in tables[1:]:
        back.append((best[:, None] + table).argmax(axis=0))
        best = (best[:, None] + table).max(axis=0)
    path = [int(best.argmax())]
    for step in reversed(back):
        path.append(int(step[path[-1]]))
    states = lacunet.most_probable(model)
    assert states.log_probability == pytest.approx(best.max())
    assert list(states.states.values()) == [str(k) for k in reversed(path)]


def test_answers_that_would_not_fit_are_refused_before_they_are_made():
    model = chain(40)
    names = [f"v{i}" for i in range(40)]
    with pytest.raises(ModelError, match=r"v39' \(3\) has 12,157,665,459,056,928,801 numbers"):
        lacunet.query(model, names)
    rows = pd.DataFrame({"v0": [0] * 20_000})
    with pytest.raises(ModelError, match=r"for each of 20,000 rows, .* or fewer rows"):
        lacunet.query(model, names[1:9], rows)
    assert lacunet.query(model, names[:8]).size == 3**8 <= queries.LARGEST


def test_most_probable_states_that_need_too_large_a_table(monkeypatch):
    """Asked for alone, the children of a common parent need one table; all, or seen, not."""
    leaves = "abcdefgh"
    model = make(build(" ".join(f"H>{x}" for x in leaves), dict.fromkeys("H" + leaves, 2)), 1).model
    monkeypatch.setattr(clique_trees, "LARGEST", 100)
    with pytest.raises(ModelError, match="most probable states need a table over these variables"):
        lacunet.most_probable(model, list(leaves))
    assert len(lacunet.most_probable(model).states) == 9
    assert len(lacunet.most_probable(model, list(leaves), {"H": 1}).states) == 8


def test_invalid_queries():
    case = make(build("a>b", {"a": 2, "b": 3}), 1)
    model = case.model
    for evidence, do, error, text in (
        ({"b": [1, 2]}, {}, OptionError, "2 likelihoods for its 3 states 0, 1, 2"),
        ({"b": [0, 0, 0]}, {}, OptionError, "not allowed. Give numbers of 0 or more"),
        ({"b": [1, -1, 0]}, {}, OptionError, "not allowed. Give numbers of 0 or more"),
        ({"b": {"5": 1}}, {}, DataError, "'b': '5' is not one of its states"),
        ({"b": 1}, {"b": 1}, OptionError, "'b' is both given and set by do"),
        ({}, {"bb": 1}, ModelError, "'bb' is not a variable of the network. Did you mean 'b'"),
        ({}, {"b": 7}, DataError, "'b': '7' is not one of its states"),
    ):
        with pytest.raises(error, match=text):
            lacunet.query(model, "a", evidence, do=do)
    with pytest.raises(OptionError, match="'a' is both a target and given"):
        api.answer(model, "a", {"a": 1})
    with pytest.raises(OptionError, match="'a' is both a target and set by do"):
        lacunet.most_probable(model, "a", do={"a": 1})
    with pytest.raises(OptionError, match="every variable is given"):
        lacunet.most_probable(model, evidence={"a": 1, "b": 1})
    with pytest.raises(OptionError, match="'a' occurs twice"):
        lacunet.d_separated(model, "a", "b", "a")
    never = lacunet.Model(
        case.network, np.where(case.theta == case.theta[0], 0, case.theta), case.alpha
    )
    for ask in (api.answer, lacunet.most_probable):
        with pytest.raises(
            DataError, match="is impossible: a = 0 has probability 0 under this model"
        ):
            ask(never, "b", {"a": 0})
    np.testing.assert_allclose(
        lacunet.query(model, "a", {"b": None}), lacunet.query(model, "a"), rtol=1e-12
    )


@needs("pyagrum")
def test_pyagrum_agrees():
    gum = Peer("pyagrum")
    network = build("a>c b>c c>d b>d d>e", {"a": 2, "b": 3, "c": 2, "d": 3, "e": 2})
    model = make(network, 1, seed=5).model
    theirs = lacunet.to_pyagrum(model)
    engine = gum.LazyPropagation(theirs)
    engine.addEvidence("d", [0.2, 0.5, 0.3])
    engine.addEvidence("e", 1)
    engine.addJointTarget({"a", "b"})
    joint = engine.jointPosterior({"a", "b"})
    expected = np.transpose(
        joint.toarray(), [list(reversed(joint.names)).index(name) for name in ("a", "b")]
    )
    seen = {"d": [0.2, 0.5, 0.3], "e": 1}
    np.testing.assert_allclose(lacunet.query(model, ["a", "b"], seen), expected, atol=1e-12)
    for a, b, given_ in (("a", "b", []), ("a", "b", ["e"]), ("a", "d", ["b", "c"])):
        assert lacunet.d_separated(model, a, b, given_) == theirs.isIndependent(a, b, given_)


@pytest.mark.slow
@needs("pgmpy")
def test_pgmpy_agrees():
    theirs_of = Peer("pgmpy.inference")
    network = build("a>c b>c c>d b>d d>e", {"a": 2, "b": 3, "c": 2, "d": 3, "e": 2})
    model = make(network, 1, seed=7).model
    theirs = lacunet.to_pgmpy(model)
    for variables in (["a", "c"], ["a", "b", "c", "d"]):
        expected = theirs_of.VariableElimination(theirs).map_query(
            variables, {"e": 1}, show_progress=False
        )
        states = lacunet.most_probable(model, variables, {"e": 1}).states
        assert states == {name: str(state) for name, state in expected.items()}
    expected = theirs_of.CausalInference(theirs).query(["d"], do={"c": 1}, show_progress=False)
    np.testing.assert_allclose(lacunet.query(model, "d", do={"c": 1}), expected.values, atol=1e-9)
    for a, b, given_ in (("a", "b", []), ("a", "b", ["e"]), ("a", "d", ["b", "c"])):
        assert lacunet.d_separated(model, a, b, given_) != theirs.is_dconnected(a, b, given_)
