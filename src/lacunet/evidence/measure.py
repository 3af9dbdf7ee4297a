"""log p(D|S) itself: exactly if that is short work, else sampled, with an error bar."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lacunet.errors import LacunetError, OptionError
from lacunet.evidence.ais import UNSURE, AnnealingRounds, UsedClasses
from lacunet.evidence.anchored import AnchoredWalk, walk_cost
from lacunet.evidence.annealing import Clock, Goal, Means, OutOfTimeError
from lacunet.evidence.consistency import between, less_sure, lower_bound, upper_bound
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
from lacunet.evidence.modes import Found, at_parameters, fewer_classes
from lacunet.evidence.partitions.cases import walkable
from lacunet.evidence.roundings import bound_near, mean_of_roundings, roundings, told_together
from lacunet.evidence.smc import (
    PARTICLES,
    RUNS,
    SWEEPS,
    ParticleRounds,
    check_sampling,
    fitted,
    run_particles,
)
from lacunet.flags import Flag, Kind
from lacunet.inference.classes import check_log_probability, exchangeable
from lacunet.inference.problem import Problem
from lacunet.inference.sampling.particles import seconds_to_draw
from lacunet.inference.sampling.written_cases import can_take_in
from lacunet.inference.symmetry import symmetries_of
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.checkpoint import FORGETFUL, Kept
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.scores.occupancy import flags_of

QUICK_STEPS = 3_000_000  # additions of an exact sum that are done without being asked,
ADDED_PER_SECOND = 1e6  # about, so that they take
EXACT_PART = 1 / 4  # of the budget at most
MOST_CASES = 200_000  # that particles take in one by one
MOST_RENEWALS = 50  # of particles in one run, as far as seen
PROBE = 8  # particles of one run, which tells how often the first ones would be renewed,
FEW_RENEW_LESS = 1.5  # though a few are renewed so much less often than many
PROBED = 17  # their stream of random numbers
FIRST_PART = 1 / 3  # of the budget that the first particle runs may take, before annealing;
LARGE_PART = 1.0  # the same, where they may do by themselves, as they often do
DEARER = 5  # first rounds of a walk whose work particles may take to the target
WALKED_PER_SECOND = 2e8  # numbers that a walk over partitions touches in a second, about
FITS = 3  # independent fits whose places annealing may start from
STARTS = 8  # the same, of a walk
EACH_RUN = 4  # samples taken from each particle run
SEEDS_APART = 1_000_003  # so that their starts have nothing in common
LEAST_PART = 0.1  # of the budget that is always left for roundings of weights
ERRORS = 3.0  # standard errors by which two methods may differ


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
    means = Means(executor, Clock(goal or Goal()), kept)
    if not (problem.whole or problem.exact):
        return _on_roundings(problem, method, means, seed)
    measurement = _Measuring(problem, seed, means, shared).by(method)
    executor.say("evidence", 1.0)
    check_log_probability(problem, "evidence", {"log p(D|S)": measurement.value}, measurement.noise)
    return replace(measurement, seconds=means.clock.spent)


def _on_roundings(problem: Problem, method: Method, means: Means, seed: int) -> Measurement:
    """Measure problems of whole cases near by; each gets its part of the time that is left."""
    theta, clock, executor = fitted(problem, [seed], means)[0], means.clock, means.executor
    near = roundings(problem, seed)
    n = len(near)
    parts = []
    for i, whole in enumerate(near):
        left = max(clock.goal.budget - clock.spent, LEAST_PART * clock.goal.budget) / (n - i)
        part = executor.part(i / n, (i + 1) / n, f"rounding {i + 1}")
        goal = Goal(clock.goal.target, left)
        parts.append(
            measure(
                whole.on(problem.device), method, goal, seed=seed, executor=part, kept=means.kept
            )
        )
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
        **told_together(problem, parts),
    )


@dataclass(frozen=True, eq=False)
class _Measuring:
    problem: Problem
    seed: int
    means: Means
    shared: UsedClasses | None

    def by(self, method: Method) -> Measurement:
        if self.problem.exact:  # nothing is hidden: BD
            return self._told(self.problem.log_seen, Method.EXACT, {"completion": 1})
        match method:
            case Method.AUTO:
                return self._auto()
            case Method.EXACT:
                return self._exact()
        check_sampling(self.problem, one_by_one=method is not Method.AIS)
        match method:
            case Method.SMC:
                return self._smc()
            case Method.AIS:
                return self._ais()
            case Method.WALK:
                return self._walk()

    def _say(self, what: str) -> None:
        clock = self.means.clock
        self.means.executor.say(what, min(0.99, clock.spent / clock.goal.budget))

    def _exact(self, **limits: int) -> Measurement:
        self._say("exact sum")
        exact = exact_evidence(self.problem, **limits)
        ran = {"completions": exact.terms, "distinct count vectors at most": exact.states}
        told = self._told(exact.value, Method.EXACT, ran)
        return between(told, self._bound(()), upper_bound(self.problem))

    def _smc(self) -> Measurement:
        self._say("particles")
        rounds = ParticleRounds(self.problem, self.seed, self.means)
        rounds.until_done()
        return self._of_particles(rounds)

    def _ais(self) -> Measurement:
        particles = self._first_particles()
        rounds = self._annealing(particles)
        rounds.until_done()
        if particles is not None and particles.price() <= rounds.work:
            particles.until_done()  # a cheap second opinion
        return self._of_annealing(rounds, particles)

    def _auto(self) -> Measurement:
        """Exact if it is short work; else particles; else a walk, or annealing."""
        try:
            return self._exact(largest=self._quick_steps)
        except LacunetError:
            pass
        check_sampling(self.problem)
        walk = walkable([self.problem]) and self._walk_is_short()
        particles = self._first_particles(self._walk_part if walk else LARGE_PART, hopeful=not walk)
        if walk and particles is not None and self._cheaper_than_walk(particles):
            particles.until_done()
        if particles is not None and self._enough(particles):
            return self._of_particles(particles)
        if not walk:
            return self._by_annealing(particles)
        walked = self._walk()
        if walked.verdict is Verdict.RELIABLE or not self.means.clock.allows():
            return walked
        if particles is not None:
            particles.first_round()
        annealed = self._by_annealing(particles or self._first_particles())
        surer = annealed.verdict is Verdict.RELIABLE or annealed.value > walked.value
        return annealed if surer else walked  # of two lower bounds the higher

    def _by_annealing(self, particles: ParticleRounds | None) -> Measurement:
        return self._ais() if particles is None else self._by_both(particles)

    def _enough(self, particles: ParticleRounds) -> bool:
        clock, e = self.means.clock, particles.estimate
        good = e.stderr <= clock.goal.target and e.verdict is Verdict.RELIABLE
        return good or not clock.allows()

    def _by_both(self, particles: ParticleRounds) -> Measurement:
        """Go on with the cheaper of the two, and hold them against each other."""
        annealing = self._annealing(particles)
        missed = _missed(annealing.estimate, particles.estimate)
        # Where classes come and go, annealing rests on few chains; particles do not mind.
        if missed or annealing.unsure > UNSURE or annealing.price() > particles.price():
            self._say("particles")
            particles.until_done()
        if annealing.price() < particles.price():
            self._say("annealing")
            annealing.until_done()
        return self._checked(annealing, particles)

    def _checked(self, annealing: AnnealingRounds, particles: ParticleRounds) -> Measurement:
        """Hold annealing against particles: it must not be below them."""
        a, p = self._of_annealing(annealing), self._of_particles(particles)
        reliable = Verdict.RELIABLE
        if a.verdict is reliable and p.verdict is reliable:
            both = combined(annealing.estimate, particles.estimate)
            better = min(a, p, key=lambda m: m.stderr or 0.0)
            return self._judged(replace(better, details={**p.details, **a.details}), both)
        if p.verdict is reliable:
            return p
        if _missed(annealing.estimate, particles.estimate):
            e = particles.estimate
            note = Flag(Kind.MISSED_MODE, detail={"value": e.value, "stderr": e.stderr})
            return replace(a, verdict=Verdict.LOWER_BOUND, stderr=None, notes=(*a.notes, note))
        return a

    def _cheaper_than_walk(self, particles: ParticleRounds) -> bool:
        return not particles.wide and particles.price() < DEARER * walk_cost(self.problem, STARTS)

    def _walk_is_short(self) -> bool:
        return self._walk_part < FIRST_PART

    @property
    def _quick_steps(self) -> int:
        part = EXACT_PART * self.means.clock.goal.budget
        return int(min(QUICK_STEPS, part * ADDED_PER_SECOND))

    @property
    def _walk_part(self) -> float:
        """Share of the budget that the first round of a walk takes, about."""
        seconds = walk_cost(self.problem, STARTS) / WALKED_PER_SECOND
        return seconds / self.means.clock.goal.budget

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
            walk = AnchoredWalk(self.problem, fits, self.seed, self.means)
            walk.until_done()
        except OutOfTimeError:
            found = self._samples(self.problem, fits)
            return self._judged(self._told(0.0, Method.WALK, {"starts": len(fits)}), NOTHING, found)
        return self._of_walk(walk, fits)

    def _of_walk(self, walk: AnchoredWalk, fits: Sequence[FloatArray]) -> Measurement:
        ran = {"samples": len(walk.walk.kept), "starts": walk.starts, "steps": walk.steps}
        told = replace(self._told(0.0, Method.WALK, ran), used=walk.shares)
        samples = self._samples(self.problem, fits[:1])
        found = self._judged(told, walk.estimate, samples)
        if found.verdict is Verdict.RELIABLE:
            return found
        bound = replace(walk.estimate, value=walk.bound)  # forward chains alone: surely too low
        return self._judged(told, bound, samples, (Flag(Kind.STARTS_DISAGREE),))

    def _first_particles(
        self, part: float = FIRST_PART, *, hopeful: bool = True
    ) -> ParticleRounds | None:
        """Run the first particles, unless they would take more than a part of the budget."""
        self._say("particles")
        if self.problem.cases > MOST_CASES or not can_take_in(self.problem):
            return None
        if not self._particles_end_in(part * self.means.clock.goal.budget, probe=hopeful):
            return None
        rounds = ParticleRounds(self.problem, self.seed, self.means, hopeful=hopeful)
        return rounds if rounds.runs else None

    def _particles_end_in(self, seconds: float, *, probe: bool) -> bool:
        """Whether the first runs take no longer, about; a small run may tell how often they renew.

        By numbers that are the same every time, not by a clock: so must be what is chosen.
        """
        parameters, taken_in = self.problem.network.dimension, self.problem.cases
        most = min(parameters / 4, MOST_RENEWALS) + math.log2(taken_in + 1)
        guess = self._seconds_of_particles(most)
        if guess <= seconds or not probe or guess * PROBE / (RUNS * PARTICLES) > seconds:
            return guess <= seconds
        try:
            small = run_particles(self.problem, PROBE, (self.seed, PROBED), self.means.clock)
        except OutOfTimeError:
            return False
        return self._seconds_of_particles(FEW_RENEW_LESS * small.renewals) <= seconds

    def _seconds_of_particles(self, renewals: float) -> float:
        """How long the first runs take, about, if they are renewed so often."""
        sweep, cases = seconds_to_draw(self.problem)
        return RUNS * PARTICLES * (SWEEPS * renewals * sweep + cases)

    def _annealing(self, particles: ParticleRounds | None) -> AnnealingRounds:
        self._say("annealing")
        found = [] if particles is None else particles.found(EACH_RUN)
        # Particles tell by themselves how many classes are used; without them every number may be.
        fewer = particles is None and exchangeable(self.problem)
        in_time = self.means.clock.allows
        fits = (
            fewer_classes(self.problem, self._by_fits, in_time)
            if fewer
            else self._by_fits(self.problem)
        )
        return AnnealingRounds(self.problem, [*fits, *found], self.seed, self.means, self.shared)

    def _by_fits(self, problem: Problem) -> list[Found]:
        return self._samples(problem, self._fits(problem, FITS))

    def _fits(self, problem: Problem, number: int) -> list[FloatArray]:
        """Parameters that EM finds, from starts of its own each time."""
        seeds = [self.seed + n * SEEDS_APART for n in range(number)]
        return fitted(problem, seeds, self.means)

    def _samples(self, problem: Problem, fits: Sequence[FloatArray]) -> list[Found]:
        """A sample at each."""
        each = enumerate(fits)
        return [Found(at_parameters(problem, x, (self.seed, n)), -1 - n) for n, x in each]

    def _of_particles(self, rounds: ParticleRounds) -> Measurement:
        ran = {"runs": len(rounds.runs), "particles each": rounds.particles}
        told = replace(self._told(0.0, Method.SMC, ran), used=rounds.shares)
        note = () if rounds.runs else (Flag(Kind.OUT_OF_TIME),)
        return self._judged(told, rounds.estimate, rounds.found(1), note)

    def _of_annealing(
        self, rounds: AnnealingRounds, particles: ParticleRounds | None = None
    ) -> Measurement:
        estimate = rounds.estimate
        ran = {"chains": rounds.chains, "steps at most": rounds.steps}
        ran["references"] = rounds.references
        told = replace(self._told(0.0, Method.AIS, ran), used=rounds.shares)
        note: tuple[Flag, ...] = ()
        if rounds.unfinished:
            note = (Flag(Kind.OUT_OF_TIME),)
        elif rounds.unsure > UNSURE:
            note = (Flag(Kind.FEW_CHAINS, detail={"share": rounds.unsure}),)
        elif estimate.verdict is not rounds.sampled.verdict:
            note = (Flag(Kind.SEEN_ONCE, detail={"share": rounds.unseen}),)
        note += flags_of(symmetries_of(self.problem))
        if particles is None or particles.estimate.verdict is not Verdict.RELIABLE:
            return self._judged(told, estimate, rounds.found, note)
        p = particles.estimate
        covering = less_sure(estimate, p)
        if _missed(estimate, p) or covering.verdict is not estimate.verdict:
            note = (*note, Flag(Kind.MISSED_MODE, detail={"value": p.value, "stderr": p.stderr}))
        found = self._judged(told, covering, rounds.found, note)
        if found.stderr is not None and found.stderr > 2.0 * estimate.stderr:
            covers = Flag(Kind.ERROR_COVERS, detail={"value": p.value})
            found = replace(found, notes=(*found.notes, covers))
        return found

    def _judged(
        self,
        told: Measurement,
        e: LogMean,
        found: Sequence[Found] = (),
        against: tuple[Flag, ...] = (),
    ) -> Measurement:
        """Put a value and its verdict: a lower bound where something speaks against it."""
        value = e.value
        if not math.isfinite(value):  # no chain came to an end where it counts
            value, against = self._bound(found), against or (Flag(Kind.OUT_OF_TIME),)
        verdict = Verdict.LOWER_BOUND if against else e.verdict
        one = value - symmetries_of(self.problem).log_count
        stderr = e.stderr if verdict is Verdict.RELIABLE else None
        told = replace(told, value=value, one_labelling=one, stderr=stderr, ess=e.size)
        told = replace(told, verdict=verdict, notes=against)
        return between(told, self._bound(found), upper_bound(self.problem))

    def _bound(self, found: Sequence[Found]) -> float:
        """A variational bound: what is known without any chain."""
        return lower_bound(self.problem, [each.N for each in found])

    def _told(self, value: float, method: Method, ran: dict[str, int]) -> Measurement:
        one = value - symmetries_of(self.problem).log_count
        return Measurement(value, one, 0.0, None, Verdict.EXACT, method, 0.0, {}, ran)


def _missed(a: LogMean, p: LogMean) -> bool:
    """Whether annealing is clearly below particles, which miss no mode."""
    return p.value - a.value > ERRORS * math.hypot(a.stderr, p.stderr)
