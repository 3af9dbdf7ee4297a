"""Learn who knows best what rows do not show: cells with holes, or one column."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

from lacunet.api.inputs import one_of
from lacunet.data import Table
from lacunet.errors import OptionError
from lacunet.fitting.prepare import prepare
from lacunet.models.latent_class import latent_class
from lacunet.runtime.processes import on_processes
from lacunet.runtime.progress import Listener
from lacunet.selection.ensembles import HIDDEN_CELLS, Pool, learn_pool
from lacunet.selection.held_out import HeldOut
from lacunet.selection.recipes import ImputerKind, Recipe
from lacunet.settings import Settings

ALONE = 2_000  # cells of distinct rows: a table with fewer is learned in one process


class Asked(StrEnum):
    """Whom to ask: models of all kinds together, or of one."""

    AUTO = "auto"
    CLASSES = ImputerKind.CLASSES.value
    NETWORK = ImputerKind.NETWORK.value
    TREE = ImputerKind.TREE.value


def learn_asked(
    table: Table,
    model: str,
    recipes_of: Callable[[ImputerKind | None], Mapping[ImputerKind, Sequence[Recipe]]],
    held: Sequence[HeldOut],
    settings: Settings,
    listener: Listener,
    what: str = HIDDEN_CELLS,
) -> Pool:
    """Learn the models that were asked for; held judge them."""
    asked = one_of(Asked, "model", model)
    recipes = recipes_of(None if asked is Asked.AUTO else ImputerKind(asked))
    if not recipes:
        raise OptionError("a latent tree joins three columns or more. Choose another model.")
    with on_processes(_workers(table, settings), listener) as executor:
        prepare(executor, latent_class([(c.name, c.states) for c in table.columns], 2))
        return learn_pool(table, recipes, held, seed=settings.seed, executor=executor, what=what)


def _workers(table: Table, settings: Settings) -> int | None:
    """How many processes are worth starting: one, if all is done before others have started."""
    return 1 if table.codes.size < ALONE else settings.threads
