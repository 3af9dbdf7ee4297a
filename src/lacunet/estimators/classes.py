"""Estimators of latent class models, with a given or a selected number of classes."""

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, TypeAlias

from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from lacunet import api
from lacunet.data.kinds import AUTO, KindsLike
from lacunet.data.reading import Rows
from lacunet.errors import OptionError
from lacunet.estimators.base import HiddenStateEstimator, varies_together
from lacunet.estimators.inputs import check_covariates, warn
from lacunet.estimators.parameters import Searching, worded_estimator
from lacunet.models.display import profile_columns
from lacunet.models.latent_class import classes_of
from lacunet.models.network import Model
from lacunet.models.number_prior import DIAGONAL, USUAL_NUMBERS, NumberPriorLike
from lacunet.models.predictors import CovariatesLike, understand_terms
from lacunet.models.prior import AVERAGE, Alpha
from lacunet.models.surgery import table_of
from lacunet.runtime.arrays import FloatArray, IntArray
from lacunet.runtime.progress import Listener
from lacunet.scores import choose_scores
from lacunet.selection.average import PriorLike
from lacunet.selection.certainty import Certainty
from lacunet.selection.mixing import Mixture, mix
from lacunet.selection.result import Selection
from lacunet.selection.sentences import at_the_end
from lacunet.settings import DEFAULTS, Settings
from lacunet.tabular import frame_of, library_of

Profiles: TypeAlias = tuple[FloatArray, dict[str, FloatArray], dict[str, dict[str, FloatArray]]]


def profiles(model: Model) -> Profiles:
    """Sizes of the classes, p(state | class) of categories, and parameters of numbers by title."""
    classes = classes_of(model.network)
    states: dict[str, FloatArray] = {}
    numbers: dict[str, dict[str, FloatArray]] = {}
    for i in (i for i in model.network.shown if i in classes.leaves):
        v, table = model.network.variables[i], table_of(model.network, model.theta, i)
        if v.family.tabular:
            states[v.name] = table
        else:
            numbers[v.name] = v.summary(table)
    return model.table(classes.variable.name), states, numbers


@worded_estimator
class ClassEstimator(ClusterMixin, HiddenStateEstimator):
    """Base class of estimators with one latent class variable."""

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> IntArray:
        """Do `fit`, and return `labels_`."""
        labels: IntArray = self.fit(X, y, sample_weight).labels_
        return labels

    def profiles_frame(self, library: str | None = None) -> Any:
        """Give `profiles_` and `numbers_` as a tidy dataframe.

        Categories have a row for each class and state: p(state | class). Numbers have a row for
        each class: their parameters, such as mean and sd. Classes are numbered from 1, as in all
        reports; `labels_` and `predict` count from 0. `library` is 'polars', 'pandas' or 'pyarrow'
        (default: that of the training data, or Polars).
        """
        check_is_fitted(self)
        return frame_of(profile_columns(self.model_), library or self._library)

    def _look_back(self, X: Any) -> None:
        self._library = library_of(X)
        self.class_sizes_, self.profiles_, self.numbers_ = profiles(self.model_)
        # `fit` has checked the states; rows of weight 0 may have others.
        self.labels_ = self._labels(X, unseen="missing")


@worded_estimator
@dataclass(eq=False, repr=False)
class LatentClassModel(Searching, ClassEstimator):
    """Latent class model with a given number of classes.

    Each row belongs to one of `n_classes` latent classes; within a class the columns are
    independent. Missing cells need no imputation, because they are summed out. Covariates may
    predict the class; `predict`, `predict_proba` and `score_samples` then use those of each row.

    Parameters
    ----------
    n_classes : int
        Number of classes. To select it, use `LatentClassSelector`.
    n_init : int
        Random starts; only the best are run to convergence.
    random_state : int, RandomState or None
        Seed of the starts, and of `sample`. A whole number gives the same result for any order of
        the rows and any number of threads.
    n_jobs : int or None
        Threads, counted as in joblib; -1 is all. None: one per core, but one in a worker of joblib,
        so that a parallel grid search has no more threads than cores.
    verbose : int
        Above 0, `fit` shows progress on stderr: one line in a terminal or a notebook.
    covariates : str, sequence of str or None
        Columns of X that predict classes and are not items: names, comma-separated in a text, or a
        formula, '~ age + C(region)'. Every row must have them, also for predictions.
    coefficient_sd : float
        Prior of covariates: standard deviation of the log odds ratio of two classes, for one
        standard deviation of a number or between two states of a category.
    missing_covariates : {'refuse', 'drop'}
        Rows without a covariate: refuse (and report their number), or drop them.
    strata : str or None
        Column of X with the sampling stratum of each row. It is not a variable, and affects only
        the standard errors of `intervals`.
    clusters : str, sequence of str or None
        Column of X with the primary sampling unit of each row. Several columns identify units
        jointly. Not a variable, like strata.
    estimate : {'map', 'ml', 'softmax'}
        Parameters that maximise the posterior, the likelihood, or the posterior density of log θ.
        With exponents below 1 the posterior has no mode: 'map' then means 'softmax'.
    alpha : float, str or mapping
        Prior: a Dirichlet exponent, 'k2', 'bdeu:SIZE', or a table for each family.
    schedule : {'default', 'thorough', 'paper'}
        default: search until new maxima are unlikely; thorough: search further, some 5 times as
        long; paper: exactly CH96. The estimate is the highest maximum found.
    scores : str or sequence of str
        Approximations of the evidence to keep in `evidence_`: names, or 'all'.
    dimension : {'parameters', 'rank'}
        What counts as d: parameters, or the rank of the observable Jacobian.
    device : {'cpu', 'cuda'}
        Device of E steps: cpu, or cuda, an NVIDIA device (with CuPy). Samples of measured
        evidence are always drawn on cpu.
    evidence : bool
        Measure the evidence, however long that takes.
    target : float
        Target standard error of a sampled evidence, in nats; a fifth of it for probabilities.
    budget : float or str
        Time after which no new sampling starts: '60s', '5m', '1h', or seconds.
    kinds : str, mapping or None
        Kinds of columns: 'gaussian', 'lognormal', 'poisson', 'ordinal' or 'categorical' for all of
        them, or a mapping of some names to these (columns of an array are x0, x1, …). Other columns
        are numbers if they have more than 20 different whole numbers, or more than 5 with
        fractions; else categories.
    bin : int, str, mapping or None
        Columns of numbers to bin: a mapping of names to a number of bins (of about equal numbers of
        rows) or to a list of edges, or one number for all columns of numbers. New rows use the same
        edges; values outside go into the outer bins.
    number_prior : str or mapping
        Prior of means, variances and rates, such as 'scale=0.25'; see `SearchSettings`.
    covariance : str
        Covariance of Gaussian columns within a class: 'diagonal', 'full', or blocks of names, as
        'height+weight'. Shared by all classes: 'diagonal-common', 'full-common',
        'height+weight,common'.
    categories : 'auto', list or mapping
        States of the columns: one list for each column, or a mapping of some names to lists.
        'auto': the categories that a dataframe declares, or else the training values.
    unseen : {'warn', 'error', 'missing'}
        Treatment of new values that are not states of their column: as missing with a warning,
        an error, or as missing silently. Only 'missing' allows `fit` values that contradict
        declared states.
    missing_as_state : bool
        Treat a missing cell as an answer: one more state, '(missing)', of its column.
    plug_in : bool
        Use plug-in instead of posterior-predictive probabilities. The latter are the default, under
        which no row is impossible.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Class of each training row, from 0.
    class_sizes_ : ndarray of shape (n_classes,)
        Share of each class; the largest comes first.
    profiles_ : dict of str to ndarray of shape (n_classes, states)
        p(state | class) of each column of categories.
    numbers_ : dict of str to dict of str to ndarray
        Parameters of each column of numbers in each class, by title: 'mean' and 'sd' (Gaussian),
        'median' and 'factor' (lognormal), 'rate' (counts), 'mean' (ordered answers).
    categories_ : dict of str to tuple
        States of each column; none, (), of a column of numbers.
    model_ : lacunet.Model
        The fitted model, for everything else in `lacunet`.
    fit_ : lacunet.Fit
        The fit; prints as a report. With covariates a `lacunet.ClassRegression`.
    coefficients_ : lacunet.Coefficients
        Log odds of the classes by covariates, with standard errors; only with covariates.
    evidence_ : dict of str to lacunet.Evidence
        Log marginal likelihood by each of `scores`, in nats; higher is better. With covariates
        that is 'csl' alone.
    log_likelihood_ : float
        Log p(D | θ) of all rows.
    n_iter_, converged_
        Iterations of the best start, and whether it converged.
    flags_ : tuple of lacunet.flags.Flag
        Warnings about the fit, as sentences.

    Notes
    -----
    Labels count classes from 0, as scikit-learn does; tables, frames and reports number the same
    classes from 1. A fitted estimator holds the distinct rows of its table, in `fit_`.

    Examples
    --------
    >>> import pandas as pd
    >>> from lacunet import LatentClassModel, dataset_path
    >>> data = pd.read_csv(dataset_path("carcinoma"))
    >>> X, counts = data.drop(columns="count"), data["count"]
    >>> model = LatentClassModel(3, random_state=0).fit(X, sample_weight=counts)
    >>> model.class_sizes_.round(2)
    array([0.44, 0.37, 0.18])
    >>> model.profiles_["A"][:, 1].round(2)  # p(A = 1 | class)
    array([1.  , 0.06, 0.51])
    >>> rows = pd.DataFrame([[1, 1, None, 0, 1, None, 1], [0] * 7], columns=X.columns)
    >>> model.predict(rows)
    array([0, 1])
    """

    n_classes: int = 2
    _: KW_ONLY
    kinds: KindsLike = AUTO
    number_prior: NumberPriorLike = USUAL_NUMBERS
    covariance: str = DIAGONAL
    covariates: CovariatesLike | None = None
    coefficient_sd: float = DEFAULTS.coefficient_sd
    missing_covariates: str = str(DEFAULTS.missing_covariates)

    def _learn(self, X: Any, sample_weight: Any, listener: Listener) -> None:
        if self.covariates is not None:
            self._learn_regression(X, sample_weight, listener)
            return
        table, settings = self._read_all(X, sample_weight, self.kinds), self._settings()
        selection = api.select(table, [self.n_classes], settings=settings, listener=listener)
        self._keep(selection.candidates[0])

    def _learn_regression(self, X: Any, sample_weight: Any, listener: Listener) -> None:
        """Learn a latent class regression."""
        assert self.covariates is not None
        used = self._shown(X, sample_weight)
        terms = understand_terms(self.covariates, used)
        check_covariates([term.name for term in terms], used)
        kinds = api.covariate_kinds(self.kinds, terms)
        table = self._read_columns(X, sample_weight, kinds, used)
        regression = api.class_regression(
            table, self.n_classes, self.covariates, settings=self._settings(), listener=listener
        )
        self._keep_model(regression.model)
        self.fit_, self.coefficients_, self.flags_ = (
            regression,
            regression.coefficients,
            regression.flags,
        )
        self.evidence_ = {regression.weighed.approximated.name: regression.weighed.approximated}
        self.log_likelihood_, self.n_iter_ = regression.log_lik, regression.fit.iterations
        self._warn_unless_converged(regression.fit.status)


@worded_estimator
@dataclass(eq=False, repr=False)
class LatentClassSelector(Searching, ClassEstimator):
    """Latent class model whose number of classes is selected by the evidence.

    Every number of classes is fitted and scored, and the most probable one is selected. A selector
    holds the distinct rows of its table, in `selection_`. Other parameters, and the attributes of
    the selected model, are those of `LatentClassModel`.

    Parameters
    ----------
    n_classes : sequence of int or None
        Numbers of classes to try. None: 1 to 8, and more, up to 32, while they are probable.
    criterion : str or None
        Score that selects, as 'bic'; it need not be among `scores`. None: the evidence, measured as
        far as necessary.
    quick : bool
        Use scores alone and measure nothing: fast, but overconfident.
    prior : str, mapping of int to float, or None
        Prior of the number of classes: 'bnb', 'geometric:0.1', 'uniform', or a weight for each
        number. None: equal weights.
    average : bool
        Whether `predict_proba`, `predict`, `score_samples` and `score` average over all models,
        weighted by `posterior_`. Classes of the other models are matched with those of the selected
        model by their shared members.
    alpha : float, str or mapping
        Prior: 'average' over two strengths, or a Dirichlet exponent, 'k2', or 'bdeu:SIZE'.
    whole_range : bool
        Try every number of a long range, even after the evidence has fallen far.
    calibrate : bool
        Measure the evidence of the best few candidates separately, to check the scores.
    blrt : int
        Replicates of a bootstrap likelihood-ratio test of each number of classes against one less,
        19 or more (99 is usual); 0: no test.

    Attributes
    ----------
    n_classes_ : int
        The selected number of classes.
    posterior_ : dict of int to float
        Probability of each number of classes, by the criterion.
    used_classes_ : dict of int to float, or None
        Posterior of the number of nonempty classes; None without measured evidence.
    certainty_ : lacunet.Certainty
        The posterior with standard errors, Bayes factors and its source.
    scores_ : dict of str to dict of int to float
        Each score of each number of classes, in nats; higher is better.
    selection_ : lacunet.Selection
        All candidates; prints as a report. `selection_.ratio_tests` has the bootstrap tests.
    misfit_ : lacunet.Misfit or None
        Alternative explanations of the classes; `misfit_.clear` holds the probable ones.

    Examples
    --------
    >>> import pandas as pd
    >>> from lacunet import LatentClassSelector, dataset_path
    >>> data = pd.read_csv(dataset_path("carcinoma"))
    >>> X, counts = data.drop(columns="count"), data["count"]
    >>> selector = LatentClassSelector(range(1, 6), random_state=0).fit(X, sample_weight=counts)
    >>> selector.n_classes_
    3
    >>> {k: round(p, 1) for k, p in selector.posterior_.items()}
    {1: 0.0, 2: 0.0, 3: 0.8, 4: 0.2, 5: 0.0}
    """

    n_classes: Iterable[int] | None = None
    _: KW_ONLY
    alpha: Alpha = AVERAGE
    criterion: str | None = None
    quick: bool = False
    prior: PriorLike = None
    average: bool = False
    calibrate: bool = DEFAULTS.calibrate
    whole_range: bool = DEFAULTS.whole_range
    blrt: int = DEFAULTS.blrt
    kinds: KindsLike = AUTO
    number_prior: NumberPriorLike = USUAL_NUMBERS
    covariance: str = DIAGONAL
    scores: str | Sequence[str] = ("csl-occupied", "vb")

    _function = "select"

    def _learn(self, X: Any, sample_weight: Any, listener: Listener) -> None:
        table, settings = self._read_all(X, sample_weight, self.kinds), self._settings()
        selection = api.select(
            table, self.n_classes, prior=self.prior, settings=settings, listener=listener
        )
        self.certainty_ = self._certainty(selection)
        chosen = self.certainty_.choice
        if chosen is None:
            raise OptionError(
                f"criterion {self.certainty_.by!r} is undefined for all numbers of classes. Choose "
                "another score, for example cs."
            )
        best = next(c for c in selection.candidates if c.label == chosen)
        self._keep(best)
        self.selection_, self.n_classes_, self.misfit_ = selection, chosen, selection.misfit
        sure = chosen == selection.label  # another criterion may differ
        if (sure and selection.at_least) or varies_together(best.fit.model):
            for sentence in at_the_end(selection):
                warn(sentence)
        self.posterior_ = dict(self.certainty_.probabilities)
        self.used_classes_ = selection.used
        self.scores_ = {s.name: selection.values(s.name) for s in selection.scores}
        weights = [self.posterior_[c.label] for c in selection.candidates]
        models = [c.fit.model for c in selection.candidates]
        learned = [model.predictive for model in models]
        self._mixtures: dict[bool, Mixture] = {  # by `plug_in`
            True: mix(models, weights, best.fit.model, best.problem),
            False: mix(learned, weights, best.fit.model.predictive, best.problem),
        }

    def _settings(self) -> Settings:
        """Add the score of `criterion`, which needs no measured evidence."""
        settings = super()._settings()
        if self.criterion is None:
            return settings
        names = (*(s.name for s in settings.chosen_scores), self.criterion)
        return replace(settings, scores=names, quick=not settings.evidence)

    def _certainty(self, selection: Selection) -> Certainty:
        """Posterior of the candidates, by the criterion."""
        if self.criterion is None:
            return selection.certainty
        (decides,) = choose_scores(self.criterion)
        if decides not in selection.scores:
            raise OptionError(
                f"criterion {self.criterion!r} is exact, so defined only where nothing is hidden. "
                "Choose another score, for example cs."
            )
        return selection.by_score(decides.name)

    def _hidden(self, rows: Rows) -> list[FloatArray]:
        return [self._mixture(rows).classes(rows.codes)] if self.average else super()._hidden(rows)

    def _log_lik(self, rows: Rows) -> FloatArray:
        return self._mixture(rows).log_lik(rows.codes) if self.average else super()._log_lik(rows)

    def _mixture(self, rows: Rows) -> Mixture:
        return self._mixtures[self.plug_in].with_columns(rows.columns)
