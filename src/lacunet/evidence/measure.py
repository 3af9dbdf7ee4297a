"""log p(D|S) itself: exactly if that is short work, else sampled, with an error bar."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from lacunet.arrays import FloatArray
from lacunet.errors import LacunetError
from lacunet.evidence.ais import UNSURE, AnnealingRounds, UsedClasses
from lacunet.evidence.clock import Clock, Goal
from lacunet.evidence.estimate import LogMean, Verdict
from lacunet.evidence.exact import exact_evidence
from lacunet.evidence.modes import at_parameters
from lacunet.evidence.particle_run import SWEEPS
from lacunet.evidence.smc import PARTICLES, RUNS, ParticleRounds
from lacunet.evidence.used_classes import fewer_classes
from lacunet.executor import SERIAL, Executor
from lacunet.flags import Flag, Kind
from lacunet.inference.classes import exchangeable
from lacunet.inference.problem import Problem
from lacunet.inference.sampling.draws import check_whole, touched
from lacunet.inference.symmetry import symmetries_of
from lacunet.learn.fit import Options, learn
from lacunet.tabular import Grid, Printable

QUICK_STEPS = 3_000_000  # additions of an exact sum that are done without being asked
MOST_CASES = 200_000  # that particles take in one by one
TOUCHED_PER_SECOND = 5e8  # numbers that a particle touches, case by case, in a second, about;
SWEEP_GAIN = 8.0  # how much faster a sweep over distinct components is
MOST_RENEWALS = 50  # of particles in one run, as far as seen
FIRST_PART = 1 / 3  # of the budget that the first particle runs may take
FROM_FIT = 4  # samples drawn at the parameters that EM finds
EACH_RUN = 4  # samples taken from each particle run
ERRORS = 3.0  # standard errors by which two methods may differ


class Method(StrEnum):
    """How to compute the evidence."""

    AUTO = "auto"
    EXACT = "exact"
    AIS = "ais"
    SMC = "smc"


@dataclass(frozen=True)
class Measurement(Printable):
    """The evidence, how sure it is, and what it took."""

    value: float  # log p(D|S), all labellings
    one_labelling: float  # the same for one of the equal labellings, as the paper counts
    stderr: float  # nats; 0 where exact
    ess: float | None  # effective number of independent estimates; None where exact
    verdict: Verdict
    method: Method
    seconds: float = field(compare=False)
    used: dict[int, float]  # posterior of the number of used classes, of latent class models
    details: dict[str, int]  # what was run
    notes: tuple[Flag, ...] = ()

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
        error = "" if self.verdict is Verdict.EXACT else f" ± {self.stderr:.2g}"
        ran = ", ".join(f"{number:,} {name}" for name, number in self.details.items())
        lines = []
        if self.one_labelling != self.value:
            lines.append(f"{self.one_labelling:.3f} for one labelling of the hidden states")
        if self.ess is not None:
            lines.append(f"effective number of independent estimates: {self.ess:.0f}")
        lines.append(f"{self.method}: {ran}; {self.seconds:.1f} s")
        if self.used:
            shares = ", ".join(f"{m} ({s:.1%})" for m, s in self.used.items() if s >= 0.0005)
            lines.append(f"classes in use: {shares}")
        title = f"log p(D|S) = {self.value:.3f}{error} nats: {self.verdict}"
        return [Grid(title, (), (), notes=(*lines, *(f"- {note}" for note in self.notes)))]


def measure(
    problem: Problem,
    method: Method = Method.AUTO,
    goal: Goal | None = None,
    *,
    seed: int = 0,
    executor: Executor = SERIAL,
    shared: UsedClasses | None = None,
) -> Measurement:
    """Compute the evidence of a problem.

    Latent class models of one table whose classes have the same prior may have `shared` parts.
    """
    clock = Clock(goal or Goal())
    measurement = _Measuring(problem, clock, seed, executor, shared).by(method)
    executor.say("evidence", 1.0)
    return replace(measurement, seconds=clock.spent)


@dataclass(frozen=True, eq=False)
class _Measuring:
    problem: Problem
    clock: Clock
    seed: int
    executor: Executor
    shared: UsedClasses | None

    def by(self, method: Method) -> Measurement:
        if self.problem.exact:  # nothing is hidden: BD
            return self._told(self.problem.log_seen, Method.EXACT, {"completion": 1})
        check_whole(self.problem)
        match method:
            case Method.EXACT:
                return self._exact()
            case Method.SMC:
                return self._smc()
            case Method.AIS:
                return self._ais()
            case Method.AUTO:
                return self._auto()

    def _say(self, what: str) -> None:
        self.executor.say(what, min(0.99, self.clock.spent / self.clock.goal.budget))

    def _exact(self, **limits: int) -> Measurement:
        self._say("exact sum")
        exact = exact_evidence(self.problem, **limits)
        ran = {"completions": exact.terms, "distinct count vectors at most": exact.states}
        return self._told(exact.value, Method.EXACT, ran)

    def _smc(self) -> Measurement:
        self._say("particles")
        rounds = ParticleRounds(self.problem, self.seed, self.executor, self.clock)
        rounds.until_done()
        return self._of_particles(rounds)

    def _ais(self) -> Measurement:
        rounds = self._annealing(self._first_particles())
        rounds.until_done()
        return self._of_annealing(rounds)

    def _auto(self) -> Measurement:
        """Exact if it is short work; else particles; else annealing, where that is cheaper."""
        try:
            return self._exact(largest=QUICK_STEPS)
        except LacunetError:
            pass
        particles = self._first_particles()
        if particles is None:
            return self._ais_from(None)
        if particles.estimate.stderr <= self.clock.goal.target or not self.clock.allows():
            return self._of_particles(particles)
        return self._ais_from(particles)

    def _ais_from(self, particles: ParticleRounds | None) -> Measurement:
        annealing = self._annealing(particles)
        if particles is None:
            annealing.until_done()
            return self._of_annealing(annealing)
        missed = _missed(annealing.estimate, particles.estimate)
        # Where classes come and go, annealing rests on few chains; particles do not mind.
        if missed or annealing.unsure > UNSURE or annealing.price() > particles.price():
            self._say("particles")
            particles.until_done()
            if not annealing.price() < particles.price():
                return self._of_particles(particles)
        self._say("annealing")
        annealing.until_done()
        return self._checked(self._of_annealing(annealing), self._of_particles(particles))

    def _checked(self, a: Measurement, p: Measurement) -> Measurement:
        """Hold annealing against particles: it must not be below them."""
        missed = _missed(a, p)
        worse = missed or a.verdict is not Verdict.RELIABLE or a.stderr > p.stderr
        if p.verdict is Verdict.RELIABLE and worse:
            return p
        if missed:
            note = Flag(Kind.MISSED_MODE, detail={"value": p.value, "stderr": p.stderr})
            return replace(a, verdict=Verdict.LOWER_BOUND, notes=(*a.notes, note))
        return a

    def _first_particles(self) -> ParticleRounds | None:
        """Run the first particles, unless they would eat the whole budget."""
        self._say("particles")
        if self.problem.cases > MOST_CASES:
            return None
        # By numbers that are the same every time, not by a clock: so must be what is chosen.
        sweep, cases = touched(self.problem)
        renewals = min(self.problem.network.dimension / 4, MOST_RENEWALS) + math.log2(cases + 1)
        likely = RUNS * PARTICLES * (SWEEPS * renewals * sweep / SWEEP_GAIN + cases)
        if likely > FIRST_PART * self.clock.goal.budget * TOUCHED_PER_SECOND:
            return None
        return ParticleRounds(self.problem, self.seed, self.executor, self.clock)

    def _annealing(self, particles: ParticleRounds | None) -> AnnealingRounds:
        self._say("annealing")
        samples = [] if particles is None else particles.samples(EACH_RUN)
        # Particles tell by themselves how many classes are used; without them every number may be.
        fewer = particles is None and exchangeable(self.problem)
        fitted = (
            fewer_classes(self.problem, self._from_fit) if fewer else self._from_fit(self.problem)
        )
        samples += fitted
        return AnnealingRounds(
            self.problem, samples, self.seed, self.executor, self.clock, self.shared
        )

    def _from_fit(self, problem: Problem) -> list[FloatArray]:
        """Samples at the parameters that EM finds."""
        options = Options(seed=self.seed)
        theta = learn(problem, options, executor=self.executor.silent()).model.theta
        return [at_parameters(problem, theta, (self.seed, n)) for n in range(FROM_FIT)]

    def _of_particles(self, rounds: ParticleRounds) -> Measurement:
        ran = {"runs": len(rounds.runs), "particles each": rounds.particles}
        return self._sampled(rounds, Method.SMC, ran)

    def _of_annealing(self, rounds: AnnealingRounds) -> Measurement:
        ran = {"chains": rounds.chains, "steps at most": rounds.steps}
        sampled = self._sampled(rounds, Method.AIS, {**ran, "references": len(rounds.legs)})
        if rounds.unsure <= UNSURE:
            return sampled
        few = Flag(Kind.FEW_CHAINS, detail={"share": rounds.unsure})
        note = Flag(Kind.OUT_OF_TIME) if rounds.unfinished else few
        return replace(sampled, verdict=Verdict.LOWER_BOUND, notes=(note,))

    def _sampled(
        self, rounds: ParticleRounds | AnnealingRounds, method: Method, ran: dict[str, int]
    ) -> Measurement:
        e, used = rounds.estimate, rounds.shares
        told = self._told(e.value, method, ran)
        return replace(told, stderr=e.stderr, ess=e.size, verdict=e.verdict, used=used)

    def _told(self, value: float, method: Method, ran: dict[str, int]) -> Measurement:
        one = value - symmetries_of(self.problem).log_count
        return Measurement(value, one, 0.0, None, Verdict.EXACT, method, 0.0, {}, ran)


def _missed(a: LogMean | Measurement, p: LogMean | Measurement) -> bool:
    """Whether annealing is clearly below particles, which miss no mode."""
    return p.value - a.value > ERRORS * math.hypot(a.stderr, p.stderr)
