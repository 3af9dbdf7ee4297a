"""How to work: every option with its meaning, its default and its limits, in one frozen value.

What to work on (data, networks, numbers of states) stays an argument: it differs from function to
function. How to work does not, so it is said here and nowhere else: functions and commands take
their options, defaults and descriptions from these fields, and whoever holds `Settings` knows that
they have been checked. The layers below get the small values that they ask for: `options`, `goal`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any, TypeAlias

from lacunet.errors import OptionError
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
from lacunet.scores import GROUPS, SCORES, Score, choose_scores
from lacunet.structure.edges.posterior import EdgeSampling
from lacunet.structure.families import GraphPrior
from lacunet.structure.searching import GraphScore, GraphSearch
from lacunet.summaries.bootstrap import FEWEST, check_number
from lacunet.summaries.intervals import LEVEL, check_level
from lacunet.summaries.ratio_tests import FEWEST_DRAWS

Names: TypeAlias = str | Sequence[str]  # with commas between, or one by one

DIMENSIONS = ("parameters", "rank")
KINDS = {
    "estimate": Estimate,
    "schedule": Schedule,
    "method": Method,
    "score": GraphScore,
    "graph_prior": GraphPrior,
    "missing_covariates": MissingCovariates,
    "device": DeviceName,
}
FORMER = {  # values that there are no more, and what to say of them
    "mass": "schedule 'mass' is what scores of the evidence use with default and thorough. Choose "
    "thorough to look as far as it did.",
    "highest": "every schedule ends at the highest maximum now. Choose thorough to look as far as "
    "highest did.",
}
OF_PROBABILITY = 0.2  # error of a probability, for each nat of that of a log evidence, about
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}  # of a time that is given as a text


def _option(default: Any, meaning: str, *, in_python: str = "", **more: Any) -> Any:
    """Make a field with its one description; `in_python` is what a text could not say."""
    return field(default=default, metadata={"meaning": meaning, "in_python": in_python}, **more)


def _unknown(name: str, value: object, allowed: Sequence[str]) -> OptionError:
    return OptionError(f"{name} '{value}' is not known. Choose from {', '.join(allowed)}.")


def _exponent(alpha: Alpha) -> Alpha:
    """Refuse what is no prior, and read a number that is given as a text.

    >>> _exponent("1.5"), _exponent("bdeu:10")
    (1.5, 'bdeu:10')
    """
    check_alpha(alpha)
    try:
        return float(alpha) if isinstance(alpha, str) else alpha
    except ValueError:
        return alpha


def _seconds(time: float | str) -> float:
    """Read a time that is given as a text.

    >>> _seconds("90"), _seconds("1.5m"), _seconds("1h")
    (90.0, 90.0, 3600.0)
    """
    if not isinstance(time, str):
        return time
    number, unit = (time[:-1], time[-1]) if time[-1:] in UNITS else (time, "s")
    try:
        seconds = float(number) * UNITS[unit]
    except ValueError:
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds > 0):
        raise OptionError(f"--budget '{time}' is no time. Give for example 60s, 5m or 1h.")
    return seconds


@dataclass(frozen=True, repr=False)
class Settings:
    """How to learn, score and measure: checked when it is made, and never again."""

    scores: Names = _option(
        "usual",
        f"Scores, with commas between: {', '.join(s.name for s in SCORES)}; "
        f"usual ({', '.join(s.name for s in GROUPS['usual'])}), or all.",
        in_python="Or a sequence of their names.",
    )
    estimate: str = _option(
        Estimate.MAP,
        "Parameters to learn: map (as the paper; with exponents below 1 it means softmax), ml, or "
        "softmax (the maximum of the posterior density of log θ).",
    )
    alpha: Alpha = _option(
        PAPER_ALPHA,
        "Prior: a Dirichlet exponent above 0, k2 (1 everywhere) or bdeu:SIZE (equivalent sample "
        "size); autoclass, 1 + 1/states; or, of select and compare, average: fits and scores have "
        "1.01, the answer is averaged over profiles with this exponent and with half of it. The "
        "usual one is 1.01 (CH96); of select average; of evidence 1, as in most published "
        "evidence; of learn bdeu:0.5-10, averaged over sizes in this range; of learn --hidden auto "
        "bdeu:10.",
        in_python="Or a mapping with a number or table for each family, by child.",
        hash=False,
    )
    number_prior: NumberPriorLike = _option(
        USUAL_NUMBERS,
        "Prior of numbers, NAME=NUMBER with commas between. Of means: mean (from the column's, in "
        "its standard deviations) and weight (cases that this is worth); of variances: degrees (of "
        "freedom) and scale (in variances of the column, or of what others of its block leave); of "
        "rates of counts: shape. Or autoclass: means anywhere in the range of a column, variances "
        "between its precision and that range. The usual weight is 0.1, and 0.01 where a graph is "
        "learned.",
        in_python="Or a mapping of these.",
        hash=False,
    )
    covariance: str = _option(
        DIAGONAL,
        "Gaussian columns within a class: diagonal (each by itself), full (all of them together), "
        "or blocks that vary together, NAME+NAME with commas between. Each class has its own, or "
        "all have the same: diagonal-common, full-common, or common after blocks.",
    )
    starts: int = _option(DEFAULT_STARTS, "Random starts of EM.")
    schedule: str = _option(
        Schedule.DEFAULT,
        "default: search until new maxima are unlikely; thorough: search further, some 5 times as "
        "long; paper: exactly CH96. The estimate is the highest maximum found.",
    )
    seed: int = _option(0, "Seed; the same seed gives the same numbers.")
    threads: int | None = _option(
        None, "Threads, or processes (default: one per core); the numbers do not depend on it."
    )
    cluster: str | None = _option(
        None,
        "Address of a Dask cluster that does the work, tcp://HOST:PORT; the numbers do not depend "
        "on it.",
        in_python="Inside a Dask `Client`, its workers do the work without it.",
    )
    workers: int | None = _option(
        None, "Instead: start so many Dask workers on this machine, a process each."
    )
    device: str = _option(
        DeviceName.CPU,
        "Where E steps are run: cpu, or cuda, an NVIDIA device (latent classes, with CuPy). "
        "Samples of measured evidence are always drawn on cpu.",
    )
    dimension: str = _option(
        DIMENSIONS[0], "What counts as d: parameters, or the rank of the observable Jacobian."
    )
    missing_as_state: bool = _option(
        False,
        "Treat a missing cell as an answer: one more state, '(missing)', of its column.",
        in_python="Then the evidence is about other data: see `compare_missing`.",
    )
    coefficient_sd: float = _option(
        COEFFICIENT_SD,
        "Prior of covariates: standard deviation of the log odds ratio of two classes, for one "
        "standard deviation of a number or between two states of a category.",
    )
    missing_covariates: str = _option(
        MissingCovariates.REFUSE,
        "Rows that lack a covariate: refuse (and say how many), or drop them.",
    )
    blrt: int = _option(
        0,
        "Data sets to draw for a bootstrap likelihood-ratio test of each number of classes against "
        f"one less, {FEWEST_DRAWS} or more (99 is usual); 0: no test.",
    )
    whole_range: bool = _option(
        False,
        "Try every number of a long range, also where the evidence has fallen far and falls still.",
    )
    quick: bool = _option(
        False, "Go by scores alone and measure nothing: soon done, but surer than it should be."
    )
    evidence: bool = _option(
        False,
        "Measure the evidence of every candidate by itself, however long that takes; it then "
        "decides.",
    )
    calibrate: bool = _option(
        False,
        "Measure the evidence of the best few candidates by itself: how far is each score from it?",
    )
    method: str = _option(
        Method.AUTO,
        "exact: sum over all completions; smc: particles that take in case after case; ais: "
        "annealing from modes; walk: chains over partitions of the cases, of latent classes; auto: "
        "the cheapest that does.",
    )
    target: float = _option(
        Goal.target,
        "Standard error of a sampled evidence to reach, in nats; of a probability, a fifth of it.",
    )
    budget: float | str = _option(
        Goal.budget, "Time after which nothing new is sampled: 60s, 5m, 1h, or seconds."
    )
    plug_in: bool = _option(
        False,
        "Ask rows of the estimate itself, as if it were the truth, not of the posterior of the "
        "parameters.",
    )
    level: float = _option(LEVEL, "Level of confidence of --intervals.")
    bootstrap: int = _option(
        0, "Replicates of a parametric bootstrap: --intervals from it, not the Hessian."
    )
    sweeps: int = _option(
        GraphSearch.sweeps,
        "Shakes of a graph around every variable that must be in vain before a search ends; 0: one "
        "climb alone.",
    )
    restarts: int = _option(GraphSearch.restarts, "Searches for a graph after the first.")
    probes: int = _option(
        GraphSearch.probes,
        "With holes: changes of one edge, of each kind and each way to rank them, that are fitted "
        "where completed rows lead to no better graph; 0: none, and edges are not judged by the "
        "rows that show both ends.",
    )
    score: str = _option(
        GraphScore.BOUND,
        "With holes, what decides between graphs: bound, a lower bound of the evidence of the data "
        "as they are; or, to compare, available: of each change, the rows that show all it is "
        "about; expected: rows completed under the graph before (structural EM).",
    )
    graph_prior: str = _option(
        GraphPrior.FAIR,
        "Prior over graphs: fair, each number of parents of a variable is equally probable; or "
        "uniform, each graph is, so that spurious edges win by being many.",
    )
    exact: bool = _option(
        False,
        "Find the best of all graphs, of up to about 20 variables; done anyway for 10 or fewer.",
    )
    numbers: NumberPrior = field(init=False, compare=False)  # what columns of numbers ask for
    options: Options = field(init=False, compare=False)  # what learning asks for
    goal: Goal = field(init=False, compare=False)  # what measuring asks for
    graph_search: GraphSearch = field(init=False, compare=False)  # what a search for a graph asks

    def __post_init__(self) -> None:
        def put(name: str, value: object) -> None:
            object.__setattr__(self, name, value)  # it is not frozen before it is whole

        if not isinstance(self.scores, str):
            put("scores", tuple(self.scores))
        choose_scores(self.scores)
        if self.dimension not in DIMENSIONS:
            raise _unknown("dimension", self.dimension, DIMENSIONS)
        for name, kind in KINDS.items():
            value = getattr(self, name)
            if value in FORMER:
                raise OptionError(FORMER[value])
            if value not in list(kind):
                raise _unknown(name, value, list(kind))
            put(name, kind(value))
        put("alpha", _exponent(self.alpha))
        prior, together = self.number_prior, understand_covariance(self.covariance)
        put("numbers", replace(understand_number_prior(prior), covariance=together))
        if self.quick and self.evidence:
            raise OptionError("quick measures nothing, evidence everything: give one of the two.")
        if not 0.0 < self.coefficient_sd < math.inf:
            raise OptionError(f"--coefficient-sd {self.coefficient_sd:g}: it must be above 0.")
        if self.threads is not None and self.threads < 1:
            raise OptionError(f"{self.threads} threads: there must be at least 1.")
        self._check_cluster()
        open_device(DeviceName(self.device))  # refused before data are read if it is not there
        learning = Estimate(self.estimate), Schedule(self.schedule), self.starts, self.seed
        put("options", Options(*learning, DeviceName(self.device)))
        put("goal", Goal(self.target, _seconds(self.budget)))
        put("budget", self.goal.budget)
        put("graph_search", self._graph_search())
        check_level(self.level)
        if self.bootstrap:
            check_number(self.bootstrap, FEWEST)
        if self.blrt and self.blrt < FEWEST_DRAWS:
            raise OptionError(
                f"--blrt {self.blrt}: of fewer than {FEWEST_DRAWS} draws no p can be 0.05 or less. "
                "Give 99, or more."
            )

    def _check_cluster(self) -> None:
        if self.cluster is None and self.workers is None:
            return
        if self.cluster is not None and self.workers is not None:
            raise OptionError("--cluster is one that is there, --workers starts one: give one.")
        if self.workers is not None and self.workers < 1:
            raise OptionError(f"{self.workers} workers: there must be at least 1.")
        if self.device != DeviceName.CPU:
            raise OptionError(
                "--device cuda is for one machine. Leave out --cluster or --workers, or --device."
            )

    def _graph_search(self) -> GraphSearch:
        numbers = self.sweeps, self.restarts, self.probes
        score, prior = GraphScore(self.score), GraphPrior(self.graph_prior)
        return GraphSearch(*numbers, self.exact, self.seed, score, prior)

    @property
    def edge_sampling(self) -> EdgeSampling:
        """What drawing graphs asks for."""
        target, prior = self.target * OF_PROBABILITY, GraphPrior(self.graph_prior)
        return EdgeSampling(target, seed=self.seed, prior=prior)

    @property
    def chosen_scores(self) -> tuple[Score, ...]:
        """The scores themselves."""
        return choose_scores(self.scores)

    @property
    def rank(self) -> bool:
        """Whether d is the rank of the observable distribution's Jacobian."""
        return self.dimension == "rank"

    def __repr__(self) -> str:
        """Say what is not as usual."""
        values = {name: getattr(self, name) for name in OPTIONS}
        changed = {n: v for n, v in values.items() if v != OPTIONS[n].default}
        words = (f"{n}={getattr(v, 'value', v)!r}" for n, v in changed.items())
        return f"Settings({', '.join(words)})"


OPTIONS: dict[str, Field[Any]] = {f.name: f for f in fields(Settings) if f.init}  # by name
DEFAULTS = Settings()
