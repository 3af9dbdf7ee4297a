"""`lacunet fit --covariates`: classes together with what predicts them.

`lacunet fit --group`: classes in several groups, equal, partly equal and free.
"""

from pathlib import Path
from typing import Any

from lacunet import api
from lacunet.cli.console import say, say_written, show
from lacunet.cli.options import Request
from lacunet.cli.outcome import (
    TITLES,
    Described,
    Wanted,
    asked_document,
    check_number_outputs,
    check_plot,
    draw_groups,
    draw_profiles,
    report_network,
    save_network,
)
from lacunet.cli.parsing import split
from lacunet.cli.table_words import audit, doubt
from lacunet.errors import OptionError
from lacunet.report.more_documents import (
    group_document,
    intervals_document,
    regression_document,
    statistics_document,
)
from lacunet.report.page.network_page import groups_answer, on_a_page, regression_answer
from lacunet.report.tables_file import write_tables
from lacunet.selection.regression import ClassRegression
from lacunet.summaries.intervals import Intervals
from lacunet.summaries.profiles import item_table
from lacunet.tabular import Printable, Together


def fit_covariates(
    asked: Request, data: Path, states: int | None, covariates: str, wanted: Wanted
) -> None:
    """Fit, save and show."""
    if states is None:
        raise OptionError("--covariates predict classes. Give their number: --states.")
    save, report, tables, plot = wanted.save, wanted.report, wanted.tables, wanted.plot
    terms, table = api.read_covariates(data, covariates, asked.reading)
    audit(table)
    doubt([states], table)
    predictors = [term.name for term in terms]
    check_number_outputs(table, save, predictors)
    check_plot(plot, table, predictors)
    with asked.work() as how:
        found = api.class_regression(table, states, covariates, **how)
    for note in found.table.notes[len(table.notes) :]:
        say(f"note: {note}")
    save_network(found.model, save)
    described = _described(found, wanted, asked)
    others = {TITLES[name]: on_a_page(result) for name, (result, _) in described.items()}
    report_network(regression_answer(found, asked.settings, others), report)
    if tables is not None:
        write_tables(Together(found.coefficients, item_table(found.intervals)), tables)
    if plot is not None:
        draw_profiles(found.model, found.intervals, plot)
    document: dict[str, Any] = {
        **asked_document(found.table, asked, states),
        **regression_document(found),
        "model": None if save is None else str(save),
        **{name: document for name, (_, document) in described.items()},
    }
    shown = Together(found, *(result for result, _ in described.values()))
    show(shown, document, asked.form)
    say_written(save, report, tables, plot)


def _described(found: ClassRegression, wanted: Wanted, asked: Request) -> Described:
    """Give what else is asked for, and its document, by name."""
    told: Described = {}
    if wanted.intervals or asked.settings.bootstrap:
        told["intervals"] = found.intervals, intervals_document(found.intervals)
    if wanted.statistics:
        told["fit_statistics"] = found.statistics, statistics_document(found.statistics)
    return told


def fit_groups(
    asked: Request,
    data: Path,
    states: int | None,
    group: str,
    free: list[str] | None,
    save: Path | None,
    report: Path | None,
    tables: Path | None,
    plot: Path | None,
    intervals: bool,
) -> None:
    """Fit, save and show."""
    if states is None:
        raise OptionError("--group compares classes. Give their number: --states.")
    table = api.read_groups(data, group, asked.reading)
    audit(table)
    doubt([states], table)
    check_number_outputs(table, save)
    check_plot(plot, table, [group])
    named = None if free is None else split(free, [c.name for c in table.columns])
    with asked.work() as how:
        found = api.compare_groups(table, states, group, free=named, **how)
    save_network(found.model, save)
    if tables is not None:
        write_tables(found, tables)
    document: dict[str, Any] = {
        **asked_document(table, asked, states),
        **group_document(found),
        "model": None if save is None else str(save),
    }
    others: dict[str, Printable] = {}
    precise: Intervals | None = None
    drawn = table.design is not None and table.design.told  # which is about nothing else
    if intervals or drawn:
        with asked.work() as how:
            precise = api.intervals(found.selection.table, found.fit, **how)
        others["Precision"] = precise
        document["intervals"] = intervals_document(precise)
    if plot is not None:
        draw_groups(found, precise, plot)
    sections = {title: result.grids() for title, result in others.items()}
    if report is not None:
        report_network(groups_answer(found, asked.settings, sections, precise), report)
    show(Together(found, *others.values()), document, asked.form)
    say_written(save, report, tables, plot)
