"""log p(D|S) itself: exactly if that is short work, else sampled, with an error bar.

The method that `auto` takes is the first of these (see also docs/explanation/evidence.md):

    exact      nothing is hidden, or the sum over all completions takes at most `QUICK_STEPS`
    particles  they reach the target with less work than `DEARER` first rounds of a walk; where no
               walk is possible: they reach it in their first round, or cheaper than annealing
    walk       latent classes of kinds that `walkable` knows, and a first round that takes less
               than `FIRST_PART` of the budget
    annealing  everything else, and where starts of a walk disagree; held against particles
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lacunet.errors import LacunetError, OptionError
from lacunet.evidence.ais import UNSURE, AnnealingRounds, UsedClasses
from lacunet.evidence.annealing import Clock, Goal, OutOfTimeError, RunContext
from lacunet.evidence.bridge import AnchoredWalk, walk_cost
from lacunet.evidence.consistency import ERRORS, within_bounds, widened_error, lower_bound, upper_bound
from lacunet.evidence.estimate import (
    NOTHING,
    RELIABLE_ERROR,
    LogMean,
    Measurement,
    Method,
    Verdict,
    combined,
)
from lacunet.evidence.exact import exact_evidence
from lacunet.evidence.modes import HiddenSample, fewer_classes, sample_at
from lacunet.evidence.partitions.cases import walkable
from lacunet.evidence.roundings import bound_near, joined, mean_of_roundings, roundings
from lacunet.evidence.smc import ParticleRounds, check_sampling, first_round_ends_in, fitted
from lacunet.flags import Flag, Kind
from lacunet.inference.classes import check_log_probability, exchangeable
from lacunet.inference.problem import Problem
from lacunet.inference.sampling.written_cases import can_take_in
from lacunet.inference.symmetry import symmetries_of
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.checkpoint import FORGETFUL, Kept
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.scores.occupancy import flags_of

QUICK_STEPS = 3_000_000  # additions of an exact sum that are done without being wanted,
ADDED_PER_SECOND = 1e6  # about, so that they take
EXACT_PART = 1 / 4  # of the budget at most
MOST_CASES = 200_000  # that particles take in one by one
FIRST_PART = 1 / 3  # of the budget that the first particle runs may take, before annealing
DEARER = 5  # first rounds of a walk whose work particles may take to the target
WALKED_PER_SECOND = 2e8  # numbers that a walk over partitions touches in a second, about
FITS = 3  # independent fits from which annealing may start
STARTS = 8  # the same, of a walk
EACH_RUN = 4  # samples taken from each particle run
SEEDS_APART = 1_000_003  # so that their starts have nothing in common
LEAST_PART = 0.1  # of the budget that is always left for roundings of weights


def measure(
    problem: Problem,
    method: Method = Method.AUTO,
    goal: Goal | None = None,
    *,
    seed: int = 0,
    executor: Executor = SERIAL,
    shared: UsedClasses | None = None,
    kept: Kept = FORGETFUL,
) -> Measurement:
    """Compute the evidence of a problem.

    Latent class models of one table whose classes have the same prior may have `shared` parts.
    Weights that are not whole numbers are rounded, in several ways. Long E steps run on the
    device of the problem, if it has one.
    """
    problem = problem.where_faster
    context = RunContext(executor, Clock(goal or Goal()), kept)
    if not (problem.whole or problem.exact):
        return _on_roundings(problem, method, context, seed)
    measurement = _Methods(problem, seed, context, shared).by(method)
    executor.say("evidence", 1.0)
    check_log_probability(problem, "evidence", {"log p(D|S)": measurement.value}, measurement.noise)
    return replace(measurement, seconds=context.clock.spent)


def _on_roundings(problem: Problem, method: Method, context: RunContext, seed: int) -> Measurement:
    """Measure problems of whole cases near by; each gets its part of the time that is left."""
    theta, clock = fitted(problem, [seed], context)[0], context.clock
    near = roundings(problem, seed)
    n = len(near)
    parts = []
    for i, whole in enumerate(near):
        left = max(clock.goal.budget - clock.spent, LEAST_PART * clock.goal.budget) / (n - i)
        part = context.executor.part(i / n, (i + 1) / n, f"rounding {i + 1}")
        goal, rows = Goal(clock.goal.target, left), whole.on(problem.place.device)
        parts.append(measure(rows, method, goal, seed=seed, executor=part, kept=context.kept))
    above = [[p.value - bound_near(w, theta)] for p, w in zip(parts, near, strict=True)]
    errors = np.array([[p.stderr or 0.0] for p in parts])  # a lower bound has none
    mean, covariance = mean_of_roundings(np.array(above), errors)
    value, stderr = bound_near(problem, theta) + float(mean[0]), math.sqrt(covariance[0, 0])
    sure = stderr <= RELIABLE_ERROR and all(p.verdict is not Verdict.LOWER_BOUND for p in parts)
    return replace(
        parts[0],
        value=value,
        one_labelling=value - symmetries_of(problem).log_count,
        stderr=stderr if sure else None,
        ess=min((p.ess for p in parts if p.ess is not None), default=None),
        verdict=Verdict.RELIABLE if sure else Verdict.LOWER_BOUND,
        seconds=clock.spent,
        **joined(problem, parts),
    )


@dataclass(frozen=True, eq=False)
class _Methods:
    """The ways to measure one problem of whole cases."""

    problem: Problem
    seed: int
    context: RunContext
    shared: UsedClasses | None

    def by(self, method: Method) -> Measurement:
        if self.problem.exact:  # nothing is hidden: BD
            return self._measurement(self.problem.log_seen, Method.EXACT, {"completion": 1})
        if method is Method.AUTO:
            return self._auto()
        if method is Method.EXACT:
            return self._exact()
        check_sampling(self.problem, one_by_one=method is not Method.AIS)
        if method is Method.WALK:
            return self._walk()
        if method is Method.AIS:
            return self._ais(self._first_particles(FIRST_PART))
        self._say("particles")
        rounds = ParticleRounds(self.problem, self.seed, self.context)
        rounds.until_done()
        return self._of_particles(rounds)

    def _auto(self) -> Measurement:
        clock = self.context.clock
        quick = int(min(QUICK_STEPS, EXACT_PART * clock.goal.budget * ADDED_PER_SECOND))
        try:
            return self._exact(largest=quick)
        except LacunetError:
            pass
        check_sampling(self.problem)
        first_round = walk_cost(self.problem, STARTS) if walkable([self.problem]) else math.inf
        walk_part = first_round / WALKED_PER_SECOND / clock.goal.budget
        walk = walk_part < FIRST_PART
        particles = self._first_particles(walk_part if walk else 1.0, hopeful=not walk)
        if particles is not None:
            if walk and not particles.wide and particles.price() < DEARER * first_round:
                particles.until_done()
            e = particles.estimate
            good = e.stderr <= clock.goal.target and e.verdict is Verdict.RELIABLE
            if good or not clock.allows():
                return self._of_particles(particles)
        if not walk:
            return self._ais(None) if particles is None else self._by_both(particles)
        walked = self._walk()
        if walked.verdict is Verdict.RELIABLE or not clock.allows():
            return walked
        if particles is not None:
            particles.first_round()
        else:
            particles = self._first_particles(FIRST_PART)
        annealed = self._ais(None) if particles is None else self._by_both(particles)
        surer = annealed.verdict is Verdict.RELIABLE or annealed.value > walked.value
        return annealed if surer else walked  # of two lower bounds the higher

    def _exact(self, **limits: int) -> Measurement:
        self._say("exact sum")
        exact = exact_evidence(self.problem, **limits)
        ran = {"completions": exact.terms, "distinct count vectors at most": exact.states}
        found = self._measurement(exact.value, Method.EXACT, ran)
        return within_bounds(found, self._bound(()), upper_bound(self.problem))

    def _ais(self, particles: ParticleRounds | None) -> Measurement:
        rounds = self._annealing(particles)
        rounds.until_done()
        if particles is not None and particles.price() <= rounds.work:
            particles.until_done()  # a cheap second opinion
        return self._of_annealing(rounds, particles)

    def _by_both(self, particles: ParticleRounds) -> Measurement:
        """Go on with the cheaper of annealing and particles; annealing must not be below them."""
        annealing = self._annealing(particles)
        missed = _missed(annealing.estimate, particles.estimate)
        # Where classes come and go, annealing rests on few chains; particles do not mind.
        if missed or annealing.unsure > UNSURE or annealing.price() > particles.price():
            self._say("particles")
            particles.until_done()
        if annealing.price() < particles.price():
            self._say("annealing")
            annealing.until_done()
        a, p = self._of_annealing(annealing), self._of_particles(particles)
        reliable = Verdict.RELIABLE
        if a.verdict is reliable and p.verdict is reliable:
            both = combined(annealing.estimate, particles.estimate)
            better = min(a, p, key=lambda m: m.stderr or 0.0)
            return self._judged(replace(better, details={**p.details, **a.details}), both)
        if p.verdict is reliable:
            return p
        if _missed(annealing.estimate, particles.estimate):
            note = _missed_mode(particles.estimate)
            return replace(a, verdict=Verdict.LOWER_BOUND, stderr=None, notes=(*a.notes, note))
        return a

    def _walk(self) -> Measurement:
        if not walkable([self.problem]):
            raise OptionError(
                "a walk over partitions needs a latent class model, of categories and of kinds of "
                "numbers that it knows, whose prior does not tell the classes apart. "
                "Use --method auto."
            )
        self._say("walk over partitions")
        fits = self._fits(self.problem, STARTS)
        try:
            walk = AnchoredWalk(self.problem, fits, self.seed, self.context)
            walk.until_done()
        except OutOfTimeError:
            samples = self._samples(self.problem, fits)
            empty = self._measurement(0.0, Method.WALK, {"starts": len(fits)})
            return self._judged(empty, NOTHING, samples)
        ran = {"samples": len(walk.walk.kept), "starts": walk.starts, "steps": walk.bridge.steps}
        empty = replace(self._measurement(0.0, Method.WALK, ran), used=walk.shares)
        samples = self._samples(self.problem, fits[:1])
        found = self._judged(empty, walk.estimate, samples)
        if found.verdict is Verdict.RELIABLE:
            return found
        bound = replace(walk.estimate, value=walk.bound)  # forward draws alone: surely too low
        return self._judged(empty, bound, samples, (Flag(Kind.STARTS_DISAGREE),))

    def _first_particles(self, part: float, *, hopeful: bool = True) -> ParticleRounds | None:
        """Run the first particles, unless they would take more than a part of the budget."""
        self._say("particles")
        problem, clock = self.problem, self.context.clock
        if problem.cases > MOST_CASES or not can_take_in(problem):
            return None
        seconds = part * clock.goal.budget
        if not first_round_ends_in(problem, seconds, self.seed, clock, probe=hopeful):
            return None
        rounds = ParticleRounds(problem, self.seed, self.context, hopeful=hopeful)
        return rounds if rounds.runs else None

    def _annealing(self, particles: ParticleRounds | None) -> AnnealingRounds:
        self._say("annealing")
        problem, found = self.problem, [] if particles is None else particles.hidden_samples(EACH_RUN)
        # Particles show how many classes are used; without them every number may be.
        if particles is None and exchangeable(problem):
            fits = fewer_classes(problem, self._by_fits, self.context.clock.allows)
        else:
            fits = self._by_fits(problem)
        return AnnealingRounds(problem, [*fits, *found], self.seed, self.context, self.shared)

    def _by_fits(self, problem: Problem) -> list[HiddenSample]:
        return self._samples(problem, self._fits(problem, FITS))

    def _fits(self, problem: Problem, number: int) -> list[FloatArray]:
        """Parameters that EM finds, from starts of its own each time."""
        seeds = [self.seed + n * SEEDS_APART for n in range(number)]
        return fitted(problem, seeds, self.context)

    def _samples(self, problem: Problem, fits: Sequence[FloatArray]) -> list[HiddenSample]:
        """A sample at each."""
        each = enumerate(fits)
        return [HiddenSample(sample_at(problem, x, (self.seed, n)), -1 - n) for n, x in each]

    def _of_particles(self, rounds: ParticleRounds) -> Measurement:
        ran = {"runs": len(rounds.runs), "particles each": rounds.particles}
        empty = replace(self._measurement(0.0, Method.SMC, ran), used=rounds.shares)
        note = () if rounds.runs else (Flag(Kind.OUT_OF_TIME),)
        return self._judged(empty, rounds.estimate, rounds.hidden_samples(1), note)

    def _of_annealing(
        self, rounds: AnnealingRounds, particles: ParticleRounds | None = None
    ) -> Measurement:
        estimate = rounds.estimate
        empty = replace(self._measurement(0.0, Method.AIS, rounds.ran), used=rounds.shares)
        note: tuple[Flag, ...] = ()
        if rounds.unfinished:
            note = (Flag(Kind.OUT_OF_TIME),)
        elif rounds.unsure > UNSURE:
            note = (Flag(Kind.FEW_CHAINS, detail={"share": rounds.unsure}),)
        elif estimate.verdict is not rounds.sampled.verdict:
            note = (Flag(Kind.SEEN_ONCE, detail={"share": rounds.unseen}),)
        note += flags_of(symmetries_of(self.problem))
        if particles is None or particles.estimate.verdict is not Verdict.RELIABLE:
            return self._judged(empty, estimate, rounds.samples, note)
        p = particles.estimate
        covering = widened_error(estimate, p)
        if _missed(estimate, p) or covering.verdict is not estimate.verdict:
            note = (*note, _missed_mode(p))
        found = self._judged(empty, covering, rounds.samples, note)
        if found.stderr is not None and found.stderr > 2.0 * estimate.stderr:
            covers = Flag(Kind.ERROR_COVERS, detail={"value": p.value})
            found = replace(found, notes=(*found.notes, covers))
        return found

    def _judged(
        self,
        empty: Measurement,
        e: LogMean,
        found: Sequence[HiddenSample] = (),
        against: tuple[Flag, ...] = (),
    ) -> Measurement:
        """Put a value and its verdict: a lower bound where something speaks against it."""
        value = e.value
        if not math.isfinite(value):  # no chain came to an end where it counts
            value, against = self._bound(found), against or (Flag(Kind.OUT_OF_TIME),)
        verdict = Verdict.LOWER_BOUND if against else e.verdict
        one = value - symmetries_of(self.problem).log_count
        stderr = e.stderr if verdict is Verdict.RELIABLE else None
        judged = replace(empty, value=value, one_labelling=one, stderr=stderr, ess=e.size)
        judged = replace(judged, verdict=verdict, notes=against)
        return within_bounds(judged, self._bound(found), upper_bound(self.problem))

    def _bound(self, found: Sequence[HiddenSample]) -> float:
        """A variational bound: what is known without any chain."""
        return lower_bound(self.problem, [each.N for each in found])

    def _measurement(self, value: float, method: Method, ran: dict[str, int]) -> Measurement:
        one = value - symmetries_of(self.problem).log_count
        return Measurement(value, one, 0.0, None, Verdict.EXACT, method, 0.0, {}, ran)

    def _say(self, what: str) -> None:
        clock = self.context.clock
        self.context.executor.say(what, min(0.99, clock.spent / clock.goal.budget))


def _missed(a: LogMean, p: LogMean) -> bool:
    """Whether annealing is clearly below particles, which miss no mode."""
    return p.value - a.value > ERRORS * math.hypot(a.stderr, p.stderr)


def _missed_mode(e: LogMean) -> Flag:
    return Flag(Kind.MISSED_MODE, detail={"value": e.value, "stderr": e.stderr})
