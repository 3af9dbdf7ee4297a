"""`lacunet fit --covariates`: classes together with what predicts them."""

from pathlib import Path
from typing import Any

from lacunet import api
from lacunet.cli.console import say, say_written, show
from lacunet.cli.options import Asked
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
)
from lacunet.cli.table_words import audit, doubt
from lacunet.errors import OptionError
from lacunet.report.descriptions import intervals_document, statistics_document
from lacunet.report.page.answers import on_a_page, regression_answer
from lacunet.report.regression_document import regression_document
from lacunet.report.tables_file import write_tables
from lacunet.selection.regression.class_regression import ClassRegression
from lacunet.summaries.item_table import item_table
from lacunet.tabular import Together


def fit_covariates(
    asked: Asked, data: Path, states: int | None, covariates: str, wanted: Wanted
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


def _described(found: ClassRegression, wanted: Wanted, asked: Asked) -> Described:
    """Give what else is asked for, and its document, by name."""
    told: Described = {}
    if wanted.intervals or asked.settings.bootstrap:
        told["intervals"] = found.intervals, intervals_document(found.intervals)
    if wanted.statistics:
        told["fit_statistics"] = found.statistics, statistics_document(found.statistics)
    return told
