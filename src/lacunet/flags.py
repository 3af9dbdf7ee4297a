"""Flags of a result: warnings as sentences, with their values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, unique

from lacunet.wording import worded


@unique
class Kind(Enum):
    """Every flag, as the format string of its sentence."""

    # Fits
    NO_MAP = (
        "no MAP: an exponent of the prior ({alpha:.2g}) is below 1, so the posterior density of "
        "probabilities is infinite at 0; these parameters are where that of their logarithms is "
        "highest: (expected cases + alpha), normalised"
    )
    NOT_CONVERGED = "not converged: {outcome}"
    UNSTABLE = (
        "unstable: {reached} of {finalists} final starts reached the best optimum, {margin:.2g} "
        "nats above the next; there may be a better one (try {further})"
    )
    MASS_ELSEWHERE = (
        "the mass is elsewhere: scores of the evidence belong to a broader optimum, {nats:.2g} "
        "nats lower, with log p(D|θ) = {log_lik:.2f}"
    )
    SINGLE_START = "single start: a better optimum may exist"
    FLAT_DIRECTION = (
        "flat direction: in one direction of the parameters the data have {share:.1g} of the "
        "information of complete data"
    )
    MISFIT = "misfit: {check}. {advice}"
    UNKNOWABLE = "not identified: no observed value depends on {variable}"
    EMPTY_STATE = "empty state: {variable} {states} holds {cases:.2g} expected cases"
    EMPTY_CLASS = "empty class: {variable} {states} holds {cases:.2g} expected cases"
    DUPLICATE_CLASSES = (
        "duplicate classes: {variable} {where[1]} and {where[2]} differ by at most {apart:.2g}"
    )
    NARROW_CLASS = (
        "narrow: in {variable} {states} '{column}' has the standard deviation {deviation:.2g}, "
        "less than rounding to {gap:.2g} alone produces; repeated values inflate the likelihood "
        "of such a class"
    )
    FEW_PAIRS = (
        "few pairs: '{one}' and '{other}' are observed together in {pairs:g} cases, and "
        "{classes:g} classes need {fewest:g}; the prior determines their covariance (number of "
        "such pairs: {number:g})"
    )
    FEW_CASES = (
        "few cases: {holder}: {cases:.3g} expected cases for a covariance of {columns:g} columns "
        "('{column}' and others), which needs {fewest:g}; in some direction the prior determines "
        "it (try fewer classes, a common covariance, or smaller blocks)"
    )
    TOO_MANY_PARAMETERS = (
        "not identifiable: there are {parameters} parameters, and data of these columns determine "
        "at most {rank}; different profiles fit equally well, and the prior chooses among them "
        "(use fewer {unit}, or more columns)"
    )
    FEW_DISTINCT_ROWS = (
        "few distinct rows: {parameters} parameters are not at 0 or 1, and {rows} distinct rows "
        "cannot determine them all; the prior chooses among profiles that fit equally well (use "
        "fewer {unit})"
    )
    NO_EXPECTED_CASES = (
        "boundary: {number} of {total} probabilities have no expected cases ({variable} {states})"
    )
    SEPARATED = (
        "separated: '{covariate}' predicts some class with certainty, so its coefficient is "
        "unbounded; use the MAP, whose prior bounds it, or leave it out"
    )
    # Covariates and distal outcomes of classes, and their tests
    WITHOUT_END = (
        "separated: the likelihood is unbounded in the coefficients of {names}, so they have no "
        "estimate; a one-step fit with --covariates uses the MAP, which has a prior for them"
    )
    WITHOUT_INFORMATION = "not identified: the data do not determine {names}; they have no estimate"
    SEPARATED_REPLICATES = (
        "separated in replicates: the coefficients of {names} are unbounded in some refits, so "
        "they have no standard error and no interval; the MAP is finite in each"
    )
    NO_MAXIMUM = (
        "no maximum: the search for {names} did not reach a maximum, or the likelihood has none, "
        "so there is no estimate (try --correction bch, or fewer classes)"
    )
    CLASS_WITHOUT_ROWS = (
        "empty class: no row is assigned to {names}, so it has no estimate; its expected cases "
        "count for the other classes"
    )
    CLASS_WITHOUT_OUTCOME = (
        "no cases: fewer than 2 cases of {names} show the outcome, corrected for classification "
        "error; there is no estimate"
    )
    FEW_CASES_OF_CLASS = (
        "few cases: no more cases of {names} than coefficients; there is no estimate"
    )
    SHARE_AT_BOUNDARY = (
        "boundary: the shares of {names} are at 0 or 1; they have no standard error and no interval"
    )
    NO_SPREAD = (
        "no spread: {names} is estimated from equal values; its standard error would be 0, so it "
        "has none"
    )
    # Groups
    NO_CLEAR_MATCH = (
        "no clear match: class {number} of '{group}' is {near:.2f} from class {number} of "
        "'{reference}', and {next:.2f} from class {other}; classes with the same number may differ"
    )
    # Intervals
    HELD_AT_BOUNDARY = (
        "boundary: {number} of {total} probabilities are at 0 or 1 without cases; they have no "
        "standard error, and the others take them as fixed"
    )
    SADDLE = (
        "no maximum: the information matrix has a negative direction, so these parameters are a "
        "saddle point and have no standard errors"
    )
    NOT_IDENTIFIED = (
        "not identified: the data do not determine {number} of {total} probabilities (the "
        "information matrix is singular); they have no standard error"
    )
    HARDLY_IDENTIFIED = (
        "hardly identified: {number} of {total} probabilities would have a standard error above "
        "{largest:g}, the largest possible for a probability; they have none"
    )
    ANYWHERE = (
        "uninformative: the intervals of {number} of {total} probabilities would reach from below "
        "{least:g} to above {most:g}; they have none"
    )
    REFITS_STOPPED = "not converged: {stopped} of {replicates} refits stopped at the step limit"
    FEW_REPLICATES = (
        "few replicates: {replicates} are too few for the {tail:g} % tails; the ends are the "
        "extremes (give {enough} or more)"
    )
    # The bootstrap test
    MORE_STATES_FIT_WORSE = "the search for {more} states ended below {fewer}: raise --starts"
    # Scores
    IMPOSSIBLE_ROW = "impossible: at least one row has probability 0 under the model"
    FAILED = "not computed: {reason}"
    IMPOSSIBLE_DATA = "the data are impossible under these parameters"
    NOT_POSITIVE_DEFINITE = "A is not positive definite: {point} is not a maximum"
    NEARLY_SINGULAR = "A is nearly singular: its determinant is unreliable"
    ON_BOUNDARY = "on the boundary: a probability is 0, where A is not defined"
    NO_MODE = (
        "not defined: an exponent of the prior ({alpha:.2g}) is below 1, so the posterior density "
        "has no mode for a Gaussian approximation; csl has one"
    )
    NOT_AT_MAXIMUM = (
        "not at a maximum of the posterior: the scaled gradient is {gradient:.2g} cases"
    )
    WIDE_GAUSSIAN = (
        "the Gaussian is wider than the whole range 0 to 1 in {number} of {total} directions: the "
        "value is too high"
    )
    BELOW_BOUND = (
        "too low, by at least {nats:.1f} nats: a lower bound of the evidence (vb) is above it"
    )
    ABOVE_ZERO = "above 0, which is impossible for a log probability: the approximation fails here"
    STILL_RISING = "not converged after {steps} steps"
    MORE_LABELLINGS = (
        "labellings: network and prior may have more symmetries than are counted, so the value "
        "may be too low"
    )
    ONE_VARIABLE_AT_A_TIME = (
        "unused states: {number:,} combinations are too many to fit, so each hidden variable is "
        "treated separately"
    )
    CHAINS_DISAGREE = (
        "the chains disagree (R̂ = {r_hat:.2f}): they sample different regions, so the value and "
        "its standard error are unreliable"
    )
    # Learned graphs
    FEW_ROWS = (
        "few rows: {rows} for {variables} variables; most true edges may be missed, and some "
        "learned edges may be chance"
    )
    BETWEEN_NUMBERS = (
        "dependence between numbers is not modelled, and the data show it: {pairs}. No edge can "
        "join two numbers: they are independent given their parents. To model the dependence, put "
        "a number into bins (--bin {name}=5), or compare classes that "
        "have covariances (`select` with --covariance full)"
    )
    MANY_EDGES = (
        "many edges: {edges}, where the default priors give {usual} on the same rows; most of the "
        "others are probably spurious. Leave out --alpha and --graph-prior, or compute edge "
        "probabilities (--edges)"
    )
    NOT_COMPLETELY_AT_RANDOM = (
        "cells are not missing completely at random: missingness of '{column}' is associated with "
        "'{other}' (p = {p:.2g}). If it also depends on the missing value, edges may be spurious "
        "or lost: compare both models with `lacunet compare-missing`"
    )
    # Sampled evidence
    LOWER_BOUND = "lower bound only"
    MISSED_MODE = "particle runs gave about {value:.1f}: annealing missed a mode"
    UNDER_LOWER_BOUND = (
        "sampling missed a mode: the estimate is below {value:.1f}, a lower bound of the same "
        "evidence"
    )
    OVER_UPPER_BOUND = (
        "the estimate failed: it is above {value:.1f}, an upper bound of the same evidence"
    )
    ERROR_COVERS = "independent particle runs gave {value:.2f}: the error bar covers the difference"
    OUT_OF_TIME = "the time was too short for every mode: raise the budget"
    STARTS_DISAGREE = "chains from different starts reach different modes: raise the budget"
    SEEN_ONCE = (
        "{share:.0%} of it is at modes that only one search reached: more modes may be missing"
    )
    WEIGHTS_ROUNDED = (
        "weights are not whole numbers ({cases:.4g} cases in all): measured on {roundings} "
        "roundings to whole cases, and corrected by the variational bound"
    )
    FEW_CHAINS = (
        "{share:.0%} of it comes from a few chains, so the error may be underestimated: the "
        "states are weakly identified"
    )
    CHAINS_STAY = (
        "only {share:.0%} of the chains reached some number of used classes: its probability is "
        "unknown"
    )
    LEVEL_NOT_MEASURED = (
        "its level is that of {score}: only differences between candidates are measured"
    )
    # The posterior over candidates, and tests
    ROWS_AS_INDEPENDENT = (
        "{units:,} {what} were drawn, and evidence, probabilities of models and likelihood-ratio "
        "tests count {people:,.6g} independent rows: if rows of a unit are dependent given their "
        "class, too many classes or edges look probable (standard errors and intervals do account "
        "for the design)"
    )
    NOT_CALIBRATED = "not calibrated: scores are overconfident"
    TOO_LARGE = (
        "not sampled, because that needs {work:.1g} memory accesses, and the limit is {most:.1g} "
        "(--evidence removes it)"
    )
    NOT_MEASURED = "the evidence of {candidates} could not be measured: its score is used instead"
    UNSTABLE_SEARCHES = (
        "the searches for {candidates} are unstable: better optima may exist, and the "
        "probabilities may change"
    )
    BOUNDS_ONLY = "the evidence of {candidates} is a lower bound only: it may be more probable"


@dataclass(frozen=True)
class Sizes:
    """The fits that a flag concerns, if a result combines several."""

    numbers: tuple[int | str, ...]  # of classes or states; "2×3" of several variables
    unit: str  # "classes" or "states"

    def __str__(self) -> str:
        return f"{', '.join(_runs(self.numbers))} {self.unit}"


def _runs(numbers: Sequence[int | str]) -> list[str]:
    """Write numbers; four or more consecutive ones become a range.

    >>> _runs([1, 3, 4, 5, 6, 9, 10]), _runs(["2×3"])
    (['1', '3 to 6', '9', '10'], ['2×3'])
    """
    runs: list[list[int | str]] = []
    for n in numbers:
        follows = bool(runs) and isinstance(n, int) and runs[-1][-1] == n - 1
        runs[-1].append(n) if follows else runs.append([n])
    short = ([f"{r[0]} to {r[-1]}"] if len(r) > 3 else map(str, r) for r in runs)
    return [text for texts in short for text in texts]


@dataclass(frozen=True, repr=False)
class Flag:
    """A caveat about a result; `str` gives its sentence."""

    kind: Kind
    where: tuple[str, ...] = ()  # a hidden variable and the states concerned
    detail: Mapping[str, str | float] = field(default_factory=dict, hash=False)  # by name
    fits: Sizes | None = None  # None: the fit of the result

    def __str__(self) -> str:
        variable, *states = self.where or ("",)
        sentence = self.kind.value.format(
            variable=variable, states=", ".join(states), where=self.where, **self.detail
        )
        return worded(sentence if self.fits is None else f"{self.fits}: {sentence}")

    def __repr__(self) -> str:
        return f"<{self.kind.name}: {self}>"
