"""`lacunet fit --covariates`, and `--group`: classes with predictors, and in several groups."""

from pathlib import Path

from lacunet import api
from lacunet.cli.console import say
from lacunet.cli.options import Request
from lacunet.cli.outcome import (
    TITLES,
    Described,
    Wanted,
    asked_document,
    audit,
    check_outputs,
    doubt,
    finish_fit,
    save_network,
)
from lacunet.cli.parsing import split
from lacunet.errors import OptionError
from lacunet.plots import plot_group_profiles, plot_profile_lines
from lacunet.report.fit_documents import (
    group_document,
    intervals_document,
    regression_document,
    statistics_document,
)
from lacunet.report.page.network_page import groups_answer, on_a_page, regression_answer
from lacunet.summaries.intervals import Intervals
from lacunet.summaries.profiles import item_table
from lacunet.tabular import Together


def fit_covariates(
    asked: Request, data: Path, states: int | None, covariates: str, wanted: Wanted
) -> None:
    """Fit, save and show classes with what predicts them."""
    if states is None:
        raise OptionError("--covariates predict classes. Give their number: --states.")
    terms, table = api.read_covariates(data, covariates, asked.reading)
    audit(table)
    doubt([states], table)
    check_outputs(table, wanted.save, wanted.plot, but=[term.name for term in terms])
    with asked.work() as how:
        found = api.class_regression(table, states, covariates, **how)
    for note in found.table.notes[len(table.notes) :]:
        say(f"note: {note}")
    save_network(found.model, wanted.save)
    described: Described = {}
    if wanted.intervals or asked.settings.bootstrap:
        described["intervals"] = found.intervals, intervals_document(found.intervals)
    if wanted.statistics:
        described["fit_statistics"] = found.statistics, statistics_document(found.statistics)
    others = {TITLES[name]: on_a_page(result) for name, (result, _) in described.items()}
    document = {
        **asked_document(found.table, asked, states),
        **regression_document(found),
        "model": None if wanted.save is None else str(wanted.save),
    }
    finish_fit(
        asked,
        wanted,
        found,
        document,
        described,
        lambda: regression_answer(found, asked.settings, others),
        tables=lambda: Together(found.coefficients, item_table(found.intervals)),
        picture=lambda: plot_profile_lines(found.model, intervals=found.intervals),
    )


def fit_groups(
    asked: Request,
    data: Path,
    states: int | None,
    group: str,
    free: list[str] | None,
    wanted: Wanted,
) -> None:
    """Fit, save and show classes in groups."""
    if states is None:
        raise OptionError("--group compares classes. Give their number: --states.")
    table = api.read_groups(data, group, asked.reading)
    audit(table)
    doubt([states], table)
    check_outputs(table, wanted.save)
    check_outputs(table, None, wanted.plot, but=[group])
    named = None if free is None else split(free, [c.name for c in table.columns])
    with asked.work() as how:
        found = api.compare_groups(table, states, group, free=named, **how)
    save_network(found.model, wanted.save)
    described: Described = {}
    precise: Intervals | None = None
    if wanted.intervals or (table.design is not None and table.design.told):
        with asked.work() as how:
            precise = api.intervals(found.selection.table, found.fit, **how)
        described["intervals"] = precise, intervals_document(precise)
    sections = {TITLES[name]: result.grids() for name, (result, _) in described.items()}
    document = {
        **asked_document(table, asked, states),
        **group_document(found),
        "model": None if wanted.save is None else str(wanted.save),
    }
    finish_fit(
        asked,
        wanted,
        found,
        document,
        described,
        lambda: groups_answer(found, asked.settings, sections, precise),
        tables=lambda: found,
        picture=lambda: plot_group_profiles(found, intervals=precise or True),
    )
