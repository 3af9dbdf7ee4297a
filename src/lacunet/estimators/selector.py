"""Latent class analysis that chooses the number of classes, for scikit-learn."""

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

from lacunet import api
from lacunet.data.kinds import AUTO, KindsLike
from lacunet.data.rows import Rows
from lacunet.errors import OptionError
from lacunet.estimators.base import varies_together
from lacunet.estimators.clustering import ClassEstimator
from lacunet.estimators.latent_class import profiles
from lacunet.estimators.parameters import Searching, described
from lacunet.estimators.surveyed import Surveyed
from lacunet.estimators.warning import warn
from lacunet.models.covariance import DIAGONAL
from lacunet.models.number_prior import USUAL_NUMBERS, NumberPriorLike
from lacunet.models.prior import AVERAGE, Alpha
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.progress import Listener
from lacunet.scores import choose_scores
from lacunet.selection.average import PriorLike
from lacunet.selection.candidates import Selection
from lacunet.selection.certainty import Certainty
from lacunet.selection.mixing import Mixture, mix
from lacunet.selection.range_words import at_the_end
from lacunet.settings import DEFAULTS, Settings


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
