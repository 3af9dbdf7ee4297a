"""`lacunet impute`, `stack` and `three-step`."""

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from lacunet import api
from lacunet.api.results import RowLikelihoods, Unusual
from lacunet.api.stacking import ModelChoice
from lacunet.cli import options as o
from lacunet.cli.console import command, echo_written, show
from lacunet.cli.outcome import echo_not_shown, read, show_and_save
from lacunet.cli.parsing import split
from lacunet.cli.paths import READS, Writes
from lacunet.data.write import append_columns, check_table_file, column_names, write_frames
from lacunet.models.formats import check_stack_file, write_stack
from lacunet.selection.ensembles import FOLDS
from lacunet.selection.recipes import StackKind
from lacunet.summaries.first_step import Assigning, Correction
from lacunet.tabular import Printable, Together

WHICH = "imputation"  # column with the number of the completed table


@command
@o.options_after(api.impute, probabilities=("seed", *o.READING, "kinds", "threads", *o.PRINTING))
def impute(
    request: o.Request,
    data: o.Data,
    output: o.TableFile,
    model: Annotated[
        ModelChoice, typer.Option(help="Models of all kinds together (auto), or of one kind alone.")
    ] = ModelChoice.AUTO,
    draw: Annotated[
        bool, o.switch("--draw", "Fill in draws instead of the most probable states and means.")
    ] = False,
    imputations: Annotated[
        int | None,
        o.option("Draw so many tables, one below the other, with a column of their numbers."),
    ] = None,
    probabilities: Annotated[
        Path | None,
        o.option(
            "Also write a table with a row for each state of each missing cell.", metavar="FILE"
        ),
        Writes(check_table_file),
    ] = None,
) -> None:
    """Impute the missing cells of a table by an ensemble of models learned from it.

    Latent class models, networks and latent trees are weighted by the likelihood of held-out cells.
    Each missing cell gets its most probable value; numbers get their mean, rounded to the decimals
    of the column. Drawn numbers are observed values of the column. All other cells, excluded
    columns and the order of the rows are kept. With --imputations, each table has its own posterior
    draw of the parameters (multiple imputation).
    """
    with request.work() as kwargs:
        result = api.impute(
            data,
            model=model,
            draw=draw,
            imputations=imputations,
            **request.reading.changed,
            **kwargs,
        )
    (number,) = api.fresh_names({WHICH: None}, column_names(data))
    write_frames(result.all_filled, output, None if imputations is None else number)
    if probabilities is not None:
        write_frames([result.to_frame()], probabilities)
    show(result, {**result.to_dict(), "output": str(output)}, request.form)
    echo_written(output, probabilities)


Folds: TypeAlias = Annotated[
    int,
    typer.Option(
        help="Number of blocks to hold out: consecutive rows of the file; with --weights, random "
        "cases."
    ),
]
Test: TypeAlias = Annotated[
    Path | None,
    o.option("Test table: print the log-likelihood of its rows."),
    READS,
]
Judged: TypeAlias = Annotated[
    Path | None,
    o.option(
        "Table to write: the rows, with tail probabilities by models learned without each row.",
        "--output",
        "-o",
    ),
    Writes(check_table_file),
]
SaveStack: TypeAlias = Annotated[
    Path | None,
    o.option("File to write: .json, for assign --impute and simulate."),
    Writes(check_stack_file),
]


@command
@o.options_after(api.stack, data=("seed", *o.READING, "kinds"), test=("threads",), save=o.PRINTING)
def stack(
    request: o.Request,
    data: o.Data,
    folds: Folds = FOLDS,
    only: Annotated[StackKind | None, o.option("Learn models of one kind alone.")] = None,
    test: Test = None,
    resume: o.Resume = None,
    output: Judged = None,
    save: SaveStack = None,
) -> None:
    """Stack models of several kinds for prediction, imputation and anomalies.

    Graphs under several priors, and latent class models, are learned with blocks of rows held out.
    The weights maximise held-out log-likelihood. To estimate the graph, use `lacunet learn`. Models
    overfit their training rows, so that assign --anomalies finds none of these unusual. To score
    the rows of this table, give --output: log p and tail probability of each row then come from
    models learned without it.
    """
    table = read(data, request)
    rows = api.rows_in_order(data, table, request.reading)
    scored_rows = rows if rows is not None else api.rows_to_score(data, table, request.reading)
    with request.work() as kwargs:
        result = api.stack(
            table,
            folds=folds,
            only=only,
            rows=rows,
            scored_rows=scored_rows,
            resume=resume,
            **kwargs,
        )
    if save is not None:
        write_stack(result.ensemble, save)
    document = {
        "data": table.to_dict(),
        "seed": request.settings.seed,
        **result.to_dict(),
    }
    shown: list[Printable] = [result]
    if test is not None:
        echo_not_shown(test, result.ensemble)
        each = api.log_likelihoods(test, result.ensemble, missing=request.reading.missing)
        likelihoods = RowLikelihoods(str(test), each)
        shown.append(likelihoods)
        document["test"] = {
            "file": str(test),
            "rows": len(each),
            "log_likelihood": likelihoods.total,
        }
    if output is not None:
        tails = result.held_out_rows.tail_probabilities(seed=request.settings.seed)
        judged = Unusual(result.held_out_rows.log_likelihoods, tails)
        append_columns(data, api.fresh_names(judged.tidy(), column_names(data)), output)
        shown.append(judged)
        written = {"file": str(output), "rows": len(tails)}
        document["held_out_rows"] = {**written, **judged.to_dict()}
    document["stack"] = None if save is None else str(save)
    show(Together(*shown), document, request.form)
    echo_written(output, save)


@command
@o.options_after(
    api.three_step,
    assignment=(
        *("level", "missing_covariates", "missing", "weights", "weights_as"),
        *(*o.DESIGN, "kinds"),
    ),
    save=o.PRINTING,
)
def three_step(
    request: o.Request,
    data: o.Data,
    model: o.ModelFile,
    outcomes: Annotated[
        list[str] | None,
        o.option(f"Column to compare between classes; {o.REPEAT}", metavar="COLUMN"),
    ] = None,
    covariates: Annotated[
        str | None,
        o.option(
            "Columns that predict classes, comma-separated, or a formula: '~ age + C(region)'.",
            metavar="COLUMNS",
        ),
    ] = None,
    correction: Annotated[
        Correction | None,
        o.option(
            "Correction of classification errors (default: bch for numbers, ml for categories and "
            "covariates)."
        ),
    ] = None,
    assignment: Annotated[
        Assigning,
        typer.Option(
            help="modal: each row to its most probable class; proportional: to all of them."
        ),
    ] = Assigning.MODAL,
    save: Annotated[
        Path | None, o.option("JSON file to write.", metavar="FILE"), Writes(o.check_json)
    ] = None,
) -> None:
    """Relate classes to outcomes and covariates after they were fitted: three steps.

    Rows are assigned by the fixed model (`lacunet fit … --save`). Classification errors are
    corrected by weights (bch) or by the likelihood (ml). Standard errors are robust; Wald tests
    compare the classes. To predict classes in one step, use lacunet fit --covariates.
    """
    result = api.three_step(
        data,
        model,
        outcomes=split(outcomes, column_names(data)),
        covariates=covariates or (),
        correction=correction,
        assignment=assignment,
        settings=request.settings,
        **request.reading.changed,
    )
    show_and_save(result, result.to_dict(), request, save)
