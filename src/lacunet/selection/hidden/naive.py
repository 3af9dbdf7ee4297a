"""A latent class model of a table, with as many classes as its evidence asks for."""

from lacunet.data.table import Table
from lacunet.evidence.clock import Goal
from lacunet.fitting.fit import Options
from lacunet.fitting.prepare import prepare
from lacunet.inference.leaves import leaves_of
from lacunet.models.latent_class import over_leaves
from lacunet.models.number_prior import NumberPrior
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.scores import CSL_OCCUPIED, VB
from lacunet.selection.candidates import Selection
from lacunet.selection.evaluating import evaluate
from lacunet.selection.grids import TITLES
from lacunet.selection.measuring import measure_posterior
from lacunet.selection.proposals import latent_classes
from lacunet.structure.hidden.latent_tree import LatentTree, Shape, check_columns, mean_model
from lacunet.structure.task import USUAL, few_rows

FIRST, MOST = 8, 64  # classes that are tried; twice as many, where the most are the best


def learn_classes(
    table: Table,
    alpha: float | str,
    options: Options,
    goal: Goal,
    executor: Executor = SERIAL,
    *,
    prior: NumberPrior = USUAL,
) -> LatentTree:
    """Choose the number of classes as `select` does."""
    check_columns(table)
    prepare(executor, over_leaves(leaves_of(table, prior), 2))
    tried = _tried(table, alpha, options, executor, prior)
    found = measure_posterior(tried, goal=goal, executor=executor)
    certainty, best = found.certainty, found.best
    return LatentTree(
        Shape.NAIVE,
        mean_model(best.fit.model),
        alpha,
        certainty.values[best.label],
        f"{TITLES[certainty.by]}, {certainty.how}",
        flags=(*few_rows(table), *best.flags, *certainty.notes),
    )


def _tried(
    table: Table, alpha: float | str, options: Options, executor: Executor, prior: NumberPrior
) -> Selection:
    most = FIRST
    while True:
        found = evaluate(
            table,
            latent_classes(table, range(1, most + 1), prior),
            scores=(CSL_OCCUPIED, VB),
            options=options,
            alpha=alpha,
            executor=executor,
        )
        if found.label != most or most == MOST:
            return found
        most *= 2
