"""The commands, one file each. To add one: its file, and its line here."""

from typing import Annotated

import typer

from lacunet import __version__
from lacunet.cli.assign import assign
from lacunet.cli.compare import compare
from lacunet.cli.compare_missing import compare_missing
from lacunet.cli.console import SWITCHES
from lacunet.cli.demo import demo
from lacunet.cli.evidence import evidence
from lacunet.cli.fit import fit
from lacunet.cli.impute import impute
from lacunet.cli.learn import learn
from lacunet.cli.lrt import lrt
from lacunet.cli.paper import paper
from lacunet.cli.query import query
from lacunet.cli.random import random
from lacunet.cli.score import score
from lacunet.cli.select import select
from lacunet.cli.simulate import simulate
from lacunet.cli.stack import stack
from lacunet.cli.three_step import three_step
from lacunet.cli.warm_up import warm_up

app = typer.Typer(
    name="lacunet",
    help="Given data with holes: how many hidden classes, and how sure are we?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS = (
    demo,
    select,
    compare,
    learn,
    stack,
    fit,
    three_step,
    lrt,
    compare_missing,
    evidence,
    score,
    assign,
    impute,
    query,
    simulate,
    random,
    paper,
    warm_up,
)
for function in COMMANDS:
    app.command()(function)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lacunet {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[  # noqa: ARG001
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where in the program something went wrong.")
    ] = False,
    safe_csv: Annotated[
        bool,
        typer.Option(
            "--safe-csv",
            help="In CSV and TSV, printed or written, put an apostrophe before what a spreadsheet "
            "would compute.",
        ),
    ] = False,
) -> None:
    """Given data with holes: how many hidden classes, and how sure are we?"""
    SWITCHES.debug, SWITCHES.safe_csv = debug, safe_csv
