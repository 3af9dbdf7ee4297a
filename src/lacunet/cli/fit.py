"""Options of one command that do not go together, said once for each that excludes others.

`lacunet fit`: one latent class model, or one network.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

from lacunet import api
from lacunet.cli import options as o
from lacunet.cli.console import command, say_written, show
from lacunet.cli.fit_more import fit_covariates, fit_groups
from lacunet.cli.outcome import (
    TITLES,
    Described,
    Wanted,
    asked_document,
    check_number_outputs,
    check_plot,
    draw_profiles,
    report_network,
    save_network,
    show_forecast,
)
from lacunet.cli.parsing import parse_hidden
from lacunet.cli.paths import READS, Writes
from lacunet.cli.table_words import check_one_model, read_structure, settle
from lacunet.data import Table
from lacunet.errors import OptionError
from lacunet.fitting.fit import Fit
from lacunet.models.formats import check_network_file
from lacunet.models.network import Network
from lacunet.plots.door import check_picture
from lacunet.report.documents import fit_document
from lacunet.report.more_documents import effects_document, intervals_document, statistics_document
from lacunet.report.page.network_page import fitted_answer, on_a_page
from lacunet.report.tables_file import write_tables
from lacunet.settings import DEFAULTS, Settings
from lacunet.summaries.bootstrap import FEWEST, check_number, check_replicates
from lacunet.summaries.intervals import Intervals
from lacunet.summaries.profiles import check_items
from lacunet.tabular import Together

# Options of `fit` that are about something which another option must ask for.
ABOUT: Mapping[str, tuple[str, ...]] = {
    "coefficient_sd": ("--covariates",),
    "missing_covariates": ("--covariates",),
    "evidence": ("--covariates", "--group"),
    "quick": ("--group",),
}
SUBJECTS = {"--covariates": "covariates", "--group": "groups"}


def refuse_beside(
    option: str, which: str, given: Mapping[str, object], but: Collection[str] = ()
) -> None:
    """Refuse what has no meaning beside an option; `which` says what that one does."""
    for name, value in given.items():
        if value and name not in (option, *but):
            raise OptionError(
                f"{name} cannot be given with {option}, which {which}. Leave one of the two out."
            )


def refuse_without(settings: Settings, given: Mapping[str, object]) -> None:
    """Refuse settings that are about something which nobody asks for."""
    for name, wanted in ABOUT.items():
        changed: Any = getattr(settings, name) != getattr(DEFAULTS, name)
        if changed and not any(given[other] for other in wanted):
            subject = " or ".join(SUBJECTS[other] for other in wanted)
            other = " (lacunet evidence measures that of other models)" * (name == "evidence")
            raise OptionError(
                f"--{name.replace('_', '-')} is about {subject}{other}. Give "
                f"{' or '.join(wanted)} too."
            )


class Residuals(StrEnum):
    """What is done about pairs of columns that the classes do not explain."""

    ADD = "add"


@command
@o.options_after(
    api.fit,
    covariates=("missing_covariates", "coefficient_sd"),
    free=("quick", "evidence", "target", "budget"),
    intervals=("level", "bootstrap"),
    like=(*o.LEARNING, *o.HOLES, *o.LIMITS, *o.DESIGN, *o.COLUMNS, *o.NUMBERS, *o.PRINTING),
)
def fit(
    asked: o.Request,
    data: o.Data,
    states: o.States = None,
    network: o.NetworkFile = None,
    hidden: o.HiddenOption = None,
    knowledge: o.KnowledgeFile = None,
    edge: o.EdgeOption = None,
    residuals: Annotated[
        Residuals | None,
        o.option(
            "add: direct effects between answers that go together beyond their classes are tried, "
            "the worst residual first, and kept where the evidence grows."
        ),
    ] = None,
    covariates: Annotated[
        str | None,
        o.option(
            "Columns that predict classes and are no items, with commas between; C(NAME) makes "
            "categories of numbers. Or a formula: '~ age + C(region)'.",
            metavar="COLUMNS",
        ),
    ] = None,
    group: Annotated[
        str | None,
        o.option(
            "Column of groups: are the classes the same in all of them? Answers equal, partly "
            "equal and free are fitted and compared.",
            metavar="COLUMN",
        ),
    ] = None,
    free: Annotated[
        list[str] | None,
        o.option(
            "With --group: items that are free where answers are partly equal (default: those that "
            f"the evidence asks for); {o.REPEAT}",
            metavar="ITEM",
        ),
    ] = None,
    save: Annotated[
        Path | None,
        o.option("Model file to write: .json, or .bif, .xmlbif, .xdsl; .dot for a picture."),
        Writes(check_network_file),
    ] = None,
    report: o.Report = None,
    tables: o.Tables = None,
    plot: Annotated[
        Path | None,
        o.option(
            "Also draw the profiles: a line for each class over the items, with intervals; with "
            "--group a panel for each class. The ending decides: .svg, .pdf or .png.",
            metavar="FILE",
        ),
        Writes(check_picture),
    ] = None,
    intervals: Annotated[
        bool,
        o.switch("--intervals", "Standard errors and confidence intervals of all parameters."),
    ] = False,
    statistics: Annotated[
        bool,
        o.switch(
            "--statistics",
            "AIC, BIC, CAIC, SABIC (lower is better), entropy, G², bivariate residuals.",
        ),
    ] = False,
    dry_run: o.DryRun = False,
    like: Annotated[
        Path | None,
        o.option("Model file: number the hidden states like those that they resemble there."),
        READS,
    ] = None,
) -> None:
    """Fit a latent class model with a given number of classes, or a network.

    Of a network only the structure is taken; its parameters are learned anew. With --covariates
    classes are fitted together with what predicts them (latent class regression). With --group
    they are fitted in several groups: are the classes the same (measurement invariance)?
    """
    settings = asked.settings
    check_one_model(states, network)
    given: dict[str, object] = {
        "--covariates": covariates,
        "--group": group,
        "--free": free,
        "--network": network,
        "--hidden": hidden,
        "--knowledge": knowledge,
        "--edge": edge,
        "--residuals": residuals,
        "--report": report,
        "--tables": tables,
        "--plot": plot,
        "--like": like,
        "--statistics": statistics,
        "--bootstrap": settings.bootstrap,
        "--dry-run": dry_run,
    }
    refuse_without(settings, given)
    if covariates is not None:
        fine = ("--report", "--tables", "--plot", "--statistics", "--bootstrap")
        what = "predict the classes of a latent class model"
        refuse_beside("--covariates", what, given, but=fine)
        wanted = Wanted(save, report, tables, plot, intervals, statistics)
        fit_covariates(asked, data, states, covariates, wanted)
        return
    if group is not None:
        but = ("--free", "--report", "--tables", "--plot")
        refuse_beside("--group", "compares classes in groups", given, but)
        fit_groups(asked, data, states, group, free, save, report, tables, plot, intervals)
        return
    if free:
        raise OptionError("--free is about groups. Give --group too.")
    if residuals is not None:
        refused = ("--network", "--hidden", "--knowledge", "--tables", "--plot", "--dry-run")
        no = {name: given[name] for name in refused}
        refuse_beside("--residuals", "adds effects to a latent class model", no)
    resembled = None if like is None else api.as_model(like)
    table, found_structure = read_structure(data, network, parse_hidden(hidden), asked, states)
    classes, structure = settle(found_structure, states)
    check_number_outputs(table, save)
    check_plot(plot, table)
    for name, output in (("--tables", tables), ("--plot", plot)):
        if output is not None:
            _check_items(name, structure, edge)
    if settings.bootstrap:  # it comes after the work, so what stands in its way is said before
        check_number(settings.bootstrap, FEWEST)
        if table.design is None:
            check_replicates(table.counts, settings.bootstrap, FEWEST)
    if dry_run:
        alone = replace(asked, settings=replace(settings, quick=True))  # nothing is sampled
        show_forecast(alone, table, classes, structure, knowledge=knowledge, edges=edge or ())
        return
    effects = None
    with asked.work() as how:
        if residuals is None or classes is None:
            found = api.fit(
                table, classes, network=structure, knowledge=knowledge, edges=edge or (), **how
            )
        else:
            effects = api.add_direct_effects(table, classes, edges=edge or (), **how)
            found = effects.fit
    if resembled is not None:
        found = api.match_classes(found, resembled)
    save_network(found.model, save)  # what comes next may take long
    described = _described(table, found, asked, intervals, statistics)
    precise = next((r for r, _ in described.values() if isinstance(r, Intervals)), None)
    if tables is not None:
        write_tables(api.paper_tables(found, precise), tables)
    if plot is not None:
        draw_profiles(found, precise, plot)
    others = {TITLES[name]: on_a_page(result) for name, (result, _) in described.items()}
    if effects is not None:
        others = {"Direct effects": [effects.tried], **others}
    report_network(fitted_answer(found, table, settings, others), report)
    document = {
        **asked_document(table, asked, states),
        **_document(found, settings),
        "model": None if save is None else str(save),
        **({} if effects is None else {"direct_effects": effects_document(effects)}),
        **{name: document for name, (_, document) in described.items()},
    }
    first = found if effects is None else replace(effects, fit=found)
    show(Together(first, *(result for result, _ in described.values())), document, asked.form)
    say_written(save, report, tables, plot)


def _check_items(name: str, structure: Network | None, edge: list[str] | None) -> None:
    """Refuse tables and lines of items by classes, before the work, of what has none."""
    if edge:
        raise OptionError(
            f"{name} has no meaning with --edge: answers that listen to more than their class "
            "have no table of items by classes. Leave one of them out."
        )
    if structure is not None:
        check_items(structure)


def _described(
    table: Table, fit: Fit, asked: o.Request, intervals: bool, statistics: bool
) -> Described:
    """Give what else is asked for, and its document, by name."""
    found: Described = {}
    drawn = table.design is not None and table.design.told  # which is about nothing else
    if intervals or asked.settings.bootstrap or drawn:
        with asked.work() as how:
            precise = api.intervals(table, fit, **how)
        found["intervals"] = precise, intervals_document(precise)
    if statistics:
        told = api.fit_statistics(table, fit, settings=asked.settings)
        found["fit_statistics"] = told, statistics_document(told)
    return found


def _document(fit: Fit, settings: Settings) -> dict[str, Any]:
    return {
        "hidden": fit.model.network.hidden_sizes,
        "dimension": fit.model.network.dimension,
        "missing_as_state": settings.missing_as_state,
        **fit_document(fit),
        "seconds": {"em": fit.seconds},
    }
