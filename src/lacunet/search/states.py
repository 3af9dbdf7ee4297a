"""How many hidden classes: fit and score every candidate, then choose and average."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from lacunet.data.table import Table
from lacunet.errors import OptionError
from lacunet.inference.effective_dimension import effective_dimension
from lacunet.inference.problem import build_problem
from lacunet.learn.fit import Fit, Options, learn
from lacunet.learn.starts import Map
from lacunet.model.latent_class import latent_class
from lacunet.model.prior import PAPER_ALPHA, uniform_alpha
from lacunet.progress import Listener, Progress, ignore
from lacunet.scores import HEADLINE, SCORES, Evidence, Score, ScoreInput
from lacunet.search.average import Labellings, check_prior, choose, posterior
from lacunet.tabular import Grid, Printable


@dataclass(frozen=True, eq=False)
class Candidate:
    """One number of states: its fit and its scores."""

    states: int
    fit: Fit
    dimension: int  # d, as the scores used it
    scores: Mapping[str, Evidence]  # by name

    @property
    def flags(self) -> tuple[str, ...]:
        """What to know of the fit."""
        return self.fit.flags

    @property
    def seconds(self) -> dict[str, float]:
        """Time of EM and of each score."""
        return {"em": self.fit.seconds} | {n: e.seconds for n, e in self.scores.items()}


@dataclass(frozen=True, eq=False)
class Selection(Printable):
    """Every candidate, what each score chooses, and how sure that is."""

    table: Table
    candidates: tuple[Candidate, ...]  # by number of states
    options: Options
    alpha: float
    prior: Mapping[int, float] | None  # over numbers of states; None = uniform

    @cached_property
    def scores(self) -> tuple[Score, ...]:
        """The scores that every candidate has, so that they can be compared."""
        return tuple(s for s in SCORES if all(s.name in c.scores for c in self.candidates))

    def values(self, score: str) -> dict[int, float]:
        """Give a score of each candidate, by number of states."""
        return {c.states: c.scores[score].value for c in self.candidates}

    @cached_property
    def chosen(self) -> dict[str, int | None]:
        """Number of states that each score, with the prior, makes most probable; None if none."""
        return {s.name: choose(self.values(s.name), self.prior) for s in self.scores}

    def posterior(
        self, score: str | None = None, labellings: Labellings = Labellings.PLAIN
    ) -> dict[int, float]:
        """Give the posterior over the number of states by a score (default: the headline's)."""
        return posterior(self.values(score or self.headline), self.prior, labellings)

    @property
    def headline(self) -> str:
        """The score that the answer goes by."""
        names = [s.name for s in self.scores]
        return HEADLINE.name if HEADLINE.name in names else names[0]

    @property
    def states(self) -> int | None:
        """The answer."""
        return self.chosen[self.headline]

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
        from lacunet.search.show import selection_grids

        return selection_grids(self)

    @property
    def best(self) -> Candidate:
        """The candidate that the answer names."""
        return next(c for c in self.candidates if c.states == self.states)


def check_states(states: Sequence[int], table: Table) -> tuple[str, ...]:
    """Refuse impossible numbers of states; warn of more states than rows."""
    if not states:
        raise OptionError("no number of states to try. Give for example --states 1:8.")
    for k in states:
        if k < 1:
            raise OptionError(f"{k} hidden states: there must be at least 1.")
    if max(states) > table.rows:
        return (
            (
                f"{max(states)} hidden states are more than the {table.rows} rows of the data: "
                "some classes must stay empty."
            ),
        )
    return ()


def candidate(
    table: Table,
    states: int,
    *,
    scores: Sequence[Score],
    options: Options,
    alpha: float = PAPER_ALPHA,
    rank: bool = False,
    spread: Map = map,
    listener: Listener = ignore,
) -> Candidate:
    """Fit and score one number of states."""
    network = latent_class([(c.name, c.states) for c in table.columns], states)
    problem = build_problem(table, network, uniform_alpha(network.layout, alpha))
    fit = learn(problem, options, spread=spread, listener=listener)
    at = ScoreInput(
        problem,
        fit.model.theta,
        effective_dimension(network, options.seed) if rank else None,
    )
    found = {s.name: s(at) for s in scores if s.applies(problem)}
    return Candidate(states, fit, at.dimension, found)


def select_states(
    table: Table,
    states: Sequence[int],
    *,
    scores: Sequence[Score] = SCORES,
    options: Options | None = None,
    alpha: float = PAPER_ALPHA,
    prior: Mapping[int, float] | None = None,
    rank: bool = False,
    spread: Map = map,
    listener: Listener = ignore,
    keep: Callable[[Candidate], None] = lambda _: None,
) -> Selection:
    """Fit and score every candidate; `keep` gets each one as soon as it is done."""
    options = options or Options()
    numbers = sorted(set(states))
    check_states(numbers, table)
    check_prior(prior, numbers)
    track = _Track(numbers, listener)

    def one(k: int) -> Candidate:
        done = candidate(
            table,
            k,
            scores=scores,
            options=options,
            alpha=alpha,
            rank=rank,
            listener=lambda event: track(k, 0.9 * event.done),
        )
        keep(done)
        track(k, 1.0)
        return done

    # The largest first: what takes longest must not be what is left over at the end.
    found = sorted(spread(one, numbers[::-1]), key=lambda c: c.states)
    return Selection(table, tuple(found), options, alpha, prior)


class _Track:
    """Progress of all candidates together, each weighed by its likely time."""

    def __init__(self, states: Sequence[int], listener: Listener) -> None:
        self.weight = {k: k**1.5 for k in states}
        self.done = dict.fromkeys(states, 0.0)
        self.listener = listener
        self.lock = threading.Lock()

    def __call__(self, states: int, done: float) -> None:
        with self.lock:
            self.done[states] = done
            part = math.fsum(self.weight[k] * d for k, d in self.done.items())
            event = Progress(f"{states} states", part / math.fsum(self.weight.values()))
            self.listener(event)
