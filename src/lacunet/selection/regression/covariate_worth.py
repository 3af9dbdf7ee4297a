"""What each covariate adds: the evidence with it, against the evidence without it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lacunet.data.table import Table
from lacunet.evidence.clock import Clock, Goal
from lacunet.evidence.measurement import Measurement
from lacunet.evidence.regression.annealed import measure
from lacunet.evidence.regression.at_mode import csl_of, mode_of
from lacunet.fitting.fit import Options
from lacunet.fitting.regression.fit import ClassFit, fit_classes
from lacunet.inference.problem import Problem
from lacunet.inference.regression.classes import build_class_problem
from lacunet.inference.regression.design import build_design
from lacunet.models.terms import Term
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.scores import Evidence


@dataclass(frozen=True, eq=False)
class Weighed:
    """A model with some covariates, and its evidence."""

    terms: tuple[Term, ...]
    fit: ClassFit
    mode: ClassFit  # of (β, φ), near it
    approximated: Evidence
    measured: Measurement | None  # where it was

    @property
    def log_evidence(self) -> float:
        """The measured evidence where there is one, or the approximation."""
        return self.approximated.value if self.measured is None else self.measured.value


@dataclass(frozen=True)
class Worth:
    """How many nats a covariate adds to the evidence."""

    name: str
    log_bayes_factor: float  # log p(D | with it) − log p(D | without it)
    stderr: float | None  # where both are measured


@dataclass(frozen=True, eq=False)
class Recipe:
    """How models are fitted and weighed, whatever their covariates."""

    table: Table  # rows with items and covariates
    plain: Problem  # the same rows without covariates
    exponent: float
    coefficient_sd: float
    options: Options
    goal: Goal | None  # of measuring; None: the approximation alone

    def weighed(
        self, terms: Sequence[Term], near: ClassFit | None = None, executor: Executor = SERIAL
    ) -> Weighed:
        """Fit the model with these covariates, also from the items of one that is near."""
        design = build_design(self.table, terms)
        given = build_class_problem(self.plain, design, self.exponent, self.coefficient_sd)
        beside = () if near is None else (near.given.to_plain(near.point.theta),)
        fit = fit_classes(given, self.options, executor=executor, beside=beside)
        mode = mode_of(fit)
        measured = None
        if self.goal is not None:
            measured = measure(mode, Clock(self.goal), self.options.seed, executor)
        return Weighed(tuple(terms), fit, mode.fit, csl_of(mode), measured)


def worth_of_covariates(
    recipe: Recipe, whole: Weighed, executor: Executor = SERIAL
) -> tuple[Worth, ...]:
    """Leave out each covariate by itself, and all of them."""
    return tuple(
        _worth(name, whole, recipe.weighed(terms, whole.fit, executor))
        for name, terms in _left_out(whole.terms)
    )


def _left_out(terms: Sequence[Term]) -> Iterator[tuple[str, tuple[Term, ...]]]:
    if len(terms) > 1:
        for one in terms:
            yield one.name, tuple(t for t in terms if t is not one)
    if terms:
        yield "all of them" if len(terms) > 1 else terms[0].name, ()


def _worth(name: str, whole: Weighed, part: Weighed) -> Worth:
    errors = [m.stderr for m in (whole.measured, part.measured) if m is not None]
    known = len(errors) == 2 and None not in errors
    stderr = sum(e**2 for e in errors if e is not None) ** 0.5 if known else None
    return Worth(name, whole.log_evidence - part.log_evidence, stderr)
