"""The evidence log p(D|S): an exact sum if it is short, else an estimate with an error bar.

`auto` takes the first method whose condition holds (see also docs/explanation/evidence.md):

    exact      nothing is hidden, or the sum over all completions takes at most `QUICK_STEPS`
    particles  they reach the target with less work than `DEARER` first rounds of a walk; if no
               walk is possible, they reach it in their first round or more cheaply than annealing
    walk       `walkable` latent classes, and a first round below `FIRST_PART` of the budget
    annealing  everything else, and if starts of a walk disagree; checked against particles
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lacunet.errors import LacunetError, OptionError
from lacunet.evidence.ais import UNSURE, AnnealingRounds, UsedClasses
from lacunet.evidence.annealing import Goal, OutOfTimeError, RunContext, TimeLimit
from lacunet.evidence.bridge import BridgedWalk, walk_cost
from lacunet.evidence.consistency import (
    ERRORS,
    lower_bound,
    upper_bound,
    widened_error,
    within_bounds,
)
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
from lacunet.runtime.checkpoint import NULL_CHECKPOINT, Checkpoint
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.scores.occupancy import flags_of

QUICK_STEPS = 3_000_000  # additions of an exact sum under `auto`,
ADDED_PER_SECOND = 1e6  # at about this rate,
EXACT_PART = 1 / 4  # and at most this share of the budget
MOST_CASES = 200_000  # cases of a particle run
FIRST_PART = 1 / 3  # share of the budget for the first particle runs, before annealing
DEARER = 5  # work of particles to the target, in first rounds of a walk
WALKED_PER_SECOND = 2e8  # memory accesses of a walk over partitions, about
FITS = 3  # independent fits from which annealing may start
STARTS = 8  # the same, of a walk
EACH_RUN = 4  # samples taken from each particle run
SEEDS_APART = 1_000_003  # between fits, so that no two share a start
LEAST_PART = 0.1  # least share of the budget for roundings of weights


def measure(
    problem: Problem,
    method: Method = Method.AUTO,
    goal: Goal | None = None,
    *,
    seed: int = 0,
    executor: Executor = SERIAL,
    shared: UsedClasses | None = None,
    checkpoint: Checkpoint = NULL_CHECKPOINT,
) -> Measurement:
    """Compute the evidence of a problem.

    Latent class models of one table share the masses in `shared` if their classes have the same
    prior. Fractional weights are rounded in several ways. Long E steps run on the device of the
    problem, if it has one.
    """
    problem = problem.where_faster
    context = RunContext(executor, TimeLimit(goal or Goal()), checkpoint)
    if not (problem.whole or problem.exact):
        return _on_roundings(problem, method, context, seed)
    measurement = _Methods(problem, seed, context, shared).by(method)
    executor.report("evidence", 1.0)
    check_log_probability(problem, "evidence", {"log p(D|S)": measurement.value}, measurement.noise)
    return replace(measurement, seconds=context.limit.spent)


def _on_roundings(problem: Problem, method: Method, context: RunContext, seed: int) -> Measurement:
    """Average over problems with rounded weights; each gets its share of the remaining time."""
    theta, limit = fitted(problem, [seed], context)[0], context.limit
    near = roundings(problem, seed)
    n = len(near)
    parts = []
    for i, whole in enumerate(near):
        left = max(limit.goal.budget - limit.spent, LEAST_PART * limit.goal.budget) / (n - i)
        part = context.executor.part(i / n, (i + 1) / n, f"rounding {i + 1}")
        goal, rows = Goal(limit.goal.target, left), whole.on(problem.place.device)
        parts.append(
            measure(rows, method, goal, seed=seed, executor=part, checkpoint=context.checkpoint)
        )
    above = [[p.value - bound_near(w, theta)] for p, w in zip(parts, near, strict=True)]
    errors = np.array([[p.stderr or 0.0] for p in parts])  # 0: a lower bound has no error
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
        seconds=limit.spent,
        **joined(problem, parts),
    )


@dataclass(frozen=True, eq=False)
class _Methods:
    """The methods for one problem with integer weights."""

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
        check_sampling(self.problem, sequential=method is not Method.AIS)
        if method is Method.WALK:
            return self._walk()
        if method is Method.AIS:
            return self._ais(self._first_particles(FIRST_PART))
        self._report("particles")
        rounds = ParticleRounds(self.problem, self.seed, self.context)
        rounds.until_done()
        return self._of_particles(rounds)

    def _auto(self) -> Measurement:
        limit = self.context.limit
        quick = int(min(QUICK_STEPS, EXACT_PART * limit.goal.budget * ADDED_PER_SECOND))
        try:
            return self._exact(largest=quick)
        except LacunetError:
            pass
        check_sampling(self.problem)
        first_round = walk_cost(self.problem, STARTS) if walkable([self.problem]) else math.inf
        walk_part = first_round / WALKED_PER_SECOND / limit.goal.budget
        walk = walk_part < FIRST_PART
        particles = self._first_particles(walk_part if walk else 1.0, full_round=not walk)
        if particles is not None:
            if walk and not particles.wide and particles.price() < DEARER * first_round:
                particles.until_done()
            e = particles.estimate
            good = e.stderr <= limit.goal.target and e.verdict is Verdict.RELIABLE
            if good or not limit.allows():
                return self._of_particles(particles)
        if not walk:
            return self._ais(None) if particles is None else self._by_both(particles)
        walked = self._walk()
        if walked.verdict is Verdict.RELIABLE or not limit.allows():
            return walked
        if particles is not None:
            particles.first_round()
        else:
            particles = self._first_particles(FIRST_PART)
        annealed = self._ais(None) if particles is None else self._by_both(particles)
        surer = annealed.verdict is Verdict.RELIABLE or annealed.value > walked.value
        return annealed if surer else walked  # of two lower bounds the higher

    def _exact(self, **limits: int) -> Measurement:
        self._report("exact sum")
        exact = exact_evidence(self.problem, **limits)
        ran = {"completions": exact.terms, "distinct count vectors at most": exact.states}
        measurement = self._measurement(exact.value, Method.EXACT, ran)
        return within_bounds(measurement, self._bound(()), upper_bound(self.problem))

    def _ais(self, particles: ParticleRounds | None) -> Measurement:
        rounds = self._annealing(particles)
        rounds.until_done()
        if particles is not None and particles.price() <= rounds.work:
            particles.until_done()  # a cheap independent check
        return self._of_annealing(rounds, particles)

    def _by_both(self, particles: ParticleRounds) -> Measurement:
        """Continue the cheaper of annealing and particles; combine them if both are reliable."""
        annealing = self._annealing(particles)
        missed = _below_particles(annealing.estimate, particles.estimate)
        # If the number of used classes varies, annealing has few chains for each; particles do not.
        if missed or annealing.unsure > UNSURE or annealing.price() > particles.price():
            self._report("particles")
            particles.until_done()
        if annealing.price() < particles.price():
            self._report("annealing")
            annealing.until_done()
        a, p = self._of_annealing(annealing), self._of_particles(particles)
        reliable = Verdict.RELIABLE
        if a.verdict is reliable and p.verdict is reliable:
            both = combined(annealing.estimate, particles.estimate)
            better = min(a, p, key=lambda m: m.stderr or 0.0)
            return self._with_verdict(replace(better, details={**p.details, **a.details}), both)
        if p.verdict is reliable:
            return p
        if _below_particles(annealing.estimate, particles.estimate):
            note = _missed_mode_flag(particles.estimate)
            return replace(a, verdict=Verdict.LOWER_BOUND, stderr=None, notes=(*a.notes, note))
        return a

    def _walk(self) -> Measurement:
        if not walkable([self.problem]):
            raise OptionError(
                "a walk over partitions needs a latent class model of categorical, Gaussian, "
                "Poisson or binomial columns, with the same prior for every class. "
                "Use --method auto."
            )
        self._report("walk over partitions")
        fits = self._fits(self.problem, STARTS)
        try:
            walk = BridgedWalk(self.problem, fits, self.seed, self.context)
            walk.until_done()
        except OutOfTimeError:
            samples = self._samples(self.problem, fits)
            empty = self._measurement(0.0, Method.WALK, {"starts": len(fits)})
            return self._with_verdict(empty, NOTHING, samples)
        ran = {
            "samples": len(walk.walk.collected),
            "starts": walk.starts,
            "steps": walk.bridge.steps,
        }
        empty = replace(self._measurement(0.0, Method.WALK, ran), used=walk.shares)
        samples = self._samples(self.problem, fits[:1])
        measurement = self._with_verdict(empty, walk.estimate, samples)
        if measurement.verdict is Verdict.RELIABLE:
            return measurement
        bound = replace(walk.estimate, value=walk.bound)  # by forward draws alone: too low
        return self._with_verdict(empty, bound, samples, (Flag(Kind.STARTS_DISAGREE),))

    def _first_particles(self, part: float, *, full_round: bool = True) -> ParticleRounds | None:
        """Run the first particles if they fit into a share of the budget."""
        self._report("particles")
        problem, limit = self.problem, self.context.limit
        if problem.cases > MOST_CASES or not can_take_in(problem):
            return None
        seconds = part * limit.goal.budget
        if not first_round_ends_in(problem, seconds, self.seed, limit, probe=full_round):
            return None
        rounds = ParticleRounds(problem, self.seed, self.context, full_round=full_round)
        return rounds if rounds.runs else None

    def _annealing(self, particles: ParticleRounds | None) -> AnnealingRounds:
        self._report("annealing")
        problem = self.problem
        samples = [] if particles is None else particles.hidden_samples(EACH_RUN)
        # Particles show which numbers of used classes matter; without particles all are searched.
        if particles is None and exchangeable(problem):
            fits = fewer_classes(problem, self._samples_of_fits, self.context.limit.allows)
        else:
            fits = self._samples_of_fits(problem)
        return AnnealingRounds(problem, [*fits, *samples], self.seed, self.context, self.shared)

    def _samples_of_fits(self, problem: Problem) -> list[HiddenSample]:
        return self._samples(problem, self._fits(problem, FITS))

    def _fits(self, problem: Problem, number: int) -> list[FloatArray]:
        """Parameters of independent EM fits."""
        seeds = [self.seed + n * SEEDS_APART for n in range(number)]
        return fitted(problem, seeds, self.context)

    def _samples(self, problem: Problem, fits: Sequence[FloatArray]) -> list[HiddenSample]:
        """A hidden sample for each fit."""
        return [
            HiddenSample(sample_at(problem, x, (self.seed, n)), -1 - n) for n, x in enumerate(fits)
        ]

    def _of_particles(self, rounds: ParticleRounds) -> Measurement:
        ran = {"runs": len(rounds.runs), "particles each": rounds.particles}
        empty = replace(self._measurement(0.0, Method.SMC, ran), used=rounds.shares)
        note = () if rounds.runs else (Flag(Kind.OUT_OF_TIME),)
        return self._with_verdict(empty, rounds.estimate, rounds.hidden_samples(1), note)

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
            return self._with_verdict(empty, estimate, rounds.samples, note)
        p = particles.estimate
        widened = widened_error(estimate, p)
        if _below_particles(estimate, p) or widened.verdict is not estimate.verdict:
            note = (*note, _missed_mode_flag(p))
        measurement = self._with_verdict(empty, widened, rounds.samples, note)
        if measurement.stderr is not None and measurement.stderr > 2.0 * estimate.stderr:
            covers = Flag(Kind.ERROR_COVERS, detail={"value": p.value})
            measurement = replace(measurement, notes=(*measurement.notes, covers))
        return measurement

    def _with_verdict(
        self,
        empty: Measurement,
        e: LogMean,
        samples: Sequence[HiddenSample] = (),
        against: tuple[Flag, ...] = (),
    ) -> Measurement:
        """Fill in an estimate with its verdict; flags `against` it make it a lower bound."""
        value = e.value
        if not math.isfinite(value):  # no chain has a positive weight
            value, against = self._bound(samples), against or (Flag(Kind.OUT_OF_TIME),)
        verdict = Verdict.LOWER_BOUND if against else e.verdict
        one = value - symmetries_of(self.problem).log_count
        stderr = e.stderr if verdict is Verdict.RELIABLE else None
        filled = replace(empty, value=value, one_labelling=one, stderr=stderr, ess=e.size)
        filled = replace(filled, verdict=verdict, notes=against)
        return within_bounds(filled, self._bound(samples), upper_bound(self.problem))

    def _bound(self, samples: Sequence[HiddenSample]) -> float:
        """A variational bound, raised from the samples."""
        return lower_bound(self.problem, [each.N for each in samples])

    def _measurement(self, value: float, method: Method, ran: dict[str, int]) -> Measurement:
        one = value - symmetries_of(self.problem).log_count
        return Measurement(value, one, 0.0, None, Verdict.EXACT, method, 0.0, {}, ran)

    def _report(self, what: str) -> None:
        limit = self.context.limit
        self.context.executor.report(what, min(0.99, limit.spent / limit.goal.budget))


def _below_particles(a: LogMean, p: LogMean) -> bool:
    """Whether annealing is significantly below particles, so that it missed a mode."""
    return p.value - a.value > ERRORS * math.hypot(a.stderr, p.stderr)


def _missed_mode_flag(e: LogMean) -> Flag:
    return Flag(Kind.MISSED_MODE, detail={"value": e.value, "stderr": e.stderr})
