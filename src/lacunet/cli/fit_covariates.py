"""`lacunet fit --covariates`: classes together with what predicts them."""

from pathlib import Path
from typing import Any

from lacunet import api
from lacunet.cli.console import say, say_written, show
from lacunet.cli.options import Asked
from lacunet.cli.outcome import check_network_outputs, check_number_outputs, save_network
from lacunet.cli.table_words import audit, doubt
from lacunet.errors import OptionError
from lacunet.report.descriptions import intervals_document
from lacunet.report.documents import table_document
from lacunet.report.regression_document import regression_document
from lacunet.settings import DEFAULTS, Settings
from lacunet.tabular import Printable, Together

ABOUT_COVARIATES = ("evidence", "coefficient_sd", "missing_covariates")


def refuse_with_covariates(
    network: object,
    hidden: object,
    knowledge: object,
    report: object,
    tables: object,
    like: object,
    statistics: bool,
    settings: Settings,
) -> None:
    """Refuse what has no meaning beside covariates."""
    given = {
        "--network": network,
        "--hidden": hidden,
        "--knowledge": knowledge,
        "--report": report,
        "--tables": tables,
        "--like": like,
        "--statistics": statistics,
        "--bootstrap": settings.bootstrap,
    }
    for name, value in given.items():
        if value:
            raise OptionError(
                f"{name} cannot be given with --covariates, which predict the classes of a latent "
                "class model. Leave one of the two out."
            )


def refuse_without_covariates(settings: Settings) -> None:
    """Refuse what is about covariates, where there are none."""
    for name in ABOUT_COVARIATES:
        if getattr(settings, name) != getattr(DEFAULTS, name):
            option = f"--{name.replace('_', '-')}"
            other = " (lacunet evidence measures that of other models)" * (name == "evidence")
            raise OptionError(f"{option} is about covariates{other}. Give --covariates too.")


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
        "data": table_document(found.table),
        "seed": asked.settings.seed,
        "alpha": asked.settings.alpha,
        "states": states,
        **regression_document(found),
        "model": None if save is None else str(save),
    }
    shown: list[Printable] = [found]
    if intervals:
        shown.append(found.intervals)
        document["intervals"] = intervals_document(found.intervals)
    show(Together(*shown), document, asked.form)
    say_written(save)
