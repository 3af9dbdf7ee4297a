"""`lacunet fit --covariates`: classes together with what predicts them."""

from pathlib import Path
from typing import Any

from lacunet import api
from lacunet.cli.console import say, say_written, show
from lacunet.cli.options import Asked
from lacunet.cli.outcome import (
    asked_document,
    check_network_outputs,
    check_number_outputs,
    save_network,
)
from lacunet.cli.table_words import audit, doubt
from lacunet.errors import OptionError
from lacunet.report.descriptions import intervals_document
from lacunet.report.regression_document import regression_document
from lacunet.tabular import Printable, Together


def fit_covariates(
    asked: Asked,
    data: Path,
    states: int | None,
    covariates: str,
    save: Path | None,
    intervals: bool,
) -> None:
    """Fit, save and show."""
    if states is None:
        raise OptionError("--covariates predict classes. Give their number: --states.")
    check_network_outputs(save, None)
    _, table = api.read_covariates(data, covariates, asked.reading)
    audit(table)
    doubt([states], table)
    check_number_outputs(table, save)
    with asked.work() as how:
        found = api.class_regression(table, states, covariates, **how)
    for note in found.table.notes[len(table.notes) :]:
        say(f"note: {note}")
    save_network(found.model, save)
    document: dict[str, Any] = {
        **asked_document(found.table, asked, states),
        **regression_document(found),
        "model": None if save is None else str(save),
    }
    shown: list[Printable] = [found]
    if intervals:
        shown.append(found.intervals)
        document["intervals"] = intervals_document(found.intervals)
    show(Together(*shown), document, asked.form)
    say_written(save)
