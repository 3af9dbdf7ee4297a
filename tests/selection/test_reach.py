"""Answers at the edge of what was tried, ranges that are followed further, priors with names."""

import itertools
import math
import warnings

import numpy as np
import polars as pl
import pytest

import lacunet
from lacunet.selection.average import ENOUGH, NamedPrior, named_prior, probability_of_more
from lacunet.selection.sentences import answer, limits

QUICK = {"quick": True, "starts": 1, "threads": 1, "scores": "csl-occupied"}


def drawn(seed: int, rows: int, columns: int, classes: int, noise: float = 0.1) -> pl.DataFrame:
    """Rows of so many classes of one size, each with its own answers."""
    rng = np.random.default_rng(seed)
    profiles = rng.integers(0, 3, (classes, columns))
    members = rng.integers(0, classes, rows)
    other = rng.random((rows, columns)) < noise
    cells = np.where(other, rng.integers(0, 3, (rows, columns)), profiles[members])
    return pl.DataFrame({f"x{j}": cells[:, j] for j in range(columns)})


@pytest.fixture(scope="module")
def ten() -> pl.DataFrame:
    return drawn(3, 300, 8, 10)


@pytest.fixture(scope="module")
def cut_short(ten):
    return lacunet.select(ten, range(1, 6), **QUICK)


@pytest.fixture(scope="module")
def followed(ten):
    return lacunet.select(ten, **QUICK)


def test_the_largest_number_of_a_range_is_a_least_number(cut_short):
    assert cut_short.label == 5
    assert cut_short.at_least
    assert cut_short.more == 1.0
    message = answer(cut_short)
    assert message.startswith("At least 5 classes (5 is the most that was tried, and more may be")
    assert "that 5 is right" not in message
    assert ">0.999" not in message
    assert [t for t in limits(cut_short) if t.endswith("Try more: states=range(1, 11).")]
    span = cut_short.to_dict()["range"]
    assert span["at_least"] is True
    assert span["at_edge"] == ("class",)
    assert span["extended"] is False
    assert span["limit"] == ENOUGH
    assert "among those that were tried" in str(cut_short)


def test_the_page_does_not_call_it_probable(cut_short, tmp_path):
    page = cut_short.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "At least 5 classes" in page
    assert "unknown: more were not tried" in page


@pytest.mark.slow
def test_without_a_range_more_are_tried_while_they_are_probable(ten, followed):
    numbers = [c.label for c in followed.candidates]
    assert followed.extended
    assert 9 <= followed.label < numbers[-1]
    assert numbers == list(range(1, numbers[-1] + 1))
    assert followed.more < ENOUGH
    assert not followed.at_least
    assert f"so that up to {numbers[-1]} were tried" in " ".join(limits(followed))
    whole = lacunet.select(ten, numbers, **QUICK)
    assert whole.certainty.probabilities == followed.certainty.probabilities


@pytest.mark.slow
def test_eight_are_enough_where_more_are_not_probable():
    selection = lacunet.select(drawn(0, 200, 6, 2), **QUICK)
    assert [c.label for c in selection.candidates] == list(range(1, 9))
    assert not selection.extended
    assert selection.more < ENOUGH


def test_no_range_exceeds_the_identifiable_number_of_classes():
    """Three yes-or-no answers tell of two classes: nothing that data could show is beyond eight."""
    rng = np.random.default_rng(2)
    data = pl.DataFrame({name: rng.integers(0, 2, 40) for name in "ABC"})
    selection = lacunet.select(data, **QUICK)
    assert [c.label for c in selection.candidates] == list(range(1, 9))
    assert selection.unidentified == tuple(range(3, 9))
    assert not selection.extended
    if selection.more > ENOUGH:
        assert "these columns cannot identify even so many" in " ".join(limits(selection))


@pytest.mark.slow
def test_a_run_may_end_by_itself(ten, monkeypatch):
    monkeypatch.setattr(lacunet.selection.comparing, "MOST_WORK", 1e3)
    selection = lacunet.select(ten, **QUICK)
    assert [c.label for c in selection.candidates] == list(range(1, 9))
    assert answer(selection).startswith("At least 8 classes")
    assert [t for t in limits(selection) if t.endswith("Try more: states=range(1, 17).")]


@pytest.mark.slow
def test_an_open_range_resumes(ten, followed, tmp_path):
    kept = tmp_path / "kept"
    lacunet.select(ten, resume=kept, **QUICK)
    lines = kept.read_text(encoding="utf-8").splitlines(keepends=True)
    kept.write_text("".join(lines[: len(lines) // 2]), encoding="utf-8")
    again = lacunet.select(ten, resume=kept, **QUICK)
    assert again.certainty.probabilities == followed.certainty.probabilities
    with pytest.raises(lacunet.LacunetError, match="other"):
        lacunet.select(ten, prior="bnb", resume=kept, **QUICK)


def test_more_than_were_tried_are_named_where_the_answer_is_not_the_last():
    values = pl.DataFrame({"a": [0, 0, 1, 1] * 15, "b": [0, 0, 1, 1] * 15, "c": [0, 1, 1, 1] * 15})
    selection = lacunet.select(values, range(1, 4), **QUICK)
    assert selection.label == 2
    p = selection.certainty.probabilities
    ratio = min(p[3] / p[2], 0.9)
    beyond = p[3] * ratio / (1 - ratio)
    assert selection.more == pytest.approx(beyond / (1 + beyond))
    named = f"more than 3, not tried: up to about {selection.more:.2f}"
    assert (named in answer(selection)) == (selection.more > ENOUGH)
    assert ("Try more" in " ".join(limits(selection))) == (selection.more > ENOUGH)


@pytest.mark.slow
def test_of_several_hidden_variables_the_edge_is_named(ten):
    graph = "H -> x0 x1 x2 x3; G -> x4 x5 x6 x7; H -> G"
    selection = lacunet.select(ten, [1, 2, 3], network=graph, hidden=["H", "G"], **QUICK)
    sizes = selection.best.proposal.sizes
    assert selection.at_edge == tuple(name for name in sizes if sizes[name] == 3)
    assert selection.at_least
    assert selection.more is None
    assert answer(selection).startswith(f"At least {selection.label} (")
    assert "is the largest number that was tried. Try more" in " ".join(limits(selection))


@pytest.mark.slow
def test_networks_have_no_edge_and_weights_no_more(ten):
    graphs = {"one": "x0 -> x1; x2", "two": "x0 -> x1 -> x2"}
    compared = lacunet.compare(ten, graphs, **QUICK)
    assert not compared.at_least
    assert compared.more is None
    assert "range" not in compared.to_dict()
    weighed = lacunet.select(ten, range(1, 4), prior={1: 1.0, 2: 1.0, 3: 1.0}, **QUICK)
    assert not weighed.at_least  # the weights leave no room for more


@pytest.mark.slow
def test_the_estimator_goes_further_too_and_warns(ten):
    options = {"quick": True, "n_init": 1, "n_jobs": 1, "scores": "csl-occupied"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = lacunet.LatentClassSelector(**options).fit(ten)
    assert fitted.n_classes_ >= 9
    with pytest.warns(UserWarning, match=r"5 is the largest .* Try more: n_classes=range\(1, 11\)"):
        lacunet.LatentClassSelector(range(1, 6), **options).fit(ten)
    with pytest.warns(UserWarning, match="2 is the largest number"):
        few = lacunet.LatentClassSelector(range(1, 3), prior="bnb", **options).fit(ten)
    assert str(few.selection_.named_prior) == "bnb:1,4,3"


def bnb(k: int) -> float:
    """BNB(1, 4, 3) of k − 1, worked out by hand."""
    return 1440.0 / ((k + 2) * (k + 3) * (k + 4) * (k + 5) * (k + 6))


def test_priors_with_names_are_those_of_the_formulas():
    for k in (1, 2, 3, 10, 100):
        assert math.exp(named_prior("bnb").log_weight([k])[0]) == pytest.approx(bnb(k))
        assert math.exp(named_prior("geometric:0.5").log_weight([k])[0]) == pytest.approx(0.5**k)
    assert math.exp(named_prior("bnb").log_weight([1])[0]) == pytest.approx(4 / 7)
    for text in ("bnb", "bnb:2,3.5,1.5", "geometric:0.2"):
        numbers = range(1, 20_000)
        p = np.exp(named_prior(text).log_weight(numbers))
        assert p.sum() == pytest.approx(1.0, abs=1e-5), text
    r, a, b = 2.0, 5.0, 3.0  # the mean of BNB(r, a, b) is r b / (a − 1)
    p = np.exp(NamedPrior("bnb", (r, a, b)).log_weight(range(1, 20_000)))
    assert p @ np.arange(len(p)) == pytest.approx(r * b / (a - 1.0), rel=1e-4)
    assert not named_prior("uniform").log_weight(range(1, 5)).any()


@pytest.mark.parametrize(
    "text", ["bnp", "bnb:1,4", "bnb:1,4,x", "bnb:1,-4,3", "geometric:1", "uniform:3", "geometric:"]
)
def test_other_names_are_refused(text):
    with pytest.raises(lacunet.OptionError, match="prior"):
        named_prior(text)


@pytest.mark.slow
def test_a_prior_moves_the_posterior_by_bayes_rule(ten, cut_short):
    numbers = [c.label for c in cut_short.candidates]
    for text in ("bnb", "geometric:0.4"):
        selection = lacunet.select(ten, numbers, prior=text, **QUICK)
        weights = dict(zip(numbers, np.exp(named_prior(text).log_weight(numbers)), strict=True))
        values = cut_short.certainty.values
        top = max(values.values())
        masses = {k: weights[k] * math.exp(values[k] - top) for k in numbers}
        for k, p in selection.certainty.probabilities.items():
            assert p == pytest.approx(masses[k] / sum(masses.values()))
        named = "bnb:1,4,3" if text == "bnb" else text
        assert f", prior {named}" in str(selection)
        assert selection.to_dict()["range"]["prior"] == named
    same = lacunet.select(ten, numbers, prior="uniform", **QUICK)
    assert same.certainty.probabilities == cut_short.certainty.probabilities


def test_a_prior_of_several_variables_is_a_product(ten):
    options = {"network": "H -> x0 x1 x2; G -> x3 x4 x5; H -> G", "hidden": ["H", "G"], **QUICK}
    selection = lacunet.select(ten, [1, 2], prior="geometric:0.5", **options)
    for c in selection.candidates:
        assert selection.prior[c.label] == pytest.approx(0.5 ** sum(c.proposal.sizes.values()))
    with pytest.raises(lacunet.OptionError, match="is one of numbers of classes"):
        lacunet.compare(ten, ["A[2] -> x0 x1", "A[3] -> x0 x1"], prior="bnb", **QUICK)


def test_the_probability_of_more_is_its_series():
    """Where the evidence does fall by one factor, the sum over all numbers is known."""
    ratio, last = 0.4, 6
    for named in (None, named_prior("bnb"), named_prior("geometric:0.3")):
        many = range(1, 2000)
        values = {k: -50.0 if k == 1 else k * math.log(ratio) for k in many}
        prior = np.zeros(len(many)) if named is None else named.log_weight(many)
        masses = np.exp(np.array([*values.values()]) + prior)
        tried = masses[:last] / masses[:last].sum()
        probability = probability_of_more(
            {k: values[k] for k in range(1, last + 1)},
            dict(zip(range(1, last + 1), tried.tolist(), strict=True)),
            named,
        )
        assert probability == pytest.approx(masses[last:].sum() / masses.sum())


def test_the_probability_of_more_has_no_surprises():
    flat = dict.fromkeys(range(1, 6), 0.0) | {2: 3.0}
    p = {k: math.exp(v) for k, v in flat.items()}
    p = {k: x / sum(p.values()) for k, x in p.items()}
    assert 0.0 < probability_of_more(flat, p) < 1.0  # it does not fall, but it is not a maximum
    rising = {1: -3.0, 2: -1.0, 3: 0.0}
    assert probability_of_more(rising, {1: 0.03, 2: 0.26, 3: 0.71}) == 1.0
    lost = {1: 0.0, 2: math.nan, 3: -9.0, 4: math.nan}
    assert probability_of_more(lost, {1: 1.0, 2: 0.0, 3: 1e-4, 4: 0.0}) < 1e-4
    assert probability_of_more({3: -1.0}, {3: 1.0}) == 0.0
    far = {k: -1e4 * (k - 2) ** 2 for k in (1, 2, 4, 8)}
    assert probability_of_more(far, {1: 0.0, 2: 1.0, 4: 0.0, 8: 0.0}) == 0.0
    for a, b in itertools.pairwise(
        probability_of_more({1: 0.0, 2: -x, 3: -2 * x}, {1: 0.8, 2: 0.15, 3: 0.05})
        for x in (0.5, 1.0, 2.0)
    ):
        assert a > b
