"""Likelihood-ratio tests of nested models: bootstrap, Vuong, and χ².

The test of Vuong (1989) is applied to the number of classes as in Lo, Mendell & Rubin (2001).
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import chdtrc

from lacunet.data.design import flags_of
from lacunet.deprecation import renamed
from lacunet.errors import OptionError
from lacunet.fitting.diagnose import BOUNDARY
from lacunet.fitting.fit import Fit, Options, learn
from lacunet.fitting.objective import Estimate
from lacunet.flags import Flag, Kind, Sizes
from lacunet.inference.information import NUMBERS, Informed, informed, root_of, row_scores
from lacunet.inference.problem import Problem, problem_of_codes
from lacunet.models.latent_class import counted, unit
from lacunet.models.surgery import with_shown
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.checkpoint import NULL_CHECKPOINT, Checkpoint
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.summaries.bootstrap import check_replicates, simulate_like
from lacunet.summaries.intervals import on_boundary
from lacunet.tabular import Columns, Documented, Grid, Printable, described, number, probability

STEP = 0.01  # of the trapezoidal rule: its error falls exponentially
FAR = 60.0  # upper limit of integration
NOTHING = 1e-12  # relative size of negligible weights


def exceeds(weights: FloatArray, x: float) -> float:
    """Compute P(Q > x), x ≥ 0, Q = Σ λ_j χ²_j of independent χ² with one degree of freedom each.

    Inverts the moment generating function M(t) = Π (1 − 2 λ_j t)^(−½): P = 1/(2πi) ∫ M(t) exp(−t x)
    /t dt. The contour is a hyperbola through the saddle point on the real axis that bends to the
    right. The integrand decays along it without oscillation, so small probabilities keep their
    relative precision.

    >>> round(exceeds(np.ones(3), 7.815), 4), round(exceeds(np.array([1.0, 1.0, -1.0, -1.0]), 2), 4)
    (0.05, 0.1839)
    """
    scaled = weights[np.abs(weights) > NOTHING * np.abs(weights).max(initial=0.0)]
    largest = scaled.max(initial=0.0)
    if not largest > 0:
        return 0.0
    scaled, x = scaled / largest, x / largest

    def exponent(t: float) -> float:
        return float(-0.5 * np.log1p(-2.0 * scaled * t).sum() - x * t - np.log(t))

    tiny = 1e-9
    saddle = float(minimize_scalar(exponent, bounds=(tiny, 0.5 - tiny), method="bounded").x)
    u = STEP * (np.arange(int(FAR / STEP)) + 0.5)
    with np.errstate(over="ignore", invalid="ignore"):
        t = saddle * (np.cosh(u) + 1j * np.sinh(u))
        log_m = -0.5 * np.log(1.0 - 2.0 * scaled[:, None] * t).sum(axis=0)
        slope = saddle * (np.sinh(u) + 1j * np.cosh(u))
        parts = (np.exp(log_m - x * t) * slope / t).imag
    total = float(np.where(np.isfinite(parts), parts, 0.0).sum()) * STEP / np.pi
    return min(1.0, max(0.0, total))


@dataclass(frozen=True, eq=False)
class VuongTest(Documented):
    """The test of k against k + 1 classes by the asymptotic likelihood-ratio distribution."""

    KEYS = "statistic p_value adjusted adjusted_p mean deviation"

    statistic: float  # 2 (log L of k + 1 − log L of k), at least 0
    weights: FloatArray  # of the limiting sum of χ² variables under k classes
    more: int  # difference of the numbers of parameters
    cases: float  # N

    @property
    def mean(self) -> float:
        """Expectation of the statistic under k classes."""
        return float(self.weights.sum())

    @property
    def deviation(self) -> float:
        """Its standard deviation."""
        return float(np.sqrt(2.0 * np.sum(self.weights**2)))

    @cached_property
    def p_value(self) -> float:
        """P-value of the statistic (VLMR)."""
        return exceeds(self.weights, self.statistic)

    @property
    def adjusted(self) -> float:
        """The statistic over 1 + 1/((p − q) log N), which is nearer to its limit (LMR)."""
        if self.cases <= 1 or self.more < 1:
            return self.statistic
        return float(self.statistic / (1.0 + 1.0 / (self.more * np.log(self.cases))))

    @cached_property
    def adjusted_p(self) -> float:
        """P-value of the adjusted statistic (LMR)."""
        return exceeds(self.weights, self.adjusted)


def vuong_test(small: Fit, large: Fit) -> VuongTest | None:
    """Test a fit against one with more classes, on the same rows.

    None if it does not apply: fits that are not ML, fractional weights, or not at a maximum.
    """
    if not all(fit.estimate is Estimate.ML and fit.problem.whole for fit in (small, large)):
        return None
    known = []
    for fit in (small, large):
        at_boundary = on_boundary(
            fit.point.N, np.zeros(fit.problem.layout.size), fit.problem.layout
        )
        known.append(informed(fit.problem, fit.point.theta, fit.point.N, at_boundary))
    if not all(one.maximum for one in known):
        return None
    more = large.model.network.dimension - small.model.network.dimension
    weights = _weights((small, large), known)
    return VuongTest(_statistic(small, large), weights, more, small.problem.cases)


def _weights(fits: tuple[Fit, Fit], known: list[Informed]) -> FloatArray:
    """Compute the eigenvalues of B diag(−A_k⁻¹, A_k+1⁻¹), B the summed products of all scores."""
    widest = max(fit.problem.components.cells.layout.size for fit in fits)
    step = max(1, NUMBERS // widest)
    each = [
        row_scores(fit.problem, fit.point.theta, one.free, step)
        for fit, one in zip(fits, known, strict=True)
    ]
    few, many = (one.root.shape[1] for one in known)
    B: FloatArray = np.zeros((few + many,) * 2)
    for (rows, less), (_, more) in zip(*each, strict=True):
        both = np.hstack([less @ known[0].root, more @ known[1].root])
        B += both.T @ (fits[0].problem.counts[rows, None] * both)
    root = root_of(B)
    signs = np.repeat([-1.0, 1.0], [few, many])
    return np.asarray(np.linalg.eigvalsh(root.T @ (signs[:, None] * root)), np.float64)


REPLICATES = 200
FEWEST_DRAWS = 19  # least B for which p = 1/(1 + B) reaches 0.05
STARTS = 16  # of each of the two fits of a replicate
TIED = 1e-6  # nats: tolerance of equal likelihoods
BATCH = 16  # replicates between checks for an early stop
# Of the document of a test in that of a selection.
TEST_KEYS = (
    "statistic p_value stderr exceeding requested draws=replicates.size stopped_early=stopped"
)


@dataclass(frozen=True, eq=False, repr=False)
class RatioTest(Printable):
    """The bootstrap likelihood-ratio test of k against k + 1 states."""

    KEYS = (
        "variable states statistic p_value stderr exceeding replicates requested flags "
        "stopped_early=stopped seed=small.options.seed vlmr=vuong"
    )

    states: tuple[int, int]  # of the hidden variable: k, and one more
    variable: str  # the hidden variable
    small: Fit
    large: Fit
    statistic: float  # 2 (log L of k + 1 − log L of k), at least 0
    replicates: FloatArray  # (B,) the statistic of data drawn from the smaller model
    requested: int  # requested number of replicates
    stop_after: int | None  # exceedances after which to stop

    asked = renamed("asked", "requested")

    @property
    def exceeding(self) -> int:
        """Number of replicates with a statistic at least as large as that of the data."""
        return int(np.sum(self.replicates >= self.statistic - TIED))

    @property
    def stopped(self) -> bool:
        """Whether the test stopped early, after enough exceedances."""
        return self.stop_after is not None and self.exceeding >= self.stop_after

    @property
    def p_value(self) -> float:
        """P-value under k states.

        (1 + exceeding)/(1 + B), because under the null hypothesis the data are another draw; after
        an early stop, exceeding/B (Besag & Clifford 1991).
        """
        if self.stopped:
            return self.exceeding / len(self.replicates)
        return (1 + self.exceeding) / (1 + len(self.replicates))

    @property
    def stderr(self) -> float:
        """Monte Carlo standard error of p."""
        return math.sqrt(self.p_value * (1.0 - self.p_value) / len(self.replicates))

    @cached_property
    def vuong(self) -> VuongTest | None:
        """The test of Vuong, Lo, Mendell & Rubin of the same fits; None if it does not apply."""
        return vuong_test(self.small, self.large)

    @property
    def flags(self) -> tuple[Flag, ...]:
        """Flags of the two fits, with their numbers of states."""
        network = self.small.model.network
        flags = [
            replace(flag, fits=Sizes((k,), unit(network, several=k > 1)))
            for k, fit in zip(self.states, (self.small, self.large), strict=True)
            for flag in fit.flags
        ]
        if self.large.log_lik < self.small.log_lik - TIED:
            fewer, more = self.states
            flags.append(Flag(Kind.MORE_STATES_FIT_WORSE, detail={"fewer": fewer, "more": more}))
        return (*flags, *flags_of(self.small.problem.design))

    def to_dict(self) -> dict[str, Any]:
        """Give the document of `--json`."""
        return described(self, self.KEYS, fits=[self.small, self.large])

    def tidy(self) -> Columns:
        """Return one row; `replicates` has the statistics of the drawn data."""
        row = {
            "states": self.states[0],
            "against": self.states[1],
            "statistic": self.statistic,
            "p_value": self.p_value,
            "replicates": len(self.replicates),
            "exceeding": self.exceeding,
            "p_stderr": self.stderr,
            "vlmr_p": math.nan if self.vuong is None else self.vuong.p_value,
            "lmr_p": math.nan if self.vuong is None else self.vuong.adjusted_p,
        }
        return {name: [value] for name, value in row.items()}

    def grids(self) -> Sequence[Grid]:
        """Return the printed tables."""
        k, more = self.states
        small = counted(k, self.small.model.network)
        answer = f"p = {number(self.p_value, 4)}. {self._verdict(small, more)}"
        rows = tuple(
            (str(states), str(fit.model.network.dimension), number(fit.log_lik, 4))
            for states, fit in ((k, self.small), (more, self.large))
        )
        quantiles = ", ".join(
            f"{q:.0%} {number(float(np.quantile(self.replicates, q)))}" for q in (0.5, 0.9, 0.95)
        )
        ending = " (stopped early)" if self.stopped else ""
        drawn = f"{self.exceeding} of {len(self.replicates)} data sets"
        notes = (
            f"2 log ratio = {number(self.statistic, 4)}",
            f"{drawn} drawn from {small} reach it{ending}",
            f"quantiles of theirs: {quantiles}",
            *self._limit_words(),
            *(f"- {flag}" for flag in self.flags),
        )
        what = unit(self.small.model.network)
        title, header = "Bootstrap likelihood-ratio test (ML fits)", (what, "d", "log L")
        of = "" if what == "classes" else f" of {self.variable}"
        verdict = Grid(f"{k} against {more} {what}{of}: {answer}")
        return [verdict, Grid(title, header, rows, frozenset(), notes)]

    def _limit_words(self) -> Iterator[str]:
        """Describe the test of Vuong, Lo, Mendell & Rubin, with a caveat."""
        if (vuong := self.vuong) is not None:
            yield (
                f"VLMR p-value {probability(vuong.p_value)} (mean {number(vuong.mean)}, sd "
                f"{number(vuong.deviation)}); LMR (adjusted to {number(vuong.adjusted)}) "
                f"p-value {probability(vuong.adjusted_p)}"
            )
            yield "VLMR and LMR are not valid for classes in theory: use the bootstrap"

    def _verdict(self, states: str, more: int) -> str:
        if self.p_value <= 0.05:
            evidence = "Strong evidence" if self.p_value <= 0.01 else "Evidence"
            return f"{evidence} against {states}: the data favour {more} or more."
        if not self.exceeding:
            return f"Too few replicates: none of {len(self.replicates)} gains as much."
        return f"No evidence against {states}: chance gains as much."


def ratio_test(
    small: Problem,
    large: Problem,
    options: Options,
    replicates: int = REPLICATES,
    *,
    stop_after: int | None = None,
    executor: Executor = SERIAL,
) -> RatioTest:
    """Test a model against one with more states of one hidden variable, on the same data."""
    quiet = executor.if_worth(large.components.nanoseconds).silent()
    fits = learn(small, options, executor=quiet), learn(large, options, executor=quiet)
    return ratio_of_fits(*fits, replicates, stop_after=stop_after, executor=executor)


def ratio_of_fits(
    small: Fit,
    large: Fit,
    replicates: int = REPLICATES,
    *,
    stop_after: int | None = None,
    executor: Executor = SERIAL,
    checkpoint: Checkpoint = NULL_CHECKPOINT,
) -> RatioTest:
    """Test a fit against one with more states of one hidden variable, from the same search.

    An early stop checks the replicates in numerical order, so the result depends on the seed only.
    """
    check_replicates(small.problem.counts, replicates)
    if stop_after is not None and stop_after < 1:
        raise OptionError(f"stop after {stop_after} exceedances: there must be at least 1.")
    executor = executor.if_worth(large.problem.components.nanoseconds)
    statistic = _statistic(small, large)
    replicate = partial(_replicate, small, large, executor.silent())
    drawn: list[float] = []
    batch = replicates if stop_after is None else BATCH
    while len(drawn) < replicates:
        numbers = range(len(drawn), min(len(drawn) + batch, replicates))
        drawn += checkpoint.map(
            replicate, numbers, executor, "bootstrap", of=(len(drawn), replicates)
        )
        exceeding = np.cumsum(np.array(drawn) >= statistic - TIED)
        if stop_after is not None and exceeding[-1] >= stop_after:
            drawn = drawn[: int(np.argmax(exceeding >= stop_after)) + 1]
            break
    variables = small.problem.network.variables, large.problem.network.variables
    pairs = zip(*variables, strict=True)
    few, many = next((one, other) for one, other in pairs if one.hidden and one != other)
    states = len(few.states), len(many.states)
    results = np.array(drawn), replicates, stop_after
    return RatioTest(states, few.name, small, large, statistic, *results)


def _replicate(small: Fit, large: Fit, executor: Executor, replicate: int) -> float:
    """Compute the statistic of data drawn from the smaller model."""
    options = small.options
    drawn = simulate_like(small.problem, small.model.theta, options.seed, replicate)
    shown = [drawn.network.variables[i] for i in drawn.network.observed]
    network = with_shown(large.problem.network, shown)  # with the drawn numeric values
    wider = problem_of_codes(drawn.codes, drawn.counts, network, large.problem.alpha)
    return _statistic(*(learn(problem, options, executor=executor) for problem in (drawn, wider)))


def _statistic(small: Fit, large: Fit) -> float:
    return max(0.0, 2.0 * (large.log_lik - small.log_lik))


AT_EDGE = (
    "{number} probabilities of the wider models are at 0 or 1, on the boundary, where the χ² "
    "distribution is only approximate; the evidence does not use it."
)


@dataclass(frozen=True)
class LikelihoodRatio(Documented):
    """The χ² likelihood-ratio test of a narrower against a wider model."""

    KEYS = "statistic df p_value probabilities_at_edge=at_edge"

    statistic: float
    df: int  # difference of the numbers of parameters
    at_edge: int  # probabilities of the wider model at 0: χ² is then approximate

    @property
    def p_value(self) -> float:
        """P-value under the narrower model, by χ²."""
        return float(chdtrc(self.df, max(self.statistic, 0.0))) if self.df > 0 else math.nan


def likelihood_ratio(narrow: Fit, wide: Fit) -> LikelihoodRatio:
    """Compare two ML fits of nested models to the same data."""
    layout = wide.problem.layout
    unheld = layout.in_tables & layout.learned & (wide.point.N < BOUNDARY)
    gain = wide.log_lik - narrow.log_lik
    return LikelihoodRatio(
        2.0 * gain if abs(gain) > TIED else 0.0,
        wide.problem.network.dimension - narrow.problem.network.dimension,
        int(np.count_nonzero(unheld)),
    )
