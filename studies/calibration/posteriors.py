"""Posteriors over the number of classes of data drawn from the prior: by scores, by evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from lacunet.api import select
from lacunet.data.table import Column, Table
from lacunet.evidence.ais import UsedClasses
from lacunet.evidence.annealing import Goal
from lacunet.evidence.measure import measure
from lacunet.inference.problem import build_problem
from lacunet.models.conjugacy import draw_theta
from lacunet.models.latent_class import latent_class
from lacunet.models.network import Model
from lacunet.models.prior import uniform_alpha
from lacunet.models.surgery import sample_codes
from lacunet.paper.experiments import finite
from lacunet.scores import SCORES
from lacunet.selection.certainty import Certainty
from lacunet.settings import Settings
from studies.calibration.cell import DrawSettings, timed

SCORED = tuple(s.name for s in SCORES if not s.only_exact)


@dataclass(frozen=True)
class PosteriorCell:
    """Latent class models drawn from the prior, the number of classes too: is p(k|D) calibrated?"""

    name: str
    leaves: int  # binary
    most: int  # the number of classes is uniform on 1 to this
    rows: int
    missing: float  # share of missing cells
    datasets: int
    measured: int  # for so many of them also the evidence of every k
    alpha: float = 1.0  # Dirichlet exponent of class sizes and leaves

    @property
    def weight(self) -> float:
        """How long a data set takes, roughly."""
        return 1.0 + self.leaves * self.most**2 * self.rows / 1e5

    def repeated(self, datasets: int) -> Self:
        """Give the same with another number of data sets; what takes long is done no more often."""
        return replace(self, datasets=datasets, measured=min(self.measured, datasets))

    def run(self, dataset: int, how: DrawSettings) -> dict[str, Any]:
        """Draw a data set, and ask everybody how many classes it has."""
        k, table = draw(self, dataset, how.seed)
        states, cpu = range(1, self.most + 1), dict[str, float]()
        # Each data set has luck of its own, and is done on the thread that it is on.
        # All numbers are tried: a table has a column for each.
        alone = Settings(
            alpha=self.alpha, starts=how.starts, seed=dataset, threads=1, whole_range=True
        )
        with timed(cpu, "select"):
            sure = select(table, states, settings=alone).certainty
        answer = {"how": sure.basis.value, "by": sure.by, **_by_states(sure, states)}
        with timed(cpu, "quick"):
            select(table, states, settings=alone, quick=True)
        with timed(cpu, "scores"):
            scored = select(table, states, settings=alone, scores=SCORED, quick=True)
        values = {
            s.name: [finite(v) for v in scored.values(s.name).values()]
            for s in scored.scores
            if s.name in SCORED
        }
        record = {"classes": k, "select": answer, "scores": values, "cpu": cpu}
        if dataset < self.measured:
            with timed(cpu, "evidence"):
                record["evidence"] = _evidence(table, states, self.alpha, how.goal, dataset)
        return record


def _by_states(sure: Certainty, states: Sequence[int]) -> dict[str, list[Any]]:
    """Log evidence, probabilities and their standard errors, as far as they are known."""
    return {
        "values": [finite(sure.values[k]) for k in states],
        "probabilities": [finite(sure.probabilities[k]) for k in states],
        "stderr": [sure.stderr[k] for k in states],
    }


def draw(cell: PosteriorCell, dataset: int, seed: int) -> tuple[int, Table]:
    """Draw a number of classes, their parameters, and incomplete rows; all states are declared."""
    rng = np.random.default_rng([seed, *cell.name.encode(), dataset])
    k = int(rng.integers(1, cell.most + 1))
    columns = [Column(f"x{i}", (0, 1)) for i in range(1, cell.leaves + 1)]
    network = latent_class([(c.name, c.states) for c in columns], k)
    alpha = uniform_alpha(network.layout, cell.alpha)
    model = Model(network, draw_theta(alpha, network.layout, rng), alpha)
    return k, Table.from_codes(sample_codes(model, cell.rows, rng, cell.missing), columns)


def _evidence(
    table: Table, states: Sequence[int], alpha: float, goal: Goal, seed: int
) -> Mapping[str, list[Any]]:
    """Measure the evidence of every number of classes by itself."""
    shared, measured = UsedClasses(), []
    for k in states:
        network = latent_class([(c.name, c.states) for c in table.columns], k)
        problem = build_problem(table, network, uniform_alpha(network.layout, alpha))
        measured.append(measure(problem, goal=goal, seed=seed, shared=shared))
    return {
        "values": [finite(m.value) for m in measured],
        "stderr": [finite(m.stderr) for m in measured],
        "verdicts": [m.verdict.value for m in measured],
    }
