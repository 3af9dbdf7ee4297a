"""The model that classes and what predicts them make, for rows to be asked of."""

from lacunet.fitting.regression.logit import whole
from lacunet.fitting.regression.objective import ClassParameters
from lacunet.models.latent_class import classes_of
from lacunet.models.network import Model
from lacunet.models.predictors import Predictors


def model_of(fit: ClassParameters, mode: ClassParameters | None = None) -> Model:
    """Give the latent class model of the items, and what predicts its classes.

    Class sizes are those over all rows. At the mode of (β, φ), if it is known, are the coefficients
    that rows are asked with, and the expected counts of the posterior of items, as in
    `learn.predictive`.
    """
    given, asked = fit.given, fit if mode is None else mode
    columns = given.design.matrix.shape[1]
    predictors = Predictors(
        given.design.covariates,
        classes_of(given.plain.network).variable.name,
        whole(fit.point.beta, columns),
        whole(asked.point.beta, columns),
        given.coefficient_sd,
    )
    return Model(
        given.plain.network,
        given.to_plain(fit.point.theta),
        given.plain.alpha,
        None if mode is None else given.plain.alpha + given.to_plain_counts(mode.point.N),
        predictors=predictors,
    )
