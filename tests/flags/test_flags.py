"""Every kind of flag: its sentence, that the package makes it, and that some test sees it."""

import pickle
from dataclasses import replace
from pathlib import Path

import pytest

import lacunet
from lacunet.evidence.estimate import Verdict
from lacunet.flags import Flag, Kind, Sizes
from lacunet.learn.ascent import Outcome

HERE = Path(__file__)
# What people read, whole: a sentence that changes must change here too.
SENTENCES = [
    (
        Flag(Kind.NO_MAP, detail={"alpha": 0.0416}),
        (
            "no MAP: an exponent of the prior (0.042) is below 1, so the posterior density of "
            "probabilities is infinite at 0; these parameters are where that of their logarithms "
            "is highest: (expected cases + alpha), normalised"
        ),
    ),
    (
        Flag(Kind.NOT_CONVERGED, detail={"outcome": Outcome.PAPER_STOPPED}),
        "not converged: not converged by the paper's test after 200 iterations",
    ),
    (
        Flag(
            Kind.UNSTABLE,
            detail={"finalists": 9, "reached": "only 1", "doubt": 3.14, "further": "--starts 256"},
        ),
        (
            "unstable: only 1 of 9 final starts reached the best optimum, 3.1 nats above the "
            "next; there may be a better one (try starts=256)"
        ),
    ),
    (
        Flag(Kind.MASS_ELSEWHERE, detail={"nats": 1.963, "log_lik": -291.5}),
        (
            "the mass is elsewhere: scores of the evidence belong to a broader optimum, 2 nats "
            "lower, with log p(D|θ) = -291.50"
        ),
    ),
    (
        Flag(Kind.SINGLE_START),
        "single start: nothing tells whether this optimum is the best",
    ),
    (
        Flag(Kind.FLAT_DIRECTION, detail={"share": 0.000123}),
        (
            "flat direction: along some direction of the parameters the data tell 0.0001 of what "
            "complete data would"
        ),
    ),
    (
        Flag(Kind.MISFIT, detail={"check": "repeated rows fail, p = 0.005", "advice": "Try more"}),
        "misfit: repeated rows fail, p = 0.005. Try more",
    ),
    (
        Flag(Kind.UNKNOWABLE, ("G",)),
        "unknowable: nothing that depends on G is observed in any row",
    ),
    (
        Flag(Kind.EMPTY_STATE, ("H", "low"), {"cases": 0.123}),
        "empty state: H low holds 0.12 expected cases",
    ),
    (
        Flag(Kind.EMPTY_CLASS, ("class", "{4}"), {"cases": 1e-9}),
        "empty class: class {4} holds 1e-09 expected cases",
    ),
    (
        Flag(Kind.DUPLICATE_CLASSES, ("class", "1", "2"), {"apart": 0.00456}),
        "duplicate classes: class 1 and 2 differ nowhere by more than 0.0046",
    ),
    (
        Flag(
            Kind.NARROW_CLASS,
            ("class", "2"),
            {"column": "age", "deviation": 0.123, "gap": 1.0},
        ),
        (
            "narrow: in class 2 'age' has the standard deviation 0.12, less than the rounding of "
            "its values to 1 makes by itself; repeated values make such a class look better than "
            "it is"
        ),
    ),
    (
        Flag(
            Kind.FEW_PAIRS,
            detail={
                "one": "age",
                "other": "iq",
                "pairs": 4.0,
                "fewest": 6,
                "classes": 2,
                "number": 1,
            },
        ),
        (
            "few pairs: 'age' and 'iq' are seen together in 4 cases, fewer than the 6 that 2 "
            "classes ask for; how they vary together is what the prior says (pairs like that: 1)"
        ),
    ),
    (
        Flag(
            Kind.FEW_CASES,
            detail={
                "holder": "class 3",
                "cases": 12.34,
                "column": "x",
                "columns": 30,
                "fewest": 31.0,
            },
        ),
        (
            "few cases: class 3: 12.3 expected cases for a covariance of 30 columns ('x' and "
            "others), which needs 31; in some direction it is what the prior says (try fewer "
            "classes, a covariance that classes have in common, or smaller blocks)"
        ),
    ),
    (
        Flag(Kind.TOO_MANY_PARAMETERS, detail={"parameters": 14, "rank": 13, "unit": "classes"}),
        (
            "not identifiable: there are 14 parameters, and any data of these columns could "
            "determine 13 at most; different profiles fit exactly alike, and the prior chooses "
            "among them (take fewer classes, or more columns)"
        ),
    ),
    (
        Flag(Kind.FEW_DISTINCT_ROWS, detail={"parameters": 34, "rows": 20, "unit": "states"}),
        (
            "few distinct rows: 34 parameters are not at 0 or 1, and 20 distinct rows cannot "
            "determine them all; the prior chooses among profiles that fit alike (take fewer "
            "states)"
        ),
    ),
    (
        Flag(Kind.NO_EXPECTED_CASES, ("class", "1", "3"), {"number": 5, "total": 28}),
        "boundary: 5 of 28 probabilities have no expected cases (class 1, 3)",
    ),
    (
        Flag(Kind.SEPARATED, detail={"covariate": "region = S"}),
        (
            "separated: 'region = S' tells some class with certainty, so that nothing holds its "
            "coefficient; take the MAP, where the prior does, or leave it out"
        ),
    ),
    (
        Flag(Kind.WITHOUT_END, detail={"names": "'x', 'y'"}),
        (
            "separated: the likelihood rises without end with the coefficients of 'x', 'y', so "
            "that they have no estimate; the MAP of a fit with covariates=, in one step, has a "
            "prior for them"
        ),
    ),
    (
        Flag(Kind.WITHOUT_INFORMATION, detail={"names": "'x'"}),
        "not identified: the data do not determine 'x'; they have no estimate",
    ),
    (
        Flag(Kind.SEPARATED_REPLICATES, detail={"names": "'x'"}),
        (
            "separated in replicates: the coefficients of 'x' have no end in some refits, so that "
            "they have no standard error and no interval; the MAP has one in each"
        ),
    ),
    (
        Flag(Kind.NO_MAXIMUM, detail={"names": "'x'"}),
        (
            "no maximum: the search for 'x' did not end at one, or the likelihood has none; there "
            "is no estimate (try correction= bch, or fewer classes)"
        ),
    ),
    (
        Flag(Kind.CLASS_WITHOUT_ROWS, detail={"names": "'class 3'"}),
        (
            "empty class: no row is given 'class 3', so that it has no estimate; its expected "
            "cases count for the other classes"
        ),
    ),
    (
        Flag(Kind.CLASS_WITHOUT_OUTCOME, detail={"names": "'class 3'"}),
        (
            "no cases: fewer than 2 cases of 'class 3' show the outcome, as far as the errors of "
            "assignment tell; there is no estimate"
        ),
    ),
    (
        Flag(Kind.FEW_CASES_OF_CLASS, detail={"names": "'class 3'"}),
        "few cases: no more cases of 'class 3' than coefficients; there is no estimate",
    ),
    (
        Flag(Kind.SHARE_AT_BOUNDARY, detail={"names": "'yes in class 1'"}),
        (
            "boundary: the shares of 'yes in class 1' are at 0 or 1; they have no standard error "
            "and no interval"
        ),
    ),
    (
        Flag(Kind.NO_SPREAD, detail={"names": "'class 3'"}),
        (
            "no spread: 'class 3' rests on equal values, so that its standard error would be 0; it "
            "has none"
        ),
    ),
    (
        Flag(
            Kind.NO_CLEAR_MATCH,
            detail={
                "group": "m",
                "reference": "f",
                "number": 1,
                "other": 2,
                "near": 0.104,
                "next": 0.1,
            },
        ),
        (
            "no clear match: class 1 of 'm' is 0.10 from class 1 of 'f', and 0.10 from class 2; "
            "what has one number may be two different classes"
        ),
    ),
    (
        Flag(Kind.HELD_AT_BOUNDARY, detail={"number": 10, "total": 30}),
        (
            "boundary: 10 of 30 probabilities have no cases to hold them off 0 or 1; they have no "
            "standard error, and those of the others take them as fixed"
        ),
    ),
    (
        Flag(Kind.SADDLE),
        (
            "no maximum: the information matrix has a negative direction, so these parameters are "
            "a saddle and nothing has a standard error"
        ),
    ),
    (
        Flag(Kind.NOT_IDENTIFIED, detail={"number": 6, "total": 12}),
        (
            "not identified: the data do not determine 6 of 12 probabilities (the information "
            "matrix is singular); they have no standard error"
        ),
    ),
    (
        Flag(Kind.HARDLY_IDENTIFIED, detail={"number": 3, "total": 12, "largest": 0.5}),
        (
            "hardly identified: 3 of 12 probabilities would have a standard error above 0.5, more "
            "than any probability can vary; they have none"
        ),
    ),
    (
        Flag(Kind.ANYWHERE, detail={"number": 1, "total": 12, "least": 0.001, "most": 0.999}),
        (
            "says nothing: the intervals of 1 of 12 probabilities would reach from below 0.001 to "
            "above 0.999; they have none"
        ),
    ),
    (
        Flag(Kind.REFITS_STOPPED, detail={"stopped": 2, "replicates": 50}),
        "not converged: 2 of 50 refits stopped at the step limit",
    ),
    (
        Flag(Kind.FEW_REPLICATES, detail={"replicates": 10, "tail": 2.5, "enough": 400}),
        (
            "few replicates: 10 do not reach out to the 2.5 % tails; the ends are the extremes "
            "(give 400 or more)"
        ),
    ),
    (
        Flag(Kind.MORE_STATES_FIT_WORSE, detail={"fewer": 2, "more": 3}),
        "the search for 3 states ended below 2: raise starts=",
    ),
    (
        Flag(Kind.IMPOSSIBLE_ROW),
        "impossible: at least one row has probability 0 under the model",
    ),
    (
        Flag(Kind.FAILED, detail={"reason": "Singular matrix"}),
        "not computed: Singular matrix",
    ),
    (
        Flag(Kind.IMPOSSIBLE_DATA),
        "the data are impossible under these parameters",
    ),
    (
        Flag(Kind.NOT_POSITIVE_DEFINITE, detail={"point": "φ"}),
        "A is not positive definite: φ is not a maximum",
    ),
    (
        Flag(Kind.NEARLY_SINGULAR),
        "A is nearly singular: its determinant is not to be trusted",
    ),
    (
        Flag(Kind.ON_BOUNDARY),
        "on the boundary: a probability is 0, where A is not defined",
    ),
    (
        Flag(Kind.NO_MODE, detail={"alpha": 0.5}),
        (
            "not defined: an exponent of the prior (0.5) is below 1, so the posterior density has "
            "no maximum to be a Gaussian around; laplace-phi and csl have one"
        ),
    ),
    (
        Flag(Kind.NOT_AT_MAXIMUM, detail={"gradient": 12.34}),
        "not at a maximum of the posterior: the scaled gradient is 12 cases",
    ),
    (
        Flag(Kind.WIDE_GAUSSIAN, detail={"number": 4, "total": 29}),
        (
            "the Gaussian is wider than the whole range 0 to 1 in 4 of 29 directions: the value is "
            "too high"
        ),
    ),
    (
        Flag(Kind.SKEWED, detail={"nats": 6.54}),
        (
            "the posterior of log θ is no Gaussian: complete data would have this value wrong by "
            "6.5 nats, where states have few cases and a small alpha; csl has that part exactly"
        ),
    ),
    (
        Flag(Kind.BELOW_BOUND, detail={"nats": 1.23}),
        "too low, by at least 1.2 nats: a lower bound of the evidence (vb) is above it",
    ),
    (
        Flag(Kind.ABOVE_ZERO),
        (
            "above 0, where no log probability of these data can be: an approximation that fails "
            "here"
        ),
    ),
    (
        Flag(Kind.STILL_RISING, detail={"steps": 10000}),
        "stopped after 10000 steps, still rising",
    ),
    (
        Flag(Kind.MORE_CLASSES_FIT_WORSE, detail={"fewer": 3, "more": 4}),
        "4 classes fit worse than 3: more starts would find better",
    ),
    (
        Flag(Kind.MORE_LABELLINGS),
        (
            "labellings: network and prior may have symmetries beyond those that are counted, so "
            "that the value may be too low"
        ),
    ),
    (
        Flag(Kind.ONE_VARIABLE_AT_A_TIME, detail={"number": 1234}),
        (
            "unused states: 1,234 combinations are too many to fit, so that each hidden variable "
            "is taken by itself"
        ),
    ),
    (
        Flag(Kind.FRACTIONAL_CASES, detail={"weight": 2.5}),
        "cases come one by one, so they must be whole: a row weighs 2.5",
    ),
    (
        Flag(Kind.TOO_MANY_CASES, detail={"cases": 4e9}),
        "cases come one by one, and 4e+09 are too many",
    ),
    (
        Flag(Kind.ORDERS_DIFFER, detail={"mean": -512.345, "deviation": 0.678, "orders": 256}),
        "orders of the cases differ: one pass gives -512.35 ± 0.68 nats, over 256 orders",
    ),
    (
        Flag(Kind.ONE_ORDER_COUNTS, detail={"share": 0.314}),
        "one order makes 31% of the average: too low, rather than too high",
    ),
    (
        Flag(Kind.ONE_CASE),
        "one case has no temperature: log N must be above 0",
    ),
    (
        Flag(Kind.CHAINS_DISAGREE, detail={"r_hat": 1.234}),
        (
            "the chains disagree (R̂ = 1.23): they are in different places, and neither the value "
            "nor its standard error can be trusted"
        ),
    ),
    (
        Flag(Kind.FEW_ROWS, detail={"rows": 6, "variables": 12}),
        (
            "few rows: 6 for 12 variables; most edges that there may be cannot show, and some that "
            "show are chance"
        ),
    ),
    (
        Flag(
            Kind.BETWEEN_NUMBERS,
            detail={"pairs": "'a' and 'b' (correlation 0.90)", "name": "a"},
        ),
        (
            "dependence between numbers is not modelled, and the data show it: 'a' and 'b' "
            "(correlation 0.90). No edge can join two numbers, so this graph and its evidence take "
            "them as independent given their parents. To model it, put a number into bins "
            "(bin='a=5'), or compare classes that have covariances (`select` with "
            "covariance='full')"
        ),
    ),
    (
        Flag(Kind.MANY_EDGES, detail={"edges": 367, "usual": 112}),
        (
            "many edges: 367, where the default priors give 112 on the same rows; most of the "
            "others are likely to be spurious. Leave out alpha= and graph_prior=, or see which "
            "edges are sure (edges=True)"
        ),
    ),
    (
        Flag(
            Kind.NOT_COMPLETELY_AT_RANDOM,
            detail={"column": "income", "other": "age", "p": 0.00123},
        ),
        (
            "cells are not missing completely at random: whether 'income' is missing goes with "
            "'age' (p = 0.0012). If it goes with the missing value itself, edges may be spurious "
            "or lost: compare both readings with `lacunet compare-missing`"
        ),
    ),
    (
        Flag(Kind.LOWER_BOUND),
        "lower bound only",
    ),
    (
        Flag(Kind.MISSED_MODE, detail={"value": -300.123, "stderr": 0.456}),
        "particle runs gave about -300.1: annealing missed a mode",
    ),
    (
        Flag(Kind.UNDER_LOWER_BOUND, detail={"value": -300.123}),
        "sampling missed a mode: it came out below -300.1, a lower bound of the same evidence",
    ),
    (
        Flag(Kind.OVER_UPPER_BOUND, detail={"value": -300.123}),
        "the estimate failed: it came out above -300.1, an upper bound of the same evidence",
    ),
    (
        Flag(Kind.ERROR_COVERS, detail={"value": -300.123}),
        "independent particle runs gave -300.12: the error bar covers the difference",
    ),
    (
        Flag(Kind.OUT_OF_TIME),
        "the time did not suffice for every place with mass: raise the budget",
    ),
    (
        Flag(Kind.STARTS_DISAGREE),
        "chains from different starts lead to different places: raise the budget",
    ),
    (
        Flag(Kind.SEEN_ONCE, detail={"share": 0.4}),
        (
            "40% of it lies where only one of several searches went: there may be more that none "
            "found"
        ),
    ),
    (
        Flag(Kind.WEIGHTS_ROUNDED, detail={"roundings": 6, "cases": 412.34}),
        (
            "weights are not whole numbers (412.3 cases in all): measured on 6 roundings to whole "
            "cases, and brought to the weights by the variational bound"
        ),
    ),
    (
        Flag(Kind.FEW_CHAINS, detail={"share": 0.25}),
        "25% of it rests on a few chains, which may hide more: the states are weakly identified",
    ),
    (
        Flag(Kind.CHAINS_STAY, detail={"share": 0.25}),
        (
            "only 25% of the chains came to some number of used classes: how likely it is cannot "
            "be told"
        ),
    ),
    (
        Flag(Kind.LEVEL_NOT_MEASURED, detail={"score": "CSL"}),
        ("its level is that of CSL: differences between candidates are measured, the level is not"),
    ),
    (
        Flag(Kind.ROWS_AS_INDEPENDENT, detail={"units": 1200, "people": 24000.0, "what": "units"}),
        (
            "1,200 units were drawn, and evidence, probabilities of models and likelihood-ratio "
            "tests count 24,000 independent rows: if rows of a unit have more in common than "
            "their classes, too many classes or edges look probable (standard errors and "
            "intervals do account for the design)"
        ),
    ),
    (
        Flag(Kind.NOT_CALIBRATED),
        "this certainty is not calibrated: scores are surer than they should be",
    ),
    (
        Flag(Kind.TOO_LARGE, detail={"work": 8.64e11, "most": 2e10}),
        (
            "not sampled, for that would touch 9e+11 numbers, and no more than 2e+10 are without "
            "being asked (evidence=True asks)"
        ),
    ),
    (
        Flag(Kind.NOT_MEASURED, detail={"candidates": "2 classes"}),
        "the evidence of 2 classes could not be measured: its score stands in",
    ),
    (
        Flag(Kind.UNSTABLE_SEARCHES, detail={"candidates": "4, 5 states"}),
        (
            "the searches for 4, 5 states are unstable: there may be better optima, and the "
            "probabilities may be quite different"
        ),
    ),
    (
        Flag(Kind.BOUNDS_ONLY, detail={"candidates": "net.bif"}),
        ("the evidence of net.bif is a lower bound only: more probable than it seems, perhaps"),
    ),
]


@pytest.mark.parametrize(("flag", "sentence"), SENTENCES, ids=lambda x: getattr(x, "kind", None))
def test_sentences(flag, sentence):
    assert str(flag) == f"{flag}" == sentence
    assert repr(flag) == f"<{flag.kind.name}: {sentence}>"
    assert str(replace(flag, fits=Sizes((2, 3), "classes"))) == f"2, 3 classes: {sentence}"
    copy = pickle.loads(pickle.dumps(flag))
    assert copy == flag
    assert hash(copy) == hash(flag)


def test_every_kind_has_a_sentence_above():
    assert [flag.kind for flag, _ in SENTENCES] == list(Kind)


def test_detail_tells_flags_apart():
    one, other = (Flag(Kind.EMPTY_CLASS, ("class", "1"), {"cases": x}) for x in (0.1, 0.2))
    assert one != other
    assert len({one, other, replace(one)}) == 2


def test_a_verdict_and_its_flag_say_the_same():
    assert str(Flag(Kind.LOWER_BOUND)) == Verdict.LOWER_BOUND


def words_of(paths):
    return "\n".join(path.read_text("utf-8") for path in paths)


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_is_made_and_seen(kind):
    package = Path(lacunet.__file__).parent
    makers = [p for p in package.rglob("*.py") if p.name not in ("flags.py", "advice.py")]
    assert f"{kind}," in (made := words_of(makers)) or f"{kind})" in made
    assert str(kind) in words_of(p for p in HERE.parents[1].rglob("test_*.py") if p != HERE)
