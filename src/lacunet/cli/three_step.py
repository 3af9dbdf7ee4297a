"""`lacunet three-step`: what goes with classes that were fitted before."""

from pathlib import Path
from typing import Annotated

import typer

from lacunet import api
from lacunet.cli import options as o
from lacunet.cli.console import command
from lacunet.cli.outcome import show_and_save
from lacunet.cli.parsing import split
from lacunet.cli.paths import Writes
from lacunet.data.write import column_names
from lacunet.report.regression_document import three_step_document
from lacunet.summaries.three_step.assigned import Assigning, Correction


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
    asked: o.Asked,
    data: o.Data,
    model: o.ModelFile,
    outcomes: Annotated[
        list[str] | None,
        o.option(f"Column to compare between classes; {o.REPEAT}", metavar="COLUMN"),
    ] = None,
    covariates: Annotated[
        str | None,
        o.option(
            "Columns that predict classes, with commas between, or a formula: '~ age + C(region)'.",
            metavar="COLUMNS",
        ),
    ] = None,
    correction: Annotated[
        Correction | None,
        o.option(
            "How wrong assignments are made up for (default: bch for numbers, ml for categories "
            "and covariates)."
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

    Rows get classes from the model as it is (`lacunet fit … --save`). How often these are wrong is
    known, and made up for: by weights (bch) or by the likelihood (ml). Standard errors are robust;
    Wald tests say whether classes differ. To predict classes in one step: lacunet fit --covariates.
    """
    found = api.three_step(
        data,
        model,
        outcomes=split(outcomes, column_names(data)),
        covariates=covariates or (),
        correction=correction,
        assignment=assignment,
        settings=asked.settings,
        **asked.reading,
    )
    show_and_save(found, three_step_document(found), asked, save)
