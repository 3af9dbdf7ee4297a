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
        "unstable: {reached} of {finalists} final starts reached the best optimum, {doubt:.2g} "
        "nats above the next; there may be a better one (try {further})"
    )
    MASS_ELSEWHERE = (
        "the mass is elsewhere: scores of the evidence belong to a broader optimum, {nats:.2g} "
        "nats lower, with log p(D|θ) = {log_lik:.2f}"
    )
    SINGLE_START = "single start: nothing tells whether this optimum is the best"
    FLAT_DIRECTION = (
        "flat direction: along some direction of the parameters the data tell {share:.1g} of what "
        "complete data would"
    )
    MISFIT = "misfit: {check}. {advice}"
    UNKNOWABLE = "unknowable: nothing that depends on {variable} is observed in any row"
    EMPTY_STATE = "empty state: {variable} {states} holds {cases:.2g} expected cases"
    EMPTY_CLASS = "empty class: {variable} {states} holds {cases:.2g} expected cases"
    DUPLICATE_CLASSES = (
        "duplicate classes: {variable} {where[1]} and {where[2]} differ nowhere by more than "
        "{apart:.2g}"
    )
    NARROW_CLASS = (
        "narrow: in {variable} {states} '{column}' has the standard deviation {deviation:.2g}, "
        "less than the rounding of its values to {gap:.2g} makes by itself; repeated values make "
        "such a class look better than it is"
    )
    FEW_PAIRS = (
        "few pairs: '{one}' and '{other}' are seen together in {pairs:g} cases, fewer than the "
        "{fewest:g} that {classes:g} classes ask for; how they vary together is what the prior "
        "says (pairs like that: {number:g})"
    )
    FEW_CASES = (
        "few cases: {holder}: {cases:.3g} expected cases for a covariance of {columns:g} columns "
        "('{column}' and others), which needs {fewest:g}; in some direction it is what the prior "
        "says (try fewer classes, a covariance that classes have in common, or smaller blocks)"
    )
    TOO_MANY_PARAMETERS = (
        "not identifiable: there are {parameters} parameters, and any data of these columns could "
        "determine {rank} at most; different profiles fit exactly alike, and the prior chooses "
        "among them (take fewer {unit}, or more columns)"
    )
    FEW_DISTINCT_ROWS = (
        "few distinct rows: {parameters} parameters are not at 0 or 1, and {rows} distinct rows "
        "cannot determine them all; the prior chooses among profiles that fit alike (take fewer "
        "{unit})"
    )
    NO_EXPECTED_CASES = (
        "boundary: {number} of {total} probabilities have no expected cases ({variable} {states})"
    )
    SEPARATED = (
        "separated: '{covariate}' tells some class with certainty, so that nothing holds its "
        "coefficient; take the MAP, where the prior does, or leave it out"
    )
    # Covariates and distal outcomes of classes, and their tests
    WITHOUT_END = (
        "separated: the likelihood rises without end with the coefficients of {names}, so that "
        "they have no estimate; the MAP of a fit with --covariates, in one step, has a prior for "
        "them"
    )
    WITHOUT_INFORMATION = "not identified: the data do not determine {names}; they have no estimate"
    SEPARATED_REPLICATES = (
        "separated in replicates: the coefficients of {names} have no end in some refits, so that "
        "they have no standard error and no interval; the MAP has one in each"
    )
    NO_MAXIMUM = (
        "no maximum: the search for {names} did not end at one, or the likelihood has none; there "
        "is no estimate (try --correction bch, or fewer classes)"
    )
    CLASS_WITHOUT_ROWS = (
        "empty class: no row is given {names}, so that it has no estimate; its expected cases "
        "count for the other classes"
    )
    CLASS_WITHOUT_OUTCOME = (
        "no cases: fewer than 2 cases of {names} show the outcome, as far as the errors of "
        "assignment tell; there is no estimate"
    )
    FEW_CASES_OF_CLASS = (
        "few cases: no more cases of {names} than coefficients; there is no estimate"
    )
    SHARE_AT_BOUNDARY = (
        "boundary: the shares of {names} are at 0 or 1; they have no standard error and no interval"
    )
    NO_SPREAD = (
        "no spread: {names} rests on equal values, so that its standard error would be 0; it has "
        "none"
    )
    # Groups
    NO_CLEAR_MATCH = (
        "no clear match: class {number} of '{group}' is {near:.2f} from class {number} of "
        "'{reference}', and {next:.2f} from class {other}; what has one number may be two "
        "different classes"
    )
    # Intervals
    HELD_AT_BOUNDARY = (
        "boundary: {number} of {total} probabilities have no cases to hold them off 0 or 1; they "
        "have no standard error, and those of the others take them as fixed"
    )
    SADDLE = (
        "no maximum: the information matrix has a negative direction, so these parameters are a "
        "saddle and nothing has a standard error"
    )
    NOT_IDENTIFIED = (
        "not identified: the data do not determine {number} of {total} probabilities (the "
        "information matrix is singular); they have no standard error"
    )
    HARDLY_IDENTIFIED = (
        "hardly identified: {number} of {total} probabilities would have a standard error above "
        "{largest:g}, more than any probability can vary; they have none"
    )
    ANYWHERE = (
        "says nothing: the intervals of {number} of {total} probabilities would reach from below "
        "{least:g} to above {most:g}; they have none"
    )
    REFITS_STOPPED = "not converged: {stopped} of {replicates} refits stopped at the step limit"
    FEW_REPLICATES = (
        "few replicates: {replicates} do not reach out to the {tail:g} % tails; the ends are the "
        "extremes (give {enough} or more)"
    )
    # The bootstrap test
    MORE_STATES_FIT_WORSE = "the search for {more} states ended below {fewer}: raise --starts"
    # Scores
    IMPOSSIBLE_ROW = "impossible: at least one row has probability 0 under the model"
    FAILED = "not computed: {reason}"
    IMPOSSIBLE_DATA = "the data are impossible under these parameters"
    NOT_POSITIVE_DEFINITE = "A is not positive definite: {point} is not a maximum"
    NEARLY_SINGULAR = "A is nearly singular: its determinant is not to be trusted"
    ON_BOUNDARY = "on the boundary: a probability is 0, where A is not defined"
    NO_MODE = (
        "not defined: an exponent of the prior ({alpha:.2g}) is below 1, so the posterior density "
        "has no maximum to be a Gaussian around; csl has one"
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
    ABOVE_ZERO = (
        "above 0, where no log probability of these data can be: an approximation that fails here"
    )
    STILL_RISING = "stopped after {steps} steps, still rising"
    MORE_LABELLINGS = (
        "labellings: network and prior may have symmetries beyond those that are counted, so that "
        "the value may be too low"
    )
    ONE_VARIABLE_AT_A_TIME = (
        "unused states: {number:,} combinations are too many to fit, so that each hidden variable "
        "is taken by itself"
    )
    CHAINS_DISAGREE = (
        "the chains disagree (R̂ = {r_hat:.2f}): they are in different places, and neither the "
        "value nor its standard error can be trusted"
    )
    # Learned graphs
    FEW_ROWS = (
        "few rows: {rows} for {variables} variables; most edges that there may be cannot show, and "
        "some that show are chance"
    )
    BETWEEN_NUMBERS = (
        "dependence between numbers is not modelled, and the data show it: {pairs}. No edge can "
        "join two numbers, so this graph and its evidence take them as independent given their "
        "parents. To model it, put a number into bins (--bin {name}=5), or compare classes that "
        "have covariances (`select` with --covariance full)"
    )
    MANY_EDGES = (
        "many edges: {edges}, where the default priors give {usual} on the same rows; most of the "
        "others are likely to be spurious. Leave out --alpha and --graph-prior, or see which edges "
        "are sure (--edges)"
    )
    NOT_COMPLETELY_AT_RANDOM = (
        "cells are not missing completely at random: whether '{column}' is missing goes with "
        "'{other}' (p = {p:.2g}). If it goes with the missing value itself, edges may be spurious "
        "or lost: compare both readings with `lacunet compare-missing`"
    )
    # Sampled evidence
    LOWER_BOUND = "lower bound only"
    MISSED_MODE = "particle runs gave about {value:.1f}: annealing missed a mode"
    UNDER_LOWER_BOUND = (
        "sampling missed a mode: it came out below {value:.1f}, a lower bound of the same evidence"
    )
    OVER_UPPER_BOUND = (
        "the estimate failed: it came out above {value:.1f}, an upper bound of the same evidence"
    )
    ERROR_COVERS = "independent particle runs gave {value:.2f}: the error bar covers the difference"
    OUT_OF_TIME = "the time did not suffice for every place with mass: raise the budget"
    STARTS_DISAGREE = "chains from different starts lead to different places: raise the budget"
    SEEN_ONCE = (
        "{share:.0%} of it lies where only one of several searches went: there may be more that "
        "none found"
    )
    WEIGHTS_ROUNDED = (
        "weights are not whole numbers ({cases:.4g} cases in all): measured on {roundings} "
        "roundings to whole cases, and brought to the weights by the variational bound"
    )
    FEW_CHAINS = (
        "{share:.0%} of it rests on a few chains, which may hide more: the states are weakly "
        "identified"
    )
    CHAINS_STAY = (
        "only {share:.0%} of the chains came to some number of used classes: how likely it is "
        "cannot be told"
    )
    LEVEL_NOT_MEASURED = (
        "its level is that of {score}: differences between candidates are measured, the level is "
        "not"
    )
    # The posterior over candidates, and tests
    ROWS_AS_INDEPENDENT = (
        "{units:,} {what} were drawn, and evidence, probabilities of models and likelihood-ratio "
        "tests count {people:,.6g} independent rows: if rows of a unit have more in common than "
        "their classes, too many classes or edges look probable (standard errors and intervals do "
        "account for the design)"
    )
    NOT_CALIBRATED = "this certainty is not calibrated: scores are surer than they should be"
    TOO_LARGE = (
        "not sampled, for that would touch {work:.1g} numbers, and no more than {most:.1g} are "
        "without being asked (--evidence asks)"
    )
    NOT_MEASURED = "the evidence of {candidates} could not be measured: its score stands in"
    UNSTABLE_SEARCHES = (
        "the searches for {candidates} are unstable: there may be better optima, and the "
        "probabilities may be quite different"
    )
    BOUNDS_ONLY = (
        "the evidence of {candidates} is a lower bound only: more probable than it seems, perhaps"
    )


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
