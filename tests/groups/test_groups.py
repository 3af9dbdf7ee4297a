"""Classes in groups: likelihoods, evidence, tests and the order of classes, each with an oracle."""

from math import comb

import numpy as np
import pytest
from group_worlds import SIZES, YES, log_evidence, people, three_differ, with_change

import lacunet
from lacunet.flags import Kind
from lacunet.models.latent_class import grouped_classes, with_edges
from lacunet.models.layout import with_more_parents
from lacunet.models.network import Variable
from lacunet.selection.groups import Level
from surveys import clustered

QUICK = {"starts": 4, "threads": 1, "quick": True}
ITEMS = list("ABCDE")


@pytest.fixture(scope="module")
def one_differs():
    """B means something else to the second group; some answers are missing."""
    return people(500, 1, other=with_change(1, 0.3), missing=0.05)


@pytest.fixture(scope="module")
def comparison(one_differs):
    return lacunet.compare_groups(one_differs, 2, "sex", **QUICK)


def of(data, sex):
    chosen = [i for i, s in enumerate(data["sex"]) if s == sex]
    return {name: [data[name][i] for i in chosen] for name in ITEMS}


def test_the_item_that_differs_is_found(comparison):
    assert comparison.level is Level.PARTLY
    assert comparison.free == ("B",)
    assert [t.edge[1] for t in comparison.levels.trials if t.accepted] == ["B"]
    tests = {trial.edge[1]: trial for trial in comparison.items}
    assert tests["B"].ratio.p_value < 1e-6 < 0.01 < min(tests[n].ratio.p_value for n in "ACDE")
    assert tests["B"].gain > 5 > 0 > max(tests[n].gain for n in "ACDE")
    assert tests["B"].ratio.df == 2
    assert tests["B"].change_of_bic < 0 < tests["A"].change_of_bic


def test_free_is_every_group_by_itself(comparison, one_differs):
    """The sum of separate fits, by likelihood and by evidence."""
    alone = [of(one_differs, sex) for sex in comparison.groups]
    fits = [lacunet.fit(x, 2, estimate="ml", starts=4, threads=1) for x in alone]
    assert comparison.log_lik("free") == pytest.approx(sum(f.log_lik for f in fits), abs=1e-7)
    assert comparison.dimension("free") == sum(f.model.network.dimension for f in fits)
    options = {"scores": "csl,vb", "starts": 4, "threads": 1, "quick": True}
    apart = [lacunet.select(x, [2], **options).candidates[0].scores for x in alone]
    scores = comparison.candidate("free").scores
    constant = comparison.selection.certainty.values["free"] - comparison.log_evidence("free")
    for name in ("csl", "vb"):
        together = scores[name].value - constant
        assert together == pytest.approx(sum(s[name].value for s in apart), abs=1e-6)


def test_equal_is_the_group_as_a_covariate(comparison, one_differs):
    """A multinomial logit with a state for each group has every class size that there is."""
    options = {"estimate": "ml", "starts": 4, "threads": 1}
    regression = lacunet.class_regression(one_differs, 2, ["sex"], **options)
    assert comparison.log_lik("equal") == pytest.approx(regression.log_lik, abs=1e-6)
    assert comparison.dimension("equal") == regression.dimension
    assert comparison.criteria("equal") == pytest.approx(regression.criteria)


def test_models_are_nested(comparison):
    likelihoods = [comparison.log_lik(f.level) for f in comparison.levels.fits]
    assert likelihoods == sorted(likelihoods)
    tests = {(t.narrow, t.wide): t.ratio for t in comparison.tests}
    whole = tests[Level.EQUAL, Level.FREE]
    parts = tests[Level.EQUAL, Level.PARTLY], tests[Level.PARTLY, Level.FREE]
    assert whole.statistic == pytest.approx(sum(p.statistic for p in parts))
    assert whole.df == sum(p.df for p in parts) == 10


def test_evidence_by_plain_sums():
    """The exact evidence of each level, against a sum over all memberships."""
    data = people(20, 6, other=np.array([[0.9, 0.2, 0.8], [0.2, 0.6, 0.1]]), yes=YES[:, :3])
    data = {name: data[name] for name in ("A", "B", "sex")}
    options = {"evidence": True, "free": ["B"], "alpha": 1.0, "starts": 2, "threads": 1}
    comparison = lacunet.compare_groups(data, 2, "sex", **options)
    for level in Level:
        exact = log_evidence(data, comparison.grouped(level).free, 1.0)
        assert comparison.log_evidence(level) == pytest.approx(exact, abs=1e-9)


def test_no_set_that_was_fitted_is_dropped():
    """The posterior is over all of them, as prior times evidence by plain sums says."""
    data = people(20, 6, other=np.array([[0.9, 0.2, 0.8], [0.2, 0.6, 0.1]]), yes=YES[:, :3])
    data = {name: data[name] for name in ("A", "B", "sex")}
    options = {"evidence": True, "alpha": 1.0, "starts": 2, "threads": 1}
    comparison = lacunet.compare_groups(data, 2, "sex", **options)
    exact = {names: log_evidence(data, names, 1.0) for names in comparison.set_probabilities}
    weights = {(): 1.0, ("A",): 0.25, ("B",): 0.25, ("A", "B"): 1.0}
    assert set(exact) == set(weights)
    whole = np.array([weights[names] * np.exp(exact[names] - exact[()]) for names in exact])
    probabilities = np.array(list(comparison.set_probabilities.values()))
    np.testing.assert_allclose(probabilities, whole / whole.sum(), atol=0.02)
    p = dict(zip(exact, probabilities.tolist(), strict=True))
    levels = comparison.certainty.probabilities
    assert levels["partly equal"] == pytest.approx(p["A",] + p["B",], abs=1e-12)
    assert comparison.item_probability("A") == pytest.approx(p["A",] + p["A", "B"], abs=1e-12)


def test_a_gain_that_is_below_its_price_is_in_the_posterior():
    """An item gains less than the search asks for: "equal" is not certain beside that."""
    data = people(500, 42, other=with_change(2, 0.68))
    comparison = lacunet.compare_groups(data, 2, "sex", **QUICK)
    trial = max(comparison.items, key=lambda t: t.gain)
    assert 0.5 < trial.gain < trial.price  # the case that this is about
    assert not trial.accepted
    p = comparison.set_probabilities
    assert sum(p.values()) == pytest.approx(1.0, abs=1e-12)
    names = (trial.edge[1],)
    assert comparison.of("partly equal").grouped.free == names
    odds = np.exp(comparison.log_factor(names)) / (2 * len(ITEMS))
    assert p[names] / p[()] == pytest.approx(odds, rel=1e-9)
    assert comparison.certainty.probabilities["equal"] < 0.9
    # One value in all tables: test and Bayes factor of the item, and of the levels.
    test = next(t for t in comparison.tests if (t.narrow, t.wide) == (Level.EQUAL, Level.PARTLY))
    assert test.ratio.statistic == trial.ratio.statistic
    levels = comparison.log_evidence("partly equal") - comparison.log_evidence("equal")
    assert comparison.log_factor(names) == pytest.approx(levels, abs=1e-9)


def test_a_set_that_is_named_does_not_hide_better_ones(one_differs):
    comparison = lacunet.compare_groups(one_differs, 2, "sex", free=["A"], **QUICK)
    assert comparison.item_probability("B") > 0.9 > 0.1 > comparison.set_probabilities["A",]
    assert "B is more probable than the set that is shown" in str(comparison)


def test_classes_have_the_same_numbers_in_all_groups():
    comparison = lacunet.compare_groups(people(600, 2), 2, "sex", **QUICK)
    assert comparison.level is Level.EQUAL
    assert comparison.alignment.convincing
    assert not any(flag.kind is Kind.NO_CLEAR_MATCH for flag in comparison.flags)
    tables = comparison.candidate("free").model
    order = np.argsort(-comparison.sizes("equal").sum(axis=0))
    assert order.tolist() == [0, 1]  # the larger class first, over both groups
    for name in ITEMS:
        profile = tables.table(name)[..., 1]  # (class, group)
        assert np.abs(profile[:, 0] - profile[:, 1]).max() < 0.2
    first = int(comparison.model.table("A")[0, 1] < 0.5)  # which class answers no
    assert comparison.sizes("free") == pytest.approx(SIZES[:, [first, 1 - first]], abs=0.1)


def test_a_missing_match_is_reported():
    """A third of the answers turned round: no class is where it was."""
    turned = YES.copy()
    turned[:, :3] = turned[::-1, :3]
    comparison = lacunet.compare_groups(people(800, 4, other=turned), 2, "sex", **QUICK)
    assert comparison.level is not Level.EQUAL
    assert not comparison.alignment.convincing
    assert "no clear match: class 1 of" in str(comparison)


def test_missing_values_in_groups_and_whole_weights():
    """Rows without a group are left out; a weight of 2 is the row twice."""
    data = people(240, 5)
    weighted = {**data, "times": [1 + i % 2 for i in range(240)]}
    twice = {n: [x for i, x in enumerate(v) for _ in range(1 + i % 2)] for n, v in data.items()}
    one = lacunet.compare_groups(weighted, 2, "sex", weights="times", **QUICK)
    other = lacunet.compare_groups(twice, 2, "sex", **QUICK)
    assert one.tidy() == other.tidy()
    lost = {**data, "sex": [None if i % 10 == 0 else s for i, s in enumerate(data["sex"])]}
    kept = {n: [x for i, x in enumerate(v) if i % 10] for n, v in data.items()}
    missing = lacunet.compare_groups(lost, 2, "sex", **QUICK)
    assert missing.tidy() == lacunet.compare_groups(kept, 2, "sex", **QUICK).tidy()
    assert "24 of 240 cases do not show their group" in missing.selection.table.notes[-1]


def test_a_sample_keeps_its_units_where_rows_are_left_out():
    """Strata and clusters are known to intervals; who does not show a group counts for nothing."""
    frame = clustered(0, strata=3, units=4, people=10)
    sex = np.array(["f", "m"])[np.arange(120) % 2].astype(object)
    sex[frame["unit"] < 102] = None  # whole units, too
    options = {"weights": "w", "strata": "stratum", "clusters": "unit"}
    comparison = lacunet.compare_groups(frame.assign(sex=sex), 2, "sex", **options, **QUICK)
    table = comparison.selection.table
    assert (table.design.units, table.design.degrees) == (12, 9)
    np.testing.assert_allclose(table.design.counts(np.ones(12), len(table.codes)), table.counts)
    assert "12 units in strata were drawn, and evidence, probabilities of models and" in str(
        comparison
    )
    assert Kind.ROWS_AS_INDEPENDENT in {note.kind for note in comparison.selection.certainty.notes}
    assert lacunet.intervals(table, comparison.fit).design is not None
    with pytest.raises(lacunet.OptionError, match="it describes the design"):
        lacunet.compare_groups(frame, 2, "stratum", **options, **QUICK)


def test_the_order_of_columns_and_threads_change_nothing(comparison, one_differs):
    turned = dict(reversed(one_differs.items()))
    again = lacunet.compare_groups(turned, 2, "sex", **{**QUICK, "threads": 2})
    assert again.tidy() == comparison.tidy()
    assert (again.sizes("free") == comparison.sizes("free")).all()


def test_numbers_have_evidence_and_no_test():
    data = people(200, 6)
    rng = np.random.default_rng(6)
    ages = rng.normal(40, 10, 200).round(2).tolist()
    comparison = lacunet.compare_groups({**data, "age": ages}, 2, "sex", **QUICK)
    assert comparison.tests == ()
    assert "the MAP, because it has no maximum" in str(comparison)
    assert comparison.criteria("free")["BIC"] > comparison.criteria("equal")["BIC"]


def test_what_was_set_free_in_place_of_others_is_equal_again():
    """At first i7 seems to differ; with the three that do, it is not needed."""
    comparison = lacunet.compare_groups(three_differ(0), 3, "sex", **QUICK)
    assert comparison.free == ("i1", "i4", "i6")
    taken = [(t.edge[1], t.adds) for t in comparison.levels.trials if t.accepted]
    assert ("i7", True) in taken
    assert taken[-1] == ("i7", False)
    last = comparison.levels.trials[-1]
    assert not last.adds
    assert last.price < 0 < last.ratio.df
    prior = comparison.selection.prior["partly equal"]
    assert prior == pytest.approx(2**-3 / comb(8, 3))  # what three of eight items have paid


def test_flat_vectors_by_group():
    """Taken apart and put together again; a wider network in which nothing has changed."""
    leaves = [Variable(n, (0, 1, 2)) for n in "ab"] + [Variable("sex", ("f", "m", "x"))]
    equal = grouped_classes(leaves, "sex", 2)
    free = type(equal)(with_edges(equal.network, [("sex", "a"), ("sex", "b")]), equal.group)
    assert (equal.free, free.free) == ((), ("a", "b"))
    x = np.random.default_rng(0).random(free.network.layout.size)
    parts = [free.of_group(x, g) for g in range(3)]
    assert (free.joined(parts, x) == x).all()
    narrow = np.random.default_rng(1).random(equal.network.layout.size)
    wide = with_more_parents(narrow, equal.network.layout, free.network.layout)
    for g in range(3):
        assert (free.of_group(wide, g) == equal.of_group(narrow, g)).all()


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"sex": ["f"] * 60}, {}, "in all rows it is 'f'. Name a column with two values or more"),
        ({"sex": ["f"] * 57 + ["m"] * 3}, {}, "group 'm' of 'sex' has 3 cases, and 10 is the min"),
        ({"sex": [i % 50 for i in range(60)]}, {}, "has 50 values, and 30 groups are the most"),
        ({}, {"group": "sez"}, "group 'sez' is not a column of the data. Did you mean 'sex'"),
        ({}, {"columns": ["A", "sex"]}, "'sex' is the group, so it is not an item"),
        ({}, {"free": ["Q"]}, "free names 'Q', which is not an item"),
        ({}, {"free": ["sex"]}, "which is the group"),
        ({}, {"free": ITEMS}, "free names every item: that is the free model"),
        ({}, {"exclude": ["sex"]}, "left out by exclude"),
        ({}, {"states": 1}, "give 2 or more"),
        ({}, {"covariance": "full"}, "covariance= is not available with groups"),
    ],
)
def test_mistakes(change, options, message):
    data = {**people(60, 7), **change}
    given = {"states": 2, "group": "sex", **QUICK, **options}
    with pytest.raises(lacunet.LacunetError) as error:
        lacunet.compare_groups(data, **given)
    assert message in str(error.value)


@pytest.mark.long
def test_likelihood_ratio_tests_reject_at_their_level():
    """Where classes are the same, 5 % of the tests have p below 0.05; of 400, 11 to 30 or so."""
    below = {"all": 0, "A": 0}
    for seed in range(400):
        comparison = lacunet.compare_groups(people(800, 1000 + seed), 2, "sex", **QUICK)
        test = next(t for t in comparison.tests if (t.narrow, t.wide) == (Level.EQUAL, Level.FREE))
        below["all"] += test.ratio.p_value < 0.05
        below["A"] += comparison.items[0].ratio.p_value < 0.05
    for times in below.values():
        assert 8 <= times <= 33  # 20 ± 3 standard errors of 4.36


@pytest.mark.long
def test_items_that_differ_are_found():
    """Of 15 samples, in all but one or two exactly the three that differ."""
    every = [lacunet.compare_groups(three_differ(seed), 3, "sex", **QUICK) for seed in range(15)]
    assert sum(result.free == ("i1", "i4", "i6") for result in every) >= 13
