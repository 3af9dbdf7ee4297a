"""`lacunet evidence`: log p(D|S) itself, with an error bar."""

from pathlib import Path
from typing import Annotated, TypeAlias

from lacunet import api
from lacunet.api.measuring import UNIFORM
from lacunet.cli import options as o
from lacunet.cli.console import command, say
from lacunet.cli.outcome import show_and_save, show_forecast
from lacunet.cli.parsing import parse_hidden
from lacunet.cli.paths import READS
from lacunet.cli.table_words import check_one_model, read_structure, settle
from lacunet.errors import OptionError
from lacunet.report.documents import measurement_document, sandwich_document, table_document
from lacunet.settings import DEFAULTS, Settings
from lacunet.tabular import Printable

NetworkOption: TypeAlias = Annotated[
    Path | None,
    o.option(
        "Instead: a network, .json, .bif, .xmlbif or .xdsl. Only its structure counts "
        "(but see --sandwich).",
        *o.NETWORK,
    ),
    READS,
]
SandwichOption: TypeAlias = Annotated[
    bool,
    o.switch(
        "--sandwich",
        "Bounds from both sides: for data that were simulated from exactly the parameters of "
        "--network, which were drawn from the prior (`lacunet random`).",
    ),
]


@command
@o.options_after(
    api.log_evidence,
    hidden=("alpha", "method", "target", "budget"),
    sandwich=("seed", "threads", "device", *o.CLUSTER, *o.READING, *o.NUMBERS),
    save=o.PRINTING,
)
def evidence(
    asked: o.Request,
    data: o.Data,
    states: o.States = None,
    network: NetworkOption = None,
    hidden: o.HiddenOption = None,
    knowledge: o.KnowledgeFile = None,
    sandwich: SandwichOption = False,
    resume: o.Resume = None,
    dry_run: o.DryRun = False,
    save: o.SaveJson = None,
) -> None:
    """Compute log p(D|S) itself, with an error bar and a verdict.

    All labellings of hidden states and all ways to leave some empty are included. The verdict is
    exact; reliable (standard error at most 0.5 nats, resting on 10 independent estimates or more,
    none with more than a fifth of the whole); or lower bound only.
    """
    check_one_model(states, network)
    if sandwich:
        _check_sandwich(network, knowledge, resume)
    sizes, settings = parse_hidden(hidden), asked.settings
    given = api.as_model(network, sizes) if network is not None and sandwich else None
    known = network if given is None else given.network
    table, found_for = read_structure(data, known, {} if given else sizes, asked, states)
    classes, structure = settle(found_for, states)
    _say_prior(settings)
    if dry_run:
        show_forecast(asked, table, classes, structure, knowledge=knowledge)
        return
    with asked.work() as how:
        if given is not None:
            bounds = api.log_evidence_bounds(table, given, **how)
            found: Printable = bounds
            told = sandwich_document(bounds)
        else:
            how |= {"network": structure, "knowledge": knowledge, "resume": resume}
            measured = api.log_evidence(table, classes, **how)
            found, told = measured, measurement_document(measured)
    document = {
        "data": table_document(table),
        "states": states,
        "alpha": settings.alpha,
        "seed": settings.seed,
        **told,
    }
    show_and_save(found, document, asked, save)


def _say_prior(settings: Settings) -> None:
    """Say which prior it is, where the other commands have another one."""
    own, others = UNIFORM.alpha, DEFAULTS.alpha
    if settings.alpha == own:
        say(
            f"note: alpha is {own:g}, as in most published evidence; fit, select and compare have "
            f"{others:g}. To go with them, give --alpha {others:g}."
        )


def _check_sandwich(network: Path | None, knowledge: Path | None, resume: Path | None) -> None:
    """Refuse what has no meaning with bounds from both sides."""
    if network is None:
        raise OptionError(
            "--sandwich needs the model that the data were simulated from: give --network."
        )
    if knowledge is not None:
        raise OptionError("--sandwich takes what is known from the file of --network, not here.")
    if resume is not None:
        raise OptionError("--resume keeps what the evidence was sampled with, not --sandwich.")
