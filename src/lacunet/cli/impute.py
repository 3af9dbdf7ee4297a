"""`lacunet impute`: the table without holes."""

from pathlib import Path
from typing import Annotated

import typer

from lacunet import api
from lacunet.api.pooled import Asked
from lacunet.cli import options as o
from lacunet.cli.console import command, say_written, show
from lacunet.cli.paths import Writes
from lacunet.data.write import check_table_file, column_names, write_frames
from lacunet.report.documents import imputation_document

WHICH = "imputation"  # column that says which of several completed tables a row is of


@command
@o.options_after(api.impute, probabilities=("seed", *o.READING, "kinds", "threads", *o.PRINTING))
def impute(
    asked: o.Asked,
    data: o.Data,
    output: o.TableFile,
    model: Annotated[
        Asked, typer.Option(help="Models of all kinds together (auto), or of one kind alone.")
    ] = Asked.AUTO,
    draw: Annotated[
        bool, o.switch("--draw", "Fill in draws, not what is most probable or expected.")
    ] = False,
    imputations: Annotated[
        int | None,
        o.option("Draw so many tables, one below the other, with a column that numbers them."),
    ] = None,
    probabilities: Annotated[
        Path | None,
        o.option("Also write this table: a row for each state of each hole.", metavar="FILE"),
        Writes(check_table_file),
    ] = None,
) -> None:
    """Fill in the missing cells of a table, by models that are learned from it.

    Latent class models, networks and latent trees are learned with some cells hidden from them, and
    weighed by how well they know these. Each missing cell gets its most probable value; numbers
    get their mean, rounded to the decimals of the column; draws of numbers are values that the
    column shows. All other cells, columns that are left out with --exclude, and the order of the
    rows are kept. With --imputations, each table has its own draw of the parameters from their
    posterior: for multiple imputation.
    """
    with asked.work() as how:
        found = api.impute(
            data, model=model, draw=draw, imputations=imputations, **asked.reading, **how
        )
    (number,) = api.fresh_names({WHICH: None}, column_names(data))
    write_frames(found.all_filled, output, None if imputations is None else number)
    if probabilities is not None:
        write_frames([found.to_frame()], probabilities)
    show(found, {**imputation_document(found), "output": str(output)}, asked.form)
    say_written(output)
    say_written(probabilities)
