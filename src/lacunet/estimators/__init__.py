"""Estimators for scikit-learn: a skin over `lacunet.api`, without arithmetic of its own.

They read what the rest of the package reads (pandas, Polars, NumPy; NaN and None are holes), and
take from scikit-learn what its users rely on: parameters are stored and nothing else, what is
learned ends with an underscore, `predict_proba` and `score_samples` mean what they do for mixtures.
"""

try:
    import sklearn  # noqa: F401 - only to say what to install
except ModuleNotFoundError as error:
    if error.name != "sklearn":
        raise
    raise ModuleNotFoundError(
        "scikit-learn is not installed. Install it with: pip install 'lacunet[sklearn]'.",
        name="sklearn",
    ) from None

from lacunet.estimators.bayesian_network import BayesianNetworkModel
from lacunet.estimators.classes import LatentClassModel, LatentClassSelector
from lacunet.estimators.latent_tree import LatentTreeModel, StackedModel
from lacunet.estimators.pooled import Classifier, Imputer

__all__ = [
    "BayesianNetworkModel",
    "Classifier",
    "Imputer",
    "LatentClassModel",
    "LatentClassSelector",
    "LatentTreeModel",
    "StackedModel",
]
