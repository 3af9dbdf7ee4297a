"""A learned graph as the answer of a page."""

from lacunet.data import Table
from lacunet.graphs.learned import Learned
from lacunet.model.network import Model
from lacunet.report.page.network_page import NetworkAnswer
from lacunet.report.page.words import count, nats
from lacunet.settings import Settings


def learned_answer(found: Learned, model: Model, table: Table, settings: Settings) -> NetworkAnswer:
    """Say what was learned, by families; `model` is the graph with its parameters."""
    edges = count(sum(map(len, found.network.parents)), "edge")
    variables = count(len(found.network.variables), "variable")
    return NetworkAnswer(
        "Which network?",
        f"{edges} between {variables}, with log evidence {nats(found.log_bd)}",
        model,
        table,
        [("Families", found.grids())],
        f"lacunet.learn_structure(data, alpha={settings.alpha!r}, seed={settings.seed})",
        compelled=found.equivalence_class.compelled,
        settings=[("Prior", f"alpha {settings.alpha}"), ("Seed", str(settings.seed))],
    )
