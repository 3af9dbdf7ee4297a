"""Estimators for scikit-learn: wrappers of `lacunet.api`, without arithmetic.

They accept pandas, Polars and NumPy tables, in which NaN and None are missing cells. They follow
the conventions of scikit-learn: constructors only store parameters, learned attributes end with an
underscore, `predict_proba` and `score_samples` mean the same as for mixtures.
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
from lacunet.estimators.cell_stacks import Classifier, Imputer
from lacunet.estimators.classes import LatentClassModel, LatentClassSelector
from lacunet.estimators.latent_tree import LatentTreeModel, StackedModel

__all__ = [
    "BayesianNetworkModel",
    "Classifier",
    "Imputer",
    "LatentClassModel",
    "LatentClassSelector",
    "LatentTreeModel",
    "StackedModel",
]
