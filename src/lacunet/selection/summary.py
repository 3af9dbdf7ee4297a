"""The first screen of a selection: the answer, one table, the profiles that differ most."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from lacunet.models.display import model_grids, profile_lines
from lacunet.models.latent_class import classes_of, is_latent_class
from lacunet.models.network import Model, Variable
from lacunet.models.surgery import table_of
from lacunet.runtime.arrays import FloatArray
from lacunet.selection.grids import (
    calibration_grid,
    factor_words,
    first_column,
    ratio_grid,
    remarks,
    score_grid,
)
from lacunet.selection.paper_tables import selection_criteria, smallest_class
from lacunet.selection.result import Selection
from lacunet.selection.sentences import answer, limits, why_not_bic
from lacunet.summaries.profiles import total_variation
from lacunet.tabular import Columns, Grid, Printable, chance, number

MOST_LINES = 8  # lines of profiles on the first screen
MOST_CLASSIFIED = 1 << 20  # distinct rows whose posteriors fit into memory in any case
MOST_ROWS = 20  # of tables of the hidden variables of other networks


@dataclass(frozen=True, eq=False, repr=False)
class SelectionSummary(Printable):
    """What `select` and `compare` print without options: some 25 lines."""

    selection: Selection
    scores: bool = False  # whether scores were requested

    def brief(self) -> str:
        return self.selection.brief()

    def tidy(self) -> Columns:
        """Return the columns of the selection."""
        return self.selection.tidy()

    def grids(self) -> Sequence[Grid]:
        selection = self.selection
        tests, why = selection.ratio_tests, why_not_bic(selection)
        grids = [
            Grid(answer(selection), notes=tuple(limits(selection))),
            _candidates(selection),
            score_grid(selection) if self.scores else None,
            ratio_grid(tests, selection.unit) if tests else None,
            Grid(why.title, notes=why.sentences) if why is not None else None,
            calibration_grid(selection),
            *([] if selection.label is None else _profiles(selection)),
            Grid("", notes=tuple(_closing(selection))),
        ]
        return [grid for grid in grids if grid is not None]


def _candidates(selection: Selection) -> Grid:
    """One row per candidate: its probability, and its fit as other programs print it."""
    criteria, certainty = selection_criteria(selection), selection.certainty
    labels = [c.label for c in selection.candidates]
    first, words = first_column(selection)
    alone, best = len(labels) == 1, certainty.choice
    p, stderr = certainty.probabilities, certainty.stderr
    columns: dict[str, Iterable[str]] = {
        first: list(map(str, labels)),
        "probability": [chance(p[k], stderr[k], exact=alone) for k in labels],
    }
    if best is not None and not alone:
        columns["log BF"] = [factor_words(certainty.bayes_factor(k, best)) for k in labels]
    each = criteria.candidates
    columns |= {
        "log L": [number(c.candidate.fit.log_lik) for c in each],
        "d": [str(c.candidate.network.dimension) for c in each],
        **{name: criteria.criterion(name, star=not alone).cells for name in ("BIC", "AIC")},
    }
    if len(criteria.hidden) == 1:
        (name,) = criteria.hidden
        if all(len(c.candidate.problem.counts) <= MOST_CLASSIFIED for c in each):
            qualities = [c.of_hidden(name) for c in each]
            columns["entropy R²"] = [number(q.entropy_r2, 3) if q else "–" for q in qualities]
        cases = [c.candidate.problem.cases * smallest_class(c, name) for c in each]
        columns["smallest"] = [number(n, 0) for n in cases]
    factor = f"log BF: log Bayes factor against {best}, in nats. "
    smallest = " smallest: expected rows of the smallest class." if "smallest" in columns else ""
    legend = f"{factor * ('log BF' in columns)}BIC, AIC: lower is better.{smallest}"
    return Grid.by_columns("", columns, words, (legend, *criteria.where_taken()))


def _profiles(selection: Selection) -> list[Grid]:
    """The profiles of the chosen classes; of many answers, those that differ most.

    Other networks have their tables of hidden variables, if these are small.
    """
    model = selection.best.fit.model
    grids = model_grids(model)
    if not is_latent_class(model.network):
        return grids if sum(len(grid.rows) for grid in grids) <= MOST_ROWS else []
    (grid,) = grids
    size, *lines = grid.rows
    if len(lines) <= MOST_LINES + 2:
        return [grid]
    apart = np.concatenate([differences(v, table) for v, table in _tables(model)])
    most = np.sort(np.argsort(-apart, kind="stable")[:MOST_LINES])
    rows = (size, *(lines[n] for n in most))
    title = f"Class profiles: the {MOST_LINES} of {len(lines)} lines that differ most"
    return [Grid(title, grid.header, rows, grid.left)]


def _tables(model: Model) -> list[tuple[Variable, FloatArray]]:
    network, classes = model.network, classes_of(model.network)
    shown = [i for i in network.shown if i in classes.leaves]
    return [(network.variables[i], table_of(network, model.theta, i)) for i in shown]


def differences(v: Variable, table: FloatArray) -> FloatArray:
    """How much classes differ in each line of a profile, from 0 to 1.

    This is the range of a probability over the classes. The line of a mean has the total variation
    distance of two normal distributions; further lines of a number have 0.
    """
    lines = sum(1 for _ in profile_lines(v, table))
    if v.family.tabular:
        return np.asarray(np.ptp(table[:, table.shape[1] - lines :], axis=0))
    mean, variance = v.family.moments(table)
    apart = np.ptp(mean) / np.sqrt(max(float(variance.mean()), np.finfo(float).tiny))
    return np.array([total_variation(float(apart)), *[0.0] * (lines - 1)])


def _closing(selection: Selection) -> list[str]:
    """How well the search agreed, and where the rest is."""
    if selection.label is None:
        return ["Everything else: --verbose."]
    best = selection.best
    fit, notes = best.fit, remarks(selection)
    about = [note for note in notes if note.startswith(f"{best.title}: ")]
    search = f"Search: {fit.reached} of {fit.finalists} final starts reached the best optimum"
    sentences = [f"{search} of {best.title}."]
    if notes:
        others = f"{len(notes)} note{'s' * (len(notes) > 1)}, {len(about)} about {best.title}"
        sentences[0] += f" {others}: --verbose."
    if is_latent_class(best.network):
        k, source = best.label, selection.table.source
        next_steps = f"lacunet fit {source} --classes {k} --intervals --save model.json"
        sentences.append(f"Next, with the same options for columns and weights: {next_steps}")
    return sentences
