"""Latent class analysis with a given number of classes, for scikit-learn."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeAlias

from lacunet import api
from lacunet.data.kinds import AUTO, KindsLike
from lacunet.estimators.clustering import ClassEstimator
from lacunet.estimators.inputs import check_covariates
from lacunet.estimators.parameters import Searching, described
from lacunet.estimators.surveyed import Surveyed
from lacunet.inference.queries.answers import log_lik_of
from lacunet.models.covariance import DIAGONAL
from lacunet.models.joint import table_of
from lacunet.models.latent_class import classes_of
from lacunet.models.network import Model
from lacunet.models.number_prior import USUAL_NUMBERS, NumberPriorLike
from lacunet.models.terms import CovariatesLike, understand_terms
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.progress import Listener
from lacunet.settings import DEFAULTS
from lacunet.summaries.information_criteria import criteria


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
