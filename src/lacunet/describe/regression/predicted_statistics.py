"""Fit statistics of classes that covariates predict: all of them are given the covariates."""

from lacunet.describe.classification import classify
from lacunet.describe.information_criteria import criteria
from lacunet.describe.residuals import bivariate_residuals, goodness_of_fit
from lacunet.describe.statistics import FitStatistics, few_pairs
from lacunet.learn.regression.objective import ClassParameters
from lacunet.learn.regression.predicting import model_of
from lacunet.model.surgery import predicted


def predicted_statistics(fit: ClassParameters) -> FitStatistics:
    """Work out all fit statistics at some parameters.

    Rows are compared with others of the same covariates. Pairs of columns are compared over all
    rows, each with the class sizes that its covariates give.
    """
    given, point, model = fit.given, fit.point, model_of(fit)
    problem, plain = given.problem, given.plain
    conditional = predicted(model, given.design.matrix)
    sizes = given.class_table(point.theta)[given.design.pattern]
    pairs = bivariate_residuals(model, plain.codes, plain.counts, sizes) if few_pairs(plain) else ()
    return FitStatistics(
        model=model,
        estimate=fit.objective.estimate,
        log_lik=point.log_lik,
        cases=problem.cases,
        dimension=fit.dimension,
        criteria=criteria(point.log_lik, fit.dimension, problem.cases),
        classification=classify(problem, point.theta),
        goodness=goodness_of_fit(conditional, problem.codes, problem.counts, fit.dimension),
        residuals=tuple(pairs) if few_pairs(plain) else None,
    )
