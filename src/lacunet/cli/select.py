"""`lacunet select`: how many hidden classes?"""

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import typer

from lacunet import api
from lacunet.cli import options as o
from lacunet.cli.console import command, say
from lacunet.cli.outcome import finish, show_forecast
from lacunet.cli.parsing import parse_hidden, parse_states
from lacunet.cli.table_words import doubt, read_structure
from lacunet.errors import OptionError
from lacunet.selection.average import FIRST, Label, PriorLike, named_prior

StatesOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        *o.CLASSES,
        help="Numbers of classes, or hidden states: 4, 1:8 or 2,4,8.",
        show_default="1:8, and more, up to 32, while they are probable",
    ),
]
PriorOption: TypeAlias = Annotated[
    str | None,
    o.option(
        "Prior of the number of classes: uniform, bnb (BNB(1, 4, 3) of the number less one, or "
        "bnb:1,4,3), geometric:0.1; or weights with commas between, in the order of --classes "
        "(default: all the same)."
    ),
]


@command
@o.options_after(
    api.select,
    states=("whole_range",),
    hidden=("scores", *o.LEARNING, "dimension"),
    prior=(*o.HOLES, *o.LIMITS, *o.DESIGN, *o.COLUMNS, *o.NUMBERS),
    report=o.MEASURING,
    tables=("blrt",),
    criteria=o.PRINTING,
)
def select(
    asked: o.Request,
    data: o.Data,
    states: StatesOption = None,
    network: o.NetworkFile = None,
    hidden: o.HiddenOption = None,
    knowledge: o.KnowledgeFile = None,
    edge: o.EdgeOption = None,
    prior: PriorOption = None,
    resume: o.Resume = None,
    save: o.SaveFolder = None,
    report: o.Report = None,
    tables: o.Tables = None,
    dry_run: o.DryRun = False,
    criteria: o.Criteria = False,
) -> None:
    """Choose the number of hidden states, and say how sure that is.

    Without --network, those are the classes of a latent class model of the table. With it, the
    states of the variables that --hidden names (or, without it, of the network's own hidden ones),
    the rest of the network as given; several of them in every combination.
    """
    numbers = parse_states(states or f"1:{FIRST}")
    sizes = parse_hidden(hidden)
    table, given = read_structure(data, network, sizes, asked)
    varied = api.to_vary(given.network, given.hidden) if given else ["class"]
    chances = _prior(prior, numbers, len(varied))
    if len(varied) > 1:
        say(
            f"note: {len(numbers)} numbers of states of {', '.join(varied)} in every combination: "
            f"{len(numbers) ** len(varied):,} networks."
        )
    doubt(numbers, table)
    models: dict[str, Any] = {"knowledge": knowledge, "edges": edge or ()}
    models["hidden"] = {} if given is None else given.hidden
    structure = None if given is None else given.network
    if dry_run:
        if states is None and len(varied) == 1:
            say(f"note: more than {FIRST} are tried too if they are probable then.")
        show_forecast(asked, table, numbers, structure, **models)
        return
    wanted, models["network"] = None if states is None else numbers, structure
    with asked.work() as how:
        found = api.select(table, wanted, prior=chances, resume=resume, **models, **how)
    finish(found, asked.form, save, report, criteria, tables=tables)


def _prior(text: str | None, states: Sequence[Label], varied: int) -> PriorLike:
    if text is None:
        return None
    if ":" in text or (text[:1].isalpha() and "," not in text):
        return named_prior(text)
    if varied > 1:
        raise OptionError("--prior has no meaning for combinations of several hidden variables.")
    try:
        weights = [float(part) for part in text.split(",")]
    except ValueError:
        raise OptionError(
            f"--prior '{text}' is not a list of numbers with commas between."
        ) from None
    if len(weights) != len(states):
        raise OptionError(
            f"--prior has {len(weights)} weights for {len(states)} numbers of states. "
            "Give one for each."
        )
    return dict(zip(states, weights, strict=True))
