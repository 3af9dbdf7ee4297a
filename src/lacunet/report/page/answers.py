"""A learned graph, or a fitted network, as the answer of a page."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from lacunet.data import Table
from lacunet.fitting.fit import Fit
from lacunet.models.latent_class import counted, find_classes
from lacunet.report.page.network_page import NetworkAnswer
from lacunet.report.page.render import prior_words
from lacunet.report.page.views import group_view
from lacunet.report.page.words import count, listed, nats
from lacunet.selection.group_comparison import GroupComparison
from lacunet.selection.hidden_comparison import HiddenFound
from lacunet.selection.hidden_search import MOST
from lacunet.selection.regression import ClassRegression
from lacunet.settings import Settings
from lacunet.structure.edges.certainty import EdgeCertainty
from lacunet.structure.hidden.latent_tree import LatentTree
from lacunet.structure.learned import Learned
from lacunet.summaries.intervals import Intervals
from lacunet.summaries.profiles import item_table
from lacunet.tabular import Grid, Printable


def learned_answer(
    found: Learned, table: Table, settings: Settings, sure: EdgeCertainty | None = None
) -> NetworkAnswer:
    """Say what was learned, by families, and how sure its edges are, if that is known."""
    edges = count(sum(map(len, found.network.parents)), "edge")
    variables = count(len(found.network.variables), "variable")
    least = "" if found.complete else "of at least "
    return NetworkAnswer(
        "Which network?",
        f"{edges} between {variables}, with log evidence {least}{nats(found.log_evidence)}",
        found.model,
        table,
        [("Families", found.grids()[-1:]), *([("Edges", sure.grids())] if sure else [])],
        f"lacunet.learn_structure(data, alpha={settings.alpha!r}, seed={settings.seed})",
        leads=[note for grid in found.warnings() for note in grid.notes],
        certainty=None if sure is None else sure.by_edge(),
        compelled=found.equivalence_class.compelled,
        settings=_told(settings),
    )


def latent_tree_answer(found: LatentTree, table: Table, settings: Settings) -> NetworkAnswer:
    """Say which hidden variables join the columns."""
    return NetworkAnswer(
        f"Which latent {'class model' if found.shape == 'naive' else found.shape}?",
        f"Hidden: {_with_states(found.hidden)}; log evidence about {nats(found.log_evidence)}",
        found.model,
        table,
        [("Hidden variables", found.grids())],
        f"lacunet.learn_latent_tree(data, {found.shape.value!r}, alpha={settings.alpha!r}, "
        f"seed={settings.seed})",
        settings=_told(settings),
    )


def _with_states(hidden: Mapping[str, int]) -> str:
    return listed([f"{name} ({states} states)" for name, states in hidden.items()])


def hidden_answer(
    found: HiddenFound, table: Table, settings: Settings, most: int = MOST
) -> NetworkAnswer:
    """Say which hidden variables a graph has, if any, and by how much it is better with them."""
    what = f"Yes: {_with_states(found.hidden)}" if found.hidden else "No"
    looked_for = f"most={most}, " if most != MOST else ""
    return NetworkAnswer(
        "Are there hidden variables?",
        f"{what}. {found.comparison}",
        found.model,
        table,
        [("Hidden variables", found.grids()), ("Without hidden variables", found.without.grids())],
        f"lacunet.find_hidden(data, {looked_for}alpha={settings.alpha!r}, seed={settings.seed})",
        settings=_told(settings),
    )


def fitted_answer(
    fit: Fit, table: Table, settings: Settings, others: Mapping[str, Sequence[Grid]]
) -> NetworkAnswer:
    """Say what was fitted, and what else is known of it, by titles."""
    network = fit.model.network
    hidden = [f"{v.name} ({len(v.states)})" for v in network.variables if v.hidden]
    what = f"hidden: {listed(hidden)}" if hidden else "nothing hidden"
    question, grids = "What does the fitted network look like?", fit.grids()
    what, asked = f"{count(len(network.variables), 'variable')}, {what}", "network=..."
    if (classes := find_classes(network)) is not None:
        k = len(classes.variable.states)
        question, what, asked = "What do the classes look like?", counted(k, network), str(k)
        grids = grids[:1]  # the page has their profiles already
    return NetworkAnswer(
        question,
        f"{what}; log likelihood {nats(fit.log_lik)}",
        fit.model,
        table,
        [("Fit", grids), *others.items()],
        f"lacunet.fit(data, {asked}, alpha={settings.alpha!r}, seed={settings.seed})",
        settings=_told(settings),
    )


def groups_answer(
    found: GroupComparison,
    settings: Settings,
    others: Mapping[str, Sequence[Grid]],
    precise: Intervals | None = None,
) -> NetworkAnswer:
    """Say how far classes are the same in all groups; the network is that of the answer."""
    first, models, *rest = found.grids()
    classes = len(found.sizes(found.level).T)
    return NetworkAnswer(
        f"Are the classes the same by {found.group}?",
        first.title,
        found.model,
        found.selection.table,
        [
            ("Models", [replace(first, title=""), models]),
            ("Groups", rest),
            ("Fit", found.fit.grids()),
            *others.items(),
        ],
        f"lacunet.compare_groups(data, {classes}, {found.group!r}, alpha={settings.alpha!r}, "
        f"seed={settings.seed})",
        settings=_told(settings),
        groups=group_view(found, precise),
    )


def regression_answer(
    found: ClassRegression, settings: Settings, others: Mapping[str, Sequence[Grid]]
) -> NetworkAnswer:
    """Say how covariates predict classes; the network is that of the items."""
    fit, *rest = found.grids()
    k, names = found.fit.given.states, list(found.design.names)
    return NetworkAnswer(
        "What predicts the classes?",
        f"{found.brief()}; log likelihood {nats(found.log_lik)}",
        found.model,
        found.table,
        [("Fit", [fit]), ("Covariates", rest[:-1]), *others.items()],  # the last are the profiles
        f"lacunet.fit(data, {k}, covariates={names}, alpha={settings.alpha!r}, "
        f"seed={settings.seed})",
        settings=_told(settings),
    )


def on_a_page(found: Printable) -> Sequence[Grid]:
    """Give its tables; of intervals of classes that of items by class first, which is short."""
    if isinstance(found, Intervals) and find_classes(found.model.network) is not None:
        (items,), every = item_table(found).grids(), found.grids()
        return [replace(items, notes=items.notes[:1]), *every]
    return found.grids()


def _told(settings: Settings) -> list[tuple[str, str]]:
    return [("Prior", prior_words(settings.alpha)), ("Seed", str(settings.seed))]
