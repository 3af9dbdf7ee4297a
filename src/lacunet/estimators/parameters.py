"""Parameters shared by estimators, and the wording of their messages."""

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, is_dataclass, replace
from typing import Any, TypeVar, cast

from sklearn.utils.validation import check_is_fitted

from lacunet import api
from lacunet.api.options import unknown_option
from lacunet.data.design import Clusters, DesignColumns
from lacunet.errors import LacunetError, UnknownOptionError
from lacunet.estimators.inputs import (
    Categories,
    left_out_of,
    made_missing_in,
    seed_of,
    threads_of,
)
from lacunet.fitting.fit import DEFAULT_STARTS
from lacunet.models.prior import PAPER_ALPHA, Alpha
from lacunet.runtime.states import BinLike
from lacunet.settings import DEFAULTS, OPTIONS, Settings
from lacunet.summaries.intervals import LEVEL, Intervals
from lacunet.wording import EstimatorWords, of_estimator, worded

C = TypeVar("C", bound=type)


@dataclass(kw_only=True, eq=False, repr=False)
class Parameters:
    """Parameters of every estimator; the constructor only stores them."""

    estimate: str = "map"
    alpha: Alpha = PAPER_ALPHA
    n_init: int = DEFAULT_STARTS
    scores: str | Sequence[str] = "cs"
    categories: Categories = "auto"
    bin: BinLike = None
    unseen: str = "warn"
    missing_as_state: bool = DEFAULTS.missing_as_state
    plug_in: bool = False
    random_state: Any = None
    n_jobs: int | None = None
    verbose: int = 0

    def _settings(self) -> Settings:
        """Convert the parameters to settings; three have names of scikit-learn."""
        given = {name: value for name, value in vars(self).items() if name in OPTIONS}
        given["alpha"] = self._prior()
        seed, threads = seed_of(self.random_state), threads_of(self.n_jobs)
        return Settings(starts=self.n_init, seed=seed, threads=threads, **given)

    def _prior(self) -> Alpha:
        """Give the effective prior."""
        return self.alpha


@dataclass(kw_only=True, eq=False, repr=False)
class Measured:
    """Parameters of estimators with measured evidence."""

    evidence: bool = DEFAULTS.evidence
    target: float = DEFAULTS.target
    budget: float | str = DEFAULTS.budget


@dataclass(kw_only=True, eq=False, repr=False)
class Searching(Measured, Parameters):
    """Parameters of estimators that maximise an objective, perhaps for survey data."""

    schedule: str = str(DEFAULTS.schedule)
    dimension: str = DEFAULTS.dimension
    device: str = str(DEFAULTS.device)
    strata: str | None = None
    clusters: Clusters = None

    @property
    def _drawn_by(self) -> DesignColumns:
        """Columns of X with the survey design."""
        return DesignColumns.of(self.strata, self.clusters)

    def intervals(self, level: float = LEVEL, bootstrap: int = 0) -> Intervals:
        """Compute standard errors and confidence intervals of all parameters.

        They are those of `lacunet.intervals`: linearised (sandwich) for survey weights, strata and
        clusters; else from the observed information.

        Parameters
        ----------
        level : float
            Confidence level.
        bootstrap : int
            Replicates: intervals are then percentiles of refits to rows drawn from the model, or
            to resampled units of a survey. 0: none.

        Returns
        -------
        intervals : lacunet.Intervals
            Prints as a table; `table(NAME)` has the numbers.
        """
        check_is_fitted(self)
        settings = replace(self._settings(), level=level, bootstrap=bootstrap)
        return api.intervals_of(cast(Any, self).fit_, settings)


def worded_estimator(cls: C) -> C:
    """Translate messages to the parameters of an estimator; check its constructor arguments.

    Messages name the parameters of the estimator, and suggest code for X.
    """
    for name, thing in [*vars(cls).items()]:
        function = getattr(thing, "fn", thing)  # unwraps `available_if`
        if name.startswith("_") or not inspect.isfunction(function):
            continue
        if "X" in inspect.signature(function).parameters:
            if function is thing:
                setattr(cls, name, _with_translated_messages(function))
            else:
                thing.fn = _with_translated_messages(function)
    if is_dataclass(cls):
        cast(Any, cls).__init__ = _refusing(cls, cast(Any, cls).__init__)
    return cls


def _with_translated_messages(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def run(self: Any, X: Any, *args: Any, **given: Any) -> Any:
        parameters = frozenset((*inspect.signature(type(self)).parameters, "sample_weight"))
        words = EstimatorWords(parameters, self._function, left_out_of(X), made_missing_in(X))
        with of_estimator(words):
            try:
                return method(self, X, *args, **given)
            except LacunetError as error:  # perhaps raised outside the estimator
                error.args = (worded(error.args[0]), *error.args[1:])
                raise

    return run


def _refusing(cls: type, init: Callable[..., None]) -> Callable[..., None]:
    """Make a constructor suggest the intended name of an unknown argument."""
    names = [*inspect.signature(init).parameters][1:]

    @functools.wraps(init)
    def checked(self: Any, *args: Any, **given: Any) -> None:
        for name in given:
            if name in inspect.signature(cast(Any, cls).fit).parameters:
                raise UnknownOptionError(f"{cls.__name__}() has no option '{name}': fit() has it.")
            if name not in names:
                raise unknown_option(cls.__name__, name, names)
        init(self, *args, **given)

    return checked
