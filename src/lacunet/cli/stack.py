"""`lacunet stack`: models that together say best what other rows are like."""

from pathlib import Path
from typing import Annotated

import typer

from lacunet import api
from lacunet.api.results import JudgedRows, RowLikelihoods, Unusual
from lacunet.cli import options as o
from lacunet.cli.console import command, say_written, show
from lacunet.cli.paths import READS, Writes
from lacunet.cli.table_words import read, say_not_shown
from lacunet.data.write import append_columns, check_table_file, column_names
from lacunet.models.formats import check_stack_file, write_stack
from lacunet.report.answer_documents import unusual_document
from lacunet.report.documents import stack_document, table_document
from lacunet.selection.ensembles import FOLDS
from lacunet.selection.recipes import StackKind
from lacunet.tabular import Printable, Together


@command
@o.options_after(api.stack, data=("seed", *o.READING, "kinds"), test=("threads",), save=o.PRINTING)
def stack(
    asked: o.Asked,
    data: o.Data,
    folds: Annotated[
        int,
        typer.Option(
            help="Blocks of rows to hold out, one after the other, in the order of the file; with "
            "--weights, cases at random."
        ),
    ] = FOLDS,
    only: Annotated[StackKind | None, o.option("Learn models of one kind alone.")] = None,
    test: Annotated[
        Path | None,
        o.option("Table of rows that were not learned from: how probable are they?"),
        READS,
    ] = None,
    resume: o.Resume = None,
    output: Annotated[
        Path | None,
        o.option(
            "Table to write: the rows, and how unusual each is to models that had not seen it.",
            "--output",
            "-o",
        ),
        Writes(check_table_file),
    ] = None,
    save: Annotated[
        Path | None,
        o.option("File to write: .json, for assign --impute and simulate."),
        Writes(check_stack_file),
    ] = None,
) -> None:
    """Learn models of several kinds that together predict best: for holes, and for odd rows.

    Graphs over the columns that believe the data more and less, and latent class models, are each
    learned with blocks of rows held out; their weights are those that make these rows most
    probable. Which graph is right is another question: for that there is learn. Models remember
    rows that they were learned from, so that assign --anomalies finds none of these unusual; to
    judge the rows of the table itself, give --output: log p and the tail probability of each row
    are those of models that were learned without it.
    """
    table = read(data, asked)
    rows = api.rows_in_order(data, table, asked.reading)
    own = rows if rows is not None else api.own_rows(data, table, asked.reading)
    with asked.work() as how:
        found = api.stack(table, folds=folds, only=only, rows=rows, own=own, resume=resume, **how)
    if save is not None:
        write_stack(found.ensemble, save)
    document = {"data": table_document(table), "seed": asked.settings.seed, **stack_document(found)}
    shown: list[Printable] = [found]
    if test is not None:
        say_not_shown(test, found.ensemble)
        markers = asked.reading["missing"]
        told = RowLikelihoods(str(test), api.log_likelihoods(test, found.ensemble, missing=markers))
        shown.append(told)
        document["test"] = {"file": str(test), "rows": told.rows, "log_likelihood": told.total}
    if output is not None:
        tails = found.own.tail_probabilities(seed=asked.settings.seed)
        judged = Unusual(found.own.log_likelihoods, tails)
        append_columns(data, api.fresh_names(judged.columns(), column_names(data)), output)
        shown.append(JudgedRows(judged))
        written = {"file": str(output), "rows": len(tails)}
        document["own_rows"] = {**written, **unusual_document(judged)}
    document["stack"] = None if save is None else str(save)
    show(Together(*shown), document, asked.form)
    say_written(output, save)
