"""Settings: every option with its meaning, default and check, in frozen classes."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import Field, dataclass, field, fields, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

from lacunet.errors import OptionError, unknown_value
from lacunet.evidence.annealing import Goal
from lacunet.evidence.estimate import Method
from lacunet.fitting.fit import DEFAULT_STARTS, Options
from lacunet.fitting.objective import Estimate
from lacunet.fitting.schedules import Schedule
from lacunet.inference.covariates import COEFFICIENT_SD, MissingCovariates
from lacunet.inference.devices.device import DeviceName, open_device
from lacunet.models.number_prior import (
    DIAGONAL,
    USUAL_NUMBERS,
    NumberPrior,
    NumberPriorLike,
    understand_covariance,
    understand_number_prior,
)
from lacunet.models.prior import PAPER_ALPHA, Alpha, check_alpha
from lacunet.runtime.processes import seconds_of
from lacunet.scores import GROUPS, SCORES, Score, choose_scores
from lacunet.structure.edges.posterior import EdgeSampling
from lacunet.structure.families import GraphPrior
from lacunet.structure.searching import GraphScore, GraphSearch
from lacunet.summaries.bootstrap import FEWEST, check_number
from lacunet.summaries.intervals import LEVEL, check_level
from lacunet.summaries.ratio_tests import FEWEST_DRAWS

DIMENSIONS = ("parameters", "rank")
FORMER = {  # removed values, and their error messages
    "mass": "schedule 'mass' is what scores of the evidence use with default and thorough. Choose "
    "thorough to look as far as it did.",
    "highest": "every schedule ends at the highest maximum now. Choose thorough to look as far as "
    "highest did.",
}
OF_PROBABILITY = 0.2  # approximate error of a probability per nat of error of a log evidence


def setting(default: Any, meaning: str, *, in_python: str = "", **more: Any) -> Any:
    """Make a field with its meaning, and an addition for Python alone."""
    return field(default=default, metadata={"meaning": meaning, "in_python": in_python}, **more)


def _exponent(alpha: Alpha) -> Alpha:
    """Check a prior, and read a number from a text."""
    check_alpha(alpha)
    try:
        return float(alpha) if isinstance(alpha, str) else alpha
    except ValueError:  # k2, or bdeu:SIZE
        return alpha


class Configuration:
    """Base class of settings; `repr` shows the fields that differ from their defaults."""

    def __repr__(self) -> str:
        words = ", ".join(f"{n}={getattr(v, 'value', v)!r}" for n, v in self.changed.items())
        return f"{type(self).__name__}({words})"

    @property
    def changed(self) -> dict[str, Any]:
        """The fields that differ from their defaults."""
        values = {f.name: (getattr(self, f.name), f.default) for f in fields(self)}  # type: ignore[arg-type]
        return {name: value for name, (value, usual) in values.items() if value != usual}

    def _put(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)  # the dataclass is frozen

    def _choose(self, name: str, kind: type[StrEnum]) -> None:
        """Replace the name of an enumeration member by the member."""
        value = getattr(self, name)
        if value not in list(kind):
            raise unknown_value(name, value, kind)
        self._put(name, kind(value))


@dataclass(frozen=True, repr=False, kw_only=True)
class SearchSettings(Configuration):
    """Fitting of a model: its prior, and the search for the best parameters."""

    estimate: str = setting(
        Estimate.MAP,
        "Parameters to learn: map (as the paper; with exponents below 1 it means softmax), ml, or "
        "softmax (the maximum of the posterior density of log θ).",
    )
    alpha: Alpha = setting(
        PAPER_ALPHA,
        "Prior: a Dirichlet exponent above 0, k2 (1 everywhere) or bdeu:SIZE (equivalent sample "
        "size); autoclass, 1 + 1/states; or, for select and compare, average: fits and scores use "
        "1.01, and the result is averaged over profiles with this exponent and with half of it. "
        "The default is 1.01 (CH96); for select, average; for evidence, 1, as in most published "
        "evidence; for learn, bdeu:0.5-10, averaged over sizes in this range; for learn --hidden "
        "auto, bdeu:10.",
        in_python="Or a mapping with a number or table for each family, by child.",
        hash=False,
    )
    number_prior: NumberPriorLike = setting(
        USUAL_NUMBERS,
        "Prior of numbers, comma-separated NAME=NUMBER. Means: mean (offset from the column mean, "
        "in its standard deviations) and weight (in cases). Variances: degrees (of freedom) and "
        "scale (in variances of the column, or in residual variances within its block). Rates of "
        "counts: shape. Or autoclass: means anywhere in the range of a column, variances "
        "between its precision and that range. The default weight is 0.1, or 0.01 if a graph is "
        "learned.",
        in_python="Or a mapping of these.",
        hash=False,
    )
    covariance: str = setting(
        DIAGONAL,
        "Covariance of Gaussian columns within a class: diagonal, full, or comma-separated blocks "
        "NAME+NAME. Each class has its own covariance, or all classes share one: diagonal-common, "
        "full-common, or common after blocks.",
    )
    coefficient_sd: float = setting(
        COEFFICIENT_SD,
        "Prior of covariates: standard deviation of the log odds ratio of two classes, for one "
        "standard deviation of a number or between two states of a category.",
    )
    starts: int = setting(DEFAULT_STARTS, "Random starts of EM.")
    schedule: str = setting(
        Schedule.DEFAULT,
        "default: search until new maxima are unlikely; thorough: search further, some 5 times as "
        "long; paper: exactly CH96. The estimate is the highest maximum found.",
    )
    seed: int = setting(0, "Seed; the same seed gives the same numbers.")
    missing_as_state: bool = setting(
        False,
        "Treat a missing cell as an answer: one more state, '(missing)', of its column.",
        in_python="The evidence is then not comparable: see `compare_missing`.",
    )
    missing_covariates: str = setting(
        MissingCovariates.REFUSE,
        "Rows without a covariate: refuse (and report their number), or drop them.",
    )

    def __post_init__(self) -> None:
        """Check, and read texts."""
        if self.schedule in FORMER:
            raise OptionError(FORMER[self.schedule])
        self._choose("estimate", Estimate)
        self._choose("schedule", Schedule)
        self._choose("missing_covariates", MissingCovariates)
        self._put("alpha", _exponent(self.alpha))
        if not 0.0 < self.coefficient_sd < math.inf:
            raise OptionError(f"--coefficient-sd {self.coefficient_sd:g}: it must be above 0.")
        Options(starts=self.starts, seed=self.seed)
        self.numbers  # noqa: B018  # an unknown name is refused now

    @cached_property
    def numbers(self) -> NumberPrior:
        """The prior of columns of numbers."""
        together = understand_covariance(self.covariance)
        return replace(understand_number_prior(self.number_prior), covariance=together)


@dataclass(frozen=True, repr=False, kw_only=True)
class EvidenceSettings(Configuration):
    """Scoring, comparison and measurement of models, and their precision."""

    scores: str | Sequence[str] = setting(
        "usual",
        f"Scores, comma-separated: {', '.join(s.name for s in SCORES)}; "
        f"usual ({', '.join(s.name for s in GROUPS['usual'])}), or all.",
        in_python="Or a sequence of their names.",
    )
    dimension: str = setting(
        DIMENSIONS[0], "What counts as d: parameters, or the rank of the observable Jacobian."
    )
    whole_range: bool = setting(
        False,
        "Try every number of a long range, even after the evidence has fallen far.",
    )
    quick: bool = setting(False, "Use scores alone and measure nothing: fast, but overconfident.")
    evidence: bool = setting(
        False,
        "Measure the evidence of every candidate separately, however long that takes, and choose "
        "by it.",
    )
    calibrate: bool = setting(
        False,
        "Measure the evidence of the best few candidates separately, to check the scores.",
    )
    method: str = setting(
        Method.AUTO,
        "exact: sum over all completions; smc: sequential Monte Carlo over cases; ais: annealing "
        "from modes; walk: chains over partitions of the cases (latent classes); auto: the "
        "cheapest applicable method.",
    )
    target: float = setting(
        Goal.target,
        "Target standard error of a sampled evidence, in nats; a fifth of it for probabilities.",
    )
    budget: float | str = setting(
        Goal.budget, "Time after which no new sampling starts: 60s, 5m, 1h, or seconds."
    )
    blrt: int = setting(
        0,
        "Replicates of a bootstrap likelihood-ratio test of each number of classes against "
        f"one less, {FEWEST_DRAWS} or more (99 is usual); 0: no test.",
    )
    level: float = setting(LEVEL, "Confidence level of --intervals.")
    bootstrap: int = setting(
        0, "Replicates of a parametric bootstrap for --intervals, instead of the Hessian."
    )
    plug_in: bool = setting(
        False,
        "Use plug-in instead of posterior-predictive probabilities: the point estimate is taken "
        "as exact.",
    )

    def __post_init__(self) -> None:
        """Check, and read texts."""
        if not isinstance(self.scores, str):
            self._put("scores", tuple(self.scores))
        choose_scores(self.scores)
        if self.dimension not in DIMENSIONS:
            raise unknown_value("dimension", self.dimension, DIMENSIONS)
        self._choose("method", Method)
        if self.quick and self.evidence:
            raise OptionError("quick measures nothing, evidence everything: give one of the two.")
        self._put("budget", self.goal.budget)
        check_level(self.level)
        if self.bootstrap:
            check_number(self.bootstrap, FEWEST)
        if self.blrt and self.blrt < FEWEST_DRAWS:
            raise OptionError(
                f"--blrt {self.blrt}: of fewer than {FEWEST_DRAWS} draws no p can be 0.05 or less. "
                "Give 99, or more."
            )

    @property
    def goal(self) -> Goal:
        """Target precision and time budget of a sampled evidence."""
        return Goal(self.target, seconds_of(self.budget))

    @property
    def chosen_scores(self) -> tuple[Score, ...]:
        """The chosen scores, as objects."""
        return choose_scores(self.scores)

    @property
    def rank(self) -> bool:
        """Whether d is the rank of the observable distribution's Jacobian."""
        return self.dimension == "rank"


@dataclass(frozen=True, repr=False, kw_only=True)
class GraphSettings(Configuration):
    """Search for a graph."""

    sweeps: int = setting(
        GraphSearch.sweeps,
        "Perturbations around every variable without improvement before a search ends; 0: a single "
        "hill climb.",
    )
    restarts: int = setting(GraphSearch.restarts, "Further searches for a graph, after the first.")
    probes: int = setting(
        GraphSearch.probes,
        "With missing cells: single-edge changes of each kind and ranking that are fitted when "
        "completed rows give no better graph; 0: none, and edges are not scored on the rows that "
        "are complete in both ends.",
    )
    score: str = setting(
        GraphScore.BOUND,
        "Graph score with missing cells: bound, a lower bound of the evidence of the incomplete "
        "data; or, for comparison, available: for each change, the rows complete in its variables; "
        "expected: rows completed under the previous graph (structural EM).",
    )
    graph_prior: str = setting(
        GraphPrior.FAIR,
        "Prior over graphs: fair, each number of parents of a variable is equally probable; or "
        "uniform, each graph is, which favours spurious edges because they are many.",
    )
    exact: bool = setting(
        False,
        "Find the best of all graphs, up to about 20 variables; always done for 10 or fewer.",
    )

    def __post_init__(self) -> None:
        """Check."""
        self._choose("score", GraphScore)
        self._choose("graph_prior", GraphPrior)
        GraphSearch(self.sweeps, self.restarts, self.probes)


@dataclass(frozen=True, repr=False, kw_only=True)
class ComputeSettings(Configuration):
    """Compute backends; they change no number."""

    threads: int | None = setting(
        None, "Threads, or processes (default: one per core); they change no number."
    )
    cluster: str | None = setting(
        None,
        "Address of a Dask cluster for the computation, tcp://HOST:PORT; it changes no number.",
        in_python="A current Dask `Client` is used without it.",
    )
    workers: int | None = setting(
        None, "Instead: start so many Dask worker processes on this machine."
    )
    device: str = setting(
        DeviceName.CPU,
        "Device of E steps: cpu, or cuda, an NVIDIA device (latent classes, with CuPy). "
        "Samples of measured evidence are always drawn on cpu.",
    )

    def __post_init__(self) -> None:
        """Check."""
        self._choose("device", DeviceName)
        for name in ("threads", "workers"):
            if (number := getattr(self, name)) is not None and number < 1:
                raise OptionError(f"{number} {name}: there must be at least 1.")
        if self.cluster is not None and self.workers is not None:
            raise OptionError("--cluster is one that is there, --workers starts one: give one.")
        if self.device != DeviceName.CPU:
            if self.cluster is not None or self.workers is not None:
                reason = "--device cuda is for one machine."
                raise OptionError(f"{reason} Leave out --cluster or --workers, or --device.")
            open_device(DeviceName(self.device))  # refuse an absent device before reading data


PARTS = (EvidenceSettings, SearchSettings, GraphSettings, ComputeSettings)


@dataclass(frozen=True, repr=False, kw_only=True)
class Settings(ComputeSettings, GraphSettings, SearchSettings, EvidenceSettings):
    """All settings of learning, scoring and measuring, in one reusable value."""

    def __post_init__(self) -> None:
        """Check every part."""
        for part in PARTS:
            part.__post_init__(self)

    @property
    def options(self) -> Options:
        """Options of the search for a maximum."""
        chosen = Estimate(self.estimate), Schedule(self.schedule)
        return Options(*chosen, self.starts, self.seed, DeviceName(self.device))

    @property
    def graph_search(self) -> GraphSearch:
        """Options of the search for a graph."""
        chosen = GraphScore(self.score), GraphPrior(self.graph_prior)
        return GraphSearch(self.sweeps, self.restarts, self.probes, self.exact, self.seed, *chosen)

    @property
    def edge_sampling(self) -> EdgeSampling:
        """Options of sampling graphs."""
        prior = GraphPrior(self.graph_prior)
        return EdgeSampling(self.target * OF_PROBABILITY, seed=self.seed, prior=prior)


OPTIONS: dict[str, Field[Any]] = {f.name: f for f in fields(Settings)}  # by name
DEFAULTS = Settings()


def list_meanings(*parts: type) -> None:
    """Append the fields of classes with their meanings to their docstrings, for `help`."""
    wrap = textwrap.TextWrapper(92, "    ", "    ", break_on_hyphens=False)
    for part in parts:
        lines = [part.__doc__ or "", "", "Parameters", "----------"]
        for option in fields(part):
            text = f"{option.metadata['meaning']} {option.metadata['in_python']}"
            lines += [f"{option.name} : {option.type}", *wrap.wrap(text)]
        part.__doc__ = "\n".join(lines)


list_meanings(*PARTS, Settings)
