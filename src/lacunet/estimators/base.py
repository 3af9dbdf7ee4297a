"""Base classes of latent-variable estimators: reading rows, and methods after `fit`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    DensityMixin,
    OneToOneFeatureMixin,
    TransformerMixin,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from lacunet import api
from lacunet.api.imputing import MissingCells, filled
from lacunet.data import Table
from lacunet.data.design import NO_DESIGN, DesignColumns
from lacunet.data.kinds import KindsLike
from lacunet.data.reading import Rows, as_array, declared_columns
from lacunet.errors import ModelError, OptionError
from lacunet.estimators.inputs import (
    FitInput,
    MissingAllowed,
    check_drawn,
    check_input,
    check_weights,
    column_kinds,
    declared_states,
    is_frame,
    names_of,
    read_codes,
    read_covariates,
    read_fit,
    seed_of,
    shown_places,
    warn,
)
from lacunet.estimators.parameters import Parameters, worded_estimator
from lacunet.fitting.ascent import Convergence
from lacunet.flags import Kind
from lacunet.inference.leaves import all_with_values, kinds_of
from lacunet.inference.queries.answers import (
    DRAWS,
    log_lik_of,
    most_probable_state,
    posterior_of,
    tail_probabilities,
)
from lacunet.models.ensemble import PredictiveModel, model_as_shown, shown
from lacunet.models.network import Model
from lacunet.models.predictors import Covariates
from lacunet.models.surgery import Drawn, coded, sample_cells
from lacunet.runtime import progress
from lacunet.runtime.arrays import CodeArray, FloatArray, IntArray
from lacunet.selection.candidates import Candidate
from lacunet.summaries.statistics import criteria

# Flags that are also warnings if classes have full covariances, because other maxima, and
# covariances that the prior decides, then change the classes.
DOUBTFUL = (Kind.UNSTABLE, Kind.FEW_CASES)


def varies_together(model: Model) -> bool:
    """Whether some columns are jointly Gaussian within classes."""
    return any(v.family.stands_at is not None for v in model.network.variables)


class RowReading(Parameters):
    """Reader of training rows and of new rows."""

    _names: list[str]  # of the columns of X
    categories_: dict[str, Any]

    @property
    def _predictor(self) -> Any:
        """The model, or the ensemble, that predicts."""
        raise NotImplementedError

    @property
    def _places(self) -> Sequence[int]:
        """Positions of the columns of the model in X."""
        return [self._names.index(c.name) for c in api.observed_columns(self._predictor.network)]

    @property
    def _drawn_by(self) -> DesignColumns:
        """Columns of X with the survey design."""
        return NO_DESIGN

    def _read_all(self, X: Any, sample_weight: Any, kinds: KindsLike = None) -> Table:
        """Make the training table of all variables."""
        table = self._read_columns(X, sample_weight, kinds, self._shown(X, sample_weight))
        return api.missing_as_state(table) if self.missing_as_state else table

    def _variables(self, X: Any) -> list[str]:
        """Names of the columns that are variables, not survey design."""
        self._names = names_of(X)
        check_drawn(self._drawn_by, self._names)
        return [name for name in self._names if name not in self._drawn_by.names]

    def _shown(self, X: Any, sample_weight: Any) -> list[str]:
        """Names of the variables with any value, or with declared states."""
        names = self._variables(X)
        stated = declared_states(self.categories, self._names)
        declared = {*declared_columns(X), *(j for j, s in enumerate(stated) if s is not None)}
        places = [self._names.index(name) for name in names]
        indices = shown_places(X, sample_weight, places, declared) if places else []
        return [self._names[j] for j in indices]

    def _read_columns(
        self, X: Any, sample_weight: Any, kinds: KindsLike, used: Sequence[str]
    ) -> Table:
        """Make a table of some columns of X."""
        every = self._names
        if not used:
            raise OptionError("no column of X is left to learn from: all describe the design.")
        declared = dict(zip(every, declared_states(self.categories, every), strict=True))
        states, places = [declared[name] for name in used], [every.index(name) for name in used]
        kinds_of_columns = column_kinds(kinds, used, states, self.bin)
        reading = FitInput(used, states, self.unseen, kinds_of_columns, places, self._drawn_by)
        return read_fit(X, sample_weight, reading)

    def _read_both(self, X: Any, unseen: str | None = None) -> tuple[Any, Rows]:
        """Give the checked X, and its codes."""
        check_is_fitted(self)
        checked = check_input(self, X, reset=False)
        network = self._predictor.network
        rows = read_codes(
            checked,
            known={name: self.categories_[name] for name in api.observed_states(network)},
            columns=self._places,
            unseen=unseen or self.unseen,
            kinds=kinds_of(network),
            as_state=self.missing_as_state,
        )
        if known := api.covariates_of(self._predictor).covariates:
            beside = read_covariates(checked, Covariates(known), self._names)
            rows = replace(rows, beside=beside)
        return checked, rows

    def _read(self, X: Any, unseen: str | None = None) -> Rows:
        return self._read_both(X, unseen)[1]

    def _predictive_input(self, rows: Rows) -> tuple[Any, Rows]:
        """Give the model at the numbers and covariates of rows, and the rows coded for it."""
        predictive, codes = self._given(self._predictor, rows)
        if rows.beside is None:
            return predictive, rows
        columns, unknown = tuple(api.observed_columns(predictive.network)), rows.unknown
        if unknown is not None:
            unknown = np.column_stack([unknown, np.zeros(len(codes), dtype=bool)])
        return predictive, replace(rows, columns=columns, codes=codes, unknown=unknown)

    def _given(
        self, predictive_model: PredictiveModel, rows: Rows
    ) -> tuple[PredictiveModel, CodeArray]:
        """Give any model at the numbers and covariates of rows, and their codes."""
        predictive = all_with_values(predictive_model, rows.columns)
        if rows.beside is None:
            return predictive, rows.codes
        return api.given_covariates(predictive, rows.codes, rows.beside.columns, rows.beside.codes)


@worded_estimator
class HiddenStateEstimator(
    RowReading,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    DensityMixin,
    MissingAllowed,
    BaseEstimator,
):
    """Base class of estimators that compute posteriors of hidden variables of incomplete rows.

    In all methods X is a dataframe or an array of shape (n_samples, n_features), in which NaN and
    None are missing cells; `y` is not used.
    """

    fit_: Any

    # Pipelines and searches pass `y`.
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Learn from rows with missing cells.

        `sample_weight`, of shape (n_samples,): whole numbers are frequencies; others are survey
        weights, scaled to sum to the effective sample size. Rows of weight 0 are dropped.
        """
        checked = check_input(self, X, reset=True)
        with progress.shown() if self.verbose else nullcontext(progress.ignore) as listener:
            self._learn(checked, sample_weight, listener)
        self._look_back(checked)
        return self

    def predict(self, X: Any) -> IntArray:
        """Predict the most probable hidden state of each row; without hidden variables, `impute`.

        States are numbered from 0. With several hidden variables, the shape is (n_samples, hidden
        variables). Impossible rows get -1, which can happen only with `plug_in`.
        """
        if not self._hides:
            return np.asarray(self.impute(X))
        return self._labels(X)

    @available_if(lambda self: self._may_hide)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> FloatArray:
        """Compute the posterior of the hidden variables, (n_samples, hidden states).

        Columns are the states of each hidden variable, named by `get_feature_names_out`. NaN where
        `predict` gives -1.
        """
        posteriors = self._hidden(self._read(X))
        return np.column_stack(
            [np.where(p.sum(1, keepdims=True) > 0, p, np.nan) for p in posteriors]
        )

    def transform(self, X: Any) -> FloatArray:
        """Do `predict_proba`, or without hidden variables `impute`, for a pipeline."""
        return self.predict_proba(X) if self._hides else np.asarray(self.impute(X))

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> IntArray:
        """Do `fit`, then `predict` the same rows."""
        return self.fit(X, y, sample_weight).predict(X)

    def score_samples(self, X: Any) -> FloatArray:
        """Compute log p(observed cells | D) of each row, in nats; -inf where `predict` gives -1."""
        return self._log_lik(self._read(X))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:  # noqa: ARG002
        """Compute the mean log p(row), like the mixtures of scikit-learn; higher is better."""
        log_lik = self.score_samples(X)
        return float(np.average(log_lik, weights=check_weights(sample_weight, len(log_lik))))

    @available_if(lambda self: self._is_one_model)  # type: ignore[untyped-decorator]
    def bic(self, X: Any) -> float:
        """Compute −2 log p(X | θ) + d log N: **lower is better**, as in scikit-learn's mixtures.

        Code written for mixtures keeps working. In contrast, scores in `evidence_` are in nats, and
        higher is better; the one named 'bic' is −1/2 of this.
        """
        return self._criteria(X)["BIC"]

    @available_if(lambda self: self._is_one_model)  # type: ignore[untyped-decorator]
    def aic(self, X: Any) -> float:
        """Compute −2 log p(X | θ) + 2 d: **lower is better**, as in scikit-learn's mixtures."""
        return self._criteria(X)["AIC"]

    def sample(self, n_samples: int = 1) -> tuple[Any, IntArray]:
        """Draw rows from the fitted model.

        Returns
        -------
        X : ndarray of shape (n_samples, variables)
            Values of the observed variables, in the order of `categories_`.
        labels : ndarray of shape (n_samples,)
            The hidden states of the rows, numbered as by `predict`; no columns without hidden
            variables.
        """
        check_is_fitted(self)
        seen, hidden = self._draw(n_samples, np.random.default_rng(seed_of(self.random_state)))
        names = [v.name for v in seen.variables]
        order = [names.index(name) for name in self.categories_]
        values = as_array([seen.variables[j].states for j in order], seen.codes[:, order])
        return values, hidden[:, 0] if hidden.shape[1] == 1 else hidden

    def impute(self, X: Any) -> Any:
        """Fill each missing cell with its most probable value given the rest of the row.

        A number gets its mean, a lognormal its geometric mean, rounded to the decimals of the
        column and within the range of the training data. The result is an array, or a dataframe
        like X with the same column types. Rows to which `predict` gives -1 keep their missing
        cells.
        """
        checked, rows = self._read_both(X)
        predictive, whole = self._predictive_input(rows)
        fillings = MissingCells(
            whole, predictive, self._places, self._predictor.network
        ).most_probable()
        return filled(X if is_frame(X) else checked, fillings)

    def tail_probabilities(self, X: Any, n_draws: int = DRAWS) -> FloatArray:
        """Compute tail probabilities of rows, given their missing cells: small is unusual.

        It is the probability that a row drawn from the model, with the same cells missing, is at
        most as probable: uniform for rows of the model. Unlike `score_samples`, it does not fall
        with the number of observed cells. If these have more than `n_draws` configurations, so many
        rows are drawn; else the result is exact.
        """
        predictive, rows = self._predictive_input(self._read(X))
        rng = np.random.default_rng(seed_of(self.random_state))
        return tail_probabilities(predictive, rows.codes, n_draws, rng)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Name the columns of `predict_proba` and `transform`: class0, class1, and so on.

        Without hidden variables, they are those of X, and are checked against `input_features`.
        """
        if not self._hides:
            return OneToOneFeatureMixin.get_feature_names_out(self, input_features)
        super().get_feature_names_out(input_features)  # checks the arguments
        return np.array(self._hidden_names(), dtype=object)

    def _learn(self, X: Any, sample_weight: Any, listener: progress.Listener) -> None:
        """Learn from checked input, and store what was learned."""
        raise NotImplementedError

    def _look_back(self, X: Any) -> None:
        """Store results about the training rows, after the model is fitted."""

    @property
    def _n_features_out(self) -> int:
        return len(self._hidden_names()) if self._hides else self.n_features_in_

    @property
    def _may_hide(self) -> bool:
        """Whether hidden variables are possible; known before `fit`."""
        return True

    @property
    def _is_one_model(self) -> bool:
        """Whether there is one model, and so information criteria."""
        return True

    @property
    def _hides(self) -> bool:
        """Whether there are hidden variables."""
        check_is_fitted(self)
        return bool(self.model_.network.hidden)

    @property
    def _predictor(self) -> Any:
        return self.model_ if self.plug_in else self.model_.predictive

    def _hidden_names(self) -> list[str]:
        network = self.model_.network
        variables = [network.variables[h] for h in network.hidden]
        return [f"{v.name}{k}" for v in variables for k in range(len(v.states))]

    def _keep(self, candidate: Candidate) -> None:
        """Store the fit of a candidate."""
        fit = candidate.fit
        self._keep_model(fit.model)
        self.fit_, self.evidence_, self.flags_ = fit, dict(candidate.scores), fit.flags
        self.log_likelihood_, self.n_iter_ = fit.log_lik, fit.iterations
        self._warn_unless_converged(fit.status)
        for flag in fit.flags if varies_together(fit.model) else ():
            if flag.kind in DOUBTFUL:
                warn(f"{flag}.", ConvergenceWarning)

    def _warn_unless_converged(self, status: Convergence) -> None:
        """Store whether the search converged, and warn if not."""
        self.converged_ = status is not Convergence.MAX_STEPS
        if not self.converged_:
            warn(f"{status}.", ConvergenceWarning)

    def _keep_model(self, model: Model) -> None:
        """Store a model, and its tables and categories."""
        self.model_, self.network_ = model, model.network
        network = model_as_shown(model).network
        self.tables_ = {v.name: model.table(v.name) for v in network.variables}
        columns = api.observed_columns(network)
        self.categories_ = {c.name: () if c.kind.number else c.states for c in columns}

    def _labels(self, X: Any, unseen: str | None = None) -> IntArray:
        """Most probable states of the hidden variables."""
        labels = [most_probable_state(p) for p in self._hidden(self._read(X, unseen))]
        return labels[0] if len(labels) == 1 else np.column_stack(labels)

    def _hidden(self, rows: Rows) -> list[FloatArray]:
        """Posterior of each hidden variable, (rows, its states); zeros in impossible rows."""
        hidden = self.model_.network.hidden
        if not hidden:
            raise ModelError(
                "the network has no hidden variable, so it has no class probabilities. Declare "
                "one with hidden=, or use impute for missing values."
            )
        predictive, inputs = self._predictive_input(rows)
        return posterior_of(predictive, inputs.codes, [(h,) for h in hidden])

    def _draw(self, rows: int, rng: np.random.Generator) -> tuple[Drawn, IntArray]:
        """Draw observed cells of rows, and codes of their hidden states."""
        cells, network = sample_cells(self._predictor, rows, rng), self.model_.network
        seen = coded(shown(network), cells[:, list(network.observed)])
        return seen, cells[:, list(network.hidden)].astype(np.int64)

    def _log_lik(self, rows: Rows) -> FloatArray:
        predictive, inputs = self._predictive_input(rows)
        return log_lik_of(predictive, inputs.codes)

    def _criteria(self, X: Any) -> dict[str, float]:
        """Compute the information criteria of rows, at the point estimate."""
        rows = self._read(X)
        log_lik = log_lik_of(*self._given(self.model_, rows))
        return criteria(float(log_lik.sum()), self.model_.dimension, len(log_lik))
