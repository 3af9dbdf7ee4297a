"""What chosen classes may stand for: models in place of them, and checks that fail, in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from lacunet.summaries.predictive_checks import Check, failed
from lacunet.tabular import Grid, probability
from lacunet.wording import residual_words, worded

CLEAR = math.log(20.0)  # nats by which another model must be better, to be said


class Departure(StrEnum):
    """What classes may stand for."""

    EDGES = "direct dependence"
    COVARIANCE = "covariance within classes"
    SHAPE = "skewness or heavy tails"
    TRAIT = "continuous trait"


@dataclass(frozen=True)
class Alternative:
    """Another model of the table, and how much more probable it is than the chosen one."""

    departure: Departure
    classes: int | None  # that it has; None: it has none
    log_bayes_factor: float  # against the chosen number of classes
    edges: tuple[str, ...] = ()  # direct effects, as --edge takes them
    skewed: tuple[str, ...] = ()  # columns
    heavy: tuple[str, ...] = ()
    slopes: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # on a trait, by column

    @property
    def probability(self) -> float:
        """Of it against the chosen number of classes, both alike before the data."""
        return 1.0 / (1.0 + math.exp(-max(-700.0, min(700.0, self.log_bayes_factor))))

    @property
    def title(self) -> str:
        """What it is."""
        if self.classes is None:
            return "one continuous trait"
        classes = f"{self.classes} class{'' if self.classes == 1 else 'es'}"
        if self.departure is Departure.EDGES:
            return f"{classes} with direct effects {', '.join(self.edges)}"
        if self.departure is Departure.COVARIANCE:
            return f"{classes} with covariances"
        return f"{classes} of numbers that are {self._shape}"

    @property
    def _shape(self) -> str:
        parts = [f"skewed ({', '.join(self.skewed)})"] if self.skewed else []
        parts += [f"heavy-tailed ({', '.join(self.heavy)})"] if self.heavy else []
        return " or ".join(parts) or "not normal"

    def sentence(self, chosen: str) -> str:
        """Say what the chosen classes may be, how probable that is, and what to do."""
        chances = probability(self.probability, exact=False)
        against = f"probability {chances} against {chosen}"
        if self.classes is None:
            return (
                f"{chosen} may be slices of a continuum: {self.title} has {against}. Read them as "
                "low to high, or use a factor or item response model"
            )
        other = f"{self.title}: {against}"
        if self.departure is Departure.EDGES:
            classes = f"{self.classes} class{'' if self.classes == 1 else 'es'}"
            return (
                f"{chosen} may stand for direct dependence between answers. {other}. Try "
                f"{residual_words()} with {classes}"
            )
        if self.departure is Departure.COVARIANCE:
            return (
                f"{chosen} may stand for numbers that vary together within classes. {other}. "
                + worded("Try --covariance full")
            )
        return f"{chosen} may stand for skewness or heavy tails within classes. {other}. " + worded(
            "Try another kind of column (--kinds NAME=lognormal), or logarithms"
        )


@dataclass(frozen=True)
class Misfit:
    """What else the data may be, best first: one model for each departure that was tried."""

    chosen: int  # number of classes that they are held against
    alternatives: tuple[Alternative, ...]
    checks: tuple[Check, ...] = ()  # posterior predictive ones of the chosen model

    @property
    def clear(self) -> tuple[Alternative, ...]:
        """Those that are worth a warning: above 20 to 1, for each of them that was tried."""
        least = CLEAR + math.log(max(len(self.alternatives), 1))
        return tuple(a for a in self.alternatives if a.log_bayes_factor > least)

    @property
    def failed(self) -> tuple[Check, ...]:
        """Checks of the chosen model that fail, the worst first."""
        return failed(self.checks)

    def warning(self, chosen: str) -> str:
        """Say what the chosen classes stand for, or do not explain; nothing if all is well."""
        if self.clear:
            return self.clear[0].sentence(chosen)
        if not self.failed:
            return ""
        worst = self.failed[0]
        return f"{chosen} do not explain all: {worst.sentence}. {worst.advice}"

    def document(self, chosen: str) -> dict[str, Any]:
        """Describe it for JSON; `chosen` names the chosen classes."""
        models = [
            {
                "departure": a.departure.value,
                "title": a.title,
                "classes": a.classes,
                "log_bayes_factor": a.log_bayes_factor,
                "probability": a.probability,
                "edges": a.edges,
                "skewed": a.skewed,
                "heavy": a.heavy,
                "slopes": dict(a.slopes),
                "clear": a in self.clear,
                "sentence": a.sentence(chosen),
            }
            for a in self.alternatives
        ]
        checks = [
            {
                "name": c.name,
                "columns": c.columns,
                "p_value": c.p_value,
                "draws": c.draws,
                "failed": c in self.failed,
            }
            for c in self.checks
        ]
        return {
            "warning": self.warning(chosen),
            "chosen": self.chosen,
            "models": models,
            "checks": checks,
        }


def misfit_grid(found: Misfit, chosen: str) -> Grid:
    """Show each model that was tried beside classes."""
    rows = tuple(
        (a.title, f"{a.log_bayes_factor:.1f}", probability(a.probability, exact=False))
        for a in found.alternatives
    )
    meaning = (
        f"log BF: log Bayes factor against {chosen}, in nats, approximated; p: probability of the "
        "model if it and the classes are alike before the data."
    )
    notes = [meaning]
    if found.checks:
        each = ", ".join(f"{c.name} {c.p_value:.2g}" for c in found.checks)
        notes.append(f"p-values of {chosen} by tables drawn from the model: {each}.")
    header = ("model", "log BF", "p")
    return Grid("In place of classes", header, rows, frozenset({0}), tuple(notes))
