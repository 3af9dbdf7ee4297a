"""`lacunet lrt`: one more class? The bootstrap likelihood-ratio test."""

from typing import Annotated

import typer

from lacunet import api
from lacunet.cli import options as o
from lacunet.cli.console import command, show
from lacunet.cli.parsing import parse_hidden
from lacunet.cli.table_words import read_structure
from lacunet.errors import OptionError
from lacunet.report.descriptions import ratio_document
from lacunet.report.documents import table_document
from lacunet.summaries.bootstrap_test import REPLICATES


@command
@o.options_after(
    api.likelihood_ratio_test,
    stop_after=(
        "starts",
        "schedule",
        "seed",
        "threads",
        *o.CLUSTER,
        *o.READING,
        "kinds",
        *o.PRINTING,
    ),
)
def lrt(
    asked: o.Asked,
    data: o.Data,
    states: Annotated[
        int,
        o.option(
            "Number of classes, or hidden states, to test; the alternative is one more.",
            *o.CLASSES,
        ),
    ],
    network: o.NetworkFile = None,
    hidden: o.HiddenOption = None,
    replicates: Annotated[
        int, typer.Option(help="Data sets to draw from the smaller model.")
    ] = REPLICATES,
    stop_after: Annotated[
        int | None, o.option("Stop as soon as so many of them reach the statistic of the data.")
    ] = None,
) -> None:
    """Test a number of hidden states against one more: bootstrap likelihood-ratio test.

    Data sets are drawn from the ML fit with the smaller number, with the holes of the real data,
    and go through the same two fits. The p-value says how many of them gain as much. The test of
    Vuong, Lo, Mendell and Rubin (VLMR, LMR) is printed beside it; go by the bootstrap. Continuous
    numbers have no ML fit, so they are refused; counts and ordered answers are not.
    """
    if states < 1:
        raise OptionError(f"--classes {states}: there must be at least 1.")
    sizes = parse_hidden(hidden)
    table, given = read_structure(data, network, sizes, asked, states + 1)
    with asked.work() as how:
        found = api.likelihood_ratio_test(
            table,
            states,
            network=None if given is None else given.network,
            hidden={} if given is None else given.hidden,
            replicates=replicates,
            stop_after=stop_after,
            **how,
        )
    show(found, {"data": table_document(table), **ratio_document(found)}, asked.form)
