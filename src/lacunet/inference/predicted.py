"""Classes that covariates predict, as an ordinary `Problem`: the class has a logit likelihood.

Rows with the same covariates share a *pattern*, an observed parent of the class, on which
everything is conditional. E steps, missing values, weights and items are those of any network.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from scipy.special import softmax

from lacunet.data.table import Table
from lacunet.inference.covariates import CovariateDesign, design_of, without_covariates
from lacunet.inference.plans.plan import FreeCoordinates, free_coordinates
from lacunet.inference.problem import Problem, build_problem, problem_of_codes
from lacunet.likelihoods import CATEGORICAL, Logit
from lacunet.models.known import Conditioned
from lacunet.models.latent_class import classes_of
from lacunet.models.network import Model, Network, Variable
from lacunet.models.predictors import Covariates, Predictors
from lacunet.models.surgery import COVARIATES, fresh_names
from lacunet.runtime.arrays import BoolArray, CodeArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class ClassLogit(Logit):
    """The logit of classes on covariates; row x of its design is that of pattern x."""

    covariates: Covariates
    class_alpha: (
        FloatArray  # (K,) the Dirichlet prior of class sizes that the Gaussian approximates
    )
    coefficient_sd: float

    @property
    def exponent(self) -> float:
        """The exponent of that prior."""
        return float(self.class_alpha[0])

    @classmethod
    def build(cls, given: CovariateDesign, class_alpha: FloatArray, coefficient_sd: float) -> Self:
        """Make the likelihood; coefficients need as many patterns as columns, so 0s are added."""
        missing = max(0, given.matrix.shape[1] - len(given.matrix))
        design = np.pad(given.matrix, ((0, missing), (0, 0)))
        covariance = given.covariance(float(class_alpha[0]), coefficient_sd)
        known = Covariates(given.covariates)
        return cls(design, covariance, len(class_alpha), known, class_alpha, coefficient_sd)


@dataclass(frozen=True, eq=False)
class PredictedClasses:
    """A problem in which covariates predict the class, and the same items without covariates.

    Its network is pattern → class → items. The pattern comes last and has no probability.
    """

    problem: Problem

    @property
    def root(self) -> int:
        """Index of the class, with and without covariates."""
        return self.problem.network.hidden[0]

    @property
    def logit(self) -> ClassLogit:
        """The likelihood of the class."""
        family = self.problem.network.variables[self.root].family
        assert isinstance(family, ClassLogit)
        return family

    @property
    def items(self) -> tuple[int, ...]:
        """Indices of the items."""
        return self.problem.network.observed[:-1]

    @property
    def states(self) -> int:
        """K, the number of classes."""
        return self.logit.states

    @property
    def free(self) -> int:
        """Free coefficients: those of every class but the first, class by class."""
        return (self.states - 1) * len(self.logit.covariance)

    @property
    def pattern(self) -> IntArray:
        """(rows,) pattern of covariates of each row."""
        return self.problem.codes[:, -1].astype(np.int64)

    @cached_property
    def cases(self) -> FloatArray:
        """(patterns,) weight of the rows with each pattern."""
        return np.bincount(self.pattern, self.problem.counts, len(self.logit.design)).astype(float)

    @cached_property
    def network(self) -> Network:
        """The network class → items."""
        variables, parents = (
            list(self.problem.network.variables),
            list(self.problem.network.parents),
        )
        variables[self.root], parents[self.root] = (
            replace(variables[self.root], family=CATEGORICAL),
            (),
        )
        return Network(tuple(variables[:-1]), tuple(parents[:-1]))

    @cached_property
    def alpha(self) -> FloatArray:
        """(size of `network`,) hyperparameters without covariates."""
        return self.of_items(self.problem.alpha, self.logit.class_alpha)

    @cached_property
    def plain(self) -> Problem:
        """The problem of the same rows without covariates."""
        codes, counts = np.ascontiguousarray(self.problem.codes[:, :-1]), self.problem.counts
        plain = problem_of_codes(codes, counts, self.network, self.alpha)
        return replace(plain, design=self.problem.design)

    def of_items(self, x: FloatArray, sizes: FloatArray) -> FloatArray:
        """(size of `network`,) the items' part of a flat vector, with (K,) for the classes."""
        tables = [self.problem.layout.table(x, i) for i in range(len(self.network.variables))]
        tables[self.root] = sizes
        return self.network.layout.flat(tables)

    def with_items(self, theta: FloatArray, coefficients: FloatArray) -> FloatArray:
        """(size,) parameters of these coefficients, (K, p), and items, (size of `network`,)."""
        tables = [self.network.layout.table(theta, i) for i in range(len(self.network.variables))]
        tables[self.root] = self.logit.table(coefficients)
        return self.problem.layout.flat([*tables, np.ones(self.problem.layout.cards[-1])])

    def parameters_of(self, model: Model) -> FloatArray:
        """(size,) the coefficients and items of a model."""
        assert model.predictors is not None
        return self.with_items(model.theta, model.predictors.coefficients)

    def coordinates(self, theta: FloatArray, fixed: BoolArray | None = None) -> FreeCoordinates:
        """Free coordinates that are not held: coefficients, and then those of items."""
        layout, each = self.problem.layout, free_coordinates(self.problem.layout, theta)
        order = np.argsort(layout.owner[each.free] != self.root, kind="stable")
        if fixed is not None:
            order = order[~fixed[each.free[order]]]
        return FreeCoordinates(each.free[order], each.reference[order])

    def curvature(self, theta: FloatArray, N: FloatArray) -> FloatArray:
        """(free, free) information of statistics N on the coefficients, with the prior's."""
        (s,) = (s for s in self.problem.layout.segments if s.family is self.logit)
        return self.logit.curvature(theta[s.where], N[s.where], s)

    def coefficients(self, theta: FloatArray) -> FloatArray:
        """(K, p) coefficients of standardised columns, with zeros for the first class."""
        return self.logit.coefficients(self.problem.layout.table(theta, self.root))

    def sizes(self, theta: FloatArray) -> FloatArray:
        """(patterns, K) probabilities of the classes."""
        logits = self.logit.design @ self.coefficients(theta).T
        return np.asarray(softmax(logits, axis=1))

    def counts(self, N: FloatArray) -> FloatArray:
        """(size of `network`,) expected counts, summed over patterns."""
        return self.of_items(N, self.problem.layout.table(N, self.root).sum(axis=0))

    def to_plain(self, theta: FloatArray) -> FloatArray:
        """(size of `network`,) parameters with class sizes averaged over all rows."""
        return self.of_items(theta, self.cases @ self.sizes(theta) / self.cases.sum())

    def model(self, theta: FloatArray) -> Model:
        """The latent class model of the items, with the predictors of its classes."""
        logit, coefficients = self.logit, self.coefficients(theta)
        name, each = self.network.variables[self.root].name, logit.covariates.covariates
        predictors = Predictors(each, name, coefficients, coefficients, logit.coefficient_sd)
        return Model(self.network, self.to_plain(theta), self.alpha, predictors=predictors)

    def with_posterior(self, model: Model, theta: FloatArray, N: FloatArray) -> Model:
        """Add the posterior: coefficients and expected counts at the mode θ of all parameters."""
        assert model.predictors is not None
        predictors = replace(model.predictors, at_joint_mode=self.coefficients(theta))
        return replace(model, posterior=self.alpha + self.counts(N), predictors=predictors)


def predicted_classes(problem: Problem) -> PredictedClasses | None:
    """The parts of a problem in which covariates predict the classes; None for others."""
    logit = any(isinstance(v.family, ClassLogit) for v in problem.network.variables)
    return PredictedClasses(problem) if logit else None


def with_predictors(plain: Problem, design: CovariateDesign, coefficient_sd: float) -> Problem:
    """Put covariates above the class of a latent class problem of the same rows."""
    network, root = plain.network, classes_of(plain.network).root
    class_alpha = plain.layout.table(plain.alpha, root)
    logit = ClassLogit.build(design, class_alpha, coefficient_sd)
    (name,), patterns = fresh_names(network, COVARIATES, 1), len(logit.design) + 1
    above = Variable(name, tuple(range(patterns)), known=Conditioned.of(np.ones(patterns)))
    variables, parents = [*network.variables, above], [*network.parents, ()]
    variables[root] = replace(variables[root], family=logit)
    parents[root] = (len(network.variables),)
    whole = Network.build(variables, parents)
    tables = [plain.layout.table(plain.alpha, i) for i in range(len(network.variables))]
    tables[root] = np.zeros((patterns, len(variables[root].states)))
    tables[root][-1] = 1.0  # of the Gaussian prior
    codes: CodeArray = np.column_stack([plain.codes.astype(np.int32), design.pattern])
    alpha = whole.layout.flat([*tables, np.zeros(patterns)])
    problem = problem_of_codes(codes, plain.counts, whole, alpha)
    return replace(problem, design=plain.design)


def predicted_problem(model: Model, table: Table) -> Problem:
    """Join a model with predictors and a table of its items and covariates."""
    known = model.predictors
    assert known is not None
    names = [column.name for column in table.columns]
    places = [names.index(name) for name in known.names]
    design = design_of(known, [table.columns[j] for j in places], table.codes[:, places])
    wanted = {model.network.variables[i].name for i in model.network.observed}
    others = [name for name in names if name not in wanted]
    plain = build_problem(without_covariates(table, others), model.network, model.alpha)
    return with_predictors(plain, design, known.coefficient_sd)
