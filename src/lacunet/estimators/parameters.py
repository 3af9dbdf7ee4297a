"""What the estimators' parameters mean, and those that every estimator has.

How unusual rows are, for scikit-learn.
What estimators have that know how rows were drawn: standard errors.
"""

import functools
import inspect
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar, cast

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lacunet import api
from lacunet.api.options import unknown_option, written_out
from lacunet.data.design import Clusters, DesignColumns
from lacunet.data.reading import Rows
from lacunet.errors import LacunetError, UnknownOptionError
from lacunet.estimators.inputs import (
    Categories,
    left_out_of,
    made_missing_in,
    seed_of,
    threads_of,
)
from lacunet.fitting.fit import DEFAULT_STARTS
from lacunet.inference.queries.answers import DRAWS, tail_probabilities
from lacunet.models.prior import PAPER_ALPHA, Alpha
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.states import BinLike
from lacunet.settings import DEFAULTS, OPTIONS, Settings
from lacunet.summaries.intervals import LEVEL, Intervals
from lacunet.wording import EstimatorWords, of_estimator, worded

C = TypeVar("C", bound=type)

# Options of `select` that have their meaning from there, and their types.
FROM_SETTINGS = {
    "schedule": "{'default', 'thorough', 'paper'}",
    "missing_as_state": "bool",
    "evidence": "bool",
    "target": "float",
    "budget": "float or str",
    "dimension": "{'parameters', 'rank'}",
    "device": "{'cpu', 'cuda'}",
    "calibrate": "bool",
    "whole_range": "bool",
    "blrt": "int",
    "coefficient_sd": "float",
    "missing_covariates": "{'refuse', 'drop'}",
}


def _meaning(name: str, kind: str) -> str:
    told = textwrap.fill(OPTIONS[name].metadata["meaning"], 96, break_on_hyphens=False)
    return f"{name} : {kind}\n{textwrap.indent(told, '    ')}"


ROWS = """X : dataframe or array of shape (n_samples, n_features)
    Rows; NaN and None are holes."""
MEANINGS = {
    "rows": f"Parameters\n----------\n{ROWS}",  # where a method takes nothing else
    "X": ROWS,
    "y": """y
    Not used.""",
    "estimate": """estimate : {'map', 'ml', 'softmax'}
    Most probable parameters, those of greatest likelihood, or those with the most probable
    logarithms. Exponents below 1 have no most probable parameters: 'map' then means 'softmax'.""",
    "alpha": """alpha : float, str or mapping
    Prior: a Dirichlet exponent, 'k2', 'bdeu:SIZE', or a table for each family.""",
    "n_init": """n_init : int
    Random starts; all race, the best are brought to their maximum.""",
    "scores": """scores : str or sequence of str
    Approximations of the evidence to keep in `evidence_`: names, or 'all'.""",
    "kinds": """kinds : str, mapping or None
    What the columns are: 'gaussian', 'lognormal', 'poisson', 'ordinal' or 'categorical' for all
    of them, or a mapping of some names to these (columns of an array are x0, x1, …). Columns that
    are not named are numbers if they hold more than 20 different whole numbers, or more than 5
    with fractions; else categories.""",
    "bin": """bin : int, str, mapping or None
    Columns of numbers that are put into bins, holes or not: a mapping of names to a number of bins
    (of about as many rows each) or to a list of edges, or one number for all columns of numbers.
    The edges are kept: new rows are put into the same bins, whatever is outside into the outer.""",
    "number_prior": """number_prior : str or mapping
    Prior of means, variances and rates, such as 'scale=0.25'; see `lacunet.select`.""",
    "covariance": """covariance : str
    How Gaussian columns vary within a class: 'diagonal', each by itself; 'full', all together; or
    blocks of names, as 'height+weight'. In all classes alike: 'diagonal-common', 'full-common',
    'height+weight,common'.""",
    "strata": """strata : str or None
    Column of X with the stratum that each row was drawn from. It is no variable then, and changes
    no estimate: it is for the standard errors of `intervals`.""",
    "clusters": """clusters : str, sequence of str or None
    Column of X with the primary sampling unit of each row: who was drawn together. Several columns
    tell units together. No variable, as strata.""",
    "covariates": """covariates : str, sequence of str or None
    Columns of X that predict classes and are no items: names, with commas between in a text, or a
    formula, '~ age + C(region)'. Every row must show them, those that are asked about too.""",
    "numbers_": """numbers_ : dict of str to dict of str to ndarray
    What is told of each column of numbers, by its title, a number for each class: 'mean' and 'sd'
    of a Gaussian, 'median' and 'factor' of a lognormal, 'rate' of counts, 'mean' of ordered
    answers.""",
    "categories_": """categories_ : dict of str to tuple
    States of each column; none, (), of a column of numbers.""",
    "categories": """categories : 'auto', list or mapping
    States of the columns: one list for each column, or a mapping of some names to lists.
    'auto': the categories that a dataframe declares, or else the values that `fit` sees.""",
    "unseen": """unseen : {'warn', 'error', 'missing'}
    What to do about a value of new rows that is none of its column's states: take it for a missing
    one with a warning that names it, refuse it, or take it for missing without a word. Only
    'missing' lets `fit` have values that contradict declared states.""",
    "plug_in": """plug_in : bool
    Whether rows are asked of the estimate itself, as if it were the truth. By default they are
    asked of the posterior of the parameters: then no row is impossible.""",
    "random_state": """random_state : int, RandomState or None
    Seed of the starts, and of `sample`. The same whole number gives the same result, whatever
    the order of the rows and the number of threads.""",
    "n_jobs": """n_jobs : int or None
    Threads, counted as joblib does; -1 is all. None: one per core, as everywhere in the package;
    in a worker of joblib one, so that a parallel grid search has no more threads than cores.""",
    "verbose": """verbose : int
    Above 0, `fit` shows on stderr how far it is: one line in a terminal or a notebook.""",
    **{name: _meaning(name, kind) for name, kind in FROM_SETTINGS.items()},
    "columns": """n_features_in_ : int
    Number of columns.
feature_names_in_ : ndarray of str
    Their names, where X has any.""",
}


@dataclass(kw_only=True, eq=False, repr=False)
class Parameters:
    """Parameters of every estimator: stored, and nothing else, as scikit-learn asks for."""

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
        """Make settings of the parameters, three of which have scikit-learn's names."""
        given = {name: value for name, value in vars(self).items() if name in OPTIONS}
        given["alpha"] = self._prior()
        seed, threads = seed_of(self.random_state), threads_of(self.n_jobs)
        return Settings(starts=self.n_init, seed=seed, threads=threads, **given)

    def _prior(self) -> Alpha:
        """Give the prior that is meant."""
        return self.alpha


@dataclass(kw_only=True, eq=False, repr=False)
class Measuring:
    """Parameters of estimators whose evidence can be measured."""

    evidence: bool = DEFAULTS.evidence
    target: float = DEFAULTS.target
    budget: float | str = DEFAULTS.budget


@dataclass(kw_only=True, eq=False, repr=False)
class Searching(Measuring):
    """Parameters of estimators that look for a maximum, and score it."""

    schedule: str = str(DEFAULTS.schedule)
    dimension: str = DEFAULTS.dimension
    device: str = str(DEFAULTS.device)


def described(cls: C) -> C:
    """Write out the meanings that `**NAME` stands for, in docstrings of a class and its methods.

    Parameters that every estimator has come last. Messages of methods that take X are worded for
    the estimator.
    """
    cls.__doc__ = written_out(cls.__doc__, MEANINGS)
    for name, thing in [*vars(cls).items()]:
        # What `available_if` makes of a method has it as `fn`, and hands out that one's words.
        own = getattr(thing, "fn", thing)
        if not inspect.isfunction(own):
            continue
        own.__doc__ = written_out(own.__doc__, MEANINGS)
        if not name.startswith("_") and "X" in inspect.signature(own).parameters:
            if own is thing:
                setattr(cls, name, _in_own_words(own))
            else:
                thing.fn = _in_own_words(own)
    if is_dataclass(cls):
        cast(Any, cls).__init__ = _refusing(cls, cast(Any, cls).__init__)
    return cls


def _in_own_words(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let messages of a method name the parameters of its estimator, and what can be done to X."""

    @functools.wraps(method)
    def worded_here(self: Any, X: Any, *args: Any, **given: Any) -> Any:
        parameters = frozenset((*inspect.signature(type(self)).parameters, "sample_weight"))
        words = EstimatorWords(parameters, self._function, left_out_of(X), made_missing_in(X))
        with of_estimator(words):
            try:
                return method(self, X, *args, **given)
            except LacunetError as error:  # perhaps made where nobody knew of the estimator
                error.args = (worded(error.args[0]), *error.args[1:])
                raise

    return worded_here


def _refusing(cls: type, init: Callable[..., None]) -> Callable[..., None]:
    """Let a constructor say which argument is meant by one that it does not have."""
    shared = [field.name for field in fields(Parameters)]
    signature = inspect.signature(init)
    last = sorted(signature.parameters.values(), key=lambda p: p.name in shared)
    names = [parameter.name for parameter in last[1:]]

    @functools.wraps(init)
    def checked(self: Any, *args: Any, **given: Any) -> None:
        for name in given:
            if name in inspect.signature(cast(Any, cls).fit).parameters:
                raise UnknownOptionError(f"{cls.__name__}() has no option '{name}': fit() has it.")
            if name not in names:
                raise unknown_option(cls.__name__, name, names)
        init(self, *args, **given)

    checked.__signature__ = signature.replace(parameters=last)  # type: ignore[attr-defined]
    return checked


@described
class Tails:
    """Scores that rows with different holes have in common."""

    random_state: Any

    def tail_probabilities(self, X: Any, n_draws: int = DRAWS) -> FloatArray:
        """Tell how unusual rows are among rows with the same holes: small is unusual.

        `score_samples` falls with every cell that a row shows; this does not. It is the probability
        that a row of the model, with the same cells missing, is at most as probable.

        Parameters
        ----------
        **X
        n_draws : int
            Rows to draw from the model and compare with, where what is shown has more
            configurations than that; if it has fewer, the answer is exact.

        Returns
        -------
        probabilities : ndarray of shape (n_samples,)
            Of rows that the model could have drawn, uniform from 0 to 1, whatever their holes.
        """
        asked, rows = self._told(self._read(X))
        rng = np.random.default_rng(seed_of(self.random_state))
        return tail_probabilities(asked, rows.codes, n_draws, rng)

    def _read(self, X: Any) -> Rows:
        """Check rows and code them."""
        raise NotImplementedError

    def _told(self, rows: Rows) -> tuple[Any, Rows]:
        """Give who is asked about rows, and the rows with all that it is told of them."""
        raise NotImplementedError


@described
class Precise(Parameters):
    """Says how precise parameters are."""

    fit_: Any  # how they were found

    def intervals(self, level: float = LEVEL, bootstrap: int = 0) -> Intervals:
        """Give every parameter its standard error and its confidence interval.

        They are those of `lacunet.intervals`: of survey weights, strata and clusters linearised
        (sandwich); else from the observed information.

        Parameters
        ----------
        level : float
            Of confidence.
        bootstrap : int
            Replicates: intervals are then percentiles of so many refits, to rows drawn from the
            model, or of a survey to units drawn anew. 0: none.

        Returns
        -------
        intervals : lacunet.Intervals
            Prints as a table; `table(NAME)` has the numbers.
        """
        check_is_fitted(self)
        settings = replace(self._settings(), level=level, bootstrap=bootstrap)
        return api.intervals_of(self.fit_, settings)


@dataclass(kw_only=True, eq=False, repr=False)
class Surveyed(Precise):
    """Parameters of estimators that know how rows were drawn."""

    strata: str | None = None
    clusters: Clusters = None

    @property
    def _drawn_by(self) -> DesignColumns:
        """Columns of X that say how rows were drawn."""
        return DesignColumns.told(self.strata, self.clusters)
