"""The result of a comparison: candidates, the choice of each score, and the posterior."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from lacunet.data.design import flags_of
from lacunet.data.table import Table
from lacunet.fitting.fit import Options
from lacunet.flags import Flag, Kind
from lacunet.models.latent_class import has_classes, unit
from lacunet.models.network import Model
from lacunet.models.prior import Alpha, PriorGrid
from lacunet.runtime.arrays import FloatArray
from lacunet.scores import RECOMMENDED, SCORES, Score
from lacunet.selection.average import (
    ENOUGH,
    Label,
    Labellings,
    NamedPrior,
    PriorSensitivity,
    Reach,
    choose,
    probability_of_more,
    sensitivities,
)
from lacunet.selection.candidates import Candidate, Failed
from lacunet.selection.certainty import TRUTH, Certainty, CertaintyBasis, Factor
from lacunet.selection.grids import calibration, selection_grids
from lacunet.selection.misfit import Misfit
from lacunet.selection.sentences import answer
from lacunet.summaries.ratio_tests import TEST_KEYS, RatioTest
from lacunet.tabular import Columns, Grid, Printable, described

UNKNOWN = 0.01  # largest probability of candidates whose number of used classes is unknown


@dataclass(frozen=True, eq=False, repr=False)
class Selection(Printable):
    """The candidates, the choice of each score, and the posterior over the candidates."""

    table: Table
    candidates: tuple[Candidate, ...]  # in the order given; numbers of states ascend
    options: Options
    alpha: Alpha
    prior: Mapping[Label, float] | None  # over the candidates; None = uniform
    overall: Certainty | None = None  # the posterior, unless one score gives it
    grid: PriorGrid | None = None  # priors to average over, and for sensitivity
    by_prior: Mapping[Label, FloatArray] = field(default_factory=dict)  # (S,) log evidence
    reach: Reach | None = None  # the early end of a long range, if any
    ratio_tests: Mapping[int, RatioTest] = field(default_factory=dict)  # k against k − 1
    failed: tuple[Failed, ...] = ()  # candidates that could not be fitted
    named_prior: NamedPrior | None = None  # on the number of classes
    extended: bool = False  # whether the default range was extended
    misfit: Misfit | None = None  # alternatives to the classes, if checked

    @property
    def under_alpha(self) -> dict[Label, float]:
        """Log evidence of each candidate under `alpha` alone, the prior of the fits."""
        if self.grid is None or not self.by_prior:
            return dict(self.certainty.values)
        return {k: float(values[self.grid.base]) for k, values in self.by_prior.items()}

    @cached_property
    def sensitivity(self) -> tuple[PriorSensitivity, ...]:
        """The posterior under other priors."""
        if self.grid is None:
            return ()
        each = {k: v for k, v in self.by_prior.items() if k in self.certainty.values}
        return sensitivities(each, self.grid, self.prior)

    @cached_property
    def scores(self) -> tuple[Score, ...]:
        """The scores that every candidate has.

        Measured evidence is included if it decides, though candidates far behind have none.
        """
        common = [s for s in (TRUTH, *SCORES) if all(s.name in c.scores for c in self.candidates)]
        decides = self.overall is not None and self.overall.by == TRUTH.name and TRUTH not in common
        return (*([TRUTH] if decides else []), *common)

    @property
    def unit(self) -> str:
        """The unit of the candidates: classes, states or networks."""
        first = self.candidates[0].proposal
        return "networks" if isinstance(first.label, str) else unit(first.network)

    def score(self, name: str) -> Score:
        """Return a score by its name."""
        return next(s for s in self.scores if s.name == name)

    def values(self, score: str) -> dict[Label, float]:
        """Return a score of each candidate, by label; NaN where it has none."""
        each = {c.label: c.scores.get(score) for c in self.candidates}
        return {label: evidence.value if evidence else math.nan for label, evidence in each.items()}

    @cached_property
    def chosen(self) -> dict[str, Label | None]:
        """The most probable candidate by each score and the prior; None if there is none."""
        by_scores = {s.name: choose(self.values(s.name), self.prior) for s in self.scores}
        return {**by_scores, self.headline: self.label}

    def by_score(self, name: str, labellings: Labellings = Labellings.PLAIN) -> Certainty:
        """Return the posterior over the candidates by one score, with errors only if exact."""
        values, score = self.values(name), self.score(name)
        if labellings is Labellings.ALL and not score.every_labelling:
            values = {c.label: values[c.label] + c.log_labellings for c in self.candidates}
        if not score.only_exact:
            return Certainty(
                name, values, self.prior, CertaintyBasis.APPROXIMATED, notes=self._design_flags
            )
        no_errors = np.zeros((len(values), len(values)))
        return Certainty(
            name, values, self.prior, CertaintyBasis.EXACT, no_errors, frozenset(values)
        )

    @cached_property
    def certainty(self) -> Certainty:
        """The posterior over the candidates with its errors, which the answer reports."""
        known = self.overall or self.by_score(self.trusted.name)
        more = [flag for flag in self._design_flags if flag not in known.notes]
        return replace(known, notes=(*known.notes, *more)) if more else known

    @property
    def _design_flags(self) -> tuple[Flag, ...]:
        return flags_of(self.table.design)

    def posterior(
        self, score: str | None = None, labellings: Labellings = Labellings.PLAIN
    ) -> dict[Label, float]:
        """Return the posterior over the candidates by a score (default: the headline)."""
        name = score or self.headline
        if name == self.headline and (labellings is Labellings.PLAIN or name == TRUTH.name):
            return self.certainty.probabilities
        return self.by_score(name, labellings).probabilities

    def bayes_factor(self, one: Label, other: Label) -> Factor:
        """Return the Bayes factor of two candidates, with its error if known."""
        return self.certainty.bayes_factor(one, other)

    def odds(self, one: Label, other: Label) -> Factor:
        """Return the posterior odds of two candidates, with their error if known."""
        return self.certainty.odds(one, other)

    @property
    def trusted(self) -> Score:
        """The score that decides if nothing is measured: an exact one, or the best recommended."""
        scores = [s for s in self.scores if s is not TRUTH]
        exact = [s for s in scores if s.only_exact and s not in RECOMMENDED]
        return next(iter((*exact, *(s for s in RECOMMENDED if s in scores), *scores)))

    @property
    def headline(self) -> str:
        """Name of the score that decides, or of the measured evidence."""
        return self.certainty.by

    @property
    def label(self) -> Label | None:
        """The label of the chosen candidate: a number of hidden states, or a name."""
        return self.certainty.choice

    states = label

    @cached_property
    def more(self) -> float | None:
        """Probability of more classes than were tried; None if candidates are not a range."""
        certainty, weighted = self.certainty, self.prior is not None and self.named_prior is None
        if weighted or not all(isinstance(c.label, int) for c in self.candidates):
            return None
        return probability_of_more(certainty.values, certainty.probabilities, self.named_prior)

    @property
    def at_least(self) -> bool:
        """Whether the answer is the largest number tried, and more remain plausible."""
        return bool(self.at_edge) and (self.more is None or self.more > ENOUGH)

    @property
    def unidentified(self) -> tuple[Label, ...]:
        """Candidates with more parameters than data of these columns can identify."""
        kind = Kind.TOO_MANY_PARAMETERS
        return tuple(c.label for c in self.candidates if any(f.kind is kind for f in c.flags))

    @cached_property
    def used(self) -> dict[int, float] | None:
        """Posterior of the number of occupied classes; None if it was not measured."""
        if not all(has_classes(c.proposal.network) for c in self.candidates):
            return None
        p = self.certainty.probabilities
        known = [(p[c.label], c.used) for c in self.candidates if c.used is not None]
        total = math.fsum(share for share, _ in known)
        if not total >= 1.0 - UNKNOWN:
            return None
        numbers = sorted({m for _, used in known for m in used})
        shares = {m: math.fsum(x * used.get(m, 0.0) for x, used in known) / total for m in numbers}
        return {m: share for m, share in shares.items() if share > 0}

    @cached_property
    def at_edge(self) -> tuple[str, ...]:
        """Hidden variables whose number of states in the answer is the largest tried."""
        if self.label is None or (self.prior is not None and self.named_prior is None):
            return ()
        chosen, tried = self.best.proposal.sizes, [c.proposal.sizes for c in self.candidates]
        numbers = {name: {sizes.get(name, k) for sizes in tried} for name, k in chosen.items()}
        return tuple(n for n, k in chosen.items() if k == max(numbers[n]) > min(numbers[n]))

    @property
    def best(self) -> Candidate:
        """The chosen candidate."""
        return next(c for c in self.candidates if c.label == self.label)

    @property
    def model(self) -> Model:
        """The model of the chosen candidate."""
        return self.best.model

    def brief(self) -> str:
        return answer(self)

    def tidy(self) -> Columns:
        """Return a row for each candidate: its size, its probability and its scores."""
        certainty, best = self.certainty, self.certainty.choice
        labels = [c.label for c in self.candidates]
        factors = [] if best is None else [certainty.bayes_factor(k, best).log for k in labels]
        return {
            "states" if isinstance(labels[0], int) else "network": labels,
            "dimension": [c.dimension for c in self.candidates],
            "log_likelihood": [c.fit.log_lik for c in self.candidates],
            "probability": [certainty.probabilities[k] for k in labels],
            "probability_stderr": [certainty.stderr[k] for k in labels],
            **({"log_bayes_factor": factors} if factors else {}),
            **{s.name: list(self.values(s.name).values()) for s in self.scores},
        }

    def to_dict(self) -> dict[str, Any]:
        """Give the document of `--json`: the answer, all candidates, and what qualifies them."""
        names = [s.name for s in self.scores]
        document = described(
            self,
            "data=table alpha headline chosen seed=options.seed states=label candidates certainty",
            posterior={n: self.posterior(n) for n in names},
            posterior_with_log_k_factorial={n: self.posterior(n, Labellings.ALL) for n in names},
            calibration=calibration(self),
            prior_average=self._prior_average,
        )
        qualified = {
            **described(self, "failed sensitivity reach"),
            "range": self._range(),
            "misfit": self.misfit and self.misfit.document(self.best.title),
            "bootstrap_tests": [
                {"states": k, "against": k - 1, **described(test, TEST_KEYS)}
                for k, test in self.ratio_tests.items()
            ],
        }
        document |= {name: value for name, value in qualified.items() if value}
        return document | ({"used_classes": self.used} if self.unit == "classes" else {})

    @property
    def _prior_average(self) -> list[dict[str, float]] | None:
        """The priors of the average and their weights; None if there is only one."""
        if self.grid is None or not self.grid.averages:
            return None
        each = zip(self.grid.variants, self.grid.weights, strict=True)
        return [{**asdict(variant), "weight": weight} for variant, weight in each if weight]

    def _range(self) -> dict[str, Any]:
        """Whether the answer is at the edge of the range, and the mass beyond it."""
        if not all(c.proposal.sizes for c in self.candidates):
            return {}
        prior = None if self.named_prior is None else str(self.named_prior)
        names = "at_least at_edge more extended unidentified"
        return described(self, names, limit=ENOUGH, prior=prior)

    def grids(self) -> Sequence[Grid]:
        return selection_grids(self)

    def report(self, path: str | os.PathLike[str]) -> Path:
        """Write one self-contained HTML page: charts, class profiles, warnings, missing values."""
        # A shortcut for users: the import is local, so that no other code here depends on pages.
        from lacunet.report.page import write_report

        return write_report(self, path)
