"""Help in two sizes: `-h`, one screen with examples, and `--help`, every option in panels."""

import functools
import inspect
import re
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from lacunet.api.options import ReadSettings, SurveySettings
from lacunet.cli.paths import Writes
from lacunet.settings import ComputeSettings, EvidenceSettings, GraphSettings, SearchSettings

OUTPUT, USUAL = "Output", "Options"  # USUAL: Typer's panel of options without one
# The panel of each setting, by the class that has it; the first class wins.
PANELS = {
    field.name: panel
    for panel, settings in (
        ("Compute", ComputeSettings),
        ("Graphs", GraphSettings),
        ("Search", SearchSettings),
        ("Evidence", EvidenceSettings),
        ("Columns", ReadSettings),
        ("Survey", SurveySettings),
    )
    for field in fields(settings)
}
PRINTED = ("criteria", "verbose", "form", "json", "dry_run", "overwrite")
ORDER = (USUAL, "Columns", "Survey", "Graphs", "Evidence", "Search", "Compute", OUTPUT)
# Options of `-h`, after those of the first panel.
SHORT = ("missing", "weights", "kinds", "seed", "save", "report", "output", "json")

SHORT_ENOUGH = 66  # characters of a line of `-h`, beside the name of the option
WIDEST = 100  # characters of a line of `-h`
ANALYSE, USE = "Analyse", "Use a model"
CHECK, RESEARCH = "Check and compare", "Research"
GROUPS = {
    ANALYSE: ("demo", "select", "fit", "learn", "impute", "stack"),
    USE: ("assign", "query", "score", "simulate"),
    CHECK: ("evidence", "lrt", "compare", "compare-missing", "three-step"),
    RESEARCH: ("paper", "random", "warm-up"),
}
GROUP_OF = {name: group for group, names in GROUPS.items() for name in names}

EXAMPLES: dict[str, Sequence[str]] = {
    "demo": ("", "--save folder"),
    "select": (
        "answers.csv",
        "answers.csv --classes 1:6 --weights w --report page.html",
        "answers.csv --quick",
    ),
    "fit": (
        "answers.csv --classes 3 --intervals --save model.json",
        "answers.csv --classes 3 --covariates age,sex",
        "data.csv --network 'class[3] -> A B C; A -> B'",
    ),
    "learn": ("data.csv --save net.bif", "data.csv --edges", "data.csv --hidden auto"),
    "impute": ("data.csv -o filled.csv", "data.csv -o filled.csv --imputations 20"),
    "stack": ("data.csv --save stack.json", "data.csv --test new.csv"),
    "assign": ("answers.csv --model model.json -o classes.csv",),
    "query": ("model.json --of A,B --given C=yes", "net.bif --of A --do B=no"),
    "score": ("answers.csv --model model.json",),
    "simulate": ("--model model.json --rows 1000 -o rows.csv",),
    "evidence": ("answers.csv --classes 3", "answers.csv --classes 3 --target 0.05"),
    "lrt": ("answers.csv --classes 3",),
    "compare": ("data.csv a.bif b.bif", "data.csv a.bif b.bif --hidden H=2"),
    "compare-missing": ("answers.csv --classes 3",),
    "three-step": ("answers.csv --model model.json --outcomes income",),
    "paper": ("--out ch96",),
    "random": ("--classes 3 --leaves 10 -o model.json",),
    "warm-up": ("", "fit select"),
}


def panel_of(parameter: inspect.Parameter) -> str | None:
    """The panel of an option in `--help`; None for the first panel."""
    if parameter.name in PRINTED:
        return OUTPUT
    given = getattr(parameter.annotation, "__metadata__", ())
    if any(isinstance(each, Writes) for each in given):
        return OUTPUT
    return PANELS.get(parameter.name)


def put_in_panel(parameter: inspect.Parameter) -> None:
    """Set the panel of an option."""
    for each in getattr(parameter.annotation, "__metadata__", ()):
        if isinstance(each, typer.models.OptionInfo):
            each.rich_help_panel = panel_of(parameter)


def by_panel(parameter: inspect.Parameter) -> int:
    """The place of an option's panel among all panels; arguments come first."""
    return ORDER.index(panel_of(parameter) or USUAL)


def with_short_help(function: Callable[..., None]) -> Callable[..., None]:
    """Add `-h` to a command."""
    parameters = list(inspect.signature(function).parameters.values())
    name = command_name(function)

    def show(requested: bool) -> None:
        if requested:
            print_short_help(name, function.__doc__ or "", parameters)
            raise typer.Exit

    declared = typer.Option("-h", is_eager=True, callback=show, help="Show one screen of help.")
    option = inspect.Parameter(
        "short_help",
        inspect.Parameter.KEYWORD_ONLY,
        default=False,
        annotation=Annotated[bool, declared],
    )

    @functools.wraps(function)
    def run(*, short_help: bool = False, **given: Any) -> None:  # noqa: ARG001
        function(**given)

    shown = [*(p.replace(kind=p.KEYWORD_ONLY) for p in parameters), option]
    run.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in shown}
    return run


def command_name(function: Callable[..., None]) -> str:
    """The name of a command on the command line."""
    return function.__name__.replace("_", "-")


def print_short_help(name: str, meaning: str, parameters: Sequence[inspect.Parameter]) -> None:
    """Print usage, the most common options and examples."""
    console = Console(highlight=False, width=min(Console().width, WIDEST))
    arguments, options = list[str](), dict[str, str]()
    for parameter in parameters:
        declared = _declared(parameter)
        if isinstance(declared, typer.models.ArgumentInfo):
            arguments.append(str(declared.metavar or parameter.name.upper()))
        elif isinstance(declared, typer.models.OptionInfo) and _is_usual(parameter, declared):
            options[_name(parameter.name, declared)] = in_short(declared.help or "")
    console.print(
        f"[bold]Usage:[/] {escape(' '.join(['lacunet', name, *arguments]))} \\[OPTIONS]\n"
    )
    console.print(f"{escape(first_sentence(meaning))}\n")
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, min_width=max(map(len, options), default=0) + 2)
    table.add_column(no_wrap=True, overflow="ellipsis")
    for option, words in options.items():
        table.add_row(f"  {option}", escape(words))
    if options:
        console.print(table)
        console.print()
    console.print("[bold]Examples[/]")
    for words in EXAMPLES[name]:
        console.print(escape(f"  lacunet {name} {words}".rstrip()), soft_wrap=True)
    console.print(f"\nAll options, with their defaults: lacunet {name} --help")


def _is_usual(parameter: inspect.Parameter, declared: typer.models.OptionInfo) -> bool:
    return declared.rich_help_panel is None or parameter.name in SHORT


def _name(name: str, declared: typer.models.OptionInfo) -> str:
    """The first name of an option; in annotations it stands in the place of the default."""
    given = (declared.default, *(declared.param_decls or ()), f"--{name.replace('_', '-')}")
    return next(each for each in given if isinstance(each, str) and each.startswith("-"))


def _declared(parameter: inspect.Parameter) -> Any:
    """The declaration of a parameter for Typer; None if it has none."""
    known = typer.models.OptionInfo | typer.models.ArgumentInfo
    given = (*getattr(parameter.annotation, "__metadata__", ()), parameter.default)
    return next((each for each in given if isinstance(each, known)), None)


def first_sentence(text: str) -> str:
    """The first sentence of a help text, on one line.

    >>> first_sentence("Write a file: .csv, e.g. a.csv. Or print it.")
    'Write a file: .csv, e.g. a.csv.'
    """
    line = " ".join(text.split())
    return re.split(r"(?<=\.) (?=[A-Z])", line, maxsplit=1)[0]


def in_short(text: str) -> str:
    """The first sentence of a help text; of a long one, what comes before its details.

    >>> in_short("Weights of rows: counts, or survey weights, in a column of numbers of the table.")
    'Weights of rows'
    """
    sentence = first_sentence(text)
    if len(sentence) <= SHORT_ENOUGH:
        return sentence
    return min((sentence.split(mark)[0] for mark in ("; ", ": ", " (")), key=len)
