"""Input and output of commands: tables and networks read, results shown and saved."""

import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from lacunet import api
from lacunet.api.structure import Structured
from lacunet.cli.console import Format, echo, echo_written, show
from lacunet.cli.options import Request
from lacunet.cli.parsing import parse_hidden
from lacunet.data import Table
from lacunet.data.audit import COUNTS, WARNING, kinds_grid, missing_summary, sizes
from lacunet.data.kinds import ColumnKind
from lacunet.data.transform import has_missing_state
from lacunet.errors import OptionError
from lacunet.models.ensemble import PredictiveModel
from lacunet.models.formats import check_holds_numbers, write_network
from lacunet.models.network import Model, Network
from lacunet.plots import paper_style
from lacunet.plots.figures import write_picture
from lacunet.report.page import NetworkAnswer, write_network_report, write_report
from lacunet.report.page.network_page import on_a_page
from lacunet.report.tables_file import save_selection, write_tables
from lacunet.runtime.files import write_text
from lacunet.selection.comparing import check_states
from lacunet.selection.result import Selection
from lacunet.selection.summary import SelectionSummary
from lacunet.settings import DEFAULTS, Settings
from lacunet.structure.learned import GraphDistances
from lacunet.summaries.intervals import Intervals
from lacunet.tabular import Grid, Printable, Together, to_json


def read_structure(
    data: Path,
    network: Path | Network | None,
    hidden: list[str] | None,
    request: Request,
    states: int | None = None,
) -> tuple[Table, Structured | None]:
    """Read a network and its table; None for a latent class model of the table.

    Warn of too many states for the table.
    """
    sizes = parse_hidden(hidden)
    if network is None:
        if sizes:
            raise OptionError("--hidden names variables of a network. Give the network: --network.")
        return read(data, request, states), None
    structured = api.structured(data, network, sizes, request.reading, request.settings.numbers)
    print_summary(structured.table, request, states)
    return structured.table, structured


def read_model(
    data: Path,
    states: int | None,
    network: Path | Network | None,
    hidden: list[str] | None,
    request: Request,
) -> tuple[Table, int | None, Network | None]:
    """Read the table, and give a number of classes, or a network with all numbers of states."""
    table, structured = read_structure(data, network, hidden, request, states)
    if structured is None:
        return table, states, None
    return table, None, structured.with_states(states)


def check_one_model(states: int | None, network: Path | None) -> None:
    """Refuse a number of classes beside a network, neither of them, and less than one class.

    A text graph may leave its number of classes to --classes.
    """
    both = states is not None and network is not None and api.as_sketch(network) is None
    if both or (states is None and network is None):
        raise OptionError("give --classes for a latent class model, or --network; one of the two.")
    if states is not None and states < 1:
        raise OptionError(f"--classes {states}: there must be at least 1.")


def read(data: Path, request: Request, states: int | None = None) -> Table:
    """Read the table, and print a summary."""
    table = api.as_table(data, request.reading, numbers=True)
    print_summary(table, request, states)
    return table


def print_summary(table: Table, request: Request, states: int | None = None) -> None:
    """Print a summary of a table; warn of too many states."""
    audit(table)
    if request.settings.missing_as_state:
        _note_missing_as_state(table)
    if states is not None:
        warn_of_states([states], table)


def warn_of_states(states: Sequence[int], table: Table) -> None:
    """Warn of too many states for the table."""
    for warning in check_states(states, table):
        echo(f"warning: {warning}")


def _note_missing_as_state(table: Table) -> None:
    """Note the effect of --missing-as-state on this table."""
    if table.complete:
        echo("note: no cell is missing, so --missing-as-state changes nothing.")
        return
    echo(
        f"note: a missing cell counts as an answer, in {int((table.missing > 0).sum())} columns. "
        "Log-likelihood and evidence are then about other data, and cannot be compared with those "
        "of a run without --missing-as-state. To compare the two: lacunet compare-missing."
    )


def note_missing_state(network: Network, settings: Settings) -> None:
    """Note a model fitted with --missing-as-state, if rows are read without it."""
    has = any(has_missing_state(column) for column in api.observed_columns(network))
    if has and not settings.missing_as_state:
        echo(
            "note: the model has states '(missing)', but missing cells are left open. To read them "
            "as that state, give --missing-as-state."
        )


def echo_not_shown(data: Path, predictive_model: PredictiveModel) -> None:
    """Note absent variables of a model, and unused columns."""
    for note in api.notes_on_columns(data, predictive_model):
        echo(f"note: {note}")


def audit(table: Table) -> None:
    """Print a summary of a table before the computation."""
    echo(f"{table.source}: {sizes(table)}; {missing_summary(table)}")
    if any(column.why for column in table.columns):
        echo(kinds_grid(table).text())
    for note in table.notes:
        echo(note if note.startswith(WARNING) else f"note: {note}")
    for column in table.columns:
        numbers = len(column.states) and not isinstance(column.states[0], str)
        if table.weights is None and numbers and column.name.lower() in COUNTS:
            echo(
                f"note: column '{column.name}' is used as a variable. If it holds counts or "
                f"weights of rows, give --weights {shlex.quote(column.name)}."
            )


class Further(NamedTuple):
    """Further results beside a fit."""

    intervals: Intervals | None = None
    fit_statistics: Printable | None = None


# Their titles on a page.
TITLES = {"intervals": "Precision", "fit_statistics": "Fit statistics"}


class Wanted(NamedTuple):
    """Requested outputs of `fit`."""

    save: Path | None = None
    report: Path | None = None
    tables: Path | None = None
    plot: Path | None = None
    intervals: bool = False
    statistics: bool = False


def command_line() -> str:
    """Give the current command line."""
    return shlex.join(["lacunet", *sys.argv[1:]])


def show_forecast(
    request: Request,
    table: Table,
    states: Sequence[int] | int | None,
    network: Network | None = None,
    **given: Any,
) -> None:
    """Show the forecast of a run, for numbers of classes or a network."""
    if states is None:
        given["networks"] = {"network": network}
        states = 1
    elif network is not None:
        given["network"] = network
    with request.work() as kwargs:
        forecast = api.forecast(table, states, **given, **kwargs)
    show(forecast, forecast.to_dict(), request.form)


def check_outputs(
    table: Table, save: Path | None, plot: Path | None = None, but: Sequence[str] = ()
) -> None:
    """Refuse, before the computation, outputs that cannot represent the columns.

    `but` names columns that are not variables of the network.
    """
    items = [column for column in table.columns if column.name not in but]
    if save is not None:
        check_holds_numbers(save, [c.name for c in items if c.kind.number])
    drawn = (ColumnKind.CATEGORICAL, ColumnKind.ORDINAL)
    if plot is not None and not any(column.kind in drawn for column in items):
        raise OptionError(
            "--plot draws answers, and every column here is a number. Leave it out; in Python, "
            "lacunet.plots.plot_densities draws numbers."
        )


def request_document(table: Table, request: Request, states: int | None) -> dict[str, Any]:
    """Describe the data and the settings of a fit."""
    return {
        "data": table.to_dict(),
        "seed": request.settings.seed,
        "alpha": request.settings.alpha,
        "states": states,
    }


def save_network(model: Model, save: Path | None) -> None:
    """Write a network file, if a path is given."""
    if save is not None:
        write_network(model, save, _note)


def _note(words: str) -> None:
    echo(f"note: {words}")


def finish_fit(
    request: Request,
    wanted: Wanted,
    result: Printable,
    document: Mapping[str, Any],
    more: Further,
    answer: Callable[[Mapping[str, Sequence[Grid]]], NetworkAnswer],
    tables: Callable[[], Printable],
    picture: Callable[[], Any],
    effects: Mapping[str, Any] | None = None,
) -> None:
    """Write the requested outputs of a fit, and show it with its further results."""
    further = {name: x for name, x in more._asdict().items() if x is not None}
    if wanted.tables is not None:
        write_tables(tables(), wanted.tables)
    if wanted.plot is not None:
        with paper_style():
            write_picture(picture(), wanted.plot, _note)
    if wanted.report is not None:
        sections = {TITLES[name]: on_a_page(x) for name, x in further.items()}
        report_network(answer(sections), wanted.report)
    model = None if wanted.save is None else str(wanted.save)
    documents = {name: x.to_dict() for name, x in further.items()}
    direct = {} if effects is None else {"direct_effects": effects}
    whole = {**document, "model": model, **direct, **documents}
    show(Together(result, *further.values()), whole, request.form)
    echo_written(wanted.save, wanted.report, wanted.tables, wanted.plot)


def report_network(answer: NetworkAnswer, report: Path | None) -> None:
    """Write the page of a network, if a path is given."""
    if report is not None:
        write_network_report(answer, report, command=command_line())


def show_and_save(
    result: Printable, document: Mapping[str, Any], request: Request, save: Path | None
) -> None:
    """Write a document, if a path is given, and show the result."""
    if save is not None:
        write_text(save, to_json(document) + "\n")
    show(result, document, request.form)
    echo_written(save)


def show_network(
    result: Printable,
    answer: NetworkAnswer,
    document: Mapping[str, Any],
    request: Request,
    save: Path | None,
    report: Path | None,
) -> None:
    """Save, report and show a learned network."""
    save_network(answer.model, save)
    report_network(answer, report)
    whole = {
        "data": answer.table.to_dict(),
        "seed": request.settings.seed,
        "alpha": request.settings.alpha,
        **document,
        "model": None if save is None else str(save),
    }
    show(result, whole, request.form)
    echo_written(save, report)


def finish(
    result: Selection,
    request: Request,
    save: Path | None,
    report: Path | None,
    criteria: bool,
    verbose: bool,
    distances: GraphDistances | None = None,
    tables: Path | None = None,
) -> None:
    """Save a selection, if a path is given, and show it; as text, its first screen or the whole.

    Files are written first, so that they exist even if the reader closes the pipe.
    """
    if save is not None:
        save_selection(result, save)
    if report is not None:
        write_report(result, report, command=command_line())
    if tables is not None:
        write_tables(api.paper_tables(result), tables)
    shown = [first_screen(result, request, verbose)]
    document = result.to_dict()
    if criteria:
        others = api.information_criteria(result)
        shown.append(others)
        document["fit_statistics"] = others.to_dict()
    if distances is not None:
        shown.append(distances)
        document["distances"] = distances.to_dict()
    show(Together(*shown) if len(shown) > 1 else shown[0], document, request.form)
    echo_written(save, report, tables)


def first_screen(result: Selection, request: Request, verbose: bool) -> Printable:
    """Give what is printed of a selection: as text the first screen, unless all is requested."""
    if verbose or request.form is not Format.TEXT:
        return result
    settings = request.settings
    scores = settings.evidence or settings.scores != DEFAULTS.scores
    return SelectionSummary(result, scores=scores)
