"""Fits that scores ask for: of a model itself, and of the same data with fewer hidden states."""

from collections.abc import Hashable
from dataclasses import dataclass

from lacunet.inference.classes import network_with_sizes, prior_of_states, resizable, with_sizes
from lacunet.inference.problem import Problem
from lacunet.inference.queries.dimension import effective_dimension
from lacunet.inference.symmetry import interchangeable
from lacunet.learn.fit import Fit, Options, learn
from lacunet.learn.ranks import BOTH, MASS
from lacunet.runtime.executor import Executor
from lacunet.scoring.score_input import ScoreInput


@dataclass(frozen=True, eq=False)
class Fitting:
    """A model that is to be fitted."""

    problem: Problem
    options: Options
    rank: bool = False  # whether scores are to use the effective dimension
    # Hidden variables that have other numbers of states than their own, each state with the prior
    # that each has now.
    sizes: tuple[tuple[int, int], ...] = ()

    @property
    def key(self) -> Hashable:
        """What makes two fits to the same data the same: of states that are alike, what each has.

        A prior that depends on the number of states (BDeu) thus shares nothing.
        """
        problem, how = self.problem, (self.options, self.rank)
        alike = [h for h in interchangeable(problem) if resizable(problem.network, h)]
        if not alike or not problem.layout.plain:
            return id(problem), how
        network, sizes = problem.network, dict(self.sizes)
        cards = tuple(sizes.get(i, k) for i, k in enumerate(problem.layout.cards))
        prior = b"".join(t.tobytes() for t in prior_of_states(problem, dict.fromkeys(alike, 1)))
        names = tuple(v.name for v in network.variables)
        return names, network.parents, network.hidden, cards, prior, how

    @property
    def dimension(self) -> int:
        """Number of free parameters."""
        return network_with_sizes(self.problem.network, dict(self.sizes)).dimension

    @property
    def sized(self) -> Problem:
        """The problem, put together."""
        return with_sizes(self.problem, dict(self.sizes))

    def fit(self, executor: Executor) -> Fit:
        """Learn; of fits that people do not see, scores want the mode of largest mass alone."""
        ranks = MASS if self.sizes else BOTH
        return learn(self.sized, self.options, executor=executor, ranks=ranks)

    def input_at(self, fit: Fit, executor: Executor) -> ScoreInput:
        """Give what scores take."""
        d = effective_dimension(fit.problem.network, self.options.seed) if self.rank else None
        mode = fit.for_scores
        others = tuple(point.theta for point in mode.others)
        estimate = fit.model.theta if fit.nats_above_mass else None
        return ScoreInput(
            fit.problem,
            mode.model.theta,
            d,
            self.options,
            executor,
            others,
            estimate=estimate,
        )
