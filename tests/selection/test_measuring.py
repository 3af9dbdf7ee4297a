"""What `select` measures by default, and what it says where it does not."""

import math
from dataclasses import replace

import numpy as np
import pytest

import lacunet
from lacunet import api
from lacunet.data.table import Column, Table
from lacunet.errors import OptionError
from lacunet.evidence.annealing import Goal
from lacunet.evidence.estimate import Verdict
from lacunet.evidence.exact import exact_evidence
from lacunet.evidence.partitions.walk import Walk
from lacunet.flags import Flag, Kind
from lacunet.models.surgery import sample_codes
from lacunet.selection import joint_evidence, measuring
from lacunet.selection.average import posterior
from lacunet.selection.certainty import CertaintyBasis, widened
from lacunet.tabular import chance

FEW = {"starts": 8, "threads": 1}


@pytest.fixture(scope="module")
def small():
    """Few enough cases for exact sums, and no clear answer."""
    rows = np.random.default_rng(3).integers(0, 2, (14, 3))
    rows[:7, 1:] = rows[:7, :1]  # in the first half all three agree
    return Table.from_codes(rows)


@pytest.fixture(scope="module")
def measured(small):
    return lacunet.select(small, [1, 2, 3], alpha=1.0, **FEW)


def truth(selection):
    return {c.label: exact_evidence(c.problem).value for c in selection.candidates}


def test_the_default_agrees_with_exact_sums(measured):
    certainty, exact = measured.certainty, truth(measured)
    assert certainty.basis is CertaintyBasis.MEASURED
    assert certainty.reliable
    expected = posterior(exact)
    for k, p in certainty.probabilities.items():
        assert abs(p - expected[k]) < 4 * certainty.stderr[k] + 1e-3
        assert certainty.stderr[k] < 0.05
    factor = measured.bayes_factor(2, 1)
    assert abs(factor.log - (exact[2] - exact[1])) < 4 * factor.stderr + 1e-3


def test_text_table_and_document_agree_on_the_probability(measured):
    """The sentence, the table, the document and the choice."""
    certainty = measured.certainty
    k = certainty.choice
    assert measured.label == measured.states == measured.chosen["evidence"] == k
    assert measured.headline == "evidence"
    assert measured.posterior() == certainty.probabilities
    first = str(measured).splitlines()[0]
    shown = chance(certainty.probabilities[k], certainty.stderr[k])
    assert "±" in shown
    assert first.startswith(f"At least {k} classes ({k} is the most that was tried")
    assert f"; among 1 to 3, {k}: {shown}; " in first
    assert first.endswith("), measured.")
    document = measured.to_dict()
    assert document["certainty"]["probabilities"] == certainty.probabilities
    assert document["certainty"]["stderr"] == certainty.stderr
    assert document["posterior"]["evidence"] == certainty.probabilities


def test_a_prior_weighs_what_is_measured(small, measured):
    prior = {1: 1.0, 2: 3.0, 3: 0.0}
    weighed = lacunet.select(small, [1, 2, 3], alpha=1.0, prior=prior, **FEW)
    assert weighed.certainty.basis is CertaintyBasis.MEASURED
    assert weighed.posterior()[3] == 0.0
    shown = chance(weighed.posterior()[2], weighed.certainty.stderr[2])
    first = str(weighed).splitlines()[0]
    assert first.startswith(f"2 classes (probability {shown} that 2 is right, among 1 to 3; ")
    odds, factor = weighed.odds(2, 1), weighed.bayes_factor(2, 1)
    assert odds.log == pytest.approx(factor.log + math.log(3))
    error = math.hypot(factor.stderr, measured.bayes_factor(2, 1).stderr)
    assert factor.log == pytest.approx(measured.bayes_factor(2, 1).log, abs=4 * error + 1e-3)


def test_threads_change_nothing(small, measured):
    other = lacunet.select(small, [1, 2, 3], alpha=1.0, starts=8, threads=3)
    assert other.certainty.probabilities == measured.certainty.probabilities
    assert other.certainty.stderr == measured.certainty.stderr


def test_quick_is_reported(small):
    selection = lacunet.select(small, [1, 2, 3], quick=True, **FEW)
    assert selection.certainty.basis is CertaintyBasis.QUICK
    assert selection.certainty.notes[0] == Flag(Kind.NOT_CALIBRATED)
    assert selection.headline == "csl-occupied"
    first, *others = str(selection).split("\n\n")[0].splitlines()
    assert first.endswith("), approximated, not calibrated.")
    assert "±" not in first
    assert "Not calibrated" in "".join(others)
    with pytest.raises(OptionError, match="one of the two"):
        lacunet.Settings(quick=True, evidence=True)


def test_a_walk_that_measures_differences_only(small):
    """Values then stand beside the score with the smallest error; common errors cancel."""
    selection = lacunet.select(small, [1, 2, 3], quick=True, **FEW)
    rng = np.random.default_rng(1)
    common, noise = rng.normal(size=(16, 1)), 0.1 * rng.normal(size=(16, 2))
    values = np.array([-7.0, -8.5])
    both, replicates = frozenset({2, 3}), values + (common + noise) / 15
    walk = Walk(
        (2, 3),
        values,
        replicates,
        both,
        anchored_by_bridge=False,
        verdict=Verdict.RELIABLE,
        used={},
    )
    recorded = joint_evidence.record_walk(walk, selection)
    scores = joint_evidence.guesses(selection)
    assert recorded.values("evidence")[2] == pytest.approx(scores[2])
    assert recorded.values("evidence")[3] == pytest.approx(scores[2] - 1.5)
    assert math.isnan(recorded.values("evidence")[1])
    assert recorded.certainty.values[1] == scores[1]
    factor = recorded.bayes_factor(2, 3)
    assert factor.log == pytest.approx(1.5)
    apart = noise[:, 0] - noise[:, 1]
    assert factor.stderr == pytest.approx(apart.std(ddof=1) / math.sqrt(16), rel=1e-9)
    (level,) = recorded.candidates[1].scores["evidence"].flags
    assert level.kind is Kind.LEVEL_NOT_MEASURED
    assert recorded.candidates[2].scores["evidence"].flags == ()


def test_numbers_that_a_walk_only_surveyed_have_a_rough_error(small):
    selection = lacunet.select(small, [1, 2, 3], quick=True, **FEW)
    values = np.array([joint_evidence.guesses(selection)[1], -40.0, -8.5])
    replicates = values + 0.01 * np.random.default_rng(1).normal(size=(16, 3))
    some = frozenset({1, 3})
    walk = Walk(
        (1, 2, 3),
        values,
        replicates,
        some,
        anchored_by_bridge=True,
        verdict=Verdict.RELIABLE,
        used={},
    )
    recorded = joint_evidence.record_walk(walk, selection)
    assert recorded.certainty.values == dict(zip((1, 2, 3), values, strict=True))
    assert recorded.certainty.measured == some
    assert recorded.bayes_factor(1, 3).stderr > 0
    far = abs(-40.0 - joint_evidence.guesses(selection)[2])
    assert recorded.bayes_factor(1, 2).stderr == pytest.approx(
        max(joint_evidence.SURVEYED, far), rel=0.01
    )
    assert math.isnan(recorded.values("evidence")[2])


def test_large_data_are_not_sampled(small, monkeypatch):
    monkeypatch.setattr(measuring, "MOST_WALKED", 1e3)
    selection = lacunet.select(small, [1, 2, 3], **FEW)
    assert selection.certainty.basis is CertaintyBasis.APPROXIMATED
    assert selection.certainty.notes[0].kind is Kind.TOO_LARGE
    assert "approximated, not measured" in str(selection).splitlines()[0]


@pytest.mark.slow
def test_weights_that_are_no_numbers_of_cases(small):
    weights = np.full(len(small.codes), 1.5)
    table = Table.from_codes(small.codes, small.columns, counts=weights)
    selection = lacunet.select(table, [1, 2], **FEW)
    assert selection.certainty.basis is CertaintyBasis.MEASURED
    assert selection.certainty.reliable
    note = selection.certainty.notes[0]
    assert note.kind is Kind.WEIGHTS_ROUNDED
    assert note.detail == {"roundings": 6, "cases": weights.sum()}


def test_complete_data_are_not_sampled():
    table = Table.from_codes(np.random.default_rng(0).integers(0, 2, (40, 2)))
    a, b = table.columns
    edge = lacunet.Network.build([lacunet.Variable(c.name, c.states) for c in (a, b)], [(), (0,)])
    none = lacunet.Network.build(edge.variables, [(), ()])
    for scores in ("usual", "bic"):
        comparison = api.compare(table, {"edge": edge, "none": none}, scores=scores, **FEW)
        assert comparison.certainty.basis is CertaintyBasis.EXACT
        factor = comparison.bayes_factor("edge", "none")
        exact = truth(comparison)
        assert factor.log == pytest.approx(exact["edge"] - exact["none"])
        assert factor.stderr == 0.0
        assert str(comparison).splitlines()[0].endswith("), exact.")


def test_other_networks_are_measured_one_by_one(small):
    """A prior that depends on the number of classes: no walk, the same truth."""
    selection = lacunet.select(small, [1, 2], alpha="bdeu:24", **FEW)
    assert selection.certainty.basis is CertaintyBasis.EXACT  # the sums are short
    assert selection.posterior() == pytest.approx(posterior(truth(selection)))
    assert all(c.measured is not None for c in selection.candidates)


def test_a_bound_is_no_measurement(small, monkeypatch):
    whole = measuring.measure

    def poor(problem, **basis):
        selection = whole(problem, **basis)
        return replace(selection, verdict=Verdict.LOWER_BOUND, stderr=0.4)

    monkeypatch.setattr(measuring, "measure", poor)
    selection = lacunet.select(small, [1, 2], evidence=True, **FEW)
    assert not selection.certainty.reliable
    assert [note.kind for note in selection.certainty.notes] == [Kind.BOUNDS_ONLY]
    first = str(selection).splitlines()[0]
    assert first.endswith(f"), {CertaintyBasis.UNRELIABLE}.")
    assert "±" not in first
    assert max(selection.posterior().values()) <= 0.9
    assert "1, 2 classes is a lower bound only" in str(selection).split("\n\n")[0]


def test_a_walk_that_did_not_settle_is_taken_together_with_the_score(small):
    """However sure chains are that do not agree: the answer is not."""
    selection = lacunet.select(small, [1, 2, 3], quick=True, **FEW)
    scores = joint_evidence.guesses(selection)
    values = np.array([scores[2] - 40.0, scores[3] + 12.0])  # the score says otherwise
    replicates = values + 0.01 * np.random.default_rng(1).normal(size=(16, 2))
    notes = (Flag(Kind.CHAINS_DISAGREE, detail={"r_hat": 2.0}),)
    bound = Verdict.LOWER_BOUND
    walk = Walk((2, 3), values, replicates, frozenset({2, 3}), True, bound, {}, notes=notes)
    certainty = joint_evidence.record_walk(walk, selection).certainty
    assert certainty.basis is CertaintyBasis.UNRELIABLE
    assert not certainty.reliable
    assert certainty.probabilities[certainty.choice] == max(certainty.probabilities.values()) <= 0.9
    assert sum(certainty.probabilities.values()) == pytest.approx(1.0)
    assert values[0] < certainty.values[2] < scores[2]
    assert scores[3] < certainty.values[3] < values[1]
    assert (
        certainty.unconverged[2] > certainty.unconverged[3] > 1.0
    )  # where they contradict each other more
    assert certainty.notes == notes
    text = str(joint_evidence.record_walk(walk, selection))
    assert str(CertaintyBasis.UNRELIABLE) in text.splitlines()[0]
    assert "p(k): posterior by measured evidence and CSL, occupancy, widened, among" in text


def test_doubt_widens_the_posterior_and_respects_the_prior():
    values, doubts = {1: -10.0, 2: -12.0, 3: -40.0}, {1: 2.0, 2: 2.0}
    sure, wide = posterior(values), widened(values, doubts, None)
    assert sure[1] > wide[1] > wide[2] > sure[2]
    by_hand = np.random.default_rng(5).normal([-10.0, -12.0], 2.0, (200_000, 2))
    odds = 1.0 / (1.0 + np.exp(by_hand[:, 1] - by_hand[:, 0]))
    assert wide[1] == pytest.approx(0.8 * odds.mean() + 0.1, abs=0.01)
    assert wide[3] < 1e-9  # it is far behind without doubt
    assert widened(values, {**doubts, 3: 1.0}, None)[3] < 1e-9
    never = widened(values, doubts, {1: 1.0, 2: 0.0, 3: 1.0})
    assert never[2] == 0.0
    assert sum(never.values()) == pytest.approx(1.0)
    nothing = widened({1: math.nan, 2: math.nan}, doubts, None)
    assert all(map(math.isnan, nothing.values()))


def test_unstable_searches_are_named(small, monkeypatch):
    monkeypatch.setattr(measuring, "MOST_WALKED", 1e3)
    selection = lacunet.select(small, [2, 3], **FEW)
    two, three = (
        replace(c, fit=replace(c.fit, largest_mass=replace(c.fit.for_scores, reached=n)))
        for c, n in zip(selection.candidates, (2, 1), strict=True)
    )
    selection = replace(selection, candidates=(two, three))
    noted = measuring.quick(selection).certainty.notes
    assert noted[-1].kind is Kind.UNSTABLE_SEARCHES
    assert noted[-1].detail["candidates"] == "3 classes"


def test_one_candidate_needs_no_measuring(small):
    selection = lacunet.select(small, 2, **FEW)
    assert str(selection).startswith("2 classes (the only candidate).")
    assert selection.candidates[0].measured is None


@pytest.mark.slow
def test_candidates_far_behind_keep_their_score():
    survey = lacunet.load_dataset("survey")
    selection = lacunet.select(survey, [1, 2, 3], quick=True, **FEW)
    assert joint_evidence.may_matter(selection) == [3]
    assert (
        measuring.measure_posterior(selection, goal=Goal()).certainty.basis is CertaintyBasis.CLEAR
    )
    hopeless = lacunet.select(survey, [1, 2, 3], quick=True, prior={1: 1, 2: 1, 3: 0}, **FEW)
    assert joint_evidence.may_matter(hopeless) == [2]
    by_bic = lacunet.select(survey, [1, 2, 3], quick=True, scores="bic", **FEW)
    assert joint_evidence.may_matter(by_bic) == [1, 2, 3]  # BIC screens no candidate


@pytest.mark.slow
@pytest.mark.long
def test_the_default_is_calibrated_on_data_from_the_prior():
    """As good as evidence measured for every number of classes, and better than scores."""
    numbers, by_default, by_evidence, by_scores = range(1, 5), [], [], []
    for n in range(8):
        k = 1 + n % 4
        model = api.random_model(k, 6, alpha=1.0, seed=n)
        codes = sample_codes(model, 60, np.random.default_rng(n))
        table = Table.from_codes(codes, [Column(f"x{i}", (0, 1)) for i in range(6)])
        basis = {"alpha": 1.0, "seed": n, **FEW}
        selection = lacunet.select(table, numbers, **basis)
        by_default.append(math.log(selection.posterior()[k]))
        by_scores.append(math.log(measuring.quick(selection).posterior()[k]))
        each = {j: lacunet.log_evidence(table, j, alpha=1.0, target=0.3, seed=n) for j in numbers}
        by_evidence.append(math.log(posterior({j: m.value for j, m in each.items()})[k]))
    assert np.mean(by_default) == pytest.approx(np.mean(by_evidence), abs=0.05)
    assert np.mean(by_default) > np.mean(by_scores)
