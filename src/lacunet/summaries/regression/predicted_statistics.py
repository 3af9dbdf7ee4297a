"""Fit statistics of classes that covariates predict: all of them are given the covariates."""

from collections.abc import Iterator

import numpy as np

from lacunet.fitting.regression.objective import ClassParameters
from lacunet.fitting.regression.predicting import model_of
from lacunet.inference.regression.classes import ClassProblem
from lacunet.models.network import Model
from lacunet.models.surgery import predicted
from lacunet.runtime.arrays import FloatArray
from lacunet.summaries.classification import classify
from lacunet.summaries.information_criteria import criteria
from lacunet.summaries.residuals import (
    PairResidual,
    bivariate_residuals,
    goodness_of_fit,
    pair_residual,
    worst_first,
)
from lacunet.summaries.statistics import FitStatistics, few_pairs


def predicted_statistics(fit: ClassParameters) -> FitStatistics:
    """Work out all fit statistics at some parameters.

    Rows are compared with others of the same covariates. Pairs of columns are compared over all
    rows, each with the class sizes that its covariates give; so are answers with covariates that
    are categories, which should go together by the classes alone.
    """
    given, point, model = fit.given, fit.point, model_of(fit)
    problem, plain = given.problem, given.plain
    conditional = predicted(model, given.design.matrix)
    sizes, pairs = given.class_table(point.theta)[given.design.pattern], list[PairResidual]()
    if few_pairs(plain):
        pairs = bivariate_residuals(model, plain.codes, plain.counts, sizes)
        pairs = worst_first([*pairs, *_with_covariates(given, model, sizes)])
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


def _with_covariates(
    given: ClassProblem, model: Model, sizes: FloatArray
) -> Iterator[PairResidual]:
    """Compare answers with each covariate that is categories, given it."""
    design, plain = given.design, given.plain
    for one, place in zip(design.covariates, design.places, strict=True):
        if one.number:
            continue
        # The reference, and then a column for each state.
        each = design.matrix[:, place]
        states = np.column_stack([1.0 - each.sum(axis=1), each])[design.pattern]
        for column, i in enumerate(plain.network.observed):
            item = plain.network.variables[i]
            if not item.family.tabular:
                continue
            seen = plain.codes[:, column] >= 0
            weighted = plain.counts[seen, None] * states[seen]
            table = plain.layout.table(model.theta, i)
            expected = (sizes[seen] @ table).T @ weighted
            answers = np.eye(len(item.states))[plain.codes[seen, column]]
            yield pair_residual(item.name, one.name, answers.T @ weighted, expected)
