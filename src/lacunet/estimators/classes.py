"""What estimators have whose hidden variable is one of classes: clusterers, for scikit-learn.

Latent class analysis with a given number of classes, for scikit-learn.
Latent class analysis that chooses the number of classes, for scikit-learn.
"""

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
from lacunet.estimators.parameters import Searching, Surveyed, described
from lacunet.inference.queries.answers import log_lik_of
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
from lacunet.selection.candidates import Selection
from lacunet.selection.certainty import Certainty
from lacunet.selection.mixing import Mixture, mix
from lacunet.selection.reach import at_the_end
from lacunet.settings import DEFAULTS, Settings
from lacunet.summaries.statistics import criteria
from lacunet.tabular import frame_of, library_of


@described
class ClassEstimator(ClusterMixin, HiddenStateEstimator):
    """Base class: every row belongs to one class, which nobody sees."""

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> IntArray:
        """Do `fit`, and give `labels_`.

        Parameters
        ----------
        **X; y
        sample_weight : array of shape (n_samples,), optional
            Weight of each row.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            As `predict` gives them.
        """
        labels: IntArray = self.fit(X, y, sample_weight).labels_
        return labels

    def profiles_frame(self, library: str | None = None) -> Any:
        """Give `profiles_` and `numbers_` as a tidy dataframe.

        Parameters
        ----------
        library : {'polars', 'pandas', 'pyarrow'}, optional
            Without it: that of the dataframe that `fit` had, or Polars after an array.

        Returns
        -------
        profiles : dataframe
            A row for each column, class and state: p(state | class). Of a number, a row for each
            class: its mean and sd, or what else is told of it. Classes are numbered from 1, as in
            everything that people read; `labels_` and `predict` count from 0.
        """
        check_is_fitted(self)
        return frame_of(profile_columns(self.model_), library or self._library)

    def _look_back(self, X: Any) -> None:
        self._library = library_of(X)
        # Of states `fit` has said what there is to say; rows of weight 0 may show others.
        self.labels_ = self._labels(X, unseen="missing")


@described
@dataclass(eq=False, repr=False)
class LatentClassModel(Searching, Surveyed, ClassEstimator):
    """Latent class model with a given number of classes.

    Each row belongs to one of `n_classes` classes that nobody sees; within a class the columns are
    independent. Cells may be missing: they need no imputation, a row is what it shows. Covariates
    may predict the class; `predict`, `predict_proba` and `score_samples` then go by those of a row.

    Parameters
    ----------
    n_classes : int
        Number of classes. To have it chosen, use `LatentClassSelector`.
    **covariates; coefficient_sd; missing_covariates; strata; clusters
    **estimate; alpha; n_init; schedule; scores; dimension; device; evidence; target; budget
    **kinds; bin; number_prior; covariance; categories; unseen; missing_as_state; plug_in
    **random_state; n_jobs; verbose

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Class of each row that `fit` had, from 0.
    class_sizes_ : ndarray of shape (n_classes,)
        Share of each class; the largest comes first.
    profiles_ : dict of str to ndarray of shape (n_classes, states)
        p(state | class) of each column of categories.
    **numbers_; categories_
    model_ : lacunet.Model
        The fitted model, for everything else in `lacunet`.
    fit_ : lacunet.Fit
        How it was found; prints as a report. With covariates a `lacunet.ClassRegression`.
    coefficients_ : lacunet.Coefficients
        Log odds of the classes by covariates, with standard errors; only with these.
    evidence_ : dict of str to lacunet.Evidence
        Log marginal likelihood by each of `scores`, in nats; higher is better. With covariates
        that is 'csl' alone.
    log_likelihood_ : float
        Log p(D | θ) of all rows together.
    n_iter_ : int
        Iterations of the start that won, after the race.
    converged_ : bool
        Whether it reached a maximum.
    flags_ : tuple of lacunet.flags.Flag
        What to know of the fit; `str` says it in words.
    **columns

    Notes
    -----
    Labels count classes from 0, as scikit-learn does; everything that people read (tables, frames,
    reports) numbers the same classes from 1.

    A column with more than 20 different whole numbers, or more than 5 with fractions, is Gaussian:
    it has a mean and a variance in each class; small counts have a rate. Of any other column every
    distinct value is a state, unless `kinds` or `bin` says otherwise.

    A fitted estimator holds the distinct rows of its table, in `fit_`: mind that before you share a
    pickle of it.

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
        table = self._read_all(X, sample_weight, self.kinds)
        self._keep(
            api.select(
                table, [self.n_classes], settings=self._settings(), listener=listener
            ).candidates[0]
        )
        self.class_sizes_, self.profiles_, self.numbers_ = profiles(self.model_)

    def _learn_regression(self, X: Any, sample_weight: Any, listener: Listener) -> None:
        """Learn classes together with what predicts them."""
        assert self.covariates is not None
        used = self._shown(X, sample_weight)
        terms = understand_terms(self.covariates, used)
        check_covariates([term.name for term in terms], used)
        kinds = api.covariate_kinds(self.kinds, terms)
        table = self._read_columns(X, sample_weight, kinds, used)
        found = api.class_regression(
            table, self.n_classes, self.covariates, settings=self._settings(), listener=listener
        )
        self._keep_model(found.model)
        self.fit_, self.coefficients_ = found, found.coefficients
        self.evidence_ = {found.weighed.approximated.name: found.weighed.approximated}
        self.log_likelihood_, self.n_iter_ = found.log_lik, found.fit.steps
        self.flags_ = found.flags
        self._warn_unless_converged(found.fit.outcome)
        self.class_sizes_, self.profiles_, self.numbers_ = profiles(self.model_)

    def _criteria(self, X: Any) -> dict[str, float]:
        if self.covariates is None:
            return super()._criteria(X)
        plain = self.model_
        rows = self._read(X)
        log_lik = log_lik_of(*self._given(plain, rows))
        return criteria(float(log_lik.sum()), plain.dimension, len(log_lik))


Profiles: TypeAlias = tuple[FloatArray, dict[str, FloatArray], dict[str, dict[str, FloatArray]]]


def profiles(model: Model) -> Profiles:
    """Sizes of the classes, p(state | class) of categories, and what is told of numbers."""
    classes = classes_of(model.network)
    states: dict[str, FloatArray] = {}
    numbers: dict[str, dict[str, FloatArray]] = {}
    for i in (i for i in model.network.shown if i in classes.leaves):
        v, table = model.network.variables[i], table_of(model.network, model.theta, i)
        if v.family.tabular:
            states[v.name] = table
        else:
            numbers[v.name] = v.told(table)
    return model.table(classes.variable.name), states, numbers


@described
@dataclass(eq=False, repr=False)
class LatentClassSelector(Searching, Surveyed, ClassEstimator):
    """Latent class model whose number of classes is chosen by the evidence of the data.

    Every number of classes is fitted and scored; the most probable one is kept, and the others are
    weighed.

    Parameters
    ----------
    n_classes : sequence of int or None
        Numbers of classes to try. None: 1 to 8, and more, up to 32, while they are probable.
    criterion : str or None
        Score that chooses, as 'bic'; it need not stand among `scores`. None: the evidence, measured
        as far as it matters.
    quick : bool
        Whether to go by scores alone and measure nothing: soon done, but surer than it should be.
    prior : str, mapping of int to float, or None
        Prior of the number of classes: 'bnb', 'geometric:0.1', 'uniform', or a weight for each
        number. None: all the same.
    average : bool
        Whether `predict_proba`, `predict`, `score_samples` and `score` speak for all models, each
        weighed by its probability in `posterior_`, instead of the chosen one alone. Classes of the
        other models are matched with those of the chosen one by the members that they share.
    **strata; clusters; estimate
    alpha : float, str or mapping
        Prior: 'average' over two strengths, or a Dirichlet exponent, 'k2', or 'bdeu:SIZE'.
    n_init : int
        Random starts of each model; all race, the best are brought to their maximum.
    **schedule
    scores : str or sequence of str
        Approximations of the evidence to compute: names, or 'all'.
    **dimension; device; whole_range; blrt; evidence; calibrate; target; budget
    **kinds; bin; number_prior; covariance; categories; unseen; missing_as_state; plug_in
    **random_state; n_jobs; verbose

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Class of each row that `fit` had, from 0.
    n_classes_ : int
        The number of classes that was chosen.
    posterior_ : dict of int to float
        Probability of each number of classes, by the criterion.
    used_classes_ : dict of int to float, or None
        Posterior of the number of classes that have a case; None where nothing was measured.
    certainty_ : lacunet.Certainty
        The same with standard errors, Bayes factors, and where it comes from.
    scores_ : dict of str to dict of int to float
        Each score of each number of classes, in nats; higher is better.
    selection_ : lacunet.Selection
        All candidates; prints as a report. `selection_.ratio_tests` has the bootstrap tests.
    misfit_ : lacunet.Misfit or None
        What the chosen classes may stand for instead; `misfit_.clear` holds what is probable.
    class_sizes_ : ndarray of shape (n_classes_,)
        Share of each class; the largest comes first.
    profiles_ : dict of str to ndarray of shape (n_classes_, states)
        p(state | class) of each column of categories.
    **numbers_; categories_
    model_, fit_, evidence_, log_likelihood_, n_iter_, converged_, flags_
        Of the chosen model, as in `LatentClassModel`.
    **columns

    Notes
    -----
    A selector holds the distinct rows of its table, in `selection_`: mind that before you share a
    pickle of it.

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
        table = self._read_all(X, sample_weight, self.kinds)
        settings, numbers = self._settings(), self.n_classes
        selection = api.select(
            table, numbers, prior=self.prior, settings=settings, listener=listener
        )
        self.certainty_ = self._certainty(selection)
        chosen = self.certainty_.choice
        if chosen is None:
            raise OptionError(
                f"criterion {self.certainty_.by!r} exists for no number of classes. Choose another "
                "score, for example cs."
            )
        best = next(c for c in selection.candidates if c.label == chosen)
        self._keep(best)
        self.selection_ = selection
        self.n_classes_ = chosen
        self.misfit_ = selection.misfit
        sure = chosen == selection.label  # another criterion has another edge
        if (sure and selection.at_least) or varies_together(best.fit.model):
            for sentence in at_the_end(selection):
                warn(sentence)
        self.posterior_ = dict(self.certainty_.probabilities)
        self.used_classes_ = selection.used
        self.scores_ = {s.name: selection.values(s.name) for s in selection.scores}
        self.class_sizes_, self.profiles_, self.numbers_ = profiles(self.model_)
        weights = [self.posterior_[c.label] for c in selection.candidates]
        models = [c.fit.model for c in selection.candidates]
        learned = [model.predictive for model in models]
        self._mixtures: dict[bool, Mixture] = {  # by `plug_in`
            True: mix(models, weights, best.fit.model, best.problem),
            False: mix(learned, weights, best.fit.model.predictive, best.problem),
        }

    def _settings(self) -> Settings:
        """The same, with the score that decides; then nothing need be measured."""
        settings = super()._settings()
        if self.criterion is None:
            return settings
        names = (*(s.name for s in settings.chosen_scores), self.criterion)
        return replace(settings, scores=names, quick=not settings.evidence)

    def _certainty(self, selection: Selection) -> Certainty:
        """How sure the choice is, by the criterion."""
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
        return self._mixtures[self.plug_in].knowing(rows.columns)
