"""Fits that scores ask for: of a model itself, and of the same data with fewer classes."""

from collections.abc import Hashable
from dataclasses import dataclass

from lacunet.executor import Executor
from lacunet.inference.asking.effective_dimension import effective_dimension
from lacunet.inference.classes import exchangeable, with_classes
from lacunet.inference.problem import Problem
from lacunet.learn.fit import Fit, Options, learn
from lacunet.model.latent_class import classes_of
from lacunet.scoring.score_input import ScoreInput


@dataclass(frozen=True, eq=False)
class Fitting:
    """A model that is to be fitted."""

    problem: Problem
    options: Options
    rank: bool = False  # whether scores are to use the effective dimension
    classes: int | None = None  # instead of its own number, each with the prior that each has now

    @property
    def key(self) -> Hashable:
        """What makes two fits to the same data the same: of exchangeable classes, what each has.

        A prior that depends on the number of classes (BDeu) thus shares nothing.
        """
        problem, how = self.problem, (self.options, self.rank)
        if not exchangeable(problem):
            return id(problem), how
        tables = [problem.layout.table(problem.alpha, i) for i in range(len(problem.layout.cards))]
        prior = b"".join(table[0].tobytes() for table in tables)
        classes = self.classes or classes_of(problem.network).number
        return tuple(v.name for v in problem.network.variables), prior, classes, how

    @property
    def dimension(self) -> int:
        """Number of free parameters: every class has as many, and class sizes sum to 1."""
        own = self.problem.network.dimension
        if self.classes is None:
            return own
        return (own + 1) // classes_of(self.problem.network).number * self.classes - 1

    def fit(self, executor: Executor) -> Fit:
        """Put the problem together, and learn."""
        problem = self.problem
        if self.classes is not None:
            problem = with_classes(problem, self.classes)
        return learn(problem, self.options, executor=executor)

    def input_at(self, fit: Fit, executor: Executor) -> ScoreInput:
        """Give what scores take."""
        d = effective_dimension(fit.problem.network, self.options.seed) if self.rank else None
        return ScoreInput(fit.problem, fit.model.theta, d, self.options, executor)
