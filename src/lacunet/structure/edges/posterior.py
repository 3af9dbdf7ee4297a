"""The posterior probability of every edge: exact where that can be summed, sampled elsewhere."""

import math

import numpy as np

from lacunet.data.table import Table
from lacunet.errors import DataError, OptionError
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.structure.counting import prior_of
from lacunet.structure.edges.certainty import EdgeCertainty, without_error
from lacunet.structure.edges.chains import Cases
from lacunet.structure.edges.exact_sums import MOST_VARIABLES, edge_probabilities
from lacunet.structure.edges.family_book import MOST_CELLS
from lacunet.structure.edges.known_families import known_families
from lacunet.structure.edges.sampling import EdgeSampling, sample_edges
from lacunet.structure.graph_prior import GraphPrior, log_prior_over
from lacunet.structure.knowledge import Knowledge
from lacunet.structure.moves import Limits

NOTHING = Knowledge()


def find_edges(
    table: Table,
    alpha: float | str,
    knowledge: Knowledge,
    how: EdgeSampling,
    executor: Executor = SERIAL,
) -> EdgeCertainty:
    """Give p(edge | D), over all graphs that keep to what is known."""
    names = [column.name for column in table.columns]
    limits = knowledge.limits(names)
    cases = as_cases(table, alpha, knowledge, how.prior)
    _check_required(names, cases, limits)
    if table.complete and len(names) <= MOST_VARIABLES:
        return without_error(names, edge_probabilities(cases, limits))
    return sample_edges(names, cases, limits, how, executor)


def check_cases(table: Table) -> None:
    """Refuse rows with holes that are no whole number of cases."""
    often = table.counts[(table.codes < 0).any(axis=1)]
    if (often != np.round(often)).any():
        weight = often[often != np.round(often)][0]
        raise DataError(
            f"a row with missing cells weighs {weight:g}: cells of whole cases are filled in, so "
            "such weights must be whole numbers. --method bootstrap takes any, and so does a "
            "search for one graph."
        )


def as_cases(
    table: Table,
    alpha: float | str,
    knowledge: Knowledge = NOTHING,
    prior: GraphPrior = GraphPrior.UNIFORM,
) -> Cases:
    """Give a table in columns; each case that has holes is a row of its own."""
    check_cases(table)
    whole = (table.codes >= 0).all(axis=1)
    often = table.counts[~whole]
    codes = np.concatenate(
        [table.codes[whole], np.repeat(table.codes[~whole], often.astype(np.int64), axis=0)]
    )
    counts = np.concatenate([table.counts[whole], np.ones(len(codes) - int(whole.sum()))])
    cards = np.array([len(column.states) for column in table.columns])
    columns = np.ascontiguousarray(codes.T, dtype=np.int64)
    known = known_families(table.columns, knowledge)
    exponents, log_prior = prior_of(alpha), log_prior_over(table, prior)
    return Cases(columns, counts, cards, exponents, known, log_prior)


def _check_required(names: list[str], cases: Cases, limits: Limits) -> None:
    """Refuse families that must be, and are too large for chains to hold."""
    for v, required in enumerate(limits.required):
        size = math.prod(int(r) for r in (cases.cards[v], *cases.cards[required]))
        if size > MOST_CELLS:
            raise OptionError(
                f"the required parents of '{names[v]}' give it a table of {size:,} numbers; at "
                f"most {MOST_CELLS:,} are allowed here. Require fewer."
            )
