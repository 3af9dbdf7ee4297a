"""The commands, and three of them: `lacunet demo`, `paper` and `warm-up`."""

import shlex
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from lacunet import __version__, api
from lacunet.cli import options as o
from lacunet.cli.compare import compare, compare_missing, evidence, lrt, select
from lacunet.cli.console import SWITCHES, command, echo, progress, show
from lacunet.cli.fit import fit
from lacunet.cli.help import GROUP_OF, command_name, with_short_help
from lacunet.cli.impute import impute, stack, three_step
from lacunet.cli.learn import learn
from lacunet.cli.models import assign, query, random, score, simulate
from lacunet.cli.outcome import audit, first_screen
from lacunet.cli.paths import Writes
from lacunet.data.read import dataset_path, read_table
from lacunet.paper.reproduce import FULL_MODELS, reproduce
from lacunet.report.tables_file import save_selection
from lacunet.runtime.files import check_folder


@command
def warm_up(
    work: Annotated[
        list[str] | None,
        typer.Argument(help="fit, select, learn, impute, classify (default: all).", metavar="WORK"),
    ] = None,
) -> None:
    """Compile the kernels of common tasks, and cache them on disk, as for a container."""
    with progress() as listener:
        api.warm_up(work or (), listener=listener)


@command
@o.options_after(api.select, verbose=("threads", "json"))
def demo(
    request: o.Request,
    save: Annotated[Path, typer.Option(help="Folder for the output."), Writes(check_folder)] = Path(
        "lacunet-demo"
    ),
    verbose: o.Verbose = False,
) -> None:
    """Choose the number of hidden classes in a bundled survey with missing answers."""
    path = dataset_path("survey")
    echo(shlex.join(["lacunet", "select", str(path), "--states", "1:6", "--save", str(save)]))
    table = read_table(path)
    audit(table)
    with request.work() as kwargs:
        result = api.select(table, range(1, 7), **kwargs)
    save_selection(result, save)
    shown = first_screen(result, request, verbose)
    show(shown, {**result.to_dict(), "written": str(save)}, request.form)
    echo(f"written: {save} (selection.txt, selection.json, candidates.csv, model-K.json)")


Full: TypeAlias = Annotated[
    bool, o.switch("--full", f"{FULL_MODELS} models: means with standard errors.")
]


@command
@o.options_after(reproduce, full=("seed", "threads", "json"))
def paper(
    request: o.Request,
    out: Annotated[
        Path, o.option("Folder for figures, tables, results and the page."), Writes(check_folder)
    ],
    models: Annotated[int, typer.Option(help="Random models of each experiment.")] = 1,
    datasets: Annotated[int, typer.Option(help="Data sets of each model.")] = 5,
    full: Full = False,
) -> None:
    """Repeat the experiments of Chickering & Heckerman (1996), beside the published numbers.

    An interrupted run resumes with the same command. For open questions of the paper see
    `python -m studies`, beside the package.
    """
    count = max(models, FULL_MODELS) if full else models
    scale = {"models": count, "datasets": datasets, "seed": request.settings.seed}
    words = "".join(f" --{name} {value}" for name, value in scale.items() if value)
    with request.work() as kwargs:
        line = f"lacunet paper --out {out}{words}"
        result = reproduce(out, models=count, datasets=datasets, command=line, **kwargs)
    show(result, {"out": str(out), **scale, **result.to_dict()}, request.form)
    echo(f"written: {result.page}")


app = typer.Typer(
    name="lacunet",
    help="Latent class analysis and Bayesian networks for data with missing values.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
ONLY_LONG = {"help_option_names": ["--help"]}  # of commands: `-h` prints one screen
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
    name = command_name(function)
    add = app.command(name, rich_help_panel=GROUP_OF[name], context_settings=ONLY_LONG)
    add(with_short_help(function))


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lacunet {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[  # noqa: ARG001
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of a defect.")] = False,
    safe_csv: Annotated[
        bool,
        typer.Option(
            "--safe-csv",
            help="In CSV and TSV, printed or written, put an apostrophe before cells that a "
            "spreadsheet would compute.",
        ),
    ] = False,
) -> None:
    """Latent class analysis and Bayesian networks for data with missing values."""
    SWITCHES.debug, SWITCHES.safe_csv = debug, safe_csv
